// The report of a tensor's methods to a tape. primitives/autograd/tape_recording.cpp sets a
// recorder while a tape records; without one, a method costs one comparison more.
#pragma once
#include <utility>
#include <vector>

#include "registry/tensor/tensor.h"

namespace halyard {

// How a method made one tensor from another.
struct TensorMethod {
    enum class Kind {
        reshaped,  // the same elements in row-major order
        permuted,  // dimension d of the result is dimension permutation[d]
        sliced,    // elements from, from + step, ... before `to` along axis
        expanded,  // a broadcast view
        copied,    // new memory, possibly of another dtype
    };
    Kind kind;
    const char *name;  // the method's
    std::vector<int> permutation = {};
    int axis = 0;
    int64_t from = 0, to = 0, step = 1;
};

using MethodRecorder = void (*)(const Tensor &given, const Tensor &made, const TensorMethod &how);

// Return this thread's recorder, or null; set_method_recorder() returns the previous one.
MethodRecorder method_recorder();
MethodRecorder set_method_recorder(MethodRecorder recorder);

// While it lives, this thread's methods are not recorded: for views and copies made by the run time
// itself.
class UnrecordedMethods {
public:
    UnrecordedMethods() : before_(set_method_recorder(nullptr)) {}
    ~UnrecordedMethods() { set_method_recorder(before_); }
    UnrecordedMethods(const UnrecordedMethods &) = delete;
    UnrecordedMethods &operator=(const UnrecordedMethods &) = delete;

private:
    MethodRecorder before_;
};

}  // namespace halyard

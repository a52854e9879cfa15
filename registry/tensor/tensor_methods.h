// What a tensor's own methods tell whoever differentiates. The registry knows no tape:
// primitives/autograd/tape.cpp sets a recorder while one records, and without a recorder a method
// pays for one comparison.
#pragma once
#include <utility>
#include <vector>

#include "registry/tensor/tensor.h"

namespace halyard {

// How a method made one tensor of another.
struct TensorMethod {
    enum class Kind {
        reshaped,  // the same elements in row-major order
        permuted,  // dimension d of the result is dimension permutation[d]
        sliced,    // [from, to) by step along axis
        expanded,  // broadcast
        copied,    // new memory, perhaps of another dtype
    };
    Kind kind;
    const char *name;  // of the method
    std::vector<int> permutation = {};
    int axis = 0;
    int64_t from = 0, to = 0, step = 1;
};

using MethodRecorder = void (*)(const Tensor &given, const Tensor &made, const TensorMethod &how);

// This thread's recorder; null: none. Setting it returns the one before.
MethodRecorder method_recorder();
MethodRecorder set_method_recorder(MethodRecorder recorder);

// While it lives, this thread's methods are not recorded: for views and copies that the run time
// makes for itself.
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

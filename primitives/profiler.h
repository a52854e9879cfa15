// The profiler: when each primitive of this process ran and on which thread, in a file for Chrome's
// trace viewer. What a composite op is made of lies inside its slice.
// set_context({.enable_profiling = true}) is how programs ask for it.
#pragma once
#include <atomic>
#include <chrono>
#include <span>
#include <string>

#include "registry/op/op_record.h"
#include "registry/tensor/tensor.h"

namespace halyard::profiler {

// From here on; what was taken down before is written first. The file is
// FOLDER/op_trace_<process>.json, written by stop() or when the program ends. Throws IoError when
// the folder isn't there.
void start(const std::string &folder);
void stop();  // writes the file, throws IoError; nothing when it doesn't run
bool running();

// 60 MB, which viewers still open; what comes after them is counted only
inline constexpr size_t most_slices = 400000;

namespace detail {
inline constinit std::atomic<bool> on = false;
void take_down(const std::string &op, std::span<const Tensor> in,
               std::chrono::steady_clock::time_point begin);
}  // namespace detail

// One call, from here to the end of the scope.
class Call {
public:
    Call(const OpRecord &op, std::span<const Tensor> in) {
        if (detail::on.load(std::memory_order_relaxed)) {
            op_ = &op;
            in_ = in;
            begin_ = std::chrono::steady_clock::now();
        }
    }
    ~Call() {
        if (op_) detail::take_down(op_->name, in_, begin_);
    }
    Call(const Call &) = delete;
    Call &operator=(const Call &) = delete;

private:
    const OpRecord *op_ = nullptr;
    std::span<const Tensor> in_;
    std::chrono::steady_clock::time_point begin_;
};

}  // namespace halyard::profiler

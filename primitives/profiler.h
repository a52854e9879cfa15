// The profiler records when each primitive of this process ran and on which thread, in a file for
// Chrome's trace viewer. The ops of a composite op are nested in its slice. Programs turn it on
// with set_context({.enable_profiling = true}).
#pragma once
#include <atomic>
#include <chrono>
#include <span>
#include <string>

#include "registry/op/op_record.h"
#include "registry/tensor/tensor.h"

namespace halyard::profiler {

// Starts recording, after writing an earlier recording. stop() or the end of the program writes
// FOLDER/op_trace_<process>.json. Throws IoError if the folder doesn't exist.
void start(const std::string &folder);
void stop();  // writes the file, if it is recording; throws IoError
bool running();

// The limit, some 60 MB, which viewers can open. Further slices are only counted.
inline constexpr size_t max_slices = 400000;

namespace detail {
inline constinit std::atomic<bool> on = false;
void record_slice(const std::string &op, std::span<const Tensor> in,
                  std::chrono::steady_clock::time_point begin);
}  // namespace detail

// Records one call, from the construction to the end of the scope.
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
        if (op_) detail::record_slice(op_->name, in_, begin_);
    }
    Call(const Call &) = delete;
    Call &operator=(const Call &) = delete;

private:
    const OpRecord *op_ = nullptr;
    std::span<const Tensor> in_;
    std::chrono::steady_clock::time_point begin_;
};

}  // namespace halyard::profiler

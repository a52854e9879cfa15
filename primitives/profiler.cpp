#include "primitives/profiler.h"

#include <unistd.h>

#include <cstdlib>
#include <exception>
#include <filesystem>
#include <mutex>
#include <utility>

#include "primitives/trace_file.h"
#include "registry/base/error.h"
#include "registry/base/fork.h"
#include "registry/base/log.h"

namespace halyard::profiler {
namespace {

struct Recording {
    Recording() { hold_over_fork(mutex); }
    std::mutex mutex;
    std::string path;
    std::chrono::steady_clock::time_point start;
    std::vector<Slice> slices;
    size_t left_out = 0;
};

Recording &recording() {
    static Recording &r = *new Recording;  // never destroyed: threads may end after statics are
    return r;
}

int this_thread() {
    static std::atomic<int> threads = 0;
    thread_local const int number = threads++;
    return number;
}

void stop_at_exit() {
    try {
        stop();
    } catch (const std::exception &e) {
        log(LogLevel::error, "profiler", e.what());
    }
}

}  // namespace

void start(const std::string &folder) {
    if (!std::filesystem::is_directory(folder))
        throw IoError(folder, "is no folder: the profiler's file can't go there");
    stop();
    static const bool registered = std::atexit(stop_at_exit) == 0;
    (void)registered;
    Recording &r = recording();
    const std::lock_guard lock(r.mutex);
    r.path = (std::filesystem::path(folder) / ("op_trace_" + std::to_string(getpid()) + ".json"))
                 .string();
    r.start = std::chrono::steady_clock::now();
    detail::on = true;
}

void stop() {
    if (!detail::on.exchange(false)) return;
    Recording &r = recording();
    const std::lock_guard lock(r.mutex);
    const std::vector<Slice> slices = std::exchange(r.slices, {});
    const size_t left_out = std::exchange(r.left_out, 0);
    save_trace(r.path, "primitives", "op", slices,
               {{"calls after the last slice", std::to_string(left_out)}});
    log(LogLevel::info, "profiler",
        r.path + ": " + std::to_string(slices.size()) +
            (slices.size() == 1 ? " slice" : " slices"));
}

bool running() {
    return detail::on;
}

void detail::record_slice(const std::string &op, std::span<const Tensor> in,
                          std::chrono::steady_clock::time_point begin) {
    const auto end = std::chrono::steady_clock::now();
    Recording &r = recording();
    const std::lock_guard lock(r.mutex);
    if (!on || begin < r.start) return;
    if (r.slices.size() == max_slices) {
        if (r.left_out++ == 0) {
            log(LogLevel::warning, "profiler",
                "has " + std::to_string(max_slices) + " slices and takes no more");
        }
        return;
    }
    std::string shapes;
    for (const Tensor &t : in) {
        if (t.defined()) {
            shapes += (shapes.empty() ? "" : " ") + std::string(name_of(t.dtype())) +
                      t.shape().text();
        }
    }
    const auto seconds = [](auto d) { return std::chrono::duration<double>(d).count(); };
    r.slices.push_back(
        {op, this_thread(), seconds(begin - r.start), seconds(end - begin), std::move(shapes)});
}

}  // namespace halyard::profiler

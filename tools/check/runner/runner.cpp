// kernel_runner FILE: repeats the calls of a recording, with every tensor in a block of memory that
// is exactly as long as the tensor. It is built plainly for oclgrind, and with the address and the
// thread sanitizer. Only this file and the kernel run, so that reports are about the kernel. "call
// N" on standard error precedes the reports of each call.
#include <dlfcn.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <thread>

#include "registry/base/tsan_functions.h"
#include "tools/check/runner/recording.h"

namespace {

using halyard::check::RecordedArgument;
using Kernel = int (*)(void **);

constexpr int threads = 3, threads_inside = 2;
thread_local bool inside_loop = false;
// A thread takes tens of microseconds to start, so the loops within loops that come after so many
// run in their caller's thread.
constexpr int most_inside = 20'000;
std::atomic<int> loops_inside{0};

// One tensor or scalar of a call.
class Argument {
public:
    explicit Argument(const RecordedArgument &from) : block_(std::malloc(from.bytes.size())) {
        if (from.kind != RecordedArgument::output)
            std::memcpy(block_, from.bytes.data(), from.bytes.size());
        buffer_.host = static_cast<uint8_t *>(block_);
        buffer_.type = from.type;
        buffer_.dimensions = int32_t(from.dims.size());
        buffer_.dim = const_cast<halide_dimension_t *>(from.dims.data());
        buffer_.set_host_dirty(from.kind == RecordedArgument::input);
        passed_ = from.kind == RecordedArgument::scalar ? block_ : (void *)&buffer_;
    }
    ~Argument() { std::free(block_); }
    Argument(const Argument &) = delete;
    Argument &operator=(const Argument &) = delete;
    void *passed() const { return passed_; }
    int fetch() { return halide_copy_to_host(nullptr, &buffer_); }
    void free_on_device() { halide_device_free(nullptr, &buffer_); }

private:
    void *block_, *passed_ = nullptr;
    halide_buffer_t buffer_ = {};
};

int make(const halyard::check::RecordedCall &call, Kernel kernel, bool on_device) {
    std::vector<std::unique_ptr<Argument>> arguments;
    std::vector<void *> passed;
    for (auto &a : call) {
        arguments.push_back(std::make_unique<Argument>(a));
        passed.push_back(arguments.back()->passed());
    }
    int status = kernel(passed.data());
    if (!on_device) return status;
    for (size_t i = 0; i < call.size(); i++) {
        if (call[i].kind == RecordedArgument::output && status == 0) status = arguments[i]->fetch();
        if (call[i].kind != RecordedArgument::scalar) arguments[i]->free_on_device();
    }
    return status;
}

}  // namespace

extern "C" {

// Uses plain threads with a fixed assignment of iterations: a shared counter would order bodies
// that nothing else orders.
int halide_do_par_for(void *context, halide_task_t task, int min, int size, uint8_t *closure) {
    std::atomic<int> failed{0};
    const auto share = [&](int first, int step) {
        for (int i = first; i < size; i += step)
            if (const int status = task(context, min + i, closure)) failed = status;
    };
    if (size < 2 || (inside_loop && loops_inside++ > most_inside)) {
        share(0, 1);
        return failed;
    }
    const int count = inside_loop ? threads_inside : threads;
    std::vector<std::thread> all;
    for (int t = 0; t < count; t++) {
        all.emplace_back([&, t] {
            inside_loop = true;
            share(t, count);
        });
    }
    for (auto &t : all)
        t.join();
    return failed;
}

// oclgrind tracks a buffer's bytes by the buffer's number, and reuses that state for the next
// buffer with the same number. So buffers are never released.
void *halide_opencl_get_symbol(void *, const char *name) {
    static const auto keep = +[](void *) { return 0; };
    return std::strcmp(name, "clReleaseMemObject") == 0 ? (void *)keep : dlsym(RTLD_DEFAULT, name);
}

void halide_error(void *, const char *text) {
    std::fprintf(stderr, "kernel: %s\n", text);
}

// Halide may read past the requested size, by less than this (as in registry/base/runtime.cpp).
void *halide_malloc(void *, size_t bytes) {
    constexpr size_t unit = 64;
    char *block = static_cast<char *>(
        std::aligned_alloc(unit, (bytes + unit - 1) / unit * unit + 2 * unit));
    return block ? block + unit : nullptr;
}
void halide_free(void *, void *block) {
    if (block) std::free(static_cast<char *>(block) - 64);
}

}  // extern "C"

int main(int argc, char **argv) {
    if (argc != 2) return 2;
    std::ifstream file(argv[1], std::ios::binary);
    halyard::check::Recording r;
    halyard::check::RecordingReader reader(file);
    archive(reader, r);
    if (!file) {
        std::fprintf(stderr, "%s: not a recording\n", argv[1]);
        return 2;
    }
    void *library = dlopen(r.library.c_str(), RTLD_NOW | RTLD_LOCAL);
    const auto kernel = library ? (Kernel)dlsym(library, r.symbol.c_str()) : nullptr;
    if (!kernel) {
        std::fprintf(stderr, "%s\n", dlerror());
        return 2;
    }
    int failed = 0;
    for (size_t i = 0; i < r.calls.size(); i++) {
        std::fprintf(stderr, "call %zu\n", i);
        if (const int status = make(r.calls[i], kernel, r.on_device))
            failed = std::fprintf(stderr, "failed with %d\n", status);
    }
    // Halide would release the device after oclgrind has ended.
    if (r.on_device) std::_Exit(failed ? 3 : 0);
    return failed ? 3 : 0;
}

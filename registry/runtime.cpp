#include "registry/runtime.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <exception>

#include "HalideRuntime.h"
#include "registry/arena.h"
#include "registry/memory.h"

namespace halyard {
namespace {

struct Message {
    char text[1024];
    void set(const char *s) {
        const size_t n = std::min(std::strlen(s), sizeof(text) - 1);
        std::memmove(text, s, n);
        text[n] = 0;
    }
};
constinit thread_local Message message{};

int serial(void *user_context, halide_task_t task, int min, int size, uint8_t *closure) {
    for (int i = 0; i < size; i++)
        if (const int status = task(user_context, min + i, closure)) return status;
    return 0;
}

int parallel(const Arena &arena, void *user_context, halide_task_t task, int min, int size, uint8_t *closure) {
    std::atomic<int> first{0};
    Message first_message{};  // written by the one worker that sets `first`, read after the loop has joined
    arena.loop(0, size, [&](int64_t i) {
        if (first.load(std::memory_order_relaxed)) return;
        const int status = task(user_context, min + (int)i, closure);
        int none = 0;
        if (status && first.compare_exchange_strong(none, status)) first_message.set(message.text);
    });
    if (first) message.set(first_message.text);
    return first;
}

}  // namespace

const char *last_kernel_error() { return message.text; }

void clear_kernel_error() { message.text[0] = 0; }

}  // namespace halyard

extern "C" {

// A range of one, and any range under a limit of one thread, runs in the caller.
int halide_do_par_for(void *user_context, halide_task_t task, int min, int size, uint8_t *closure) {
    try {
        if (size > 1) {
            const halyard::Arena &arena = halyard::current_arena();
            if (arena.threads > 1) return halyard::parallel(arena, user_context, task, min, size, closure);
        }
        return halyard::serial(user_context, task, min, size, closure);
    } catch (const std::exception &e) {  // a bad HALYARD_THREADS, or no thread to be had; kernels are C and can't be unwound
        halide_error(user_context, e.what());
        return halide_error_code_generic_error;
    }
}

void halide_error(void *, const char *text) { halyard::message.set(text); }

// Halide may read 8 bytes before and past what it asked for, and whole vectors: a unit of 64 bytes on both sides is ours.
void *halide_malloc(void *, size_t bytes) {
    constexpr size_t unit = halyard::memory::alignment;
    if (bytes > SIZE_MAX / 4) return nullptr;
    try {
        return static_cast<char *>(halyard::memory::allocate((bytes + unit - 1) / unit * unit + 2 * unit)) + unit;
    } catch (const std::exception &) {
        return nullptr;
    }
}

void halide_free(void *, void *block) {
    if (block) halyard::memory::release(static_cast<char *>(block) - halyard::memory::alignment);
}

}  // extern "C"

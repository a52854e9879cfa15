#include "registry/base/runtime.h"

#include <algorithm>
#include <atomic>
#include <cctype>
#include <chrono>
#include <cstring>
#include <exception>
#include <new>
#include <string>
#include <utility>

#include "HalideRuntime.h"
#include "registry/base/integer.h"
#include "registry/base/tsan_functions.h"
#include "registry/tensor/arena.h"
#include "registry/tensor/memory.h"

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

// How long a loop took last time, by its call (the plan's address), its body and its length. Waking
// a worker takes longer than a short loop, so short loops run on one thread. A wrong guess costs
// one run. Results never depend on it.
struct LoopTime {
    const void *call;
    halide_task_t body;
    int size;
    float seconds;  // of one thread
};
// Loops that take longer run in parallel (docs/performance.md, "Run time").
constexpr float min_parallel_seconds = 3e-6F;
constexpr size_t loop_times = 512;

// A thread's state between calls. It is on the heap, because a program that opens this library with
// dlopen() has only some hundred bytes left for thread-locals.
struct ThreadState {
    Message message{};
    LoopTime times[loop_times] = {};
};
[[gnu::tls_model("initial-exec")]] constinit thread_local ThreadState *thread_state = nullptr;
// The thread is ending.
[[gnu::tls_model("initial-exec")]] constinit thread_local bool state_is_gone = false;
[[gnu::tls_model("initial-exec")]] constinit thread_local const void *this_call = nullptr;
[[gnu::tls_model("initial-exec")]] constinit thread_local KernelWatch *watching = nullptr;
// Inside a loop that has enough iterations for all threads, so that loops in it run serially.
[[gnu::tls_model("initial-exec")]] constinit thread_local bool threads_are_busy = false;

struct StateOwner {
    ~StateOwner() {
        delete std::exchange(thread_state, nullptr);
        state_is_gone = true;
    }
};

// Returns null if the thread is ending or the allocation fails.
[[gnu::noinline]] ThreadState *make_state() {
    if (state_is_gone) return nullptr;
    thread_state = new (std::nothrow) ThreadState;
    static thread_local StateOwner owner;
    (void)owner;
    return thread_state;
}

ThreadState *state() {
    return thread_state ? thread_state : make_state();
}

void set_message(const char *text) {
    if (ThreadState *mine = state()) mine->message.set(text);
}

LoopTime &time_of(ThreadState &mine, halide_task_t body, int size) {
    const size_t hash = (size_t(this_call) >> 4) * 31 + (size_t(body) >> 4) * 17 + size_t(size);
    LoopTime &t = mine.times[(hash ^ hash >> 9) % loop_times];
    if (t.call != this_call || t.body != body || t.size != size) t = {this_call, body, size, 1};
    return t;
}

class Stopwatch {
public:
    float seconds() const {
        return std::chrono::duration<float>(std::chrono::steady_clock::now() - start_).count();
    }

private:
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

int serial(void *user_context, halide_task_t task, int min, int size, uint8_t *closure) {
    for (int i = 0; i < size; i++)
        if (const int status = task(user_context, min + i, closure)) return status;
    return 0;
}

int parallel(const Arena &arena, void *user_context, halide_task_t task, int min, int size,
             uint8_t *closure) {
    std::atomic<int> first{0};
    // Written by the one worker that sets `first`, and read after the loop has ended.
    Message first_message{};
    const bool enough = size >= 4 * arena.threads;
    arena.loop(0, size, [&](int64_t i) {
        if (first.load(std::memory_order_relaxed)) return;
        // A thread that waits inside a loop may run iterations of other loops.
        const SerialKernels serial(enough);
        const int status = task(user_context, min + int(i), closure);
        int none = 0;
        if (status && first.compare_exchange_strong(none, status))
            first_message.set(last_kernel_error());
    });
    if (first) set_message(first_message.text);
    return first;
}

}  // namespace

const char *last_kernel_error() {
    const ThreadState *mine = state();
    return mine ? mine->message.text : "no memory for the kernel's message";
}

void clear_kernel_error() {
    set_message("");
}

void announce_call(const void *call) {
    this_call = call;
}

SerialKernels::SerialKernels(bool on)
    : before_(std::exchange(threads_are_busy, threads_are_busy || on)) {}

SerialKernels::~SerialKernels() {
    threads_are_busy = before_;
}

void watch_kernels(KernelWatch *watch) {
    watching = watch;
}

}  // namespace halyard

extern "C" {

// The calling thread runs a range of one, any range if there is one thread, a loop inside a long
// parallel one, and a short loop. Other loops run on the pool.
int halide_do_par_for(void *user_context, halide_task_t task, int min, int size, uint8_t *closure) {
    using namespace halyard;
    try {
        if (watching) return watching->loop(user_context, task, min, size, closure);
        if (size > 1 && !threads_are_busy) {
            const Arena &arena = current_arena();
            ThreadState *const mine = arena.threads > 1 ? state() : nullptr;
            if (mine) {
                LoopTime &last = time_of(*mine, task, size);
                const bool in_parallel = last.seconds > min_parallel_seconds;
                const Stopwatch watch;
                const int status = in_parallel
                                       ? parallel(arena, user_context, task, min, size, closure)
                                       : serial(user_context, task, min, size, closure);
                last.seconds = watch.seconds() *
                               float(in_parallel ? std::min(arena.threads, size) : 1);
                return status;
            }
        }
        return serial(user_context, task, min, size, closure);
    } catch (const std::exception &e) {
        // A bad HALYARD_THREADS, or a thread that can't be started. Kernels are C code, through
        // which exceptions must not pass.
        halide_error(user_context, e.what());
        return halide_error_code_generic_error;
    }
}

// Halide numbers the name of a Func that isn't the first of its name: y$2. Authors call it y.
void halide_error(void *, const char *text) {
    std::string message;
    for (const char *c = text; *c; c++) {
        const bool numbered = *c == '$' && std::isdigit(static_cast<unsigned char>(c[1]));
        if (!numbered) message += *c;
        while (numbered && std::isdigit(static_cast<unsigned char>(c[1])))
            c++;
    }
    halyard::set_message(message.c_str());
}

// Halide may read 8 bytes before and after a block, and whole vectors, so the block has 64 bytes on
// both sides.
void *halide_malloc(void *, size_t bytes) {
    using namespace halyard;
    constexpr size_t unit = memory::alignment;
    static_assert(unit == scratch_margin);
    bytes = std::min(bytes, SIZE_MAX / 4);  // too large as well, but the sum below can't overflow
    try {
        char *const block =
            static_cast<char *>(memory::allocate(round_up(bytes, unit) + 2 * unit)) + unit;
        if (watching) watching->allocated(block, bytes);
        return block;
    } catch (const std::exception &e) {
        halyard::set_message(e.what());
        return nullptr;
    }
}

// Called after halide_malloc() returned null. The message is already set, with the numbers.
int halide_error_out_of_memory(void *) {
    return halide_error_code_out_of_memory;
}

void halide_free(void *, void *block) {
    using namespace halyard;
    if (!block) return;
    if (watching) watching->released(static_cast<char *>(block));
    memory::release(static_cast<char *>(block) - memory::alignment);
}

}  // extern "C"

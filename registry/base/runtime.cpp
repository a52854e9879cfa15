#include "registry/base/runtime.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <exception>
#include <new>
#include <utility>

#include "HalideRuntime.h"
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

// Waking a worker costs more than a short loop takes, and how long a loop takes is known only when
// it has run: what each one took last time, by its call (the plan's address), its body and its
// length. A wrong guess costs one run. Results never depend on it.
struct LoopTime {
    const void *call;
    halide_task_t body;
    int size;
    float seconds;  // of one thread
};
// LeNet-5's step on 2 threads of a Zen 5 takes 1.02x as long with 0, 1.02x with 8 us, 1.16x with 20
// us.
constexpr float worth_sharing = 3e-6F;
constexpr size_t loop_times = 512;

// What a thread keeps between its calls. It lies on the heap: a program that opens this library
// with dlopen() has room for some hundred bytes of thread-locals.
struct ThreadState {
    Message message{};
    LoopTime times[loop_times] = {};
};
[[gnu::tls_model("initial-exec")]] constinit thread_local ThreadState *thread_state = nullptr;
// the thread ends
[[gnu::tls_model("initial-exec")]] constinit thread_local bool state_is_gone = false;
[[gnu::tls_model("initial-exec")]] constinit thread_local const void *this_call = nullptr;
[[gnu::tls_model("initial-exec")]] constinit thread_local KernelWatch *watching = nullptr;
// inside a loop that has enough iterations for all threads
[[gnu::tls_model("initial-exec")]] constinit thread_local bool crowded = false;

struct StateOwner {
    ~StateOwner() {
        delete std::exchange(thread_state, nullptr);
        state_is_gone = true;
    }
};

// Null where the thread ends or the system has no memory for it.
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
    // written by the one worker that sets `first`, read after the loop has joined
    Message first_message{};
    const bool enough = size >= 4 * arena.threads;
    arena.loop(0, size, [&](int64_t i) {
        if (first.load(std::memory_order_relaxed)) return;
        // a thread that waits inside a loop takes bodies of others
        const bool before = std::exchange(crowded, crowded || enough);
        const int status = task(user_context, min + int(i), closure);
        crowded = before;
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
    return mine ? mine->message.text : "no memory for what the kernel said";
}

void clear_kernel_error() {
    set_message("");
}

void announce_call(const void *call) {
    this_call = call;
}

void watch_kernels(KernelWatch *watch) {
    watching = watch;
}

}  // namespace halyard

extern "C" {

// What runs in the caller: a range of one, any range under a limit of one thread, a loop inside a
// long one, a short loop.
int halide_do_par_for(void *user_context, halide_task_t task, int min, int size, uint8_t *closure) {
    using namespace halyard;
    try {
        if (watching) return watching->loop(user_context, task, min, size, closure);
        if (size > 1 && !crowded) {
            const Arena &arena = current_arena();
            ThreadState *const mine = arena.threads > 1 ? state() : nullptr;
            if (mine) {
                LoopTime &last = time_of(*mine, task, size);
                const bool share = last.seconds > worth_sharing;
                const Stopwatch watch;
                const int status = share ? parallel(arena, user_context, task, min, size, closure)
                                         : serial(user_context, task, min, size, closure);
                last.seconds = watch.seconds() * float(share ? std::min(arena.threads, size) : 1);
                return status;
            }
        }
        return serial(user_context, task, min, size, closure);
    } catch (const std::exception &e) {  // a bad HALYARD_THREADS, or no thread to be had; kernels
                                         // are C and can't be unwound
        halide_error(user_context, e.what());
        return halide_error_code_generic_error;
    }
}

void halide_error(void *, const char *text) {
    halyard::set_message(text);
}

// Halide may read 8 bytes before and past what it asked for, and whole vectors: a unit of 64 bytes
// on both sides is ours.
void *halide_malloc(void *, size_t bytes) {
    using namespace halyard;
    constexpr size_t unit = memory::alignment;
    static_assert(unit == scratch_margin);
    bytes = std::min(bytes, SIZE_MAX / 4);  // which no system has; the sum below is one
    try {
        char *const block = static_cast<char *>(
                                memory::allocate((bytes + unit - 1) / unit * unit + 2 * unit)) +
                            unit;
        if (watching) watching->allocated(block, bytes);
        return block;
    } catch (const std::exception &e) {
        halyard::set_message(e.what());
        return nullptr;
    }
}

// What the kernel says to a null above: the message already has the numbers.
int halide_error_out_of_memory(void *) {
    return halide_error_code_out_of_memory;
}

void halide_free(void *, void *block) {
    using namespace halyard;
    if (!block) return;
    if (watching) watching->released(static_cast<char *>(block));
    memory::release(static_cast<char *>(block) - memory::alignment);
}

#ifdef __SANITIZE_THREAD__
// What instrumented kernels call and GCC's libtsan lacks (LLVM's own has it): it watches the plain
// functions.
[[gnu::weak]] void *__tsan_memcpy(void *to, const void *from, size_t bytes) {
    return std::memcpy(to, from, bytes);
}
[[gnu::weak]] void *__tsan_memmove(void *to, const void *from, size_t bytes) {
    return std::memmove(to, from, bytes);
}
[[gnu::weak]] void *__tsan_memset(void *to, int value, size_t bytes) {
    return std::memset(to, value, bytes);
}
#endif

}  // extern "C"

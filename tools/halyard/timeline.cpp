#include "tools/halyard/timeline.h"

#include <atomic>
#include <chrono>
#include <sstream>

#include "HalideRuntime.h"
#include "dsl/name_counters.h"
#include "registry/base/error.h"

namespace halyard::command {
namespace {

constexpr size_t max_events = 400000;  // 40 MB of JSON, which viewers still open

struct Event {
    const char *func;
    bool begins;
    int thread;
    std::chrono::steady_clock::time_point at;
};

// The events of the traced call. Kernels are C code and have one tracer for all.
std::vector<Event> events;
std::atomic<size_t> next_event{0};
std::atomic<int> next_thread{0}, watched_call{0};

int this_thread() {
    thread_local int call = -1, thread = 0;
    if (call != watched_call) {
        call = watched_call;
        thread = next_thread++;
    }
    return thread;
}

int32_t watch(void *, const halide_trace_event_t *e) {
    if (e->event != halide_trace_produce && e->event != halide_trace_end_produce) return 0;
    const size_t i = next_event++;
    if (i < events.size()) {
        events[i] = {e->func, e->event == halide_trace_produce, this_thread(),
                     std::chrono::steady_clock::now()};
    }
    return 0;
}

class Watching {
public:
    Watching() : before_(halide_set_custom_trace(watch)) {}
    ~Watching() { halide_set_custom_trace(before_); }
    Watching(const Watching &) = delete;
    Watching &operator=(const Watching &) = delete;

private:
    halide_trace_t before_;
};

std::vector<Slice> slices_of(size_t count, std::chrono::steady_clock::time_point start) {
    std::string names;
    for (size_t i = 0; i < count; i++)
        names += std::string(events[i].func) + "\n";
    std::istringstream clean(without_counters(names));
    std::vector<Slice> slices;
    // The stages that each thread is producing, outermost first.
    std::vector<std::vector<size_t>> open(static_cast<size_t>(next_thread));
    for (size_t i = 0; i < count; i++) {
        const Event &e = events[i];
        std::string name;
        std::getline(clean, name);
        auto &mine = open[size_t(e.thread)];
        const double at = std::chrono::duration<double>(e.at - start).count();
        if (e.begins) {
            mine.push_back(slices.size());
            slices.push_back({name, e.thread, at, 0});
        } else if (!mine.empty()) {
            slices[mine.back()].seconds = at - slices[mine.back()].begin;
            mine.pop_back();
        }
    }
    return slices;
}

}  // namespace

std::vector<Slice> timeline_of(const std::string &op, const std::function<void()> &call) {
    constexpr int calls = 20;
    const Watching watching;
    events.assign(max_events, {});
    std::vector<Slice> best;
    double quickest = 0;
    for (int k = 0; k < calls; k++) {
        watched_call++;
        next_event = 0;
        next_thread = 0;
        const auto start = std::chrono::steady_clock::now();
        call();
        const double seconds =
            std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        if (next_event > events.size()) {
            throw DispatchError(op, std::to_string(next_event) + " events in a call, at most " +
                                        std::to_string(max_events) + ": take a smaller --shape");
        }
        if (best.empty() || seconds < quickest) {
            best = slices_of(next_event, start);
            quickest = seconds;
        }
    }
    events = {};
    if (best.empty()) throw DispatchError(op, "the call produced nothing");
    return best;
}

}  // namespace halyard::command

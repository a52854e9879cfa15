#include "graph/replay.h"

#include <algorithm>
#include <optional>

#include "graph/capture.h"
#include "graph/fused_kernels.h"
#include "graph/graph_file.h"
#include "graph/memory_plan.h"
#include "graph/passes.h"
#include "graph/program.h"
#include "primitives/autograd/tape.h"
#include "primitives/context.h"
#include "registry/base/log.h"
#include "registry/dispatch/force.h"
#include "registry/dispatch/plan_generation.h"
#include "registry/tensor/memory.h"

namespace halyard::graph {
namespace {

// What a program needs to know of an argument.
struct ArgumentMeta {
    bool defined = false;
    DType dtype = DType::f32;
    Shape shape, strides;
    friend bool operator==(const ArgumentMeta &, const ArgumentMeta &) = default;
};

ArgumentMeta meta_of_argument(const Tensor &t) {
    if (!t.defined()) return {};
    return {true, t.dtype(), t.shape(), t.strides()};
}

bool shares_memory(std::span<const Tensor> arguments) {
    for (size_t a = 0; a < arguments.size(); a++) {
        for (size_t b = 0; b < a; b++) {
            if (arguments[a].defined() && arguments[b].defined() &&
                arguments[a].impl()->storage == arguments[b].impl()->storage)
                return true;
        }
    }
    return false;
}

bool is_power_of_two(uint64_t n) {
    return (n & (n - 1)) == 0;
}

// Returns true if the call of this number is recorded again.
bool is_audited(uint64_t call) {
    constexpr uint64_t most_between = 1024;
    return is_power_of_two(call) || call % most_between == 0;
}

}  // namespace

struct Replay::Entry {
    std::vector<ArgumentMeta> arguments;
    Settings settings;
    uint64_t plans = 0;                // the generation of plans
    std::unique_ptr<Program> program;  // null: not captured yet, or it can't be
    // The program's graph before regions were fused, if they were.
    std::optional<Graph> parts;
    // The number of kernels that were made when regions were last looked for; empty: never.
    std::optional<uint64_t> kernels_seen;
    size_t regions = 0;  // that are fused

    const Graph &unfused() const { return parts ? *parts : program->graph(); }
    void reset() {
        program.reset();
        parts.reset();
        kernels_seen.reset();
        regions = 0;
    }
    bool is_outdated() const { return program->is_outdated(parts ? 1 : 0); }
    bool is_eager = false;  // it can't be captured
    uint64_t calls = 0;
};

Replay::Replay(std::string name) : name_(std::move(name)) {}
Replay::~Replay() {
    release_arena();
}

bool Replay::is_wanted() {
    return runs_graphs() && !call_listener() && !Tape::current() && !Force::current();
}

Replay::Entry &Replay::entry_for(std::span<const Tensor> arguments, const Settings &settings) {
    const uint64_t plans = plan_generation.load(std::memory_order_acquire);
    const auto same = [&](const Entry &e) {
        if (e.plans != plans || e.settings.fingerprint != settings.fingerprint ||
            e.settings.numbers != settings.numbers || e.arguments.size() != arguments.size())
            return false;
        for (size_t k = 0; k < arguments.size(); k++)
            if (!(e.arguments[k] == meta_of_argument(arguments[k]))) return false;
        return true;
    };
    const auto found = std::ranges::find_if(entries_, same);
    if (found != entries_.end()) {
        entries_.splice(entries_.begin(), entries_, found);
        return entries_.front();
    }
    Entry e;
    for (const Tensor &t : arguments)
        e.arguments.push_back(meta_of_argument(t));
    e.settings = settings;
    e.plans = plans;
    entries_.push_front(std::move(e));
    if (entries_.size() > most_programs) entries_.pop_back();
    return entries_.front();
}

void Replay::report(const std::string &reason) {
    if (reason_ == reason) return;
    reason_ = reason;
    log(LogLevel::warning, "graph", name_ + " runs op by op: " + reason);
}

std::vector<Tensor> Replay::capture(Entry &e, std::span<const Tensor> arguments, const Function &f,
                                    const Names &names) {
    make_room();
    Capture capture(name_, {arguments.begin(), arguments.end()});
    std::vector<Tensor> out = capture.run(f);
    if (!capture.reason().empty()) {
        e.is_eager = true;
        report(capture.reason());
        return out;
    }
    reason_.clear();
    Graph graph = capture.take();
    if (names) name_captured(graph, names());
    run_passes_for_program(graph, saves_graphs() ? saving_watch() : PassWatch());
    e.program = std::make_unique<Program>(std::move(graph));
    return out;
}

void Replay::release_arena() {
    for (Entry &e : entries_)
        if (e.program) e.program->release_arena();
    const bool is_large = arena_.defined() && arena_.bytes() >= large_memory;
    arena_ = {};
    if (is_large) memory::trim();
}

// A recorded call takes the memory of a call op by op.
void Replay::make_room() {
    if (arena_.defined() && arena_.bytes() >= large_memory) release_arena();
}

std::vector<Tensor> Replay::audit(Entry &e, std::span<const Tensor> arguments, const Function &f) {
    make_room();
    Capture capture(name_, {arguments.begin(), arguments.end()}, &e.unfused());
    std::vector<Tensor> out = capture.run(f);
    std::string what = capture.reason();
    if (what.empty()) {
        Graph again = capture.take();
        run_passes_again(again);
        what = difference(e.unfused(), again);
    }
    if (!what.empty()) {
        const uint64_t call = e.calls;
        e.reset();
        e.calls = 0;
        throw GraphError("graph", name_ + ", call " + std::to_string(call) + ": " + what +
                                      ". C++ code of the cell decides what no tensor decides: make "
                                      "it a parameter or an input, or use PYNATIVE_MODE");
    }
    return out;
}

// Takes over the kernels that were made since the last run.
void Replay::fuse(Entry &e) {
    const uint64_t made = fused_kernels_made();
    if (e.kernels_seen == made) return;
    e.kernels_seen = made;
    const std::vector<Region> regions = find_regions(e.unfused());
    std::vector<Fused> fused;
    for (const Region &r : regions)
        if (const RegisteredOp *op = fused_op(r)) fused.push_back({&r, op});
    if (fused.size() == e.regions) return;
    Graph graph = with_fused(e.unfused(), fused);
    if (saves_graphs()) saving_watch()("with_fused_regions", graph);
    if (!e.parts) e.parts = e.program->graph();
    e.regions = fused.size();
    e.program = std::make_unique<Program>(std::move(graph));
}

std::vector<Tensor> Replay::replay(Entry &e, std::span<const Tensor> arguments) {
    if (enables_graph_kernel() && can_fuse_regions()) fuse(e);
    const size_t needed = e.program->memory().bytes;
    if (!arena_.defined() || arena_.bytes() < needed) {
        release_arena();
        if (needed >= large_memory) memory::trim();
        arena_ = memory_of(needed);
    }
    // The programs of a function prepare the same parameters, and only one keeps what that gave.
    for (Entry &other : entries_)
        if (&other != &e && other.program) other.program->release_prepared();
    e.program->keep_results(sinks_ > 0);
    return e.program->run(arguments, arena_);
}

Replay::Sink::Sink(Replay &replay) : replay_(replay) {
    const std::lock_guard lock(replay.mutex_);
    replay.sinks_++;
}

Replay::Sink::~Sink() {
    const std::lock_guard lock(replay_.mutex_);
    if (--replay_.sinks_ > 0) return;
    for (Entry &e : replay_.entries_)
        if (e.program) e.program->keep_results(false);
}

// The lock is not held while `next` runs, because that may call the function, too.
std::vector<Tensor> Replay::run_all(const NextArguments &next,
                                    const std::function<Settings()> &settings, const Function &f,
                                    const Names &names) {
    const Sink sink(*this);
    std::vector<Tensor> arguments;
    std::vector<Tensor> results;
    while (next(arguments)) {
        results.clear();  // so that the next run has its memory
        results = run(arguments, settings(), f, names);
    }
    return results;
}

std::vector<Tensor> Replay::run(std::span<const Tensor> arguments, const Settings &settings,
                                const Function &f, const Names &names) {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock || shares_memory(arguments)) return f(arguments);
    Entry &e = entry_for(arguments, settings);
    e.calls++;
    if (e.is_eager) return f(arguments);
    if (e.program && e.is_outdated()) {
        e.reset();
        e.calls = 1;
    }
    if (!e.program) return capture(e, arguments, f, names);
    if (is_audited(e.calls)) return audit(e, arguments, f);
    return replay(e, arguments);
}

std::vector<std::string> Replay::texts() const {
    const std::lock_guard lock(mutex_);
    std::vector<std::string> texts;
    for (const Entry &e : entries_)
        if (e.program) texts.push_back(e.program->text());
    return texts;
}

std::string Replay::reason() const {
    const std::lock_guard lock(mutex_);
    return reason_;
}

}  // namespace halyard::graph

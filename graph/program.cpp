#include "graph/program.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "graph/draw_words.h"
#include "graph/graph_error.h"
#include "primitives/profiler.h"
#include "registry/base/error.h"
#include "registry/base/parallel.h"
#include "registry/base/runtime.h"
#include "registry/dispatch/run_plan.h"
#include "registry/tensor/host_step.h"

namespace halyard::graph {
namespace {

bool has_role(const Graph &graph, const View &v, Role role) {
    return graph.buffers[size_t(v.buffer)].role == role;
}

bool is_temporary(const Graph &graph, const View &v) {
    return has_role(graph, v, Role::temporary);
}

// Returns true for memory that is another one in each run.
bool changes_memory(Role role) {
    return role == Role::input || role == Role::host || role == Role::output;
}

constexpr size_t most_kept_bytes = 64;  // of a result, such as a loss

}  // namespace

class Program::RowRunner {
public:
    // Plans the calls. Throws what planning throws, and MemoryError.
    RowRunner(const Graph &graph, RowLoop loop);
    ~RowRunner();

    const RowLoop &loop() const { return loop_; }

    // Runs the nodes on the loop's operands, which are whole. Each thread has memory of its own for
    // the inner buffers, which it keeps. Throws what the calls throw. Not thread-safe.
    void run(std::span<const Tensor> operands);

private:
    struct Worker;

    std::unique_ptr<Worker> make_worker() const;
    void run_tile(Worker &worker, std::span<const Tensor> operands, int64_t tile) const;

    const RowLoop loop_;
    const Graph larger_, smaller_;  // the nodes for the first part, and for the last one
    std::vector<std::unique_ptr<Worker>> workers_;
};

// What one thread needs to run tiles.
struct Program::RowRunner::Worker {
    Program larger, smaller;
    Tensor arena;
    std::vector<Tensor> arguments;
};

Program::RowRunner::RowRunner(const Graph &graph, RowLoop loop)
    : loop_(std::move(loop)), larger_(graph_of_rows(graph, loop_, loop_.rows_of_part(0))),
      smaller_(graph_of_rows(graph, loop_, loop_.rows_of_part(loop_.parts - 1))) {
    workers_.push_back(make_worker());
}

Program::RowRunner::~RowRunner() = default;

std::unique_ptr<Program::RowRunner::Worker> Program::RowRunner::make_worker() const {
    auto worker = std::make_unique<Worker>(Worker{Program(larger_, Program::Order::as_listed),
                                                  Program(smaller_, Program::Order::as_listed),
                                                  Tensor(),
                                                  {}});
    const size_t bytes = std::max(worker->larger.memory().bytes, worker->smaller.memory().bytes);
    worker->arena = memory_of(bytes);
    return worker;
}

void Program::RowRunner::run_tile(Worker &worker, std::span<const Tensor> operands,
                                  int64_t tile) const {
    const int64_t part = tile % loop_.parts;
    const bool is_larger = loop_.rows_of_part(part) == loop_.rows_of_part(0);
    Shape at = loop_.rows;  // the tile's first index in each leading dimension
    at[loop_.tiled] = loop_.first_row_of_part(part);
    tile /= loop_.parts;
    for (int d = loop_.tiled; d-- > 0;) {
        at[d] = tile % loop_.rows[d];
        tile /= loop_.rows[d];
    }
    const Graph &graph = is_larger ? larger_ : smaller_;
    worker.arguments.clear();
    for (size_t k = 0; k < operands.size(); k++) {
        const RowOperand &o = loop_.operands[k];
        int64_t offset = 0;
        for (int d = 0; d <= loop_.tiled; d++)
            offset += at[d] * o.steps[d];
        worker.arguments.push_back(
            operands[k].with_memory(o.view.dtype, graph.buffers[k].shape, o.view.strides, offset));
    }
    (is_larger ? worker.larger : worker.smaller).run(worker.arguments, worker.arena);
    worker.arguments.clear();
}

void Program::RowRunner::run(std::span<const Tensor> operands) {
    const int64_t tiles = loop_.tiles();
    const int64_t workers = std::min<int64_t>(threads(), tiles);
    while (int64_t(workers_.size()) < workers)
        workers_.push_back(make_worker());
    std::atomic<int64_t> next{0};
    parallel_for(0, workers, [&](int64_t worker) {
        // Several workers run at once, and each calls small kernels.
        const SerialKernels serial(workers > 1);
        try {
            for (int64_t tile = next++; tile < tiles; tile = next++)
                run_tile(*workers_[size_t(worker)], operands, tile);
        } catch (...) {
            next = tiles;  // the others stop, too
            throw;
        }
    });
}

Program::Program(Graph graph, Order order) : graph_(std::move(graph)) {
    for (const Buffer &b : graph_.buffers)
        memories_.push_back(b.held);
    is_written_.resize(graph_.buffers.size());
    for (const Node &n : graph_.nodes)
        for (const View &v : n.out)
            is_written_[size_t(v.buffer)] = 1;
    for (const Node &n : graph_.nodes)
        prepare(n);
    count_own_references();
    for (PreparedGroup &group : prepared_groups(graph_))
        preparations_.push_back({std::move(group), {}, false});
    is_inner_.resize(graph_.buffers.size());
    const bool runs_by_rows = order == Order::by_rows;
    std::vector<RowLoop> loops = runs_by_rows ? find_row_loops(graph_, threads())
                                              : std::vector<RowLoop>();
    if (loops.empty()) {
        memory_ = plan_memory(graph_, true);
        return;
    }
    Graph planned = graph_;
    extend_lifetimes(planned, loops);
    memory_ = plan_memory(planned, true);
    add_loops(std::move(loops));
}

Program::~Program() = default;
Program::Program(Program &&) noexcept = default;

void Program::add_loops(std::vector<RowLoop> loops) {
    for (RowLoop &loop : loops) {
        for (const size_t k : loop.nodes)
            steps_[k].is_in_loop = true;
        for (const int buffer : loop.inner)
            is_inner_[size_t(buffer)] = 1;
        const size_t last = loop.nodes.back();
        loops_.push_back(std::make_unique<RowRunner>(graph_, std::move(loop)));
        steps_[last].loop = loops_.back().get();
    }
}

std::string Program::text() const {
    std::string text = text_of(graph_);
    for (const auto &runner : loops_)
        text += text_of(graph_, runner->loop()) + "\n";
    return text;
}

bool Program::changes(const View &v) const {
    return changes_memory(graph_.buffers[size_t(v.buffer)].role);
}

Tensor Program::tensor_of(const View &v) const {
    return memories_[size_t(v.buffer)].with_memory(v.dtype, v.shape, v.strides, v.offset);
}

void Program::prepare(const Node &n) {
    Step s;
    const auto add = [&](const View &v, std::vector<Tensor> &to, std::vector<size_t> &changing) {
        const bool is_set_later = changes(v) || is_temporary(graph_, v) ||
                                  has_role(graph_, v, Role::prepared);
        if (changes(v)) changing.push_back(to.size());
        to.push_back(is_set_later ? Tensor() : tensor_of(v));
    };
    for (const View &v : n.in)
        add(v, s.in, s.changing_in);
    for (const View &v : n.out)
        add(v, s.out, s.changing_out);
    if (n.kind == Node::Kind::call) s.plan = std::make_shared<const Plan>(plan_of(n));
    s.is_prepared = is_prepared(graph_, n);
    steps_.push_back(std::move(s));
}

// Calls f(view, tensor) for every operand in a buffer of this role, but for what only row loops
// use.
template<class F> void Program::for_each_operand(Role role, const F &f) {
    const auto is_chosen = [&](const View &v) {
        return has_role(graph_, v, role) && !is_inner_[size_t(v.buffer)];
    };
    for (size_t k = 0; k < steps_.size(); k++) {
        const Node &n = graph_.nodes[k];
        for (size_t i = 0; i < n.in.size(); i++)
            if (is_chosen(n.in[i])) f(n.in[i], steps_[k].in[i]);
        for (size_t i = 0; i < n.out.size(); i++)
            if (is_chosen(n.out[i])) f(n.out[i], steps_[k].out[i]);
    }
}

void Program::bind(const Tensor &arena) {
    if (arena_.defined() && arena_.same_memory(arena)) return;
    arena_ = arena;
    for_each_operand(Role::temporary, [&](const View &v, Tensor &t) {
        const auto offset = int64_t(memory_.offsets[size_t(v.buffer)]) + v.offset;
        t = arena.with_memory(v.dtype, v.shape, v.strides, offset);
    });
}

void Program::release_arena() {
    for_each_operand(Role::temporary, [](const View &, Tensor &t) { t = {}; });
    arena_ = {};
}

// Returns true if the nodes have read something else than there is now.
bool Program::is_outdated(const Preparation &p) const {
    if (!p.has_run) return true;
    for (size_t k = 0; k < p.group.sources.size(); k++) {
        const Storage &memory = *graph_.buffers[p.group.sources[k]].held.impl()->storage;
        // Who has the address may have written through it.
        const bool is_counted = memory.pooled && !memory.exposed.load(std::memory_order_acquire);
        if (!is_counted || memory.writes.load(std::memory_order_acquire) != p.writes[k])
            return true;
    }
    return false;
}

void Program::run_preparation(Preparation &p) {
    p.has_run = false;  // until all have
    p.writes.clear();
    for (const size_t source : p.group.sources) {
        const Storage &memory = *graph_.buffers[source].held.impl()->storage;
        p.writes.push_back(memory.writes.load(std::memory_order_acquire));
    }
    for (const size_t k : p.group.nodes)
        run_step(graph_.nodes[k], steps_[k]);
    prepared_nodes_ += int64_t(p.group.nodes.size());
    p.has_run = true;
}

void Program::prepare_results() {
    if (preparations_.empty()) return;
    if (!has_prepared_memory_) {
        for (size_t k = 0; k < graph_.buffers.size(); k++)
            if (graph_.buffers[k].role == Role::prepared)
                memories_[k] = memory_of(graph_.buffers[k].bytes);
        for_each_operand(Role::prepared, [&](const View &v, Tensor &t) { t = tensor_of(v); });
        has_prepared_memory_ = true;
    }
    for (Preparation &p : preparations_)
        if (is_outdated(p)) run_preparation(p);
}

void Program::release_prepared() {
    if (!has_prepared_memory_) return;
    for_each_operand(Role::prepared, [](const View &, Tensor &t) { t = {}; });
    for (size_t k = 0; k < graph_.buffers.size(); k++)
        if (graph_.buffers[k].role == Role::prepared) memories_[k] = {};
    for (Preparation &p : preparations_)
        p.has_run = false;
    has_prepared_memory_ = false;
}

void Program::count_own_references() {
    own_references_.assign(graph_.buffers.size(), 1);
    const auto count = [&](const std::vector<View> &views, const std::vector<Tensor> &tensors) {
        for (size_t k = 0; k < views.size(); k++)
            if (tensors[k].defined()) own_references_[size_t(views[k].buffer)]++;
    };
    for (size_t k = 0; k < steps_.size(); k++) {
        count(graph_.nodes[k].in, steps_[k].in);
        count(graph_.nodes[k].out, steps_[k].out);
    }
}

bool Program::is_outdated(int copies) const {
    for (const GraphNumbers &n : graph_.numbers)
        if (n.source.phase() != n.phase) return true;
    for (size_t k = 0; k < graph_.buffers.size(); k++) {
        const Buffer &b = graph_.buffers[k];
        if (b.role != Role::captured) continue;
        const TensorImpl &i = *b.held.impl();
        // The program itself has two handles of the tensor, and its steps have views.
        if (i.references.load(std::memory_order_acquire) > 2 + copies) continue;
        if (i.storage->references.load(std::memory_order_acquire) <= own_references_[k])
            return true;
    }
    return false;
}

void Program::set_numbers(Node &n) const {
    for (const NumberPlace &place : n.numbers) {
        const double value = numbers_[place.number];
        if (n.kind == Node::Kind::fill)
            n.value = value;
        else
            n.attrs->set(place.attribute, value);
    }
}

void Program::take_made(const Node &n, const std::vector<Tensor> &made) {
    for (size_t k = 0; k < n.out.size(); k++) {
        if (k >= made.size() || !is_as_captured(n.out[k], made[k])) {
            throw GraphError("graph", graph_.name + ": '" + n.name +
                                          "' gives other tensors than it did when the graph was "
                                          "captured");
        }
        memories_[size_t(n.out[k].buffer)] = made[k];
    }
}

void Program::run_step(Node &n, Step &s) {
    set_numbers(n);
    for (const size_t k : s.changing_in)
        s.in[k] = tensor_of(n.in[k]);
    if (n.kind != Node::Kind::host) {
        for (const size_t k : s.changing_out)
            s.out[k] = tensor_of(n.out[k]);
    }
    switch (n.kind) {
    case Node::Kind::call: {
        const profiler::Call call(n.op->record, s.in);
        run_plan(*s.plan, s.in, *n.attrs, s.out);
        break;
    }
    case Node::Kind::copy: s.out[0].assign(s.in[0]); break;
    case Node::Kind::fill: s.out[0].fill(n.value); break;
    case Node::Kind::host: {
        // What a step reads may be memory that later nodes write, or the arena.
        const std::vector<Tensor> made = run_apart(n.function, s.in, [&](size_t k) {
            return is_temporary(graph_, n.in[k]) || is_written_[size_t(n.in[k].buffer)];
        });
        take_made(n, made);
        break;
    }
    }
    for (const size_t k : s.changing_in)
        s.in[k] = {};
    for (const size_t k : s.changing_out)
        s.out[k] = {};
}

void Program::run_loop(RowRunner &runner) {
    for (const RowOperand &o : runner.loop().operands) {
        const Step &s = steps_[o.node];
        const Tensor &kept = (o.is_output ? s.out : s.in)[o.place];
        loop_operands_.push_back(changes(o.view) ? tensor_of(o.view) : kept);
    }
    // Lets go of the operands however the run ends.
    struct Forget {
        std::vector<Tensor> &operands;
        ~Forget() { operands.clear(); }
    } const forget{loop_operands_};
    runner.run(loop_operands_);
}

// Returns an output. Nobody else holds its memory, but for that of arguments and captured tensors,
// which the function returns.
Tensor Program::result_of(const View &v, std::span<const Tensor> arguments) const {
    if (v.buffer < 0) return {};
    const Buffer &b = graph_.buffers[size_t(v.buffer)];
    if (b.role == Role::constant) return tensor_of(v).copy();
    const Tensor &argument = b.role == Role::input ? arguments[size_t(b.input)] : b.held;
    const bool is_itself = argument.defined() && v.offset == 0 && v.shape == argument.shape() &&
                           v.strides == argument.strides() && v.dtype == argument.dtype();
    return is_itself ? argument : tensor_of(v);
}

void Program::take_memory(std::span<const Tensor> arguments) {
    for (size_t k = 0; k < graph_.buffers.size(); k++) {
        const Buffer &b = graph_.buffers[k];
        if (b.role == Role::input) memories_[k] = arguments[size_t(b.input)];
        if (b.role != Role::output) continue;
        const Tensor &before = memories_[k];
        // The result that was returned is a view, so it holds the storage.
        const bool is_free = before.defined() &&
                             before.impl()->references.load(std::memory_order_acquire) == 1 &&
                             before.impl()->storage->references.load(std::memory_order_acquire) ==
                                 1;
        if (!is_free) memories_[k] = memory_of(b.bytes);
    }
}

void Program::forget_memory() {
    for (size_t k = 0; k < memories_.size(); k++) {
        const Role role = graph_.buffers[k].role;
        const bool is_kept = role == Role::output &&
                             (keeps_results_ || graph_.buffers[k].bytes <= most_kept_bytes);
        if (changes_memory(role) && !is_kept) memories_[k] = {};
    }
}

void Program::keep_results(bool on) {
    if (keeps_results_ == on) return;
    keeps_results_ = on;
    if (!on) forget_memory();
}

std::vector<Tensor> Program::run(std::span<const Tensor> arguments, const Tensor &arena) {
    bind(arena);
    std::vector<RngState> draws;
    for (int k = 0; k < graph_.draws; k++)
        draws.push_back(Random::next().state());
    numbers_.clear();
    for (const GraphNumbers &n : graph_.numbers) {
        const std::vector<double> values = n.source.values();
        numbers_.insert(numbers_.end(), values.begin(), values.end());
    }
    // Forgets the memory of this run however it ends.
    struct Forget {
        Program &p;
        ~Forget() { p.forget_memory(); }
    } const forget{*this};
    take_memory(arguments);
    prepare_results();
    for (size_t k = 0; k < steps_.size(); k++) {
        if (steps_[k].is_prepared) continue;
        if (steps_[k].loop) run_loop(*steps_[k].loop);
        if (steps_[k].is_in_loop) continue;
        Node &n = graph_.nodes[k];
        if (n.draw >= 0) set_draw(*n.attrs, draws[size_t(n.draw)]);
        run_step(n, steps_[k]);
    }
    std::vector<Tensor> out;
    for (const View &v : graph_.outputs)
        out.push_back(result_of(v, arguments));
    return out;
}

}  // namespace halyard::graph

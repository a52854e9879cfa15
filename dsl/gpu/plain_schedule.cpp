#include "dsl/gpu/plain_schedule.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "dsl/gpu/grid.h"
#include "dsl/gpu/row_kernels.h"
#include "dsl/joint_outputs.h"
#include "dsl/sum_tree.h"

namespace halyard::gpu {
namespace {

using Halide::Expr;
using Halide::Func;
using Halide::RVar;
using Halide::Stage;
using Halide::TailStrategy;
using Halide::Var;
using Halide::VarOrRVar;
using Halide::Internal::Call;
using Halide::Internal::Definition;
using Halide::Internal::Function;
using Halide::Internal::IRVisitor;
using Halide::Internal::ReductionVariable;

constexpr int block_threads = 128;
// Sums over more dimensions have the algorithm's order: their trees would be deep and of few terms.
constexpr int max_tree_dimensions = 3;

// Distributes one stage over threads, which share its first dimension, and over the grid.
void distribute(Stage stage, const std::vector<Var> &pure, const std::vector<RVar> &reduced) {
    if (pure.empty()) {
        stage.gpu_single_thread();
        return;
    }
    stage.split(pure[0], grid_block, gpu_thread, block_threads, TailStrategy::GuardWithIf);
    std::vector<VarOrRVar> inner_to_outer(reduced.begin(), reduced.end());
    inner_to_outer.emplace_back(gpu_thread);
    inner_to_outer.emplace_back(grid_block);
    inner_to_outer.insert(inner_to_outer.end(), pure.begin() + 1, pure.end());
    stage.reorder(inner_to_outer);
    stage.gpu_threads(gpu_thread);
    distribute_over_grid(stage, {pure.begin() + 1, pure.end()});
}

// Returns the chunks of a loop over terms: one alone is split into chunks of chunks.
std::vector<int> chunks_of(std::optional<int64_t> extent, bool is_alone) {
    if (extent && *extent <= sum_chunk) return {};
    return std::vector<int>(is_alone ? 2 : 1, sum_chunk);
}

// Distributes update number `k` over the pure dimensions that it has.
void distribute_update(Func &f, int k) {
    std::vector<Var> pure;
    std::vector<RVar> reduced;
    for (const Halide::Internal::Dim &d : f.function().update(k).schedule().dims()) {
        if (d.var == Var::outermost().name()) continue;
        if (d.is_rvar())
            reduced.emplace_back(d.var);
        else
            pure.emplace_back(d.var);
    }
    distribute(f.update(k), pure, reduced);
}

bool are_pure_arguments(const Function &f, const std::vector<Expr> &arguments) {
    const std::vector<std::string> &names = f.args();
    const auto is_argument = [](const Expr &e, const std::string &name) {
        const auto *v = e.as<Halide::Internal::Variable>();
        return v && v->name == name;
    };
    return arguments.size() == names.size() && std::ranges::equal(arguments, names, is_argument);
}

// Finds out whether all calls of `callee` in what it visits are at the pure arguments of `caller`.
class Calls : public IRVisitor {
public:
    Calls(const Function &callee, const Function &caller) : callee_(callee), caller_(caller) {}
    bool are_pure() const { return are_pure_; }

private:
    using IRVisitor::visit;
    void visit(const Call *c) override {
        IRVisitor::visit(c);
        if (c->call_type == Call::Halide && c->name == callee_.name())
            are_pure_ &= are_pure_arguments(caller_, c->args);
    }
    const Function &callee_, &caller_;
    bool are_pure_ = true;
};

// Returns true if every update of an element reads and writes only that element of `f`.
bool updates_stay_in_place(const Function &f) {
    Calls calls(f, f);
    for (const Definition &update : f.updates()) {
        if (!are_pure_arguments(f, update.args())) return false;
        for (const Expr &value : update.values())
            value.accept(&calls);
        update.predicate().accept(&calls);
        for (const ReductionVariable &r : update.schedule().rvars()) {
            r.min.accept(&calls);
            r.extent.accept(&calls);
        }
    }
    return calls.are_pure();
}

void sum_updates_in_trees(Func &f) {
    if (f.dimensions() > max_tree_dimensions) return;
    for (int k = 0; k < f.num_update_definitions(); k++)
        sum_in_tree(f, k, chunks_of);
}

void distribute_stages(Func &f) {
    sum_updates_in_trees(f);
    f.compute_root();
    distribute(f, f.args(), {});
    for (int k = 0; k < f.num_update_definitions(); k++)
        distribute_update(f, k);
}

// Returns the output that alone reads `f`, where each of its elements reads the one at its own
// place and nothing else; null if there is none.
const Function *output_of(const Function &f, const Functions &all,
                          const std::set<std::string> &outputs) {
    const Function *reader = nullptr;
    for (const auto &[name, g] : all) {
        if (name == f.name() || Halide::Internal::find_direct_calls(g).count(f.name()) == 0)
            continue;
        if (reader) return nullptr;
        reader = &g;
    }
    if (!reader || outputs.count(reader->name()) == 0 || reader->has_update_definition())
        return nullptr;
    Calls calls(f, *reader);
    for (const Expr &value : reader->values())
        value.accept(&calls);
    return calls.are_pure() && reader->dimensions() == f.dimensions() ? reader : nullptr;
}

// Funcs whose updates stay in place and that are computed in the same kernel.
struct OneKernel {
    const Function *output = nullptr;  // whose kernel it is; null if it is that of the one Func
    std::vector<Func> funcs;
};

// Schedules the kernel. If the terms of its elements lie side by side in memory, a warp has an
// element, else a thread.
void compute_in_one_kernel(OneKernel &k, const Functions &all, Row rows) {
    Func kernel = k.output ? Func(*k.output) : k.funcs[0].in();
    std::vector<std::string> loops;
    for (const Func &f : k.funcs) {
        if (rows == Row::by_thread) break;
        if (const auto loop = row_loop(f.function(), all)) loops.push_back(*loop);
    }
    if (loops.size() == k.funcs.size()) {
        reduce_by_warps(k.funcs, kernel, loops);
        return;
    }
    kernel.compute_root();
    distribute(kernel, kernel.args(), {});
    for (Func &f : k.funcs) {
        sum_updates_in_trees(f);
        f.compute_at(kernel, gpu_thread);
    }
}

// Schedules the pipeline as one kernel, if its reductions share rows with its output. Returns
// false, and changes nothing, if they don't.
bool schedule_rows(const Func &output, const Functions &all) {
    std::vector<Function> reductions;
    std::vector<std::string> loops;
    for (const auto &[name, f] : all) {
        if (!f.has_update_definition()) continue;
        const auto loop = row_loop(f, all);
        if (!loop || name == output.name()) return false;
        reductions.push_back(f);
        loops.push_back(*loop);
    }
    if (!shares_rows(output.function(), reductions, all)) return false;
    Func kernel = output;
    std::vector<Func> funcs(reductions.begin(), reductions.end());
    share_rows(kernel, funcs, loops);
    return true;
}

}  // namespace

void plain_schedule(const std::vector<Func> &outputs, Row rows) {
    std::vector<Function> roots;
    std::set<std::string> output_names;
    for (const Func &f : outputs) {
        roots.push_back(f.function());
        output_names.insert(f.name());
    }
    const Functions all = Halide::Internal::build_environment(roots);
    const bool is_alone = outputs.size() == 1 && rows == Row::by_warp;
    if (is_alone && schedule_rows(outputs[0], all)) return;
    std::map<std::string, OneKernel> in_one_kernel;  // by the Func whose kernel it is
    for (const auto &[name, function] : all) {
        if (output_names.count(name) || !function.has_update_definition()) continue;
        Func f(function);
        if (f.dimensions() > 0 && updates_stay_in_place(function)) {
            const Function *output = output_of(function, all, output_names);
            OneKernel &kernel = in_one_kernel[output ? output->name() : name];
            kernel.output = output;
            kernel.funcs.push_back(f);
        } else {
            distribute_stages(f);
        }
    }
    for (auto &[name, kernel] : in_one_kernel)
        compute_in_one_kernel(kernel, all, rows);
    for (const Func &output : outputs) {
        Func f = output;
        if (in_one_kernel.count(f.name()) == 0) distribute_stages(f);
    }
}

}  // namespace halyard::gpu

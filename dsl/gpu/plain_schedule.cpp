#include "dsl/gpu/plain_schedule.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>

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
constexpr int chunk = 64;  // consecutive terms of a sum that are added first
// Sums over more dimensions have the algorithm's order: their trees would be deep and of few terms.
constexpr int max_tree_dimensions = 3;
// Halide 21 can't derive that a thread needs one element if more dimensions share one dimension of
// the grid.
constexpr size_t max_fused = 3;

const Var block("block");

// Distributes one stage. The first dimensions of a Func share the first one of the grid, because
// CUDA limits the others to 65,535.
void distribute(Stage stage, const std::vector<Var> &pure, const std::vector<RVar> &reduced) {
    if (pure.empty()) {
        stage.gpu_single_thread();
        return;
    }
    stage.split(pure[0], block, gpu_thread, block_threads, TailStrategy::GuardWithIf);
    std::vector<VarOrRVar> inner_to_outer(reduced.begin(), reduced.end());
    inner_to_outer.emplace_back(gpu_thread);
    inner_to_outer.emplace_back(block);
    inner_to_outer.insert(inner_to_outer.end(), pure.begin() + 1, pure.end());
    stage.reorder(inner_to_outer);
    for (size_t d = 1; d < std::min(pure.size(), max_fused); d++)
        stage.fuse(block, pure[d], block);
    std::vector<VarOrRVar> blocks = {block};
    for (size_t d = max_fused; d < pure.size(); d++) {
        if (blocks.size() < 3)
            blocks.emplace_back(pure[d]);
        else
            stage.fuse(blocks.back(), pure[d], Var(blocks.back().name()));
    }
    stage.gpu_threads(gpu_thread);
    for (const VarOrRVar &b : blocks)
        stage.gpu_blocks(b);
}

// Returns the chunks of a loop over terms: one alone is split into chunks of chunks.
std::vector<int> chunks_of(std::optional<int64_t> extent, bool is_alone) {
    if (extent && *extent <= chunk) return {};
    return std::vector<int>(is_alone ? 2 : 1, chunk);
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

void distribute_stages(Func &f) {
    f.compute_root();
    distribute(f, f.args(), {});
    for (int k = 0; k < f.num_update_definitions(); k++)
        distribute_update(f, k);
}

using Functions = std::map<std::string, Function>;

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

// Makes one kernel of all stages of `f`: each thread has its element in a register. It is the
// kernel of `output`, if there is one.
void compute_in_threads(Func &f, const Function *output) {
    Func kernel = output ? Func(*output) : f.in();
    if (!output) {
        kernel.compute_root();
        distribute(kernel, kernel.args(), {});
    }
    f.compute_at(kernel, gpu_thread);
}

}  // namespace

void plain_schedule(const std::vector<Func> &outputs) {
    std::vector<Function> roots;
    std::set<std::string> output_names;
    for (const Func &f : outputs) {
        roots.push_back(f.function());
        output_names.insert(f.name());
    }
    const Functions all = Halide::Internal::build_environment(roots);
    for (const auto &[name, function] : all) {
        const bool is_output = output_names.count(name) > 0;
        if (!is_output && !function.has_update_definition()) continue;
        Func f(function);
        const bool is_one_kernel = !is_output && f.dimensions() > 0 &&
                                   updates_stay_in_place(function);
        if (f.dimensions() <= max_tree_dimensions) {
            for (int k = 0; k < f.num_update_definitions(); k++)
                sum_in_tree(f, k, chunks_of);
        }
        if (is_one_kernel)
            compute_in_threads(f, output_of(function, all, output_names));
        else
            distribute_stages(f);
    }
}

}  // namespace halyard::gpu

#include "dsl/gpu/plain_schedule.h"

#include <algorithm>
#include <set>
#include <string>

namespace halyard::gpu {
namespace {

using Halide::Expr;
using Halide::Func;
using Halide::RVar;
using Halide::Stage;
using Halide::TailStrategy;
using Halide::Var;
using Halide::VarOrRVar;
using Halide::Internal::Definition;
using Halide::Internal::ReductionVariable;

constexpr int block_threads = 128;
constexpr int chunk = 64;  // consecutive terms of a sum that are added first
// Halide 21 can't derive that a thread needs one partial sum if more dimensions share its blocks.
constexpr int max_tree_dimensions = 3;

// Distributes one stage. Blocks are one-dimensional, because CUDA limits the other dimensions of a
// grid to 65,535.
void distribute(Stage stage, const std::vector<Var> &pure, const std::vector<RVar> &reduced) {
    if (pure.empty()) {
        stage.gpu_single_thread();
        return;
    }
    Var thread("thread"), block("block");
    stage.split(pure[0], block, thread, block_threads, TailStrategy::GuardWithIf);
    std::vector<VarOrRVar> inner_to_outer(reduced.begin(), reduced.end());
    inner_to_outer.emplace_back(thread);
    inner_to_outer.emplace_back(block);
    inner_to_outer.insert(inner_to_outer.end(), pure.begin() + 1, pure.end());
    stage.reorder(inner_to_outer);
    for (size_t d = 1; d < pure.size(); d++)
        stage.fuse(block, pure[d], block);
    stage.gpu_blocks(block).gpu_threads(thread);
}

// Returns true if the update writes each element where it reads it, and adds something to every
// component.
bool is_sum(const Func &f, const Definition &update) {
    const auto is_pure = [](const Expr &index) {
        const auto *v = index.as<Halide::Internal::Variable>();
        return v && !v->reduction_domain.defined();
    };
    if (!std::ranges::all_of(update.args(), is_pure)) return false;
    const auto op = Halide::Internal::prove_associativity(f.name(), update.args(), update.values());
    return op.associative() && std::ranges::all_of(op.pattern.ops, [](const Expr &e) {
               return e.as<Halide::Internal::Add>() != nullptr;
           });
}

// Splits the loops over a sum's terms, innermost first, into chunks; a loop that is alone also into
// chunks of chunks. Returns all loops, innermost first.
std::vector<RVar> split_in_chunks(Stage sum, const std::vector<ReductionVariable> &rvars) {
    const int levels = rvars.size() == 1 ? 2 : 1;
    std::vector<RVar> loops;
    for (const ReductionVariable &r : rvars) {
        RVar left(r.var);
        const auto extent = Halide::Internal::as_const_int(r.extent);
        for (int level = 0; level < levels && !(extent && *extent <= chunk); level++) {
            const std::string number = std::to_string(loops.size());
            RVar outer("chunks" + number), inner("terms" + number);
            sum.split(left, outer, inner, chunk, TailStrategy::GuardWithIf);
            loops.push_back(inner);
            left = outer;
        }
        loops.push_back(left);
    }
    return loops;
}

// Makes a tree of update number `k` of `f`, if it is a sum: each loop over its terms but the
// outermost has a partial sum of its own, which a thread keeps in registers. Terms that are added
// one after another to one number would lose digits that the ops' error bounds leave no room for.
void sum_in_tree(Func &f, int k) {
    const Definition update = f.function().update(k);
    if (f.dimensions() > max_tree_dimensions || update.schedule().rvars().empty() ||
        !is_sum(f, update)) {
        return;
    }
    const std::vector<RVar> loops = split_in_chunks(f.update(k), update.schedule().rvars());
    std::vector<Func> partial;
    for (size_t inner = 0; inner + 1 < loops.size(); inner++) {
        std::vector<std::pair<RVar, Var>> outer;
        for (size_t l = inner + 1; l < loops.size(); l++)
            outer.emplace_back(loops[l], Var("of_" + loops[l].name()));
        partial.push_back(f.update(k).rfactor(outer));
    }
    for (size_t l = 0; l < partial.size(); l++) {
        const Func &whole = l + 1 < partial.size() ? partial[l + 1] : f;
        partial[l].compute_at(whole, loops[l + 1]);
    }
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

}  // namespace

void plain_schedule(const std::vector<Func> &outputs) {
    std::vector<Halide::Internal::Function> roots;
    std::set<std::string> output_names;
    for (const Func &f : outputs) {
        roots.push_back(f.function());
        output_names.insert(f.name());
    }
    for (auto &[name, function] : Halide::Internal::build_environment(roots)) {
        if (!function.has_update_definition() && output_names.count(name) == 0) continue;
        Func f(function);
        f.compute_root();
        distribute(f, f.args(), {});
        for (int k = 0; k < f.num_update_definitions(); k++) {
            sum_in_tree(f, k);
            distribute_update(f, k);
        }
    }
}

}  // namespace halyard::gpu

#include "dsl/gpu/plain_schedule.h"

#include <optional>
#include <set>
#include <string>

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
            if (f.dimensions() <= max_tree_dimensions) sum_in_tree(f, k, chunks_of);
            distribute_update(f, k);
        }
    }
}

}  // namespace halyard::gpu

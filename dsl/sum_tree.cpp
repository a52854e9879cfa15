#include "dsl/sum_tree.h"

#include <algorithm>
#include <string>

namespace halyard {
namespace {

using Halide::Expr;
using Halide::Func;
using Halide::RVar;
using Halide::Stage;
using Halide::TailStrategy;
using Halide::Var;
using Halide::Internal::Definition;
using Halide::Internal::ReductionVariable;

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

// Splits the loops over a sum's terms. Returns all loops, innermost first.
std::vector<RVar> split_in_chunks(Stage sum, const std::vector<ReductionVariable> &rvars,
                                  const ChunksOf &chunks_of) {
    std::vector<RVar> loops;
    for (const ReductionVariable &r : rvars) {
        RVar left(r.var);
        std::optional<int64_t> extent;
        if (const auto value = Halide::Internal::as_const_int(Halide::Internal::simplify(r.extent)))
            extent = *value;
        for (const int chunk : chunks_of(extent, rvars.size() == 1)) {
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

}  // namespace

bool sum_in_tree(Func &f, int k, const ChunksOf &chunks_of, const std::optional<Var> &innermost) {
    const Definition update = f.function().update(k);
    if (update.schedule().rvars().empty() || !is_sum(f, update)) return false;
    const std::vector<RVar> loops = split_in_chunks(f.update(k), update.schedule().rvars(),
                                                    chunks_of);
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
        if (innermost) partial[l].update(0).reorder({*innermost, loops[l]});
    }
    if (innermost) f.update(k).reorder({*innermost, loops.back()});
    return true;
}

}  // namespace halyard

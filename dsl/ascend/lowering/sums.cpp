#include "dsl/ascend/lowering/sums.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "dsl/ascend/lowering/update.h"
#include "registry/base/error.h"

namespace halyard::ascend {
using namespace Halide::Internal;
namespace {

// Returns the loads of both factors, or null pointers unless the update adds a product of two f16
// tensors.
std::pair<const Load *, const Load *> matrices_of(const Update &u) {
    if (!u.term.defined() || u.op != dv::VecOp::add) return {};
    const auto factor = [](const Halide::Expr &e) {
        const Cast *c = e.as<Cast>();
        const Load *l = c ? c->value.as<Load>() : nullptr;
        return l && l->type == Halide::Float(16) ? l : nullptr;
    };
    const auto [a, b] = factors_of(u.term);
    if (!a.defined() || !factor(a) || !factor(b)) return {};
    return {factor(a), factor(b)};
}

// The loops of a product of matrices, by their number; none if the product has no such dimension.
struct Roles {
    std::optional<size_t> rows, depth, columns;
};

// The sum and one factor change along the rows, the sum and the other factor along the columns,
// both factors along the depth. Inserts into `sequential` all loops that have no role; of several
// loops with one role the longest has it.
Roles roles_of(const std::vector<Loop> &loops, const Operand &sum, const Operand &x,
               const Operand &y, std::set<std::string> &sequential) {
    Roles roles;
    for (size_t d = 0; d < loops.size(); d++) {
        const bool in_sum = sum.stride[d];
        const bool in_x = x.stride[d];
        const bool in_y = y.stride[d];
        std::optional<size_t> *role = in_sum && in_x && !in_y   ? &roles.rows
                                      : in_sum && in_y && !in_x ? &roles.columns
                                      : !in_sum && in_x && in_y ? &roles.depth
                                                                : nullptr;
        if (!role) {
            sequential.insert(loops[d].var);
        } else if (!*role) {
            *role = d;
        } else {
            const bool longer = loops[d].extent > loops[**role].extent;
            sequential.insert(loops[longer ? **role : d].var);
            if (longer) *role = d;
        }
    }
    return roles;
}

// Returns the loops around a product. A product begins at the first element of its accumulator:
// throws DispatchError if one of these loops selects another element.
std::set<std::string> around_product(const LoweringContext &s, const Store &store,
                                     const std::set<std::string> &sequential) {
    for (const std::string &loop : sequential) {
        if (Halide::Internal::expr_uses_var(store.index, loop)) {
            throw DispatchError("ascend", s.w.stage +
                                              ": the cube unit has no sum of products for "
                                              "each iteration of " +
                                              loop);
        }
    }
    return sequential;
}

int64_t stride_of(const Operand &o, const std::optional<size_t> &loop) {
    return loop ? o.stride[*loop] : 0;
}

// A matrix is transposed if its columns have a stride and its rows are contiguous.
Matrix matrix_of(const Operand &o, const std::optional<size_t> &rows,
                 const std::optional<size_t> &columns) {
    const int64_t row = stride_of(o, rows);
    const int64_t column = stride_of(o, columns);
    if (column == 1 || (row != 1 && !columns))
        return {o.ref, row, std::max<int64_t>(1, column), false};
    return {o.ref, column, std::max<int64_t>(1, row), true};
}

}  // namespace

std::set<std::string> lower_sums(LoweringContext &s, const std::vector<Loop> &loops,
                                 const Store &store, const dv::Expr &earlier) {
    if (is_const_zero(store.value)) return {};
    auto [a, b] = matrices_of(update_of(store));
    if (!a) {
        throw DispatchError("ascend",
                            s.w.stage + ": the cube unit adds products of two f16 tensors");
    }
    std::set<std::string> sequential = nonlinear_loops(store, loops);
    if (!sequential.empty()) return around_product(s, store, sequential);
    const Operand sum = s.operand(store.name, store.index, loops);
    Operand x = s.operand(a->name, a->index, loops);
    Operand y = s.operand(b->name, b->index, loops);
    // Columns of the accumulator are contiguous, and x is the factor that changes along its rows.
    for (size_t d = 0; d < loops.size(); d++) {
        const bool only_x = x.stride[d] && !y.stride[d];
        const bool only_y = y.stride[d] && !x.stride[d];
        if (sum.stride[d] == 1 ? only_x : sum.stride[d] && only_y) {
            std::swap(x, y);
            break;
        }
    }
    const auto [m, k, n] = roles_of(loops, sum, x, y, sequential);
    if (!sequential.empty()) return around_product(s, store, sequential);
    const auto extent = [&](const std::optional<size_t> &d) { return d ? loops[*d].extent : 1; };
    product(s.w, s.accumulators.at(store.name), matrix_of(x, m, k), matrix_of(y, k, n), extent(m),
            extent(k), extent(n), earlier);
    return {};
}

}  // namespace halyard::ascend

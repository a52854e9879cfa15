#include "dsl/ascend/lowering/sums.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "dsl/ascend/lowering/update.h"
#include "registry/base/error.h"

namespace halyard::ascend {
using namespace Halide::Internal;
namespace {

// Both factors, of f16; null where the term isn't their product.
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

}  // namespace

std::set<std::string> lower_sums(Surroundings &s, const std::vector<Loop> &loops,
                                 const Store &store, const dv::Expr &earlier) {
    if (is_const_zero(store.value)) return {};
    auto [a, b] = matrices_of(update_of(store));
    if (!a) {
        throw DispatchError("ascend",
                            s.w.where + ": the cube unit adds products of two f16 tensors");
    }
    std::set<std::string> alone = hard_loops(store, loops);
    if (!alone.empty()) return alone;
    const Operand to = s.operand(store.name, store.index, loops);
    Operand x = s.operand(a->name, a->index, loops);
    Operand y = s.operand(b->name, b->index, loops);
    std::optional<size_t> m, k, n;
    for (size_t d = 0; d < loops.size(); d++)
        if (to.stride[d] == 1 && x.stride[d] && !y.stride[d]) std::swap(x, y);
    for (size_t d = 0; d < loops.size(); d++) {
        const bool in_sum = to.stride[d];
        const bool in_x = x.stride[d];
        const bool in_y = y.stride[d];
        std::optional<size_t> none;
        std::optional<size_t> &role = in_sum && in_x && !in_y   ? m
                                      : in_sum && in_y && !in_x ? n
                                      : !in_sum && in_x && in_y ? k
                                                                : none;
        if (&role == &none)
            alone.insert(loops[d].var);
        else if (!role)
            role = d;
        else {
            const bool longer = loops[d].extent > loops[*role].extent;
            alone.insert(loops[longer ? *role : d].var);
            if (longer) role = d;
        }
    }
    if (!alone.empty()) return alone;
    const auto extent = [&](const std::optional<size_t> &d) { return d ? loops[*d].extent : 1; };
    const auto stride = [&](const Operand &o, const std::optional<size_t> &d) {
        return d ? o.stride[*d] : 0;
    };
    // Rows and columns as they lie: columns are what is beside each other.
    const auto matrix = [&](const Operand &o, const std::optional<size_t> &rows,
                            const std::optional<size_t> &columns) {
        const bool as_named = stride(o, columns) == 1 || (stride(o, rows) != 1 && !columns);
        return as_named
                   ? Matrix{o.ref, stride(o, rows), std::max<int64_t>(1, stride(o, columns)), false}
                   : Matrix{o.ref, stride(o, columns), std::max<int64_t>(1, stride(o, rows)), true};
    };
    product(s.w, s.accumulators.at(store.name), matrix(x, m, k), matrix(y, k, n), extent(m),
            extent(k), extent(n), earlier);
    return {};
}

}  // namespace halyard::ascend

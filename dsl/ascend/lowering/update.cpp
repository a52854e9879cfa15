#include "dsl/ascend/lowering/update.h"

#include <algorithm>

namespace halyard::ascend {
using namespace Halide;
using namespace Halide::Internal;
using dv::VecOp;

std::vector<const Load *> loads_of(const Expr &e) {
    struct : IRVisitor {
        using IRVisitor::visit;
        void visit(const Load *l) override {
            if (std::find(all.begin(), all.end(), l) == all.end()) all.push_back(l);
            IRVisitor::visit(l);
        }
        std::vector<const Load *> all;
    } found;
    e.accept(&found);
    return std::move(found.all);
}

std::set<std::string> read_by(const Store &s) {
    std::set<std::string> names;
    for (const Expr &e : {s.value, s.index}) {
        for (const Load *l : loads_of(e))
            names.insert(l->name);
    }
    return names;
}

std::set<std::string> hard_loops(const Store &s, const std::vector<Loop> &loops) {
    std::set<std::string> hard = affine(s.index, loops).hard;
    for (const Load *l : loads_of(s.value)) {
        hard.merge(affine(l->index, loops).hard);
        for (const Load *inner : loads_of(l->index)) {
            for (auto &loop : loops)
                if (expr_uses_var(inner->index, loop.var)) hard.insert(loop.var);
        }
    }
    return hard;
}

std::pair<Expr, Expr> factors_of(const Expr &e) {
    if (const auto *op = e.as<Mul>()) return {op->a, op->b};
    if (const auto *op = e.as<Call>(); op && op->is_intrinsic(Call::strict_mul))
        return {op->args[0], op->args[1]};
    return {};
}

Update update_of(const Store &s) {
    if (const Let *let = s.value.as<Let>()) {
        const Stmt inside = Store::make(s.name, let->body, s.index, s.param, s.predicate,
                                        s.alignment);
        Update u = update_of(*inside.as<Store>());
        if (u.term.defined()) u.term = Let::make(let->name, let->value, u.term);
        return u;
    }
    const auto is_acc = [&](const Expr &e) {
        const Load *l = e.as<Load>();
        return l && l->name == s.name && graph_equal(l->index, s.index);
    };
    const auto of = [&](VecOp op, const Expr &a, const Expr &b) {
        return is_acc(a) ? Update{op, b} : is_acc(b) ? Update{op, a} : Update{};
    };
    Update u;
    if (const auto *op = s.value.as<Add>()) u = of(VecOp::add, op->a, op->b);
    if (const auto *op = s.value.as<Mul>()) u = of(VecOp::mul, op->a, op->b);
    if (const auto *op = s.value.as<Max>()) u = of(VecOp::max, op->a, op->b);
    if (const auto *op = s.value.as<Min>()) u = of(VecOp::min, op->a, op->b);
    if (const auto *op = s.value.as<Call>()) {
        if (op->is_intrinsic(Call::strict_add)) u = of(VecOp::add, op->args[0], op->args[1]);
        if (op->is_intrinsic(Call::strict_mul)) u = of(VecOp::mul, op->args[0], op->args[1]);
        if (op->is_intrinsic(Call::strict_max)) u = of(VecOp::max, op->args[0], op->args[1]);
        if (op->is_intrinsic(Call::strict_min)) u = of(VecOp::min, op->args[0], op->args[1]);
    }
    if (u.term.defined()) {
        for (const Load *l : loads_of(u.term))
            if (l->name == s.name) return {};
    }
    return u;
}

}  // namespace halyard::ascend

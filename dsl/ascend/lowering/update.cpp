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

bool reads_reals(const Expr &e) {
    struct : IRVisitor {
        using IRVisitor::visit;
        void visit(const Load *l) override { reals |= l->type.is_float(); }
        bool reals = false;
    } found;
    e.accept(&found);
    return found.reals;
}

std::set<std::string> read_by(const Store &s) {
    std::set<std::string> names;
    for (const Expr &e : {s.value, s.index}) {
        for (const Load *l : loads_of(e))
            names.insert(l->name);
    }
    return names;
}

std::set<std::string> nonlinear_loops(const Store &s, const std::vector<Loop> &loops) {
    std::set<std::string> nonlinear = affine(s.index, loops).nonlinear;
    for (const Load *l : loads_of(s.value)) {
        nonlinear.merge(affine(l->index, loops).nonlinear);
        for (const Load *inner : loads_of(l->index)) {
            for (auto &loop : loops)
                if (expr_uses_var(inner->index, loop.var)) nonlinear.insert(loop.var);
        }
    }
    return nonlinear;
}

std::pair<Expr, Expr> factors_of(const Expr &e) {
    if (const auto *op = e.as<Mul>()) return {op->a, op->b};
    if (const auto *op = e.as<Call>(); op && op->is_intrinsic(Call::strict_mul))
        return {op->args[0], op->args[1]};
    return {};
}

namespace {

struct Operation {
    VecOp op = VecOp::add;
    Expr a, b;  // undefined for other expressions
};

Operation operation_of(const Expr &e) {
    static const std::pair<Call::IntrinsicOp, VecOp> strict[] = {{Call::strict_add, VecOp::add},
                                                                 {Call::strict_mul, VecOp::mul},
                                                                 {Call::strict_max, VecOp::max},
                                                                 {Call::strict_min, VecOp::min}};
    if (const auto *op = e.as<Add>()) return {VecOp::add, op->a, op->b};
    if (const auto *op = e.as<Mul>()) return {VecOp::mul, op->a, op->b};
    if (const auto *op = e.as<Max>()) return {VecOp::max, op->a, op->b};
    if (const auto *op = e.as<Min>()) return {VecOp::min, op->a, op->b};
    if (const auto *call = e.as<Call>()) {
        for (auto &[intrinsic, op] : strict)
            if (call->is_intrinsic(intrinsic)) return {op, call->args[0], call->args[1]};
    }
    return {};
}

}  // namespace

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
    const auto [op, a, b] = operation_of(s.value);
    const Expr term = is_acc(a) ? b : is_acc(b) ? a : Expr();
    if (!term.defined()) return {};
    for (const Load *l : loads_of(term))
        if (l->name == s.name) return {};
    return {op, term};
}

}  // namespace halyard::ascend

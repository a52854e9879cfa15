#include "dsl/ascend/nest.h"
#include "dsl/ascend/prove.h"
#include "registry/error.h"

namespace halyard::ascend {
using namespace Halide;
using namespace Halide::Internal;
using HExpr = Halide::Expr;

dv::Expr Surroundings::index(const HExpr &e) {
    const auto both = [&](const auto *op, auto f) { return f(index(op->a), index(op->b)); };
    if (const auto *op = e.as<IntImm>()) return op->value;
    if (const auto *op = e.as<UIntImm>()) return (int64_t)op->value;
    if (const auto *op = e.as<Variable>()) {
        const auto it = variables.find(op->name);
        if (it != variables.end()) return it->second;
    }
    if (const auto *op = e.as<Cast>(); op && op->type == UInt(32) && op->value.type().is_int()) return index(op->value) % ((int64_t)1 << 32);
    if (const auto *op = e.as<Cast>(); op && !op->value.type().is_float()) return index(op->value);
    if (const auto *op = e.as<Add>()) return both(op, [](auto a, auto b) { return a + b; });
    if (const auto *op = e.as<Sub>()) return both(op, [](auto a, auto b) { return a - b; });
    if (const auto *op = e.as<Mul>()) return both(op, [](auto a, auto b) { return a * b; });
    if (const auto *op = e.as<Div>(); op && as_const_int(op->b)) return both(op, [](auto a, auto b) { return a / b; });
    if (const auto *op = e.as<Mod>(); op && as_const_int(op->b)) return both(op, [](auto a, auto b) { return a % b; });
    if (const auto *op = e.as<Min>()) return both(op, [](auto a, auto b) { return min(a, b); });
    if (const auto *op = e.as<Max>()) return both(op, [](auto a, auto b) { return max(a, b); });
    if (const auto *op = e.as<LT>()) return both(op, [](auto a, auto b) { return a < b; });
    if (const auto *op = e.as<LE>()) return both(op, [](auto a, auto b) { return a <= b; });
    if (const auto *op = e.as<GT>()) return both(op, [](auto a, auto b) { return a > b; });
    if (const auto *op = e.as<GE>()) return both(op, [](auto a, auto b) { return a >= b; });
    if (const auto *op = e.as<EQ>()) return both(op, [](auto a, auto b) { return a == b; });
    if (const auto *op = e.as<NE>()) return both(op, [](auto a, auto b) { return a != b; });
    if (const auto *op = e.as<And>()) return both(op, [](auto a, auto b) { return a && b; });
    if (const auto *op = e.as<Or>()) return both(op, [](auto a, auto b) { return a || b; });
    if (const auto *op = e.as<Not>()) return index(op->a) == 0;
    if (const auto *op = e.as<Select>(); op && !e.type().is_float()) {
        const dv::Expr yes = index(op->condition);
        return yes * index(op->true_value) + (dv::Expr(1) - yes) * index(op->false_value);
    }
    if (const auto *op = e.as<Call>(); op && op->is_intrinsic({Call::likely, Call::likely_if_innermost})) return index(op->args[0]);
    if (const auto *op = e.as<Load>(); op && !e.type().is_float()) {
        dv::Ref from = buffers.at(op->name);
        from.offset = from.offset + index(op->index);
        const std::string reg = w.reg("i");
        if (scope(from) == dv::Scope::gm) {
            const int64_t unit = dv::c0(from.dtype);
            const dv::Ref block = w.temporary(from.dtype, unit);
            w.put(dv::Dma{block, from, 1, 1, 0, 0});
            w.put(dv::ScalarLd{reg, block});
            w.give_back(block);
        } else {
            w.put(dv::ScalarLd{reg, from});
        }
        return dv::Expr::var(reg);
    }
    std::ostringstream text;
    text << e;
    throw DispatchError("ascend", w.where + ": no index for the scalar unit: " + text.str());
}

Operand Surroundings::operand(const std::string &buffer, const HExpr &at, const std::vector<Loop> &loops) {
    const Affine a = affine(at, loops);
    prove(at, loops, a, bounds);
    dv::Ref r = buffers.at(buffer);
    r.offset = r.offset + index(a.base);
    return {r, a.stride, scope(r)};
}

}  // namespace halyard::ascend

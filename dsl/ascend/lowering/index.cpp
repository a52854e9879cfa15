#include <bit>

#include "dsl/ascend/lowering/lowering_context.h"
#include "dsl/ascend/lowering/prove.h"
#include "registry/base/error.h"

namespace halyard::ascend {
using namespace Halide;
using namespace Halide::Internal;
using HExpr = Halide::Expr;

namespace {

constexpr int64_t words = int64_t(1) << 32;

// Wraps `value` to the range of `t`: registers have 64 bits.
dv::Expr wrapped(const dv::Expr &value, const Type &t) {
    if (t.bits() >= 64 || t.bits() == 1) return value;
    const int64_t values = int64_t(1) << t.bits();
    const int64_t half = t.is_int() ? values / 2 : 0;
    return half ? (value + half) % values - half : value % values;
}
// Indices never leave i32. Other sums and products may leave their type.
dv::Expr of_type(const dv::Expr &value, const Type &t) {
    return t == Int(32) ? value : wrapped(value, t);
}

// Returns true if the last operation of `e` shows that it is less than 2^31.
bool is_small(const HExpr &e) {
    if (const auto n = as_const_uint(e)) return *n < uint64_t(words) / 2;
    if (const auto *op = e.as<Min>()) return is_small(op->a) || is_small(op->b);
    if (const auto *op = e.as<Div>()) return as_const_uint(op->b).value_or(0) > 1;
    if (const auto *op = e.as<Mod>()) return is_small(op->b);
    if (const auto *op = e.as<Cast>())
        return op->value.type().is_uint() && op->value.type().bits() < 32;
    const Call *c = e.as<Call>();
    if (c && c->is_intrinsic(Call::shift_right)) return as_const_uint(c->args[1]).value_or(0) > 0;
    return c && c->is_intrinsic(Call::bitwise_and) &&
           (is_small(c->args[0]) || is_small(c->args[1]));
}

// Registers are signed: an unsigned integer of 64 bits has the right bits there, but not its order.
bool has_order(const Type &t) {
    return t.bits() < 64 || t.is_int();
}

}  // namespace

dv::Expr LoweringContext::named(const dv::Expr &value) {
    if (value.constant() || value.op() == dv::ExprOp::var) return value;
    const std::string reg = w.reg("i");
    w.emit(dv::Set{reg, value});
    return dv::Expr::var(reg);
}

// Halide's division leaves no negative remainder. A division by 0 gives 0 and leaves 0.
dv::Expr LoweringContext::divided(const HExpr &a, const HExpr &b, bool rest) {
    if (const auto n = as_const_int(b); n && *n > 0) return rest ? index(a) % *n : index(a) / *n;
    if (const auto n = as_const_uint(b); n && *n > 0 && *n < uint64_t(words))
        return rest ? index(a) % int64_t(*n) : index(a) / int64_t(*n);
    const dv::Expr x = named(index(a));
    const dv::Expr y = named(index(b));
    const dv::Expr left = named(x % (max(y, 0 - y) + (y == 0)));
    return rest ? left : (x - left) / (y + (y == 0)) * (y != 0);
}

// Halide leaves shifts by a negative number of bits, or by all bits of the type, undefined.
dv::Expr LoweringContext::shifted(const Call *c) {
    const bool left = c->is_intrinsic(Call::shift_left);
    if (const auto bits = as_const_int(cast(Int(64), c->args[1]));
        bits && *bits >= 0 && *bits < 63) {
        const int64_t by = int64_t(1) << *bits;
        const dv::Expr value = index(c->args[0]);
        if (left) return of_type(value * by, c->type);
        const dv::Expr moved = value / by;
        return has_order(c->type) || *bits == 0 ? moved : moved % (int64_t(1) << (64 - *bits));
    }
    if (c->type.bits() > 32)
        throw DispatchError("ascend", w.stage + ": no shift of 64 bits by a number of an element");
    // Computes 2^n from the bits of n, 0 <= n < 32.
    const dv::Expr n = named(index(c->args[1]));
    dv::Expr power = 1;
    for (int bit = 0; bit < 5; bit++) {
        const int64_t times = (int64_t(1) << (1 << bit)) - 1;
        power = named(power * (n / (1 << bit) % 2 * times + 1));
    }
    return left ? wrapped(index(c->args[0]) * power, c->type) : index(c->args[0]) / power;
}

// Unsigned integers of 64 bits are divided by powers of two alone.
dv::Expr LoweringContext::quotient(const Div *op) {
    if (has_order(op->type) && !op->type.is_float()) return divided(op->a, op->b, false);
    const uint64_t by = has_order(op->type) ? 0 : as_const_uint(op->b).value_or(0);
    if (by < 4 || !std::has_single_bit(by) || by >= uint64_t(1) << 62) refuse_index(op);
    return index(op->a) / int64_t(by) % int64_t(uint64_t(1) << (64 - std::countr_zero(by)));
}

dv::Expr LoweringContext::converted(const Cast *op) {
    const Type from = op->value.type();
    if (from.is_float()) refuse_index(op);
    if (op->type == UInt(32) && (from.is_int() || from.bits() > 32))
        return index(op->value) % words;
    const bool may_wrap = op->type == Int(32) && from == UInt(32) && !is_small(op->value);
    const bool narrows = op->type.bits() < from.bits() && op->type.bits() > 1;
    return may_wrap || narrows ? wrapped(index(op->value), op->type) : index(op->value);
}

dv::Expr LoweringContext::call(const Call *op) {
    const auto bits = [&](auto f) { return f(index(op->args[0]), index(op->args[1])); };
    if (op->type.is_float()) refuse_index(op);
    if (op->is_intrinsic({Call::likely, Call::likely_if_innermost})) return index(op->args[0]);
    if (op->is_intrinsic(Call::bitwise_and))
        return bits([](auto a, auto b) { return dv::bit_and(a, b); });
    if (op->is_intrinsic(Call::bitwise_or))
        return bits([](auto a, auto b) { return dv::bit_or(a, b); });
    if (op->is_intrinsic(Call::bitwise_xor))
        return bits([](auto a, auto b) { return dv::bit_xor(a, b); });
    if (op->is_intrinsic(Call::bitwise_not)) return of_type(-1 - index(op->args[0]), op->type);
    if (op->is_intrinsic({Call::shift_left, Call::shift_right})) return shifted(op);
    refuse_index(op);
}

// An element of global memory is loaded by way of a block on the chip.
dv::Expr LoweringContext::load(const Load *op) {
    if (op->type.is_float()) refuse_index(op);
    dv::Ref from = buffers.at(op->name);
    from.offset = from.offset + index(op->index);
    const std::string reg = w.reg("i");
    if (scope(from) == dv::Scope::gm) {
        const int64_t unit = dv::c0(from.dtype);
        const dv::Ref block = w.temporary(from.dtype, unit);
        w.emit(dv::Dma{block, from, 1, 1, 0, 0});
        w.emit(dv::ScalarLd{reg, block});
        w.give_back(block);
    } else {
        w.emit(dv::ScalarLd{reg, from});
    }
    return dv::Expr::var(reg);
}

dv::Expr LoweringContext::let(const Let *op) {
    if (op->value.type().is_float()) refuse_index(op);
    variables[op->name] = named(index(op->value));
    const dv::Expr result = index(op->body);
    variables.erase(op->name);
    return result;
}

dv::Expr LoweringContext::choice(const Select *op) {
    if (op->type.is_float()) refuse_index(op);
    const dv::Expr yes = index(op->condition);
    return yes * index(op->true_value) + (dv::Expr(1) - yes) * index(op->false_value);
}

void LoweringContext::refuse_index(const HExpr &e) const {
    std::ostringstream text;
    text << e;
    throw DispatchError("ascend", w.stage + ": no index for the scalar unit: " + text.str());
}

dv::Expr LoweringContext::index(const HExpr &e) {
    const auto both = [&](const auto *op, auto f) { return f(index(op->a), index(op->b)); };
    const auto wrapping = [&](const auto *op, auto f) { return of_type(both(op, f), e.type()); };
    const auto ordered = [&](const auto *op, auto f) {
        if (!has_order(op->a.type())) refuse_index(e);
        return both(op, f);
    };
    switch (e.node_type()) {
    case IRNodeType::IntImm: return e.as<IntImm>()->value;
    case IRNodeType::UIntImm: return int64_t(e.as<UIntImm>()->value);
    case IRNodeType::Variable:
        if (const auto it = variables.find(e.as<Variable>()->name); it != variables.end())
            return it->second;
        refuse_index(e);
    case IRNodeType::Let: return let(e.as<Let>());
    case IRNodeType::Cast: return converted(e.as<Cast>());
    case IRNodeType::Add: return wrapping(e.as<Add>(), [](auto a, auto b) { return a + b; });
    case IRNodeType::Sub: return wrapping(e.as<Sub>(), [](auto a, auto b) { return a - b; });
    case IRNodeType::Mul: return wrapping(e.as<Mul>(), [](auto a, auto b) { return a * b; });
    case IRNodeType::Div: return quotient(e.as<Div>());
    case IRNodeType::Mod:
        if (!has_order(e.type()) || e.type().is_float()) refuse_index(e);
        return divided(e.as<Mod>()->a, e.as<Mod>()->b, true);
    case IRNodeType::Min: return ordered(e.as<Min>(), [](auto a, auto b) { return min(a, b); });
    case IRNodeType::Max: return ordered(e.as<Max>(), [](auto a, auto b) { return max(a, b); });
    case IRNodeType::LT: return ordered(e.as<LT>(), [](auto a, auto b) { return a < b; });
    case IRNodeType::LE: return ordered(e.as<LE>(), [](auto a, auto b) { return a <= b; });
    case IRNodeType::GT: return ordered(e.as<GT>(), [](auto a, auto b) { return a > b; });
    case IRNodeType::GE: return ordered(e.as<GE>(), [](auto a, auto b) { return a >= b; });
    case IRNodeType::EQ: return both(e.as<EQ>(), [](auto a, auto b) { return a == b; });
    case IRNodeType::NE: return both(e.as<NE>(), [](auto a, auto b) { return a != b; });
    case IRNodeType::And: return both(e.as<And>(), [](auto a, auto b) { return a && b; });
    case IRNodeType::Or: return both(e.as<Or>(), [](auto a, auto b) { return a || b; });
    case IRNodeType::Not: return index(e.as<Not>()->a) == 0;
    case IRNodeType::Select: return choice(e.as<Select>());
    case IRNodeType::Call: return call(e.as<Call>());
    case IRNodeType::Load: return load(e.as<Load>());
    default: refuse_index(e);
    }
}

Operand LoweringContext::operand(const std::string &buffer, const HExpr &at,
                                 const std::vector<Loop> &loops) {
    const Affine a = affine(at, loops);
    prove(at, loops, a, bounds);
    dv::Ref r = buffers.at(buffer);
    r.offset = r.offset + index(a.base);
    return {r, a.stride, scope(r)};
}

}  // namespace halyard::ascend

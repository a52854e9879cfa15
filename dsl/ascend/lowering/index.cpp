#include <bit>

#include "dsl/ascend/lowering/nest.h"
#include "dsl/ascend/lowering/prove.h"
#include "registry/base/error.h"

namespace halyard::ascend {
using namespace Halide;
using namespace Halide::Internal;
using HExpr = Halide::Expr;

namespace {

constexpr int64_t words = int64_t(1) << 32;

// Registers have more bits than the integers that wrap in them.
dv::Expr wrapped(const dv::Expr &value, const Type &t) {
    if (t.bits() >= 64 || t.bits() == 1) return value;
    const int64_t values = int64_t(1) << t.bits();
    const int64_t half = t.is_int() ? values / 2 : 0;
    return half ? (value + half) % values - half : value % values;
}
// Indices never leave i32, other sums and products may leave their type.
dv::Expr of_type(const dv::Expr &value, const Type &t) {
    return t == Int(32) ? value : wrapped(value, t);
}

// Is it less than 2^31, as far as its last operation says?
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

// Registers are signed: of 64 bits without a sign only the bits are right.
bool has_order(const Type &t) {
    return t.bits() < 64 || t.is_int();
}

}  // namespace

dv::Expr Surroundings::named(const dv::Expr &value) {
    if (value.constant() || value.op() == dv::ExprOp::var) return value;
    const std::string reg = w.reg("i");
    w.put(dv::Set{reg, value});
    return dv::Expr::var(reg);
}

// Of Halide's division: what is left is never negative, and by 0 both are 0.
dv::Expr Surroundings::divided(const HExpr &a, const HExpr &b, bool rest) {
    if (const auto n = as_const_int(b); n && *n > 0) return rest ? index(a) % *n : index(a) / *n;
    if (const auto n = as_const_uint(b); n && *n > 0 && *n < uint64_t(words))
        return rest ? index(a) % int64_t(*n) : index(a) / int64_t(*n);
    const dv::Expr x = named(index(a));
    const dv::Expr y = named(index(b));
    const dv::Expr left = named(x % (max(y, 0 - y) + (y == 0)));
    return rest ? left : (x - left) / (y + (y == 0)) * (y != 0);
}

// By as many bits as the type has, or fewer than none, Halide's shifts say nothing; no op asks for
// them.
dv::Expr Surroundings::shifted(const Call *c) {
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
        throw DispatchError("ascend", w.where + ": no shift of 64 bits by a number of an element");
    // 2^n from its bits: n is one of 0..31.
    const dv::Expr n = named(index(c->args[1]));
    dv::Expr power = 1;
    for (int bit = 0; bit < 5; bit++) {
        const int64_t times = (int64_t(1) << (1 << bit)) - 1;
        power = named(power * (n / (1 << bit) % 2 * times + 1));
    }
    return left ? wrapped(index(c->args[0]) * power, c->type) : index(c->args[0]) / power;
}

dv::Expr Surroundings::index(const HExpr &e) {
    const auto both = [&](const auto *op, auto f) { return f(index(op->a), index(op->b)); };
    const auto wraps = [&](const auto *op, auto f) { return of_type(both(op, f), e.type()); };
    const auto ordered = [&](const auto *op) { return has_order(op->a.type()); };
    if (const auto *op = e.as<IntImm>()) return op->value;
    if (const auto *op = e.as<UIntImm>()) return int64_t(op->value);
    if (const auto *op = e.as<Variable>()) {
        const auto it = variables.find(op->name);
        if (it != variables.end()) return it->second;
    }
    if (const auto *op = e.as<Let>(); op && !op->value.type().is_float()) {
        variables[op->name] = named(index(op->value));
        const dv::Expr result = index(op->body);
        variables.erase(op->name);
        return result;
    }
    if (const auto *op = e.as<Cast>();
        op && op->type == UInt(32) && (op->value.type().is_int() || op->value.type().bits() > 32))
        return index(op->value) % words;
    if (const auto *op = e.as<Cast>();
        op && op->type == Int(32) && op->value.type() == UInt(32) && !is_small(op->value))
        return wrapped(index(op->value), op->type);
    if (const auto *op = e.as<Cast>(); op && !op->value.type().is_float() &&
                                       op->type.bits() < op->value.type().bits() &&
                                       op->type.bits() > 1)
        return wrapped(index(op->value), op->type);
    if (const auto *op = e.as<Cast>(); op && !op->value.type().is_float()) return index(op->value);
    if (const auto *op = e.as<Add>()) return wraps(op, [](auto a, auto b) { return a + b; });
    if (const auto *op = e.as<Sub>()) return wraps(op, [](auto a, auto b) { return a - b; });
    if (const auto *op = e.as<Mul>()) return wraps(op, [](auto a, auto b) { return a * b; });
    if (const auto *op = e.as<Div>(); op && !ordered(op)) {
        if (const uint64_t by = as_const_uint(op->b).value_or(0);
            by >= 4 && std::has_single_bit(by) && by < uint64_t(1) << 62)
            return index(op->a) / int64_t(by) % int64_t(uint64_t(1) << (64 - std::countr_zero(by)));
    }
    if (const auto *op = e.as<Div>(); op && ordered(op) && !e.type().is_float())
        return divided(op->a, op->b, false);
    if (const auto *op = e.as<Mod>(); op && ordered(op) && !e.type().is_float())
        return divided(op->a, op->b, true);
    if (const auto *op = e.as<Min>(); op && ordered(op))
        return both(op, [](auto a, auto b) { return min(a, b); });
    if (const auto *op = e.as<Max>(); op && ordered(op))
        return both(op, [](auto a, auto b) { return max(a, b); });
    if (const auto *op = e.as<LT>(); op && ordered(op))
        return both(op, [](auto a, auto b) { return a < b; });
    if (const auto *op = e.as<LE>(); op && ordered(op))
        return both(op, [](auto a, auto b) { return a <= b; });
    if (const auto *op = e.as<GT>(); op && ordered(op))
        return both(op, [](auto a, auto b) { return a > b; });
    if (const auto *op = e.as<GE>(); op && ordered(op))
        return both(op, [](auto a, auto b) { return a >= b; });
    if (const auto *op = e.as<EQ>()) return both(op, [](auto a, auto b) { return a == b; });
    if (const auto *op = e.as<NE>()) return both(op, [](auto a, auto b) { return a != b; });
    if (const auto *op = e.as<And>()) return both(op, [](auto a, auto b) { return a && b; });
    if (const auto *op = e.as<Or>()) return both(op, [](auto a, auto b) { return a || b; });
    if (const auto *op = e.as<Not>()) return index(op->a) == 0;
    if (const auto *op = e.as<Select>(); op && !e.type().is_float()) {
        const dv::Expr yes = index(op->condition);
        return yes * index(op->true_value) + (dv::Expr(1) - yes) * index(op->false_value);
    }
    if (const auto *op = e.as<Call>(); op && !e.type().is_float()) {
        const auto bits = [&](auto f) { return f(index(op->args[0]), index(op->args[1])); };
        if (op->is_intrinsic({Call::likely, Call::likely_if_innermost})) return index(op->args[0]);
        if (op->is_intrinsic(Call::bitwise_and))
            return bits([](auto a, auto b) { return dv::bit_and(a, b); });
        if (op->is_intrinsic(Call::bitwise_or))
            return bits([](auto a, auto b) { return dv::bit_or(a, b); });
        if (op->is_intrinsic(Call::bitwise_xor))
            return bits([](auto a, auto b) { return dv::bit_xor(a, b); });
        if (op->is_intrinsic(Call::bitwise_not)) return of_type(-1 - index(op->args[0]), e.type());
        if (op->is_intrinsic({Call::shift_left, Call::shift_right})) return shifted(op);
    }
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

Operand Surroundings::operand(const std::string &buffer, const HExpr &at,
                              const std::vector<Loop> &loops) {
    const Affine a = affine(at, loops);
    prove(at, loops, a, bounds);
    dv::Ref r = buffers.at(buffer);
    r.offset = r.offset + index(a.base);
    return {r, a.stride, scope(r)};
}

}  // namespace halyard::ascend

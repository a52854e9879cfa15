#include "dsl/evaluate_code.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "dsl/evaluate.h"

namespace halyard::evaluation {
using namespace Halide::Internal;
using Halide::Expr;
using Halide::Type;

namespace {

bool is_float(halide_type_t t) {
    return t.code == halide_type_float;
}
bool is_unsigned(halide_type_t t) {
    return t.code == halide_type_uint;
}

int64_t kept(int64_t v, halide_type_t t) {
    switch (t.bits) {
    case 1: return v & 1;
    case 8: return is_unsigned(t) ? int64_t(uint8_t(v)) : int64_t(int8_t(v));
    case 16: return is_unsigned(t) ? int64_t(uint16_t(v)) : int64_t(int16_t(v));
    case 32: return is_unsigned(t) ? int64_t(uint32_t(v)) : int64_t(int32_t(v));
    default: return v;
    }
}

// Division rounds so that the remainder isn't negative, and by 0 gives 0.
int64_t quotient(int64_t a, int64_t b, halide_type_t t) {
    if (b == 0) return 0;
    if (is_unsigned(t)) return int64_t(uint64_t(a) / uint64_t(b));
    if (b == -1) return int64_t(0 - uint64_t(a));
    const int64_t q = a / b;
    const int64_t r = a % b;
    return r >= 0 ? q : b > 0 ? q - 1 : q + 1;
}
int64_t remainder(int64_t a, int64_t b, halide_type_t t) {
    if (b == 0 || b == -1) return 0;
    if (is_unsigned(t)) return int64_t(uint64_t(a) % uint64_t(b));
    const int64_t r = a % b;
    return r >= 0 ? r : b > 0 ? r + b : r - b;
}

int64_t shifted_left(int64_t a, int64_t by, halide_type_t t);
int64_t shifted_right(int64_t a, int64_t by, halide_type_t t) {
    if (by < 0) return shifted_left(a, -by, t);
    if (by > 63) return is_unsigned(t) || a >= 0 ? 0 : -1;
    return is_unsigned(t) ? int64_t(uint64_t(a) >> by) : a >> by;
}
int64_t shifted_left(int64_t a, int64_t by, halide_type_t t) {
    if (by < 0) return shifted_right(a, -by, t);
    return by > 63 ? 0 : int64_t(uint64_t(a) << by);
}

bool is_less(Value a, Value b, halide_type_t t) {
    if (is_float(t)) return a.f < b.f;
    return is_unsigned(t) ? uint64_t(a.i) < uint64_t(b.i) : a.i < b.i;
}

double float_of(Kind kind, double a, double b) {
    switch (kind) {
    case Kind::add: return a + b;
    case Kind::sub: return a - b;
    case Kind::mul: return a * b;
    case Kind::div: return a / b;
    case Kind::absolute: return std::fabs(a);
    case Kind::floor: return std::floor(a);
    default: throw UnsupportedDefinition("evaluate", "no such operator of floats");
    }
}

int64_t integer_of(const Node &n, int64_t a, int64_t b) {
    switch (n.kind) {
    case Kind::add: return int64_t(uint64_t(a) + uint64_t(b));
    case Kind::sub: return int64_t(uint64_t(a) - uint64_t(b));
    case Kind::mul: return int64_t(uint64_t(a) * uint64_t(b));
    case Kind::div: return quotient(a, b, n.operand);
    case Kind::mod: return remainder(a, b, n.operand);
    case Kind::bit_and: return a & b;
    case Kind::bit_or: return a | b;
    case Kind::bit_xor: return a ^ b;
    case Kind::bit_not: return ~a;
    case Kind::shift_left: return shifted_left(a, b, n.operand);
    case Kind::shift_right: return shifted_right(a, b, n.operand);
    case Kind::absolute: return a < 0 && !is_unsigned(n.operand) ? int64_t(0 - uint64_t(a)) : a;
    case Kind::difference:
        return is_less({.i = a}, {.i = b}, n.operand)
                   ? int64_t(uint64_t(b) - uint64_t(a))
                   : int64_t(static_cast<uint64_t>(a) - uint64_t(b));
    default: throw UnsupportedDefinition("evaluate", "no such operator of integers");
    }
}

[[noreturn]] void unknown(const std::string &what) {
    throw UnsupportedDefinition("evaluate", "doesn't know " + what);
}

}  // namespace

Value wrapped(Value v, halide_type_t t) {
    if (is_float(t)) return {.f = t.bits == 32 ? double(float(v.f)) : v.f};
    return {.i = kept(v.i, t)};
}

Value computed(const Node &n, Value a, Value b) {
    switch (n.kind) {
    case Kind::equal: return {.i = is_float(n.operand) ? a.f == b.f : a.i == b.i};
    case Kind::less: return {.i = is_less(a, b, n.operand)};
    case Kind::min: return is_less(b, a, n.operand) ? b : a;
    case Kind::max: return is_less(a, b, n.operand) ? b : a;
    case Kind::negate: return {.i = !a.i};
    case Kind::cast: return converted(a, n.operand, n.type);
    case Kind::reinterpret:
        if (is_float(n.operand) == is_float(n.type)) return wrapped(a, n.type);
        if (n.type.bits != 64) unknown("a reinterpretation of 32 bits");
        return is_float(n.type) ? Value{.f = std::bit_cast<double>(a.i)}
                                : Value{.i = std::bit_cast<int64_t>(a.f)};
    default: break;
    }
    if (is_float(n.operand)) return wrapped({.f = float_of(n.kind, a.f, b.f)}, n.type);
    return wrapped({.i = integer_of(n, a.i, b.i)}, n.type);
}

Value converted(Value v, halide_type_t from, halide_type_t to) {
    if (is_float(from) && is_float(to)) return wrapped(v, to);
    if (is_float(to))
        return wrapped({.f = is_unsigned(from) ? double(uint64_t(v.i)) : double(v.i)}, to);
    // past what the type has, machines differ: none of what is checked may depend on it
    if (is_float(from)) {
        if (!(std::fabs(v.f) < 9.2e18)) return {.i = 0};
        return {.i = kept(int64_t(v.f), to)};
    }
    return {.i = kept(v.i, to)};  // of a bool the lowest bit, as Halide has it
}

Value loaded(const void *at, halide_type_t t) {
    const auto integer = [&]<class T>(T v) {
        std::memcpy(&v, at, sizeof v);
        return Value{.i = int64_t(v)};
    };
    const bool u = is_unsigned(t);
    if (is_float(t)) {
        if (t.bits == 64) return Value{.f = std::bit_cast<double>(integer(int64_t()).i)};
        if (t.bits != 32) unknown("floats of 16 bits");
        return Value{.f = double(std::bit_cast<float>(int32_t(integer(int32_t()).i)))};
    }
    switch (t.bytes()) {
    case 1: return u ? integer(uint8_t()) : integer(int8_t());
    case 2: return u ? integer(uint16_t()) : integer(int16_t());
    case 4: return u ? integer(uint32_t()) : integer(int32_t());
    default: return integer(int64_t());
    }
}

void stored(void *at, halide_type_t t, Value v) {
    if (is_float(t)) {
        if (t.bits == 64) std::memcpy(at, &v.f, 8);
        if (t.bits == 32) {
            const auto f = float(v.f);
            std::memcpy(at, &f, 4);
        }
        if (t.bits < 32) unknown("floats of 16 bits");
        return;
    }
    std::memcpy(at, &v.i, size_t(t.bytes()));  // the lowest bytes come first
}

int Code::add(const Expr &e) {
    alive_.push_back(e);
    return compiled(e);
}

int Code::put(Kind kind, const Type &t, const std::vector<Expr> &args) {
    Node n;
    n.kind = kind;
    n.type = t;
    n.operand = args.empty() ? n.type : (halide_type_t)args[0].type();
    std::vector<int> operands;
    for (const Expr &a : args)
        operands.push_back(compiled(a));
    if (kind == Kind::load || kind == Kind::read || kind == Kind::read_self)
        n.places = operands;
    else
        std::copy_n(operands.begin(), std::min(operands.size(), n.args.size()), n.args.begin());
    nodes.push_back(n);
    return int(nodes.size()) - 1;
}

int Code::intrinsic(const Call *c) {
    struct Known {
        Call::IntrinsicOp op;
        Kind kind;
    };
    static const Known known[] = {
        {Call::bitwise_and, Kind::bit_and},   {Call::bitwise_or, Kind::bit_or},
        {Call::bitwise_xor, Kind::bit_xor},   {Call::bitwise_not, Kind::bit_not},
        {Call::shift_left, Kind::shift_left}, {Call::shift_right, Kind::shift_right},
        {Call::abs, Kind::absolute},          {Call::absd, Kind::difference},
    };
    if (c->is_intrinsic({Call::likely, Call::likely_if_innermost, Call::promise_clamped,
                         Call::unsafe_promise_clamped}))
        return compiled(c->args[0]);
    if (c->is_intrinsic(Call::if_then_else) && c->args.size() == 3)
        return put(Kind::choose, c->type, c->args);
    for (const Known &k : known)
        if (c->is_intrinsic(k.op)) return put(k.kind, c->type, c->args);
    unknown("the intrinsic " + c->name);
}

int Code::call(const Call *c) {
    if (c->call_type == Call::Halide) {
        const int at = put(c->name == names_.self ? Kind::read_self : Kind::read, c->type, c->args);
        if (nodes[size_t(at)].kind == Kind::read) nodes[size_t(at)].index = names_.func(c);
        nodes[size_t(at)].component = c->value_index;
        return at;
    }
    if (c->call_type == Call::Image) {
        const int at = put(Kind::load, c->type, c->args);
        nodes[size_t(at)].index = names_.input(c->name);
        return at;
    }
    if (c->is_intrinsic()) return intrinsic(c);
    if (c->name == "floor_f64" || c->name == "floor_f32") return put(Kind::floor, c->type, c->args);
    unknown("the function " + c->name);
}

int Code::compiled(const Expr &e) {
    const auto [found, is_new] = done_.emplace(e.get(), 0);
    if (!is_new) return found->second;
    const auto of = [&](Kind kind, const auto *op) { return put(kind, e.type(), {op->a, op->b}); };
    const auto swapped = [&](Kind kind, const auto *op) {
        return put(kind, e.type(), {op->b, op->a});
    };
    const auto negated = [&](int at) {
        Node n;
        n.kind = Kind::negate;
        n.type = n.operand = e.type();
        n.args[0] = at;
        nodes.push_back(n);
        return int(nodes.size()) - 1;
    };
    const auto constant = [&](Value v) {
        const int at = put(Kind::constant, e.type(), {});
        nodes[size_t(at)].value = v;
        return at;
    };
    const auto compile = [&]() -> int {
        if (!e.type().is_scalar()) unknown("vectors");
        if (const auto *op = e.as<IntImm>()) return constant({.i = op->value});
        if (const auto *op = e.as<UIntImm>()) return constant({.i = int64_t(op->value)});
        if (const auto *op = e.as<FloatImm>()) return constant({.f = op->value});
        if (const auto *op = e.as<Cast>()) return put(Kind::cast, e.type(), {op->value});
        if (const auto *op = e.as<Reinterpret>())
            return put(Kind::reinterpret, e.type(), {op->value});
        if (const auto *op = e.as<Add>()) return of(Kind::add, op);
        if (const auto *op = e.as<Sub>()) return of(Kind::sub, op);
        if (const auto *op = e.as<Mul>()) return of(Kind::mul, op);
        if (const auto *op = e.as<Div>()) return of(Kind::div, op);
        if (const auto *op = e.as<Mod>()) return of(Kind::mod, op);
        if (const auto *op = e.as<Min>()) return of(Kind::min, op);
        if (const auto *op = e.as<Max>()) return of(Kind::max, op);
        if (const auto *op = e.as<EQ>()) return of(Kind::equal, op);
        if (const auto *op = e.as<NE>()) return negated(of(Kind::equal, op));
        if (const auto *op = e.as<LT>()) return of(Kind::less, op);
        if (const auto *op = e.as<GT>()) return swapped(Kind::less, op);
        if (const auto *op = e.as<LE>()) return negated(swapped(Kind::less, op));
        if (const auto *op = e.as<GE>()) return negated(of(Kind::less, op));
        if (const auto *op = e.as<And>()) return of(Kind::both, op);
        if (const auto *op = e.as<Or>()) return of(Kind::either, op);
        if (const auto *op = e.as<Not>()) return put(Kind::negate, e.type(), {op->a});
        if (const auto *op = e.as<Select>())
            return put(Kind::choose, e.type(), {op->condition, op->true_value, op->false_value});
        if (const auto *op = e.as<Call>()) return call(op);
        if (const auto *op = e.as<Let>()) {
            const int slot = slots_++;
            names_.slots[op->name] = slot;
            const int at = put(Kind::let, e.type(), {op->value, op->body});
            nodes[size_t(at)].index = slot;
            return at;
        }
        if (const auto *op = e.as<Variable>()) {
            const auto slot = names_.slots.find(op->name);
            const int at = put(slot == names_.slots.end() ? Kind::argument : Kind::slot, e.type(),
                               {});
            nodes[size_t(at)].index = slot == names_.slots.end()
                                          ? names_.argument(op->name, op->type)
                                          : slot->second;
            return at;
        }
        unknown("this kind of expression");
    };
    const int at = compile();
    done_[e.get()] = at;
    return at;
}

}  // namespace halyard::evaluation

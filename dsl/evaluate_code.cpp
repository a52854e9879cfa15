#include "dsl/evaluate_code.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

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

int64_t wrap_integer(int64_t v, halide_type_t t) {
    switch (t.bits) {
    case 1: return v & 1;
    case 8: return is_unsigned(t) ? int64_t(uint8_t(v)) : int64_t(int8_t(v));
    case 16: return is_unsigned(t) ? int64_t(uint16_t(v)) : int64_t(int16_t(v));
    case 32: return is_unsigned(t) ? int64_t(uint32_t(v)) : int64_t(int32_t(v));
    default: return v;
    }
}

// Division is Halide's: the remainder is never negative, and division by 0 gives 0.
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

int64_t shift_left(int64_t a, int64_t by, halide_type_t t);
int64_t shift_right(int64_t a, int64_t by, halide_type_t t) {
    if (by < 0) return shift_left(a, -by, t);
    if (by > 63) return is_unsigned(t) || a >= 0 ? 0 : -1;
    return is_unsigned(t) ? int64_t(uint64_t(a) >> by) : a >> by;
}
int64_t shift_left(int64_t a, int64_t by, halide_type_t t) {
    if (by < 0) return shift_right(a, -by, t);
    return by > 63 ? 0 : int64_t(uint64_t(a) << by);
}

bool is_less(Value a, Value b, halide_type_t t) {
    if (is_float(t)) return a.f < b.f;
    return is_unsigned(t) ? uint64_t(a.i) < uint64_t(b.i) : a.i < b.i;
}

double apply_to_floats(Kind kind, double a, double b) {
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

int64_t apply_to_integers(const Node &n, int64_t a, int64_t b) {
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
    case Kind::shift_left: return shift_left(a, b, n.operand);
    case Kind::shift_right: return shift_right(a, b, n.operand);
    case Kind::absolute: return a < 0 && !is_unsigned(n.operand) ? int64_t(0 - uint64_t(a)) : a;
    case Kind::difference:
        return is_less({.i = a}, {.i = b}, n.operand) ? int64_t(uint64_t(b) - uint64_t(a))
                                                      : int64_t(uint64_t(a) - uint64_t(b));
    default: throw UnsupportedDefinition("evaluate", "no such operator of integers");
    }
}

[[noreturn]] void unsupported(const std::string &what) {
    throw UnsupportedDefinition("evaluate", "doesn't support " + what);
}

}  // namespace

Value wrap(Value v, halide_type_t t) {
    if (is_float(t)) return {.f = t.bits == 32 ? double(float(v.f)) : v.f};
    return {.i = wrap_integer(v.i, t)};
}

Value apply(const Node &n, Value a, Value b) {
    switch (n.kind) {
    case Kind::equal: return {.i = is_float(n.operand) ? a.f == b.f : a.i == b.i};
    case Kind::less: return {.i = is_less(a, b, n.operand)};
    case Kind::min: return is_less(b, a, n.operand) ? b : a;
    case Kind::max: return is_less(a, b, n.operand) ? b : a;
    case Kind::logical_not: return {.i = !a.i};
    case Kind::cast: return convert(a, n.operand, n.type);
    case Kind::reinterpret:
        if (is_float(n.operand) == is_float(n.type)) return wrap(a, n.type);
        if (n.type.bits != 64) unsupported("a reinterpretation of 32 bits");
        return is_float(n.type) ? Value{.f = std::bit_cast<double>(a.i)}
                                : Value{.i = std::bit_cast<int64_t>(a.f)};
    default: break;
    }
    if (is_float(n.operand)) return wrap({.f = apply_to_floats(n.kind, a.f, b.f)}, n.type);
    return wrap({.i = apply_to_integers(n, a.i, b.i)}, n.type);
}

Value convert(Value v, halide_type_t from, halide_type_t to) {
    if (is_float(from) && is_float(to)) return wrap(v, to);
    if (is_float(to))
        return wrap({.f = is_unsigned(from) ? double(uint64_t(v.i)) : double(v.i)}, to);
    // Beyond the range of int64, machines differ. No result that is checked may depend on it.
    if (is_float(from)) {
        if (!(std::fabs(v.f) < 9.2e18)) return {.i = 0};
        return {.i = wrap_integer(int64_t(v.f), to)};
    }
    return {.i = wrap_integer(v.i, to)};  // a bool is the lowest bit, as in Halide
}

Value load_value(const void *address, halide_type_t t) {
    const auto integer = [&]<class T>(T v) {
        std::memcpy(&v, address, sizeof v);
        return Value{.i = int64_t(v)};
    };
    const bool u = is_unsigned(t);
    if (is_float(t)) {
        if (t.bits == 64) return Value{.f = std::bit_cast<double>(integer(int64_t()).i)};
        if (t.bits != 32) unsupported("floats of 16 bits");
        return Value{.f = double(std::bit_cast<float>(int32_t(integer(int32_t()).i)))};
    }
    switch (t.bytes()) {
    case 1: return u ? integer(uint8_t()) : integer(int8_t());
    case 2: return u ? integer(uint16_t()) : integer(int16_t());
    case 4: return u ? integer(uint32_t()) : integer(int32_t());
    default: return integer(int64_t());
    }
}

void store_value(void *address, halide_type_t t, Value v) {
    if (is_float(t)) {
        if (t.bits == 64) std::memcpy(address, &v.f, 8);
        if (t.bits == 32) {
            const auto f = float(v.f);
            std::memcpy(address, &f, 4);
        }
        if (t.bits < 32) unsupported("floats of 16 bits");
        return;
    }
    std::memcpy(address, &v.i, size_t(t.bytes()));  // little-endian
}

int Code::add(const Expr &e) {
    owned_.push_back(e);
    return compile(e);
}

int Code::append(Kind kind, const Type &t, const std::vector<Expr> &args) {
    Node n;
    n.kind = kind;
    n.type = t;
    n.operand = args.empty() ? n.type : static_cast<halide_type_t>(args[0].type());
    std::vector<int> operands;
    for (const Expr &a : args)
        operands.push_back(compile(a));
    if (kind == Kind::load || kind == Kind::read || kind == Kind::read_self)
        n.indices = operands;
    else
        std::copy_n(operands.begin(), std::min(operands.size(), n.args.size()), n.args.begin());
    nodes.push_back(n);
    return int(nodes.size()) - 1;
}

int Code::intrinsic(const Call *c) {
    struct Intrinsic {
        Call::IntrinsicOp op;
        Kind kind;
    };
    static const Intrinsic intrinsics[] = {
        {Call::bitwise_and, Kind::bit_and},   {Call::bitwise_or, Kind::bit_or},
        {Call::bitwise_xor, Kind::bit_xor},   {Call::bitwise_not, Kind::bit_not},
        {Call::shift_left, Kind::shift_left}, {Call::shift_right, Kind::shift_right},
        {Call::abs, Kind::absolute},          {Call::absd, Kind::difference},
    };
    if (c->is_intrinsic({Call::likely, Call::likely_if_innermost, Call::promise_clamped,
                         Call::unsafe_promise_clamped}))
        return compile(c->args[0]);
    if (c->is_intrinsic(Call::if_then_else) && c->args.size() == 3)
        return append(Kind::select, c->type, c->args);
    for (const Intrinsic &i : intrinsics)
        if (c->is_intrinsic(i.op)) return append(i.kind, c->type, c->args);
    unsupported("the intrinsic " + c->name);
}

int Code::call(const Call *c) {
    if (c->call_type == Call::Halide) {
        const bool is_self = c->name == names_.self;
        const int node = append(is_self ? Kind::read_self : Kind::read, c->type, c->args);
        if (!is_self) nodes[size_t(node)].target = names_.func(c);
        nodes[size_t(node)].component = c->value_index;
        return node;
    }
    if (c->call_type == Call::Image) {
        const int node = append(Kind::load, c->type, c->args);
        nodes[size_t(node)].target = names_.input(c->name);
        return node;
    }
    if (c->is_intrinsic()) return intrinsic(c);
    if (c->name == "floor_f64" || c->name == "floor_f32")
        return append(Kind::floor, c->type, c->args);
    unsupported("the function " + c->name);
}

int Code::let(const Let *l) {
    const int slot = slots_++;
    names_.slots[l->name] = slot;
    const int node = append(Kind::let, l->type, {l->value, l->body});
    nodes[size_t(node)].target = slot;
    return node;
}

int Code::variable(const Variable *v) {
    const auto slot = names_.slots.find(v->name);
    const bool is_slot = slot != names_.slots.end();
    const int node = append(is_slot ? Kind::slot : Kind::argument, v->type, {});
    nodes[size_t(node)].target = is_slot ? slot->second : names_.argument(v->name, v->type);
    return node;
}

template<class Op> int Code::binary(Kind kind, const Expr &e) {
    const auto *op = e.as<Op>();
    return append(kind, e.type(), {op->a, op->b});
}
template<class Op> int Code::swapped(Kind kind, const Expr &e) {
    const auto *op = e.as<Op>();
    return append(kind, e.type(), {op->b, op->a});
}

int Code::negated(int condition) {
    Node n;
    n.kind = Kind::logical_not;
    n.type = n.operand = nodes[size_t(condition)].type;
    n.args[0] = condition;
    nodes.push_back(n);
    return int(nodes.size()) - 1;
}

int Code::constant(const Type &t, Value v) {
    const int node = append(Kind::constant, t, {});
    nodes[size_t(node)].value = v;
    return node;
}

int Code::compile(const Expr &e) {
    const auto [found, is_new] = compiled_.emplace(e.get(), 0);
    if (!is_new) return found->second;
    const int node = compile_new(e);
    compiled_[e.get()] = node;
    return node;
}

int Code::compile_new(const Expr &e) {
    const Type t = e.type();
    if (!t.is_scalar()) unsupported("vectors");
    switch (e.node_type()) {
    case IRNodeType::IntImm: return constant(t, {.i = e.as<IntImm>()->value});
    case IRNodeType::UIntImm: return constant(t, {.i = int64_t(e.as<UIntImm>()->value)});
    case IRNodeType::FloatImm: return constant(t, {.f = e.as<FloatImm>()->value});
    case IRNodeType::Cast: return append(Kind::cast, t, {e.as<Cast>()->value});
    case IRNodeType::Reinterpret: return append(Kind::reinterpret, t, {e.as<Reinterpret>()->value});
    case IRNodeType::Add: return binary<Add>(Kind::add, e);
    case IRNodeType::Sub: return binary<Sub>(Kind::sub, e);
    case IRNodeType::Mul: return binary<Mul>(Kind::mul, e);
    case IRNodeType::Div: return binary<Div>(Kind::div, e);
    case IRNodeType::Mod: return binary<Mod>(Kind::mod, e);
    case IRNodeType::Min: return binary<Min>(Kind::min, e);
    case IRNodeType::Max: return binary<Max>(Kind::max, e);
    case IRNodeType::EQ: return binary<EQ>(Kind::equal, e);
    case IRNodeType::NE: return negated(binary<NE>(Kind::equal, e));
    case IRNodeType::LT: return binary<LT>(Kind::less, e);
    case IRNodeType::GT: return swapped<GT>(Kind::less, e);
    case IRNodeType::LE: return negated(swapped<LE>(Kind::less, e));
    case IRNodeType::GE: return negated(binary<GE>(Kind::less, e));
    case IRNodeType::And: return binary<And>(Kind::logical_and, e);
    case IRNodeType::Or: return binary<Or>(Kind::logical_or, e);
    case IRNodeType::Not: return append(Kind::logical_not, t, {e.as<Not>()->a});
    case IRNodeType::Select: {
        const auto *s = e.as<Select>();
        return append(Kind::select, t, {s->condition, s->true_value, s->false_value});
    }
    case IRNodeType::Call: return call(e.as<Call>());
    case IRNodeType::Let: return let(e.as<Let>());
    case IRNodeType::Variable: return variable(e.as<Variable>());
    default: unsupported("this kind of expression");
    }
}

}  // namespace halyard::evaluation

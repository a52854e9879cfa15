#include "dsl/ascend/lowering/values.h"

#include <cmath>

#include "registry/base/error.h"

namespace halyard::ascend {

using Halide::Type;
using namespace Halide::Internal;
using HExpr = Halide::Expr;
using dv::CmpOp;
using dv::Round;
using dv::VecOp;

DType dtype_of(const Type &t) {
    if (t.is_float() && !t.is_bfloat() && t.bits() == 16) return DType::f16;
    if (t.is_float() && t.bits() == 32) return DType::f32;
    if (t.is_int() && t.bits() == 32) return DType::i32;
    if (t.is_int() && t.bits() == 8) return DType::i8;
    if (t.is_uint() && t.bits() <= 8) return DType::u8;
    std::ostringstream text;
    text << t;
    throw DTypeError("ascend", "the vector unit has no " + text.str());
}

namespace {

std::string text_of(const HExpr &e) {
    std::ostringstream s;
    s << e;
    return s.str().substr(0, 200);
}

// How often a let's name stands in an expression.
int uses_of(const std::string &name, const HExpr &e) {
    struct : IRVisitor {
        using IRVisitor::visit;
        void visit(const Variable *v) override { n += v->name == *name; }
        const std::string *name = nullptr;
        int n = 0;
    } count;
    count.name = &name;
    e.accept(&count);
    return count.n;
}

// Depends on nothing but constants and run-time numbers.
bool is_scalar(const HExpr &e) {
    struct : IRVisitor {
        using IRVisitor::visit;
        void visit(const Variable *v) override {
            only &= v->param.defined() && !v->param.is_buffer();
            any = true;
        }
        void visit(const Load *) override { only = false; }
        bool only = true, any = false;
    } found;
    e.accept(&found);
    return found.only && found.any;
}

// as Values::of() names them
bool is_load(const Variable *v) {
    return starts_with(v->name, "load ");
}

bool is_imm(const Value &v) {
    return v.is_number && !v.number.is_reg();
}

}  // namespace

void Values::release(Value &v) {
    if (v.own && --references_[v.operand.ref.buffer] == 0) {
        if (is_scratch(v))
            scratch_taken_ = false;
        else
            space_.give_back(v.operand);
    }
    v.own = false;
}

void Values::refer(const Value &v, int more) {
    if (v.own) references_[v.operand.ref.buffer] += more;
}

Value Values::owned(const Operand &o, DType t) {
    references_[o.ref.buffer] = 1;
    return {false, o, {}, t, true};
}

Operand Values::elements(Value &v) {
    if (v.is_number) {
        v = owned(space_.spread(v.number, v.dtype), v.dtype);
    } else if (v.operand.stride.back() == 0 && !v.own) {
        v = owned(space_.spread(v.operand), v.dtype);
    }
    return v.operand;
}

// The space of what `o` moves with: a value that all rows share is computed once.
Vectors Values::on(const Operand &o) {
    std::vector<int64_t> extents = space_.extents();
    for (size_t d = 0; d + 1 < extents.size(); d++)
        if (!o.stride[d]) extents[d] = 1;
    return Vectors(w_, extents);
}

// Where a result of these operands goes: to `into`, over an operand that is done with (not
// `apart`), or to a new temporary.
Value Values::result(DType t, const Operand *into, std::initializer_list<Value *> operands,
                     bool apart) {
    if (into && into->ref.dtype == t) return {false, *into, {}, t, false};
    Operand moves{{}, std::vector<int64_t>(space_.extents().size(), 0)};
    for (Value *v : operands) {
        for (size_t d = 0; d < moves.stride.size(); d++)
            moves.stride[d] |= v->operand.stride[d];
    }
    Vectors space = on(moves);
    const auto strides_of = [&](DType type) {
        std::vector<int64_t> s = space.strides(type);
        for (size_t d = 0; d + 1 < s.size(); d++)
            if (!moves.stride[d]) s[d] = 0;
        return s;
    };
    const bool spans_scratch = scratch_ && on(*scratch_).extents() == space.extents();
    for (Value *v : operands) {
        if (!apart && v->own && v->dtype == t &&
            (v->operand.stride == strides_of(t) || (is_scratch(*v) && spans_scratch)) &&
            references_[v->operand.ref.buffer] == 1) {
            v->own = false;
            return {false, v->operand, {}, t, true};
        }
    }
    if (spans_scratch && !scratch_taken_ && !apart && scratch_->ref.dtype == t) {
        scratch_taken_ = true;
        return owned(*scratch_, t);
    }
    return owned({space.temporary(t).ref, strides_of(t)}, t);
}

Value Values::complement(Value a, const Operand *into) {
    elements(a);
    Value r = result(a.dtype, into, {&a});
    on(r.operand).bitwise(VecOp::not_, r.operand, a.operand, a.operand);
    release(a);
    return r;
}

// The same bits as another type of 4 bytes.
Value Values::reinterpreted(Value a, DType t) {
    if (a.dtype == t) return a;
    elements(a);
    a.dtype = a.operand.ref.dtype = t;
    return a;
}

Value Values::unary(VecOp op, Value a, const Operand *into) {
    elements(a);
    Value r = result(a.dtype, into, {&a});
    on(r.operand).unary(op, r.operand, a.operand);
    release(a);
    return r;
}

Value Values::bitwise(VecOp op, Value a, Value b, const Operand *into) {
    elements(a);
    elements(b);
    Value r = result(a.dtype, into, {&a, &b});
    on(r.operand).bitwise(op, r.operand, a.operand, b.operand);
    release(a);
    release(b);
    return r;
}

Value Values::binary(VecOp op, Value a, Value b, const Operand *into) {
    // whole numbers of 8 bits are numbers of f16; what may leave their range would have to wrap
    if (bytes_of(a.dtype) == 1) {
        if (op != VecOp::max && op != VecOp::min)
            throw DispatchError("ascend", "no vector instruction for arithmetic of 8-bit integers");
        const DType t = a.dtype;
        return converted(
            binary(op, converted(a, DType::f16, nullptr), converted(b, DType::f16, nullptr)), t,
            into);
    }
    const bool commutes = op == VecOp::add || op == VecOp::mul || op == VecOp::max ||
                          op == VecOp::min;
    if (bytes_of(a.dtype) == 1 && (op == VecOp::max || op == VecOp::min)) {
        return converted(
            binary(op, converted(a, DType::f16, nullptr), converted(b, DType::f16, nullptr)),
            a.dtype, into, Round::truncate);
    }
    if (commutes && a.is_number) std::swap(a, b);
    const bool with_number = b.is_number && !a.is_number && a.dtype != DType::i32;
    const auto by = [&](VecOp form, const dv::Number &n) {
        elements(a);
        Value r = result(a.dtype, into, {&a});
        on(r.operand).with_number(form, r.operand, a.operand, n);
        release(a);
        return r;
    };
    if (with_number && op == VecOp::add) return by(VecOp::adds, b.number);
    if (with_number && op == VecOp::mul) return by(VecOp::muls, b.number);
    if (int exponent = 0; with_number && op == VecOp::div && is_imm(b) &&
                          std::fabs(std::frexp(b.number.imm, &exponent)) == 0.5 &&
                          std::abs(exponent) < 14)
        return by(VecOp::muls, {"", 1 / b.number.imm});  // a power of two: the same bits
    if (with_number && op == VecOp::sub && is_imm(b)) return by(VecOp::adds, {"", -b.number.imm});
    if (with_number && op == VecOp::max && is_imm(b) && b.number.imm == 0 &&
        chip_.takes("vec_relu", a.dtype))
        return unary(VecOp::relu, a, into);
    if (with_number && op == VecOp::max && chip_.takes("vec_maxs", a.dtype))
        return by(VecOp::maxs, b.number);
    if (with_number && op == VecOp::min && chip_.takes("vec_mins", a.dtype))
        return by(VecOp::mins, b.number);
    const DType t = a.dtype;
    // A number for each row, as it lies.
    const auto per_row = [&](const Value &v) {
        return !v.is_number && !v.own && v.operand.stride.back() == 0 &&
               space_.extents().back() > 1;
    };
    if (commutes && per_row(a) && !per_row(b)) std::swap(a, b);
    if (per_row(b) && !per_row(a) && !a.is_number && t != DType::i32 &&
        (op == VecOp::add || op == VecOp::sub || op == VecOp::mul)) {
        elements(a);
        Value r = result(t, into, {&a, &b});
        on(r.operand).with_numbers(op == VecOp::mul ? VecOp::muls : VecOp::adds, r.operand,
                                   a.operand, b.operand, op == VecOp::sub);
        release(a);
        return r;
    }
    elements(a);
    elements(b);
    Value r = result(t, into, {&a, &b});
    on(r.operand).binary(op, r.operand, a.operand, b.operand);
    release(a);
    release(b);
    return r;
}

// By way of f16 or f32 where the chip has no direct conversion.
Value Values::converted(Value a, DType to, const Operand *into, Round round) {
    if (a.dtype == to) return a;
    if (a.is_number) {
        if (to == DType::i32) a.number.imm = std::trunc(a.number.imm);
        a.dtype = to;
        return a;
    }
    // Truncated before anything is rounded.
    if (a.dtype == DType::f32 && bytes_of(to) == 1 && round == Round::truncate) {
        return converted(
            converted(converted(a, DType::i32, nullptr, Round::truncate), DType::f16, nullptr), to,
            into);
    }
    if (!is_float(a.dtype) && bytes_of(to) == 1)
        throw NotVector("conversions to 8 bits saturate, integers wrap");
    const auto direct = [&](DType from, DType target) {
        return chip_.takes(std::string("vec_conv.") + name_of(from), target);
    };
    if (!direct(a.dtype, to)) {
        const DType by = a.dtype == DType::f32 || a.dtype == DType::i32
                             ? (to == DType::f16 ? DType::f32 : DType::f16)
                         : to == DType::i32 ? DType::f32
                                            : DType::f16;
        if (by == a.dtype || by == to) {
            throw NotVector(std::string("no conversion of ") + name_of(a.dtype) + " to " +
                            name_of(to));
        }
        return converted(converted(a, by, nullptr, Round::none), to, into, round);
    }
    elements(a);
    Value r = result(to, into, {&a});
    on(r.operand).convert(r.operand, a.operand, round);
    release(a);
    return r;
}

Value Values::compared(CmpOp op, Value a, Value b, Value x, Value y, const Operand *into) {
    // a < b where max(a, b) isn't a: no difference has to be in range, what isn't 0 is no 0 as a
    // float either
    if (a.dtype == DType::i32) {
        const bool less = op == CmpOp::lt || op == CmpOp::ge;
        const bool order = less || op == CmpOp::gt || op == CmpOp::le;
        if (order) {
            if (a.is_number) elements(a);
            const Value one = less ? a : b;
            refer(one, 1);
            a = binary(VecOp::max, a, b);
            b = one;
            op = op == CmpOp::lt || op == CmpOp::gt ? CmpOp::ne : CmpOp::eq;
        }
        a = converted(binary(VecOp::sub, a, b), DType::f32, nullptr);
        b = {true, {}, {"", 0}, DType::f32, false};
    } else if (a.dtype == DType::u8 || a.dtype == DType::i8) {
        a = converted(a, DType::f16, nullptr);
        b = converted(b, DType::f16, nullptr);
    }
    // 4-byte values are chosen as 4 bytes, whatever they mean.
    const DType t = x.dtype;
    if (bytes_of(t) != bytes_of(a.dtype)) {  // comparisons and choices go by the same lanes
        if (a.dtype == DType::f32) {
            x = converted(x, DType::f32, nullptr);
            y = converted(y, DType::f32, nullptr);
            return converted(compared(op, a, b, x, y, nullptr), t, into);
        }
        a = converted(a, DType::f32, nullptr);
        b = converted(b, DType::f32, nullptr);
        if (bytes_of(t) == 1) {
            x = converted(x, DType::f32, nullptr);
            y = converted(y, DType::f32, nullptr);
        }
        return bytes_of(t) == 1 ? converted(compared(op, a, b, x, y, nullptr), t, into)
                                : compared(op, a, b, x, y, into);
    }
    elements(a);
    elements(b);
    elements(x);
    elements(y);
    Value r = result(t, into, {&a, &b, &x, &y}, true);
    const auto as_float = [](Operand o) {
        if (o.ref.dtype == DType::i32) o.ref.dtype = DType::f32;
        return o;
    };
    on(r.operand).select(as_float(r.operand), op, a.operand, b.operand, as_float(x.operand),
                         as_float(y.operand));
    release(a);
    release(b);
    release(x);
    release(y);
    return r;
}

Value Values::select(const HExpr &condition, Value x, Value y, const Operand *into) {
    const auto compare = [&](CmpOp op, const HExpr &a, const HExpr &b) {
        return compared(op, eval(a, nullptr), eval(b, nullptr), x, y, into);
    };
    if (const auto *op = condition.as<And>()) {
        refer(y, 1);
        const Value inner = select(op->b, x, y, nullptr);
        return select(op->a, inner, y, into);
    }
    if (const auto *op = condition.as<Or>()) {
        refer(x, 1);
        const Value inner = select(op->b, x, y, nullptr);
        return select(op->a, x, inner, into);
    }
    if (const auto *op = condition.as<Not>()) return select(op->a, y, x, into);
    if (const auto *op = condition.as<NE>(); op && op->a.type().is_bool())  // as numbers
    {
        return compare(CmpOp::ne, Cast::make(Halide::Float(32), op->a),
                       Cast::make(Halide::Float(32), op->b));
    }
    if (const auto *op = condition.as<EQ>()) return compare(CmpOp::eq, op->a, op->b);
    if (const auto *op = condition.as<NE>()) return compare(CmpOp::ne, op->a, op->b);
    if (const auto *op = condition.as<LT>()) return compare(CmpOp::lt, op->a, op->b);
    if (const auto *op = condition.as<LE>()) return compare(CmpOp::le, op->a, op->b);
    if (const auto *op = condition.as<GT>()) return compare(CmpOp::gt, op->a, op->b);
    if (const auto *op = condition.as<GE>()) return compare(CmpOp::ge, op->a, op->b);
    if (const auto *op = condition.as<Cast>(); op && op->type.is_bool())
        return compare(CmpOp::ne, op->value, make_zero(op->value.type()));
    if (const auto *c = condition.as<Call>()) {
        if (c->is_intrinsic({Call::likely, Call::likely_if_innermost}))
            return select(c->args[0], x, y, into);
        if (c->is_intrinsic(Call::strict_eq)) return compare(CmpOp::eq, c->args[0], c->args[1]);
        if (c->is_intrinsic(Call::strict_lt)) return compare(CmpOp::lt, c->args[0], c->args[1]);
        if (c->is_intrinsic(Call::strict_le)) return compare(CmpOp::le, c->args[0], c->args[1]);
        if (starts_with(c->name, "is_nan")) return compare(CmpOp::ne, c->args[0], c->args[0]);
    }
    throw NotVector("no vector instruction for the condition " + text_of(condition));
}

Value Values::call(const Call *c, const Operand *into) {
    const auto arg = [&](size_t k) { return eval(c->args[k], nullptr); };
    if (c->is_intrinsic({Call::likely, Call::likely_if_innermost})) return eval(c->args[0], into);
    if (c->is_intrinsic(Call::strict_add)) return binary(VecOp::add, arg(0), arg(1), into);
    if (c->is_intrinsic(Call::strict_mul)) return binary(VecOp::mul, arg(0), arg(1), into);
    if (c->is_intrinsic(Call::strict_div)) return binary(VecOp::div, arg(0), arg(1), into);
    if (c->is_intrinsic(Call::strict_max)) return binary(VecOp::max, arg(0), arg(1), into);
    if (c->is_intrinsic(Call::strict_min)) return binary(VecOp::min, arg(0), arg(1), into);
    if (c->is_intrinsic(Call::strict_sub)) return binary(VecOp::sub, arg(0), arg(1), into);
    if (c->type == Halide::Int(32)) {
        if (c->is_intrinsic(Call::bitwise_and)) return bitwise(VecOp::and_, arg(0), arg(1), into);
        if (c->is_intrinsic(Call::bitwise_or)) return bitwise(VecOp::or_, arg(0), arg(1), into);
        if (c->is_intrinsic(Call::bitwise_not)) return complement(arg(0), into);
        if (c->is_intrinsic(Call::bitwise_xor)) {  // in one of them, and not in both
            const Value a = arg(0), b = arg(1);
            refer(a, 1);
            refer(b, 1);
            const Value both = complement(bitwise(VecOp::and_, a, b), nullptr);
            return bitwise(VecOp::and_, bitwise(VecOp::or_, a, b), both, into);
        }
    }
    if (c->is_intrinsic(Call::abs) && c->args[0].type().is_float())
        return unary(VecOp::abs, arg(0), into);
    const auto named = [&](const char *name) {
        return c->name == std::string(name) + "_f32" || c->name == std::string(name) + "_f16";
    };
    if (named("unbounded")) return eval(c->args[0], into);  // dsl/ascend/math.cpp
    if (named("exp")) return unary(VecOp::exp, arg(0), into);
    if (named("log")) return unary(VecOp::ln, arg(0), into);
    if (named("sqrt")) return unary(VecOp::sqrt, arg(0), into);
    const bool f32 = c->type == Halide::Float(32);
    const auto rounding = [&](Round r) {
        return converted(converted(arg(0), DType::i32, nullptr, r), DType::f32, into);
    };
    if (f32 && named("floor")) return rounding(Round::floor);
    if (f32 && named("ceil")) return rounding(Round::ceil);
    if (f32 && named("trunc")) return rounding(Round::truncate);
    if (f32 && (c->is_intrinsic(Call::round) || named("round")))
        return rounding(Round::nearest_even);
    throw NotVector("no vector instruction for " + c->name);
}

Value Values::load(const Variable *named, DType becomes) {
    const Value v = load_(loads_[std::stoul(named->name.substr(5))], becomes);
    if (v.own) references_.try_emplace(v.operand.ref.buffer, uses_of(named->name, whole_));
    return v;
}

Value Values::eval(const HExpr &e, const Operand *into) {
    if (const auto *op = e.as<FloatImm>())
        return {true, {}, {"", op->value}, dtype_of(e.type()), false};
    if (const auto *op = e.as<IntImm>())
        return {true, {}, {"", double(op->value)}, dtype_of(e.type()), false};
    if (const auto *op = e.as<UIntImm>())
        return {true, {}, {"", double(op->value)}, dtype_of(e.type()), false};
    if (is_scalar(e)) return {true, {}, scalar_(e), dtype_of(e.type()), false};
    if (const auto *op = e.as<Variable>()) {
        if (is_load(op)) return load(op, dtype_of(op->type));
        const auto it = lets_.find(op->name);
        if (it == lets_.end()) throw NotVector("the index " + op->name + " as a value");
        return it->second;
    }
    if (const auto *op = e.as<Let>()) {
        const Value v = eval(op->value, nullptr);
        refer(v, uses_of(op->name, op->body) - 1);
        lets_[op->name] = v;
        return eval(op->body, into);
    }
    if (const auto *op = e.as<Cast>()) {
        if (op->value.type().is_bool()) {
            const Value one{true, {}, {"", 1}, DType::f16, false};
            const Value zero{true, {}, {"", 0}, DType::f16, false};
            return converted(select(op->value, one, zero, nullptr), dtype_of(op->type), into);
        }
        if (const auto *from = op->value.as<Variable>();
            from && is_load(from) && from->type.is_float() && op->type.is_float())
            return converted(load(from, dtype_of(op->type)), dtype_of(op->type), into);
        const bool truncates = op->value.type().is_float() && op->type.is_int_or_uint();
        return converted(eval(op->value, nullptr), dtype_of(op->type), into,
                         truncates ? Round::truncate : Round::none);
    }
    if (const auto *op = e.as<Reinterpret>();
        op && e.type().bits() == 32 && op->value.type().bits() == 32)
        return reinterpreted(eval(op->value, nullptr), dtype_of(e.type()));
    const auto both = [&](const auto *op, VecOp v) {
        return binary(v, eval(op->a, nullptr), eval(op->b, nullptr), into);
    };
    if (const auto *op = e.as<Add>()) return both(op, VecOp::add);
    if (const auto *op = e.as<Sub>()) return both(op, VecOp::sub);
    if (const auto *op = e.as<Mul>()) return both(op, VecOp::mul);
    if (const auto *op = e.as<Max>()) return both(op, VecOp::max);
    if (const auto *op = e.as<Min>()) return both(op, VecOp::min);
    if (const auto *op = e.as<Div>(); op && e.type().is_float()) return both(op, VecOp::div);
    if (const auto *op = e.as<Select>()) {
        return select(op->condition, eval(op->true_value, nullptr), eval(op->false_value, nullptr),
                      into);
    }
    if (const auto *op = e.as<Call>()) return call(op, into);
    throw NotVector("no vector instruction for " + text_of(e));
}

void Values::store(Value v, const Operand &into) {
    if (v.is_number) return space_.fill(into, v.number);
    if (v.operand.ref.buffer == into.ref.buffer && same(v.operand.ref.offset, into.ref.offset) &&
        v.operand.stride == into.stride)
        return;
    if (v.operand.ref.dtype != into.ref.dtype) {
        converted(v, into.ref.dtype, &into);
        return;
    }
    elements(v);
    space_.copy(into, v.operand);
    release(v);
}

Value Values::of(const HExpr &e, const Operand *into, bool is_read) {
    // Conditions aren't kept: a comparison and the choice it makes are two instructions that follow
    // each other.
    struct : IRMutator {
        using IRMutator::visit;
        HExpr visit(const Let *l) override {
            const HExpr value = mutate(l->value);
            if (value.type().is_bool() || is_scalar(value))
                return mutate(substitute(l->name, value, l->body));
            return Let::make(l->name, value, mutate(l->body));
        }
    } without_conditions;
    // What an index is made of isn't a part of the value: every load is a name while common parts
    // are looked for.
    struct : IRMutator {
        using IRMutator::visit;
        HExpr visit(const Load *l) override {
            size_t k = 0;
            while (k < all.size() &&
                   !(all[k]->name == l->name && graph_equal(all[k]->index, l->index)))
                k++;
            if (k == all.size()) all.push_back(l);
            return Variable::make(l->type, "load " + std::to_string(k));
        }
        std::vector<const Load *> all;
    } named;
    // A conversion is no common part to Halide, because it costs a CPU little.
    struct : IRMutator {
        using IRMutator::visit;
        HExpr visit(const Cast *c) override {
            const auto *from = c->value.as<Variable>();
            if (!from || !is_load(from) || !c->type.is_float() || !from->type.is_float())
                return IRMutator::visit(c);
            const std::string name = (c->type.bits() == 32 ? "f32 " : "f16 ") + from->name;
            all.emplace(name, c);
            return Variable::make(c->type, name);
        }
        std::map<std::string, HExpr> all;
    } conversions;
    HExpr value = conversions.mutate(
        without_conditions.mutate(common_subexpression_elimination(named.mutate(e))));
    for (auto &[name, c] : conversions.all)
        value = uses_of(name, value) > 1 ? Let::make(name, c, value) : substitute(name, c, value);
    loads_ = std::move(named.all);
    whole_ = value;
    if (into && !is_read) scratch_ = *into;
    Value v = eval(value, into);
    if (!into) return v;
    store(v, *into);
    return {false, *into, {}, into->ref.dtype, false};
}

}  // namespace halyard::ascend

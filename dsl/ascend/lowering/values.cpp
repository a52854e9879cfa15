#include "dsl/ascend/lowering/values.h"

#include <algorithm>
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

// Returns how often a let's name occurs in an expression.
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

// Returns true if `e` depends on constants and run-time numbers alone, and on one of these at
// least.
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

// Values::of() gives loads such names.
bool is_load(const Variable *v) {
    return starts_with(v->name, "load ");
}

bool commutes(VecOp op) {
    return op == VecOp::add || op == VecOp::mul || op == VecOp::max || op == VecOp::min;
}

bool is_any(const dv::Number &) {
    return true;
}
bool is_imm(const dv::Number &n) {
    return !n.is_reg();
}
bool is_zero(const dv::Number &n) {
    return is_imm(n) && n.imm == 0;
}
// Multiplying by its reciprocal, which f16 has too, gives the same bits as dividing.
bool is_power_of_two(const dv::Number &n) {
    int exponent = 0;
    return is_imm(n) && std::fabs(std::frexp(n.imm, &exponent)) == 0.5 && std::abs(exponent) < 14;
}
dv::Number unchanged(const dv::Number &n) {
    return n;
}
dv::Number negated(const dv::Number &n) {
    return {"", -n.imm};
}
dv::Number reciprocal(const dv::Number &n) {
    return {"", 1 / n.imm};
}
dv::Number no_number(const dv::Number &) {
    return {};
}

// Elements `op` a number n are `instruction` of the elements and operand(n), if n fulfils `applies`
// and the chip has the instruction `required` (nullptr: every chip has it).
struct NumberForm {
    VecOp op, instruction;
    const char *required;
    bool (*applies)(const dv::Number &);
    dv::Number (*operand)(const dv::Number &);
};
// The first row that applies is used.
constexpr NumberForm number_forms[] = {
    {VecOp::add, VecOp::adds, nullptr, is_any, unchanged},
    {VecOp::mul, VecOp::muls, nullptr, is_any, unchanged},
    {VecOp::div, VecOp::muls, nullptr, is_power_of_two, reciprocal},
    {VecOp::sub, VecOp::adds, nullptr, is_imm, negated},
    {VecOp::max, VecOp::relu, "vec_relu", is_zero, no_number},
    {VecOp::max, VecOp::maxs, "vec_maxs", is_any, unchanged},
    {VecOp::min, VecOp::mins, "vec_mins", is_any, unchanged},
};

Value number_value(double v, DType t) {
    return {true, {}, {"", v}, t, false};
}

}  // namespace

void Values::release(Value &v) {
    if (v.is_temporary && --references_[v.operand.ref.buffer] == 0) {
        if (is_scratch(v))
            scratch_taken_ = false;
        else
            space_.give_back(v.operand);
    }
    v.is_temporary = false;
}

void Values::refer(const Value &v, int more) {
    if (v.is_temporary) references_[v.operand.ref.buffer] += more;
}

Value Values::owned(const Operand &o, DType t) {
    references_[o.ref.buffer] = 1;
    return {false, o, {}, t, true};
}

Operand Values::elements(Value &v) {
    if (v.is_number) {
        v = owned(space_.broadcast(v.number, v.dtype), v.dtype);
    } else if (v.operand.stride.back() == 0 && !v.is_temporary) {
        v = owned(space_.broadcast(v.operand), v.dtype);
    }
    return v.operand;
}

// Returns the space of the dimensions along which `o` changes: a value that all rows share is
// computed once.
Vectors Values::on(const Operand &o) {
    std::vector<int64_t> extents = space_.extents();
    for (size_t d = 0; d + 1 < extents.size(); d++)
        if (!o.stride[d]) extents[d] = 1;
    return Vectors(w_, extents);
}

// Returns where a result of these operands is stored: `into`, an operand that nothing reads any
// more (unless `separate`), or a new temporary.
Value Values::result(DType t, const Operand *into, std::initializer_list<Value *> operands,
                     bool separate) {
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
        if (!separate && v->is_temporary && v->dtype == t &&
            (v->operand.stride == strides_of(t) || (is_scratch(*v) && spans_scratch)) &&
            references_[v->operand.ref.buffer] == 1) {
            v->is_temporary = false;
            return {false, v->operand, {}, t, true};
        }
    }
    if (spans_scratch && !scratch_taken_ && !separate && scratch_->ref.dtype == t) {
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

// Returns the same bits as another type of 4 bytes.
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

Value Values::with_number(VecOp instruction, Value a, const dv::Number &n, const Operand *into) {
    elements(a);
    Value r = result(a.dtype, into, {&a});
    on(r.operand).with_number(instruction, r.operand, a.operand, n);
    release(a);
    return r;
}

// `b` is one number for each row, stored one after the other.
Value Values::with_row_numbers(VecOp op, Value a, Value b, const Operand *into) {
    const DType t = a.dtype;
    elements(a);
    Value r = result(t, into, {&a, &b});
    on(r.operand).with_numbers(op == VecOp::mul ? VecOp::muls : VecOp::adds, r.operand, a.operand,
                               b.operand, op == VecOp::sub);
    release(a);
    return r;
}

bool Values::is_per_row(const Value &v) const {
    return !v.is_number && !v.is_temporary && v.operand.stride.back() == 0 &&
           space_.extents().back() > 1;
}

// f16 has all integers of 8 bits. Sums and products may leave their range and would have to wrap.
Value Values::binary_of_bytes(VecOp op, Value a, Value b, const Operand *into) {
    if (op != VecOp::max && op != VecOp::min)
        throw DispatchError("ascend", "no vector instruction for arithmetic of 8-bit integers");
    const DType t = a.dtype;
    return converted(
        binary(op, converted(a, DType::f16, nullptr), converted(b, DType::f16, nullptr)), t, into);
}

Value Values::binary(VecOp op, Value a, Value b, const Operand *into) {
    if (bytes_of(a.dtype) == 1) return binary_of_bytes(op, a, b, into);
    if (commutes(op) && a.is_number) std::swap(a, b);
    if (b.is_number && !a.is_number && a.dtype != DType::i32) {
        for (const NumberForm &f : number_forms) {
            if (f.op == op && f.applies(b.number) &&
                (!f.required || chip_.takes(f.required, a.dtype)))
                return with_number(f.instruction, a, f.operand(b.number), into);
        }
    }
    const DType t = a.dtype;
    if (commutes(op) && is_per_row(a) && !is_per_row(b)) std::swap(a, b);
    if (is_per_row(b) && !is_per_row(a) && !a.is_number && t != DType::i32 &&
        (op == VecOp::add || op == VecOp::sub || op == VecOp::mul))
        return with_row_numbers(op, a, b, into);
    elements(a);
    elements(b);
    Value r = result(t, into, {&a, &b});
    on(r.operand).binary(op, r.operand, a.operand, b.operand);
    release(a);
    release(b);
    return r;
}

// Returns one number for each row as blocks of another type. vec_dup takes no numbers of 8 bits, so
// the numbers are converted before they become blocks.
Value Values::converted_numbers(const Value &a, DType to, Round round) {
    const std::vector<int64_t> &extents = space_.extents();
    std::vector<size_t> dimensions;
    for (size_t d = 0; d < extents.size(); d++)
        if (a.operand.stride[d] && extents[d] > 1) dimensions.push_back(d);
    std::stable_sort(dimensions.begin(), dimensions.end(),
                     [&](size_t x, size_t y) { return a.operand.stride[x] > a.operand.stride[y]; });
    std::vector<int64_t> shape;
    Operand from{a.operand.ref, {}, a.operand.scope};
    for (size_t d : dimensions) {
        shape.push_back(extents[d]);
        from.stride.push_back(a.operand.stride[d]);
    }
    if (shape.empty() || from.stride.back() != 1) {
        shape.push_back(1);
        from.stride.push_back(1);
    }
    Vectors numbers(w_, shape);
    Values lowered(w_, numbers, chip_, load_, scalar_);
    const Operand made =
        lowered.converted({false, from, {}, a.dtype, false}, to, nullptr, round).operand;
    Operand per_row{made.ref, std::vector<int64_t>(extents.size(), 0)};
    for (size_t k = 0; k < dimensions.size(); k++)
        per_row.stride[dimensions[k]] = made.stride[k];
    const Value blocks = owned(space_.broadcast(per_row), to);
    numbers.give_back(made);
    return blocks;
}

// Converts by way of f16 or f32 if the chip has no direct conversion.
Value Values::converted(Value a, DType to, const Operand *into, Round round) {
    if (a.dtype == to) return a;
    if (a.is_number) {
        if (to == DType::i32) a.number.imm = std::trunc(a.number.imm);
        a.dtype = to;
        return a;
    }
    // Truncates before anything is rounded.
    if (a.dtype == DType::f32 && bytes_of(to) == 1 && round == Round::truncate) {
        return converted(
            converted(converted(a, DType::i32, nullptr, Round::truncate), DType::f16, nullptr), to,
            into);
    }
    if (!is_float(a.dtype) && bytes_of(to) == 1)
        throw NotVectorizable("conversions to 8 bits saturate, integers wrap");
    if (is_per_row(a) && bytes_of(a.dtype) == 1) return converted_numbers(a, to, round);
    const auto direct = [&](DType from, DType target) {
        return chip_.takes(std::string("vec_conv.") + name_of(from), target);
    };
    if (!direct(a.dtype, to)) {
        const DType by = a.dtype == DType::f32 || a.dtype == DType::i32
                             ? (to == DType::f16 ? DType::f32 : DType::f16)
                         : to == DType::i32 ? DType::f32
                                            : DType::f16;
        if (by == a.dtype || by == to) {
            throw NotVectorizable(std::string("no conversion of ") + name_of(a.dtype) + " to " +
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

// The unit compares reals. Of integers, a < b where max(a, b) isn't a: no difference has to be in
// range, and an integer that isn't 0 is no 0 as a float either.
void Values::make_comparable(CmpOp &op, Value &a, Value &b) {
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
        b = number_value(0, DType::f32);
    } else if (a.dtype == DType::u8 || a.dtype == DType::i8) {
        a = converted(a, DType::f16, nullptr);
        b = converted(b, DType::f16, nullptr);
    }
}

// A comparison and its choice have the same lanes: operands of different widths become f32.
Value Values::compared_as_f32(CmpOp op, Value a, Value b, Value x, Value y, const Operand *into) {
    const DType t = x.dtype;
    if (a.dtype == DType::f32) {
        x = converted(x, DType::f32, nullptr);
        y = converted(y, DType::f32, nullptr);
        return converted(compared(op, a, b, x, y, nullptr), t, into);
    }
    a = converted(a, DType::f32, nullptr);
    b = converted(b, DType::f32, nullptr);
    if (bytes_of(t) != 1) return compared(op, a, b, x, y, into);
    x = converted(x, DType::f32, nullptr);
    y = converted(y, DType::f32, nullptr);
    return converted(compared(op, a, b, x, y, nullptr), t, into);
}

Value Values::compared(CmpOp op, Value a, Value b, Value x, Value y, const Operand *into) {
    make_comparable(op, a, b);
    if (bytes_of(x.dtype) != bytes_of(a.dtype)) return compared_as_f32(op, a, b, x, y, into);
    const DType t = x.dtype;
    elements(a);
    elements(b);
    elements(x);
    elements(y);
    Value r = result(t, into, {&a, &b, &x, &y}, true);
    // Values of 4 bytes are chosen as 4 bytes of any meaning.
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
    throw NotVectorizable("no vector instruction for the condition " + text_of(condition));
}

Value Values::bitwise_call(const Call *c, const Operand *into) {
    const auto arg = [&](size_t k) { return eval(c->args[k], nullptr); };
    if (c->is_intrinsic(Call::bitwise_and)) return bitwise(VecOp::and_, arg(0), arg(1), into);
    if (c->is_intrinsic(Call::bitwise_or)) return bitwise(VecOp::or_, arg(0), arg(1), into);
    if (c->is_intrinsic(Call::bitwise_not)) return complement(arg(0), into);
    // a ^ b is (a | b) & ~(a & b).
    const Value a = arg(0);
    const Value b = arg(1);
    refer(a, 1);
    refer(b, 1);
    const Value both = complement(bitwise(VecOp::and_, a, b), nullptr);
    return bitwise(VecOp::and_, bitwise(VecOp::or_, a, b), both, into);
}

// a^b by repeated squaring, which wraps. Of negative powers only those of 1 and -1 aren't 0.
Value Values::integer_power(Value a, Value b, const Operand *into) {
    const auto number = [](double v) { return number_value(v, DType::i32); };
    constexpr int bits = 31;
    elements(a);
    elements(b);
    // They are also read after the loop: a by two comparisons, b by the sign and the parity.
    refer(a, 2);
    refer(b, bits + 1);
    Value square = a;
    Value product = number(1);
    elements(product);
    for (int bit = 0; bit < bits; bit++) {
        const Value is_set = bitwise(VecOp::and_, b, number(double(1 << bit)), nullptr);
        const bool last = bit + 1 == bits;
        refer(product, 1);
        if (!last) refer(square, 2);
        const Value larger = binary(VecOp::mul, product, square);
        product = compared(CmpOp::ne, is_set, number(0), larger, product, nullptr);
        if (!last) square = binary(VecOp::mul, square, square);
    }
    const Value is_odd = bitwise(VecOp::and_, b, number(1), nullptr);
    const Value sign = compared(CmpOp::ne, is_odd, number(0), number(-1), number(1), nullptr);
    const Value of_minus_1 = compared(CmpOp::eq, a, number(-1), sign, number(0), nullptr);
    const Value negative_power = compared(CmpOp::eq, a, number(1), number(1), of_minus_1, nullptr);
    return compared(CmpOp::ge, b, number(0), product, negative_power, into);
}

// Rounds f32 to whole numbers by way of i32. From 2^23 on every number is whole, and i32 has no
// place for large ones, infinities and NaN: those stay as they are.
Value Values::rounded(Value x, Round round, const Operand *into) {
    constexpr double all_whole = 1 << 23;
    elements(x);
    refer(x, 2);
    const Value size = unary(VecOp::abs, x, nullptr);
    const Value integer = converted(x, DType::i32, nullptr, round);
    const Value whole = converted(integer, DType::f32, nullptr);
    return compared(CmpOp::lt, size, number_value(all_whole, DType::f32), whole, x, into);
}

Value Values::call(const Call *c, const Operand *into) {
    static const std::pair<Call::IntrinsicOp, VecOp> arithmetic[] = {
        {Call::strict_add, VecOp::add}, {Call::strict_mul, VecOp::mul},
        {Call::strict_div, VecOp::div}, {Call::strict_max, VecOp::max},
        {Call::strict_min, VecOp::min}, {Call::strict_sub, VecOp::sub},
    };
    static const std::pair<std::string, VecOp> functions[] = {
        {"exp", VecOp::exp}, {"log", VecOp::ln}, {"sqrt", VecOp::sqrt}};
    static const std::pair<std::string, Round> roundings[] = {{"floor", Round::floor},
                                                              {"ceil", Round::ceil},
                                                              {"trunc", Round::truncate},
                                                              {"round", Round::nearest_even}};
    const auto arg = [&](size_t k) { return eval(c->args[k], nullptr); };
    if (c->is_intrinsic({Call::likely, Call::likely_if_innermost})) return eval(c->args[0], into);
    for (auto &[intrinsic, op] : arithmetic)
        if (c->is_intrinsic(intrinsic)) return binary(op, arg(0), arg(1), into);
    if (c->type == Halide::Int(32) && c->is_intrinsic({Call::bitwise_and, Call::bitwise_or,
                                                       Call::bitwise_not, Call::bitwise_xor}))
        return bitwise_call(c, into);
    if (c->name == "pow_i32") return integer_power(arg(0), arg(1), into);
    if (c->is_intrinsic(Call::abs) && c->args[0].type().is_float())
        return unary(VecOp::abs, arg(0), into);
    // dsl/ascend/math.cpp
    if (c->name == "unbounded_f32" || c->name == "unbounded_f16") return eval(c->args[0], into);
    for (auto &[name, op] : functions)
        if (c->name == name + "_f32" || c->name == name + "_f16") return unary(op, arg(0), into);
    for (auto &[name, round] : roundings) {
        const bool named = c->name == name + "_f32" || c->name == name + "_f16" ||
                           (round == Round::nearest_even && c->is_intrinsic(Call::round));
        if (named && c->type == Halide::Float(32)) return rounded(arg(0), round, into);
    }
    throw NotVectorizable("no vector instruction for " + c->name);
}

Value Values::load(const Variable *named, DType becomes) {
    const Value v = load_(loads_[std::stoul(named->name.substr(5))], becomes);
    if (v.is_temporary) references_.try_emplace(v.operand.ref.buffer, uses_of(named->name, whole_));
    return v;
}

Value Values::variable(const Variable *v) {
    if (is_load(v)) return load(v, dtype_of(v->type));
    const auto it = lets_.find(v->name);
    if (it == lets_.end()) throw NotVectorizable("the index " + v->name + " as a value");
    return it->second;
}

Value Values::let(const Let *l, const Operand *into) {
    const Value v = eval(l->value, nullptr);
    refer(v, uses_of(l->name, l->body) - 1);
    lets_[l->name] = v;
    return eval(l->body, into);
}

Value Values::cast(const Cast *c, const Operand *into) {
    const Type from = c->value.type();
    const DType to = dtype_of(c->type);
    if (from.is_bool()) {
        const Value one = number_value(1, DType::f16);
        const Value zero = number_value(0, DType::f16);
        return converted(select(c->value, one, zero, nullptr), to, into);
    }
    if (const auto *v = c->value.as<Variable>();
        v && is_load(v) && v->type.is_float() && c->type.is_float())
        return converted(load(v, to), to, into);
    const bool truncates = from.is_float() && c->type.is_int_or_uint();
    return converted(eval(c->value, nullptr), to, into, truncates ? Round::truncate : Round::none);
}

Value Values::eval(const HExpr &e, const Operand *into) {
    const auto both = [&](const auto *op, VecOp v) {
        return binary(v, eval(op->a, nullptr), eval(op->b, nullptr), into);
    };
    if (const auto *op = e.as<FloatImm>()) return number_value(op->value, dtype_of(e.type()));
    if (const auto *op = e.as<IntImm>()) return number_value(double(op->value), dtype_of(e.type()));
    if (const auto *op = e.as<UIntImm>())
        return number_value(double(op->value), dtype_of(e.type()));
    if (is_scalar(e)) return {true, {}, scalar_(e), dtype_of(e.type()), false};
    if (const auto *op = e.as<Variable>()) return variable(op);
    if (const auto *op = e.as<Let>()) return let(op, into);
    if (const auto *op = e.as<Cast>()) return cast(op, into);
    if (const auto *op = e.as<Reinterpret>();
        op && e.type().bits() == 32 && op->value.type().bits() == 32)
        return reinterpreted(eval(op->value, nullptr), dtype_of(e.type()));
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
    throw NotVectorizable("no vector instruction for " + text_of(e));
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
    // Lets of conditions are inlined: a comparison and its choice are two instructions in a row.
    struct : IRMutator {
        using IRMutator::visit;
        HExpr visit(const Let *l) override {
            const HExpr value = mutate(l->value);
            if (value.type().is_bool() || is_scalar(value))
                return mutate(substitute(l->name, value, l->body));
            return Let::make(l->name, value, mutate(l->body));
        }
    } without_conditions;
    // Each load is a name during the search for common subexpressions, because its index is no part
    // of the value.
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
    // Halide's search leaves out conversions, because they cost a CPU little.
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

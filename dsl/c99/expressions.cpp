#include "dsl/c99/expressions.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdio>

#include "dsl/c99/functions.h"
#include "registry/base/error.h"

namespace halyard::c99 {
namespace {

using namespace Halide;
using namespace Halide::Internal;

// How tightly C binds an operator. Operands of the bitwise operators and of shifts have
// parentheses even where C needs none, as do && within ||: compilers warn there.
enum Precedence : uint8_t {
    conditional,
    logical_or,
    logical_and,
    bitwise,
    equality,
    relational,
    shifting,
    additive,
    multiplicative,
    unary,
    primary,
};

struct Text {
    std::string text;
    Precedence precedence = primary;
    bool is_data = false;  // computed from elements of tensors
};

bool is_small(const Type &t) {
    return !t.is_float() && !t.is_bool() && t.bits() < 32;
}

// Returns "i32" or "u64", the suffix of helpers; small integers are computed in i32.
std::string suffix(const Type &t) {
    if (is_small(t)) return "i32";
    return std::string(t.is_uint() ? "u" : "i") + std::to_string(t.bits());
}

class Printer : public IRVisitor {
public:
    explicit Printer(FunctionContext &c) : c_(c) {}

    Text print(const Expr &e) {
        Text before = std::move(result_);
        e.accept(this);
        std::swap(before, result_);
        return before;
    }

private:
    using IRVisitor::visit;
    FunctionContext &c_;
    Text result_;

    [[noreturn]] void refuse(const std::string &what) const {
        throw DispatchError(c_.op, "no C99 function: it has no " + what);
    }

    static std::string parenthesized(const Text &t, Precedence least) {
        return t.precedence < least ? "(" + t.text + ")" : t.text;
    }
    static Precedence above(Precedence p) { return static_cast<Precedence>(p + 1); }

    void call(const std::string &name, const std::vector<Expr> &args) {
        std::string text;
        bool is_data = false;
        for (const Expr &a : args) {
            const Text t = print(a);
            text += (text.empty() ? "" : ", ") + t.text;
            is_data |= t.is_data;
        }
        result_ = {name + "(" + text + ")", primary, is_data};
    }
    void call_helper(const std::string &name, const std::vector<Expr> &args) {
        c_.helpers.insert(name);
        call(name, args);
    }

    // Writes a operator b, both in parentheses if they bind more loosely.
    void binary(const Expr &a, const char *symbol, const Expr &b, Precedence p) {
        const Text left = print(a);
        join(left, symbol, print(b), p);
    }
    void join(const Text &left, const char *symbol, const Text &right, Precedence p) {
        // a - b - c needs no parentheses, a + (b + c) does: floats don't associate.
        Precedence least_left = p;
        Precedence least_right = above(p);
        if (p == bitwise || p == shifting) least_left = least_right = unary;
        if (p == logical_and) least_right = p;
        if (p == logical_or) {
            least_left = left.precedence == logical_or ? logical_or : equality;
            least_right = right.precedence == logical_or ? logical_or : equality;
        }
        result_ = {parenthesized(left, least_left) + " " + symbol + " " +
                       parenthesized(right, least_right),
                   p, left.is_data || right.is_data};
    }

    // Makes the result a cast of itself.
    void cast_result(const Type &t) {
        result_.text = "(" + type_name(t) + ")" + parenthesized(result_, unary);
        result_.precedence = unary;
    }

    // Writes a sum, difference or product, which wraps if it is one of elements.
    void arithmetic(const Expr &a, const char *symbol, const char *name, const Expr &b,
                    Precedence p) {
        const Type t = a.type();
        if (t.is_float() && t.bits() == 16) refuse("arithmetic in " + type_text(t));
        const Text left = print(a);
        const Text right = print(b);
        if (t.is_int() && !is_small(t) && (left.is_data || right.is_data)) {
            const std::string helper = "hy_" + std::string(name) + "_" + suffix(t);
            c_.helpers.insert(helper);
            result_ = {helper + "(" + left.text + ", " + right.text + ")", primary, true};
            return;
        }
        join(left, symbol, right, p);
        if (is_small(t)) cast_result(t);
    }
    static std::string type_text(const Type &t) {
        return (t.is_bfloat()  ? "bf"
                : t.is_float() ? "f"
                : t.is_uint()  ? "u"
                               : "i") +
               std::to_string(t.bits());
    }

    // Returns true if an integer is known to be at least 0.
    bool is_never_negative(const Expr &e) const {
        if (e.type().is_uint()) return true;
        const Interval i = bounds_of_expr_in_scope(e, c_.bounds);
        return i.has_lower_bound() && can_prove(i.min >= 0);
    }

    void integer_division(const Expr &a, const char *symbol, const char *name, const Expr &b) {
        const Type t = a.type();
        const bool by_constant = is_const(b) && !is_const_zero(b);
        const bool plain = by_constant && (t.is_uint() || (is_positive_const(b) && t.bits() >= 32 &&
                                                           is_never_negative(a)));
        if (plain)
            binary(a, symbol, b, multiplicative);
        else
            call_helper("hy_" + std::string(name) + "_" + suffix(t), {a, b});
        if (is_small(t)) cast_result(t);
    }

    void extremum(const char *name, const Expr &a, const Expr &b) {
        const Type t = a.type();
        if (!t.is_float()) return call_helper(std::string("hy_") + name + "_" + suffix(t), {a, b});
        if (t.bits() == 16) refuse("arithmetic in " + type_text(t));
        call_helper(std::string("hy_") + name + (t.bits() == 32 ? "f" : ""), {a, b});
    }

    void compare(const Expr &a, const char *symbol, const Expr &b, Precedence p) {
        if (a.type().is_float() && a.type().bits() == 16) refuse("comparison in 16 bits");
        const Text left = print(a);
        const Text right = print(b);
        // Compilers warn of !a == b and of a < b < c.
        result_ = {parenthesized(left, shifting) + " " + symbol + " " +
                       parenthesized(right, shifting),
                   p, left.is_data || right.is_data};
    }

    void visit(const IntImm *op) override { integer(op->type, op->value); }
    void visit(const UIntImm *op) override {
        std::string s = std::to_string(op->value);
        if (op->type.bits() == 64)
            s = "UINT64_C(" + s + ")";
        else if (op->type.bits() == 32)
            s += "u";
        result_ = {s};
    }
    void integer(const Type &t, int64_t value) {
        if (value == INT64_MIN) {
            result_ = {"INT64_MIN"};
        } else if (t.bits() == 32 && value == INT32_MIN) {
            result_ = {"INT32_MIN"};
        } else {
            std::string s = std::to_string(value < 0 ? -value : value);
            if (t.bits() == 64) s = "INT64_C(" + s + ")";
            result_ = {value < 0 ? "-" + s : s, value < 0 ? unary : primary};
        }
    }

    void visit(const FloatImm *op) override { real(op->type, op->value); }
    void real(const Type &t, double value) {
        const std::string s = number_text(t, value);
        result_ = {s, s[0] == '-' || s[0] == '(' ? unary : primary};
    }

    void visit(const StringImm *) override { refuse("strings"); }

    void visit(const Cast *op) override {
        if (op->type == Float(32) && op->value.type() == Float(64) && !c_.reals.empty()) {
            const Expr value = simplify(substitute(real_constants(), op->value));
            if (const auto *number = value.as<FloatImm>()) return real(op->type, number->value);
        }
        convert(op->value, op->type);
    }
    // Returns the values of real scalars as expressions.
    std::map<std::string, Expr> real_constants() const {
        std::map<std::string, Expr> all;
        for (const auto &[name, value] : c_.reals)
            all[name] = FloatImm::make(Float(64), value);
        return all;
    }
    void convert(const Expr &value, const Type &to) {
        const Type from = value.type();
        if (from == to) return value.accept(this);
        if (to.is_bool()) {
            if (from.is_float() && from.bits() == 16) refuse("truth of 16-bit floats");
            const Text t = print(value);
            result_ = {parenthesized(t, shifting) + " != 0", equality, t.is_data};
            return;
        }
        if (from.is_float() && from.bits() == 16) {
            call_helper(from.is_bfloat() ? "hy_f32_of_bf16" : "hy_f32_of_f16", {value});
            if (to == Float(32)) return;
            if (to.is_float() && to.bits() == 64) return cast_result(to);
            const Text t = result_;
            return wrap_conversion(t, Float(32), to);
        }
        wrap_conversion(print(value), from, to);
    }
    // Writes the conversion of a value that isn't a 16-bit float.
    void wrap_conversion(const Text &t, const Type &from, const Type &to) {
        const auto helped = [&](const std::string &name, const std::string &argument) {
            c_.helpers.insert(name);
            result_ = {name + "(" + argument + ")", primary, t.is_data};
        };
        if (to.is_float() && to.bits() == 16) {
            const char *name = to.is_bfloat() ? "hy_bf16_of" : "hy_f16_of";
            if (from != Int(64)) return helped(name, t.text);
            helped("hy_odd_of_i64", t.text);
            return helped(name, result_.text);
        }
        if (from.is_float() && !to.is_float()) {
            if (to.bits() == 16) refuse("integers of 16 bits");
            return helped("hy_to_" + type_text(to), t.text);
        }
        result_ = t;
        cast_result(to);
    }

    void visit(const Reinterpret *op) override {
        const Type from = op->value.type();
        const Type to = op->type;
        if (from == to) return op->value.accept(this);
        const bool is_16 = from.bits() == 16;  // 16-bit floats are their bits already
        if (from.is_float() && !is_16) {
            call_helper("hy_bits_of_f" + std::to_string(from.bits()), {op->value});
            if (to.is_int()) cast_result(to);
        } else if (to.is_float() && !is_16) {
            call_helper("hy_f" + std::to_string(to.bits()) + "_of_bits", {op->value});
        } else {
            op->value.accept(this);
            cast_result(to);
        }
    }

    void visit(const Variable *op) override {
        const auto value = c_.reals.find(op->name);
        if (value != c_.reals.end()) return real(op->type, value->second);
        if (!c_.names.has(op->name)) refuse("value of " + op->name);
        result_ = {c_.names.of(op->name), primary, c_.data.count(op->name) > 0};
    }

    void visit(const Add *op) override { arithmetic(op->a, "+", "add", op->b, additive); }
    void visit(const Sub *op) override { arithmetic(op->a, "-", "sub", op->b, additive); }
    void visit(const Mul *op) override { arithmetic(op->a, "*", "mul", op->b, multiplicative); }
    void visit(const Div *op) override {
        if (op->type.is_float())
            arithmetic(op->a, "/", "", op->b, multiplicative);
        else
            integer_division(op->a, "/", "div", op->b);
    }
    void visit(const Mod *op) override {
        if (op->type.is_float())
            return call(op->type.bits() == 32 ? "fmodf" : "fmod", {op->a, op->b});
        integer_division(op->a, "%", "mod", op->b);
    }
    void visit(const Min *op) override { extremum("min", op->a, op->b); }
    void visit(const Max *op) override { extremum("max", op->a, op->b); }
    void visit(const EQ *op) override { compare(op->a, "==", op->b, equality); }
    void visit(const NE *op) override { compare(op->a, "!=", op->b, equality); }
    void visit(const LT *op) override { compare(op->a, "<", op->b, relational); }
    void visit(const LE *op) override { compare(op->a, "<=", op->b, relational); }
    void visit(const GT *op) override { compare(op->a, ">", op->b, relational); }
    void visit(const GE *op) override { compare(op->a, ">=", op->b, relational); }
    void visit(const And *op) override { binary(op->a, "&&", op->b, logical_and); }
    void visit(const Or *op) override { binary(op->a, "||", op->b, logical_or); }
    void visit(const Not *op) override {
        const Text t = print(op->a);
        // Comparisons put it in parentheses.
        result_ = {"!" + parenthesized(t, primary), bitwise, t.is_data};
    }
    void visit(const Select *op) override {
        choose(op->condition, op->true_value, op->false_value);
    }
    void choose(const Expr &condition, const Expr &yes, const Expr &no) {
        const Text c = print(condition);
        const Text a = print(yes);
        const Text b = print(no);
        result_ = {parenthesized(c, logical_or) + " ? " + parenthesized(a, logical_or) + " : " +
                       parenthesized(b, conditional),
                   conditional, c.is_data || a.is_data || b.is_data};
    }
    void visit(const Load *op) override {
        if (!is_const_one(op->predicate)) refuse("loads under a condition");
        const std::string text = element(c_, op->name, op->index);
        result_ = {text, primary, true};
    }
    void visit(const Ramp *) override { refuse("vectors"); }
    void visit(const Broadcast *) override { refuse("vectors"); }
    void visit(const VectorReduce *) override { refuse("vectors"); }
    void visit(const Shuffle *) override { refuse("vectors"); }
    void visit(const Let *op) override {
        declare_let(c_, op->name, op->value);
        op->body.accept(this);
    }

    void visit(const Call *op) override {
        if (op->is_intrinsic()) return intrinsic(op);
        const FunctionName f = function_called(op->name);
        if (f.name.empty()) refuse("function " + op->name);
        if (f.is_helper) c_.helpers.insert(f.name);
        call(f.name, op->args);
    }

    void intrinsic(const Call *op) {
        const std::vector<Expr> &args = op->args;
        const auto is = [&](std::initializer_list<Call::IntrinsicOp> all) {
            return op->is_intrinsic(all);
        };
        if (is({Call::likely, Call::likely_if_innermost, Call::promise_clamped,
                Call::unsafe_promise_clamped})) {
            return args[0].accept(this);
        }
        if (is({Call::return_second})) return args[1].accept(this);
        if (is({Call::if_then_else}) && args.size() == 3) return choose(args[0], args[1], args[2]);
        if (is({Call::abs})) return absolute(args[0]);
        if (is({Call::round})) return call(op->type.bits() == 32 ? "rintf" : "rint", args);
        if (op->is_strict_float_intrinsic()) return strict(op);
        if (!bits(op)) refuse("function " + op->name);
    }

    void absolute(const Expr &x) {
        const Type t = x.type();
        if (t.is_float()) return call(t.bits() == 32 ? "fabsf" : "fabs", {x});
        call_helper("hy_abs_" + suffix(t), {x});
        if (is_small(t)) cast_result(t.with_code(Type::UInt));
    }

    void strict(const Call *op) {
        const Expr &a = op->args[0];
        const Expr &b = op->args[1];
        if (op->is_intrinsic(Call::strict_add)) return arithmetic(a, "+", "", b, additive);
        if (op->is_intrinsic(Call::strict_sub)) return arithmetic(a, "-", "", b, additive);
        if (op->is_intrinsic(Call::strict_mul)) return arithmetic(a, "*", "", b, multiplicative);
        if (op->is_intrinsic(Call::strict_div)) return arithmetic(a, "/", "", b, multiplicative);
        if (op->is_intrinsic(Call::strict_lt)) return compare(a, "<", b, relational);
        if (op->is_intrinsic(Call::strict_le)) return compare(a, "<=", b, relational);
        if (op->is_intrinsic(Call::strict_eq)) return compare(a, "==", b, equality);
        extremum(op->is_intrinsic(Call::strict_min) ? "min" : "max", a, b);
    }

    // Writes a bitwise function. Returns false if it is none.
    bool bits(const Call *op) {
        const std::vector<Expr> &args = op->args;
        const Type t = op->type;
        if (op->is_intrinsic(Call::bitwise_and))
            binary(args[0], "&", args[1], bitwise);
        else if (op->is_intrinsic(Call::bitwise_or))
            binary(args[0], "|", args[1], bitwise);
        else if (op->is_intrinsic(Call::bitwise_xor))
            binary(args[0], "^", args[1], bitwise);
        else if (op->is_intrinsic(Call::bitwise_not)) {
            const Text x = print(args[0]);
            result_ = {"~" + parenthesized(x, unary), unary, x.is_data};
        } else if (op->is_intrinsic(Call::shift_left)) {
            shift_left(args[0], args[1]);
        } else if (op->is_intrinsic(Call::shift_right)) {
            if (t.is_int())
                call_helper("hy_shift_right_" + suffix(t), {args[0], args[1]});
            else
                binary(args[0], ">>", args[1], shifting);
        } else {
            return false;
        }
        if (is_small(t)) cast_result(t);
        return true;
    }
    // Signed numbers are shifted as unsigned ones, where no shift is undefined.
    void shift_left(const Expr &a, const Expr &count) {
        const Type t = a.type();
        if (t.is_uint() && !is_small(t)) return binary(a, "<<", count, shifting);
        const Type as = UInt(std::max(32, t.bits()));
        binary(Internal::Cast::make(as, a), "<<", count, shifting);
        cast_result(t);
    }
};

}  // namespace

std::string type_name(const Type &t) {
    if (t.is_bool()) return "int";
    if (t.is_float()) return t.bits() == 64 ? "double" : t.bits() == 32 ? "float" : "uint16_t";
    return std::string(t.is_uint() ? "u" : "") + "int" + std::to_string(t.bits()) + "_t";
}

namespace {

// Returns the number of decimal digits that tell a number from its neighbours.
template<class T> int digits_of(T value) {
    char text[40];
    char *const end =
        std::to_chars(text, text + sizeof text, value, std::chars_format::scientific).ptr;
    char *const exponent = std::find(text, end, 'e');
    return int(std::count_if(text, exponent, [](unsigned char c) { return std::isdigit(c) != 0; }));
}

}  // namespace

std::string number_text(const Type &t, double value) {
    if (t.bits() == 16) {
        char bits[16];
        const unsigned of_value = t.is_bfloat() ? bfloat16_t(value).to_bits()
                                                : float16_t(value).to_bits();
        std::snprintf(bits, sizeof bits, "0x%04x", of_value);
        return bits;
    }
    const bool is_f32 = t.bits() == 32;
    if (is_f32) value = double(float(value));
    if (std::isnan(value)) return is_f32 ? "NAN" : "(double)NAN";
    if (std::isinf(value)) return value < 0 ? "-INFINITY" : "INFINITY";
    char digits[40];
    std::snprintf(digits, sizeof digits, "%.*g",
                  is_f32 ? digits_of(float(value)) : digits_of(value), value);
    std::string s = digits;
    if (s.find_first_of(".e") == std::string::npos) s += ".0";
    return is_f32 ? s + "f" : s;
}

std::string text_of(FunctionContext &context, const Expr &e) {
    return Printer(context).print(e).text;
}

std::string element(FunctionContext &context, const std::string &name, const Expr &index) {
    const std::string &array = context.names.of(name);
    if (context.single_values.count(name)) {
        context.accesses(name);
        return array;
    }
    return array + "[" + text_of(context, index) + "]";
}

void declare_let(FunctionContext &context, const std::string &name, const Expr &value) {
    const Text text = Printer(context).print(value);
    if (text.is_data)
        context.data.insert(name);
    else
        context.data.erase(name);
    if (!text.is_data && value.type() == Int(32)) {
        const Interval bounds = bounds_of_expr_in_scope(value, context.bounds);
        context.bounds.push(name, {simplify(bounds.min), simplify(bounds.max)});
    } else {
        context.bounds.push(name, Interval::everything());
    }
    const std::string declaration = "const " + type_name(value.type()) + " ";
    for (auto &block : context.constants) {
        const auto same = block.find(declaration + text.text);
        // Elements may have changed since.
        if (same != block.end() && !text.is_data) return context.names.alias(name, same->second);
    }
    const std::string declared = context.names.declare(name);
    context.constants.back().emplace(declaration + text.text, declared);
    context.write_line(declaration + declared + " = " + text.text + ";");
}

}  // namespace halyard::c99

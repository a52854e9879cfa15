#include "ascend/program/expr.h"

#include <algorithm>

#include "registry/base/error.h"

namespace halyard::dv {

struct Expr::Node {
    ExprOp op = ExprOp::var;
    std::string name;
    Expr left, right;
};

Expr Expr::var(const std::string &name) {
    return Expr(std::make_shared<const Node>(Node{ExprOp::var, name, 0, 0}));
}
ExprOp Expr::op() const {
    return node_ ? node_->op : ExprOp::constant;
}
const Expr &Expr::left() const {
    return node_->left;
}
const Expr &Expr::right() const {
    return node_->right;
}

const std::string &Expr::name() const {
    static const std::string none;
    return node_ ? node_->name : none;
}

std::optional<int64_t> Expr::constant() const {
    if (node_) return {};
    return value_;
}

bool Expr::uses(const std::string &wanted) const {
    if (op() == ExprOp::constant) return false;
    if (op() == ExprOp::var) return name() == wanted;
    return left().uses(wanted) || right().uses(wanted);
}

namespace {

// Comparisons and logical operations give 0 or 1.
bool is_truth_value(ExprOp op) {
    return op >= ExprOp::lt;
}

bool is(const std::optional<int64_t> &value, int64_t constant) {
    return value && *value == constant;
}

using Constant = std::optional<int64_t>;

// Return the result of an operation if one of its operands is a constant, x or y, and the result
// needs no operation.
std::optional<Expr> folded_arithmetic(ExprOp op, const Expr &a, const Expr &b, const Constant &x,
                                      const Constant &y) {
    if ((op == ExprOp::add || op == ExprOp::sub) && is(y, 0)) return a;
    if (op == ExprOp::add && is(x, 0)) return b;
    if ((op == ExprOp::mul || op == ExprOp::div) && is(y, 1)) return a;
    if (op == ExprOp::mul && is(x, 1)) return b;
    if (op == ExprOp::mul && (is(x, 0) || is(y, 0))) return 0;
    if (op == ExprOp::mod && is(y, 1)) return 0;
    return {};
}
std::optional<Expr> folded_logic(ExprOp op, const Expr &a, const Expr &b, const Constant &x,
                                 const Constant &y) {
    if (op == ExprOp::logical_or && x) return *x ? Expr(1) : b != 0;
    if (op == ExprOp::logical_and && x) return *x ? b != 0 : Expr(0);
    if (op == ExprOp::ne && is(y, 0) && is_truth_value(a.op())) return a;
    if (op == ExprOp::eq && is(y, 0) && a.op() == ExprOp::eq) return a.left() != a.right();
    return {};
}

}  // namespace

Expr Expr::binary(ExprOp op, const Expr &a, const Expr &b) {
    const auto x = a.constant();
    const auto y = b.constant();
    const bool divides_by_zero = (op == ExprOp::div || op == ExprOp::mod) && is(y, 0);
    if (x && y && !divides_by_zero) return apply(op, *x, *y);
    if (const auto simpler = folded_arithmetic(op, a, b, x, y)) return *simpler;
    if (const auto simpler = folded_logic(op, a, b, x, y)) return *simpler;
    return Expr(std::make_shared<const Node>(Node{op, "", a, b}));
}

namespace {

int64_t wrapped(uint64_t bits) {
    return int64_t(bits);
}

}  // namespace

int64_t apply(ExprOp op, int64_t a, int64_t b) {
    switch (op) {
    case ExprOp::add: return wrapped(uint64_t(a) + uint64_t(b));
    case ExprOp::sub: return wrapped(uint64_t(a) - uint64_t(b));
    case ExprOp::mul: return wrapped(uint64_t(a) * uint64_t(b));
    case ExprOp::div:
    case ExprOp::mod: {
        if (b == 0) throw AttrError("dv", "division of " + std::to_string(a) + " by zero");
        const int64_t rest = a % b;
        const int64_t floor_rest = rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
        return op == ExprOp::mod ? floor_rest : (a - floor_rest) / b;
    }
    case ExprOp::min: return std::min(a, b);
    case ExprOp::max: return std::max(a, b);
    case ExprOp::bit_and: return a & b;
    case ExprOp::bit_or: return a | b;
    case ExprOp::bit_xor: return a ^ b;
    case ExprOp::lt: return a < b;
    case ExprOp::le: return a <= b;
    case ExprOp::eq: return a == b;
    case ExprOp::ne: return a != b;
    case ExprOp::logical_and: return a && b;
    case ExprOp::logical_or: return a || b;
    case ExprOp::constant:
    case ExprOp::var: break;
    }
    return 0;
}

Expr operator+(const Expr &a, const Expr &b) {
    return Expr::binary(ExprOp::add, a, b);
}
Expr operator-(const Expr &a, const Expr &b) {
    return Expr::binary(ExprOp::sub, a, b);
}
Expr operator*(const Expr &a, const Expr &b) {
    return Expr::binary(ExprOp::mul, a, b);
}
Expr operator/(const Expr &a, const Expr &b) {
    return Expr::binary(ExprOp::div, a, b);
}
Expr operator%(const Expr &a, const Expr &b) {
    return Expr::binary(ExprOp::mod, a, b);
}
Expr operator<(const Expr &a, const Expr &b) {
    return Expr::binary(ExprOp::lt, a, b);
}
Expr operator<=(const Expr &a, const Expr &b) {
    return Expr::binary(ExprOp::le, a, b);
}
Expr operator>(const Expr &a, const Expr &b) {
    return b < a;
}
Expr operator>=(const Expr &a, const Expr &b) {
    return b <= a;
}
Expr operator==(const Expr &a, const Expr &b) {
    return Expr::binary(ExprOp::eq, a, b);
}
Expr operator!=(const Expr &a, const Expr &b) {
    return Expr::binary(ExprOp::ne, a, b);
}
Expr operator&&(const Expr &a, const Expr &b) {
    return Expr::binary(ExprOp::logical_and, a, b);
}
Expr operator||(const Expr &a, const Expr &b) {
    return Expr::binary(ExprOp::logical_or, a, b);
}
Expr min(const Expr &a, const Expr &b) {
    return Expr::binary(ExprOp::min, a, b);
}
Expr max(const Expr &a, const Expr &b) {
    return Expr::binary(ExprOp::max, a, b);
}
Expr bit_and(const Expr &a, const Expr &b) {
    return Expr::binary(ExprOp::bit_and, a, b);
}
Expr bit_or(const Expr &a, const Expr &b) {
    return Expr::binary(ExprOp::bit_or, a, b);
}
Expr bit_xor(const Expr &a, const Expr &b) {
    return Expr::binary(ExprOp::bit_xor, a, b);
}

bool same(const Expr &a, const Expr &b) {
    if (a.op() != b.op()) return false;
    if (a.op() == ExprOp::constant) return a.value() == b.value();
    if (a.op() == ExprOp::var) return a.name() == b.name();
    return same(a.left(), b.left()) && same(a.right(), b.right());
}

Expr substitute(const Expr &e, const std::string &name, const Expr &by) {
    if (e.op() == ExprOp::constant) return e;
    if (e.op() == ExprOp::var) return e.name() == name ? by : e;
    return Expr::binary(e.op(), substitute(e.left(), name, by), substitute(e.right(), name, by));
}

int64_t evaluate(const Expr &e, const std::function<int64_t(const std::string &)> &lookup) {
    if (e.op() == ExprOp::constant) return e.value();
    if (e.op() == ExprOp::var) return lookup(e.name());
    return apply(e.op(), evaluate(e.left(), lookup), evaluate(e.right(), lookup));
}

namespace {

using Lookup = std::function<std::optional<Range>(const std::string &)>;

bool is_constant(const Range &r) {
    return r.min == r.max;
}

// The operation is monotonic in each operand, so its extreme values are at corners.
Range range_of_corners(ExprOp op, const Range &a, const Range &b) {
    const int64_t corners[4] = {apply(op, a.min, b.min), apply(op, a.min, b.max),
                                apply(op, a.max, b.min), apply(op, a.max, b.max)};
    return {*std::min_element(corners, corners + 4), *std::max_element(corners, corners + 4)};
}

// Returns the range of a comparison or a logical operation.
Range range_of_truth(ExprOp op, const Range &a, const Range &b) {
    if (!is_constant(a) || !is_constant(b)) return {0, 1};
    const int64_t value = apply(op, a.min, b.min);
    return {value, value};
}

std::optional<Range> range_of_operation(ExprOp op, const Range &a, const Range &b) {
    switch (op) {
    case ExprOp::bit_and:
    case ExprOp::bit_or:
    case ExprOp::bit_xor:
        if (!is_constant(a) || !is_constant(b)) return {};
        return range_of_truth(op, a, b);
    case ExprOp::add:
    case ExprOp::min:
    case ExprOp::max: return Range{apply(op, a.min, b.min), apply(op, a.max, b.max)};
    case ExprOp::sub: return Range{a.min - b.max, a.max - b.min};
    case ExprOp::mul: return range_of_corners(op, a, b);
    case ExprOp::div:
        if (b.min <= 0) return {};
        return range_of_corners(op, a, b);
    case ExprOp::mod: return {};
    default: return range_of_truth(op, a, b);
    }
}

}  // namespace

std::optional<Range> range_of(const Expr &e, const Lookup &lookup) {
    if (e.op() == ExprOp::constant) return Range{e.value(), e.value()};
    if (e.op() == ExprOp::var) return lookup(e.name());
    const auto a = range_of(e.left(), lookup);
    const auto b = range_of(e.right(), lookup);
    if (e.op() == ExprOp::mod && b && is_constant(*b) && b->max > 0) {
        if (a && a->min >= 0 && a->max < b->max) return a;
        return Range{0, b->max - 1};
    }
    if (a && b) return range_of_operation(e.op(), *a, *b);
    return is_truth_value(e.op()) ? std::optional(Range{0, 1}) : std::nullopt;
}

namespace {
struct Spelling {
    const char *sign;
    int binds;  // tighter is greater
};
Spelling spelling(ExprOp op) {
    switch (op) {
    case ExprOp::logical_or: return {" || ", 1};
    case ExprOp::logical_and: return {" && ", 2};
    case ExprOp::eq: return {" == ", 3};
    case ExprOp::ne: return {" != ", 3};
    case ExprOp::lt: return {" < ", 4};
    case ExprOp::le: return {" <= ", 4};
    case ExprOp::add: return {" + ", 5};
    case ExprOp::sub: return {" - ", 5};
    case ExprOp::mul: return {" * ", 6};
    case ExprOp::div: return {" / ", 6};
    case ExprOp::mod: return {" % ", 6};
    default: return {"", 7};
    }
}
std::string text(const Expr &e, int outer) {
    if (e.op() == ExprOp::constant) {
        return e.value() < 0 && outer > 0 ? "(" + std::to_string(e.value()) + ")"
                                          : std::to_string(e.value());
    }
    if (e.op() == ExprOp::var) return e.name();
    if (const std::string function = function_name(e.op()); !function.empty())
        return function + "(" + text(e.left(), 0) + ", " + text(e.right(), 0) + ")";
    const Spelling s = spelling(e.op());
    // Operators of one level associate to the left, so only a right operand of the same level needs
    // parentheses.
    const std::string all = text(e.left(), s.binds) + s.sign + text(e.right(), s.binds + 1);
    return s.binds < outer ? "(" + all + ")" : all;
}
}  // namespace

std::string function_name(ExprOp op) {
    switch (op) {
    case ExprOp::min: return "min";
    case ExprOp::max: return "max";
    case ExprOp::bit_and: return "bit_and";
    case ExprOp::bit_or: return "bit_or";
    case ExprOp::bit_xor: return "bit_xor";
    default: return "";
    }
}

std::string to_string(const Expr &e) {
    return text(e, 0);
}

}  // namespace halyard::dv

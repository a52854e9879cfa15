// Integer expressions of a Da Vinci program, over loop variables, registers, scalar parameters and
// block_idx. The scalar unit computes them for addresses, counts and conditions. Values are int64
// and wrap; / and % round to floor; comparisons give 0 or 1; bit_and, bit_or and bit_xor are
// bitwise.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace halyard::dv {

enum class ExprOp : uint8_t {
    constant,
    var,
    add,
    sub,
    mul,
    div,
    mod,
    min,
    max,
    bit_and,
    bit_or,
    bit_xor,
    lt,
    le,
    eq,
    ne,
    logical_and,
    logical_or
};

class Expr {  // an immutable tree, shared when copied
public:
    struct Node;
    Expr(int64_t value = 0) : value_(value) {}
    Expr(int value) : Expr(int64_t(value)) {}
    static Expr var(const std::string &name);  // [A-Za-z_][A-Za-z0-9_.$]*
    // Returns `a op b`, simplified if an operand is constant.
    static Expr binary(ExprOp op, const Expr &a, const Expr &b);

    ExprOp op() const;
    int64_t value() const { return value_; }  // the value of a constant
    const std::string &name() const;          // the name of a variable
    const Expr &left() const;                 // the operands of an operation
    const Expr &right() const;
    std::optional<int64_t> constant() const;  // the value, if the expression is a constant
    bool uses(const std::string &name) const;

private:
    explicit Expr(std::shared_ptr<const Node> node) : node_(std::move(node)) {}
    // Constants have no node, because the simulator copies many of them for every instruction.
    int64_t value_ = 0;
    std::shared_ptr<const Node> node_;
};

Expr operator+(const Expr &a, const Expr &b);
Expr operator-(const Expr &a, const Expr &b);
Expr operator*(const Expr &a, const Expr &b);
Expr operator/(const Expr &a, const Expr &b);
Expr operator%(const Expr &a, const Expr &b);
Expr operator<(const Expr &a, const Expr &b);
Expr operator<=(const Expr &a, const Expr &b);
Expr operator>(const Expr &a, const Expr &b);
Expr operator>=(const Expr &a, const Expr &b);
Expr operator==(const Expr &a, const Expr &b);  // an expression; compare two trees with same()
Expr operator!=(const Expr &a, const Expr &b);
Expr operator&&(const Expr &a, const Expr &b);  // both sides are evaluated
Expr operator||(const Expr &a, const Expr &b);
Expr min(const Expr &a, const Expr &b);
Expr max(const Expr &a, const Expr &b);
Expr bit_and(const Expr &a, const Expr &b);
Expr bit_or(const Expr &a, const Expr &b);
Expr bit_xor(const Expr &a, const Expr &b);

bool same(const Expr &a, const Expr &b);  // true if both are the same tree
Expr substitute(const Expr &e, const std::string &name, const Expr &by);

// Returns the value of one operation. Throws AttrError("dv", ...) for a division by zero.
int64_t apply(ExprOp op, int64_t a, int64_t b);
// Returns the value of `e`, given the values of its variables by `lookup`.
int64_t evaluate(const Expr &e, const std::function<int64_t(const std::string &)> &lookup);

// The minimum and maximum of a value.
struct Range {
    int64_t min = 0, max = 0;
};
// Returns a range that contains all values of `e`, given those of its variables by `lookup`;
// nothing if there is no bound.
std::optional<Range> range_of(
    const Expr &e, const std::function<std::optional<Range>(const std::string &)> &lookup);

// Returns the name of an operation that text has as a function: min, max, bit_and, bit_or, bit_xor;
// "" for others.
std::string function_name(ExprOp op);

// Returns `e` in C's syntax, with min(a, b), bit_xor(a, b) and so on, and no needless parentheses.
std::string to_string(const Expr &e);

}  // namespace halyard::dv

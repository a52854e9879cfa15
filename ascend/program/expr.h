// Integer expressions of a Da Vinci program, over loop variables, registers, scalar parameters and
// block_idx: what the scalar unit computes for addresses, counts and conditions. Values are int64,
// whose sums and products wrap; / and % round to floor; comparisons give 0 or 1; bit_and, bit_or
// and bit_xor go by bits.
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
    both,
    either
};

class Expr {  // an immutable tree, shared when copied
public:
    struct Node;
    Expr(int64_t value = 0) : value_(value) {}
    Expr(int value) : Expr(int64_t(value)) {}
    static Expr var(const std::string &name);  // [A-Za-z_][A-Za-z0-9_.$]*
    // folds constants and neutral elements
    static Expr binary(ExprOp op, const Expr &a, const Expr &b);

    ExprOp op() const;
    int64_t value() const { return value_; }  // of a constant
    const std::string &name() const;          // of a variable
    const Expr &left() const;                 // of an operation
    const Expr &right() const;
    std::optional<int64_t> constant() const;  // its value, where the tree has folded to one
    bool uses(const std::string &name) const;

private:
    explicit Expr(std::shared_ptr<const Node> node) : node_(std::move(node)) {}
    // without a node: constants are many, and copied for every instruction that is simulated
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

bool same(const Expr &a, const Expr &b);  // the same tree
Expr substitute(const Expr &e, const std::string &name, const Expr &by);

// The value of one operation; throws AttrError("dv", ...) on division by zero.
int64_t apply(ExprOp op, int64_t a, int64_t b);
// The value under `lookup`, which answers for every variable.
int64_t evaluate(const Expr &e, const std::function<int64_t(const std::string &)> &lookup);

// The least and the greatest value an expression can take, given those of its variables; nothing
// where they aren't known.
struct Range {
    int64_t least = 0, most = 0;
};
std::optional<Range> range_of(
    const Expr &e, const std::function<std::optional<Range>(const std::string &)> &lookup);

// Of min, max, bit_and, bit_or and bit_xor, which are written as functions; "" of other operations.
std::string function_name(ExprOp op);

// C's syntax with min(a, b), bit_xor(a, b) and so on; parentheses only where needed
std::string to_string(const Expr &e);

}  // namespace halyard::dv

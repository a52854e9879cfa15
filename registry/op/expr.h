// Integer expressions over names, for signatures, lets and conditions: "(h+2*pad-u)/stride+1",
// "c==1 ? 0 : cdiv(n,c)".
//
//   value    := or [ '?' value ':' value ]
//   or       := and { '||' and }
//   and      := compare { '&&' compare }
//   compare  := sum [ ('=='|'!='|'<'|'<='|'>'|'>=') sum ]
//   sum      := product { ('+'|'-') product }
//   product  := unary { ('*'|'/'|'%') unary }
//   unary    := '-' unary | atom
//   atom     := number | name | '(' value ')' | ('max'|'min'|'cdiv') '(' value ',' value ')'
//
// Operators have C++'s meaning on int64: / truncates, comparisons give 0 or 1, and ?: && ||
// evaluate only the operands they need. cdiv rounds towards plus infinity. Division by zero and
// overflow throw ShapeError; a syntax error and an unknown name throw AttrError. `op` stands in
// front of messages.
#pragma once
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "registry/base/error.h"

namespace halyard {

// The operations of a value type. This template is for types with overloaded operators, and with
// max, min and select in their namespace, such as Halide::Expr. Its / and % round to floor, which
// is the same for non-negative values. Lazy operands are passed as functions.
template<class T> struct ExprOps {
    static T constant(int64_t v) {
        if (v < std::numeric_limits<int>::min() || v > std::numeric_limits<int>::max())
            throw ShapeError("expr", "constant " + std::to_string(v) + " exceeds 32 bits");
        return T(int(v));
    }
    static T add(T a, T b) { return a + b; }
    static T sub(T a, T b) { return a - b; }
    static T mul(T a, T b) { return a * b; }
    static T div(T a, T b) { return a / b; }
    static T mod(T a, T b) { return a % b; }
    static T neg(T a) { return -a; }
    static T cdiv(T a, T b) { return (a + b - 1) / b; }
    static T max_of(T a, T b) { return max(a, b); }
    static T min_of(T a, T b) { return min(a, b); }
    static T equal(T a, T b) { return a == b; }
    static T unequal(T a, T b) { return a != b; }
    static T less(T a, T b) { return a < b; }
    static T less_equal(T a, T b) { return a <= b; }
    template<class F> static T both(T a, F b) { return a && b(); }
    template<class F> static T either(T a, F b) { return a || b(); }
    template<class F, class G> static T choose(T condition, F a, G b) {
        return select(condition, a(), b());
    }
};

template<> struct ExprOps<int64_t> {  // checked; each throws ShapeError("expr", ...)
    static int64_t constant(int64_t v) { return v; }
    static int64_t add(int64_t a, int64_t b);
    static int64_t sub(int64_t a, int64_t b);
    static int64_t mul(int64_t a, int64_t b);
    static int64_t div(int64_t a, int64_t b);
    static int64_t mod(int64_t a, int64_t b);
    static int64_t neg(int64_t a) { return sub(0, a); }
    static int64_t cdiv(int64_t a, int64_t b);
    static int64_t max_of(int64_t a, int64_t b) { return a > b ? a : b; }
    static int64_t min_of(int64_t a, int64_t b) { return a < b ? a : b; }
    static int64_t equal(int64_t a, int64_t b) { return a == b; }
    static int64_t unequal(int64_t a, int64_t b) { return a != b; }
    static int64_t less(int64_t a, int64_t b) { return a < b; }
    static int64_t less_equal(int64_t a, int64_t b) { return a <= b; }
    template<class F> static int64_t both(int64_t a, F b) { return a && b(); }
    template<class F> static int64_t either(int64_t a, F b) { return a || b(); }
    template<class F, class G> static int64_t choose(int64_t condition, F a, G b) {
        return condition ? a() : b();
    }
};

enum class ExprKind : uint8_t {
    constant,
    name,
    neg,
    add,
    sub,
    mul,
    div,
    mod,
    cdiv,
    max,
    min,
    equal,
    unequal,
    less,
    less_equal,
    both,
    either,
    choose
};

// A parsed expression. Operands stand before the nodes that use them; the last node is the root. a
// > b is stored as b < a.
class ParsedExpr {
public:
    struct Node {
        ExprKind kind;
        int64_t value = 0;           // a constant's value, or a name's index in names()
        int a = -1, b = -1, c = -1;  // operands
        bool swapped = false;        // b is left of a in the text
    };
    explicit ParsedExpr(const std::string &text, const std::string &op = "expr");

    const std::string &text() const { return text_; }
    // in order of first use
    const std::vector<std::string> &names() const { return names_; }
    const std::vector<Node> &nodes() const { return nodes_; }
    std::string text_of(int node) const;  // with the necessary parentheses
    bool is_comparison() const {
        return nodes_.back().kind >= ExprKind::equal && nodes_.back().kind <= ExprKind::less_equal;
    }
    int root() const { return int(nodes_.size()) - 1; }

    // Evaluates the expression; `value_of(name)` returns a T. Throws what value_of and ExprOps<T>
    // throw.
    template<class T, class F> T evaluate(const F &value_of) const {
        return node<T>(root(), value_of);
    }
    template<class T, class F> T node(int i, const F &value_of) const;

private:
    std::string text_;
    std::vector<std::string> names_;
    std::vector<Node> nodes_;
};

[[noreturn]] void unknown_name(const std::string &op, const std::string &name,
                               const std::string &text);

// Returns the value of `text` over named values.
template<class T, class Less>
T evaluate(const std::string &text, const std::map<std::string, T, Less> &values) {
    return ParsedExpr(text).evaluate<T>([&](const std::string &name) -> T {
        const auto it = values.find(name);
        if (it == values.end()) unknown_name("expr", name, text);
        return it->second;
    });
}

bool is_name(const std::string &text);  // a letter or _, then letters, digits and _

// A compiled expression, for repeated evaluation: code for a stack of fixed size. Evaluation
// allocates nothing.
class CompiledExpr {
public:
    // values[i] of a call is the value of names[i]. Throws AttrError on a name that isn't in
    // `names`.
    CompiledExpr(const std::string &text, const std::vector<std::string> &names,
                 const std::string &op = "expr");
    int64_t operator()(const int64_t *values) const;
    const std::string &text() const { return text_; }

private:
    enum class Code : uint8_t { binary_or_leaf, jump, jump_if_zero, truth };
    struct Instruction {
        Code code;
        ExprKind kind;
        int64_t value;  // a constant, the index of a name, or the number of instructions to skip
    };
    static constexpr int stack_size = 64;
    // Returns the stack size that the node needs.
    int emit(const ParsedExpr &e, int node, const std::vector<std::string> &names);

    std::string text_, op_;
    std::vector<Instruction> code_;
};

template<class T, class F> T ParsedExpr::node(int i, const F &value_of) const {
    using Ops = ExprOps<T>;
    const Node n = nodes_[i];
    const auto a = [&] { return node<T>(n.a, value_of); };
    const auto b = [&] { return node<T>(n.b, value_of); };
    switch (n.kind) {
    case ExprKind::constant: return Ops::constant(n.value);
    case ExprKind::name: return value_of(names_[n.value]);
    case ExprKind::neg: return Ops::neg(a());
    case ExprKind::add: return Ops::add(a(), b());
    case ExprKind::sub: return Ops::sub(a(), b());
    case ExprKind::mul: return Ops::mul(a(), b());
    case ExprKind::div: return Ops::div(a(), b());
    case ExprKind::mod: return Ops::mod(a(), b());
    case ExprKind::cdiv: return Ops::cdiv(a(), b());
    case ExprKind::max: return Ops::max_of(a(), b());
    case ExprKind::min: return Ops::min_of(a(), b());
    case ExprKind::equal: return Ops::equal(a(), b());
    case ExprKind::unequal: return Ops::unequal(a(), b());
    case ExprKind::less: return Ops::less(a(), b());
    case ExprKind::less_equal: return Ops::less_equal(a(), b());
    case ExprKind::both: return Ops::both(a(), b);
    case ExprKind::either: return Ops::either(a(), b);
    case ExprKind::choose: break;
    }
    return Ops::choose(a(), b, [&] { return node<T>(n.c, value_of); });
}

}  // namespace halyard

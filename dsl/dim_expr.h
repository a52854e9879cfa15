// Integer expressions over dimensions and attributes, written in C++: `(h - 1) * stride_h + 1`.
//
// An op builds its lets, conditions and extents from them; the record keeps their text, which
// registry/op/expr.h evaluates. A name is declared once, as a Dim, so that a misspelt one does not
// compile.
#pragma once
#include <cstdint>
#include <string>

namespace halyard {

class DimExpr {
public:
    // not explicit: `c >= 32`, `max(h, 1)`
    DimExpr(int64_t value)
        : DimExpr(std::to_string(value), value < 0 ? Level::unary : Level::atom) {}
    DimExpr(int value) : DimExpr(int64_t(value)) {}

    // The condition that holds for every call; its words are "".
    static DimExpr always() {
        DimExpr e(1);
        e.words_.clear();
        return e;
    }

    // As registry/op/expr.h parses it: "max(h-1,0)*stride_h".
    const std::string &text() const { return text_; }
    // The text of a variant's condition: the operands of its outermost && become words, each of
    // which is checked and reported by itself: "group==1 c>=2*lanes".
    const std::string &words() const { return words_; }

    friend DimExpr operator+(const DimExpr &a, const DimExpr &b) { return {a, "+", b, Level::sum}; }
    friend DimExpr operator-(const DimExpr &a, const DimExpr &b) { return {a, "-", b, Level::sum}; }
    friend DimExpr operator*(const DimExpr &a, const DimExpr &b) {
        return {a, "*", b, Level::product};
    }
    friend DimExpr operator/(const DimExpr &a, const DimExpr &b) {
        return {a, "/", b, Level::product};
    }
    friend DimExpr operator%(const DimExpr &a, const DimExpr &b) {
        return {a, "%", b, Level::product};
    }
    friend DimExpr operator-(const DimExpr &a) { return {"-" + a.in(Level::unary), Level::unary}; }

    // A comparison is 1 or 0.
    friend DimExpr operator==(const DimExpr &a, const DimExpr &b) {
        return {a, "==", b, Level::comparison};
    }
    friend DimExpr operator!=(const DimExpr &a, const DimExpr &b) {
        return {a, "!=", b, Level::comparison};
    }
    friend DimExpr operator<(const DimExpr &a, const DimExpr &b) {
        return {a, "<", b, Level::comparison};
    }
    friend DimExpr operator<=(const DimExpr &a, const DimExpr &b) {
        return {a, "<=", b, Level::comparison};
    }
    friend DimExpr operator>(const DimExpr &a, const DimExpr &b) {
        return {a, ">", b, Level::comparison};
    }
    friend DimExpr operator>=(const DimExpr &a, const DimExpr &b) {
        return {a, ">=", b, Level::comparison};
    }
    friend DimExpr operator||(const DimExpr &a, const DimExpr &b) {
        return {a.in(Level::either) + "||" + b.in(Level::either), Level::either};
    }
    friend DimExpr operator&&(const DimExpr &a, const DimExpr &b) {
        if (a.words_.empty()) return b;
        if (b.words_.empty()) return a;
        DimExpr e(a.in(Level::both) + "&&" + b.in(Level::both), Level::both);
        e.words_ = a.words_ + " " + b.words_;
        return e;
    }

    friend DimExpr max(const DimExpr &a, const DimExpr &b) { return call("max", a, b); }
    friend DimExpr min(const DimExpr &a, const DimExpr &b) { return call("min", a, b); }
    // a / b, rounded towards plus infinity
    friend DimExpr ceil_div(const DimExpr &a, const DimExpr &b) { return call("cdiv", a, b); }
    friend DimExpr select(const DimExpr &condition, const DimExpr &yes, const DimExpr &no) {
        return {condition.in(Level::either) + " ? " + yes.text_ + " : " + no.text_, Level::value};
    }

protected:
    // in order of precedence, loosest first; the rules of registry/op/expr.h
    enum class Level : uint8_t { value, either, both, comparison, sum, product, unary, atom };
    DimExpr(std::string text, Level level) : text_(std::move(text)), words_(text_), level_(level) {
        std::erase(words_, ' ');
    }

private:
    // Operators of one level associate to the left; comparisons not at all.
    DimExpr(const DimExpr &a, const char *op, const DimExpr &b, Level level)
        : DimExpr(a.in(level == Level::comparison ? Level::sum : level) + op +
                      b.in(Level(int(level) + 1)),
                  level) {}
    static DimExpr call(const char *function, const DimExpr &a, const DimExpr &b) {
        return {std::string(function) + "(" + a.text_ + "," + b.text_ + ")", Level::atom};
    }
    // The text as an operand that binds at least as tightly as `least`.
    std::string in(Level least) const { return level_ < least ? "(" + text_ + ")" : text_; }

    std::string text_, words_;
    Level level_;
};

// A name in such expressions: a dimension, an integer attribute, a value of a choice, a let, or a
// tunable of a schedule. One that the op does not declare is an AttrError of the build.
class Dim : public DimExpr {
public:
    explicit Dim(const std::string &name) : DimExpr(name, Level::atom) {}
    const std::string &name() const { return text(); }
};

}  // namespace halyard

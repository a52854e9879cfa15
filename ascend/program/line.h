// Line: a line of text that is parsed from left to right. Errors name the line, the column and the
// text.
#pragma once
#include <charconv>
#include <string>

#include "ascend/program/expr.h"

namespace halyard::dv {

class Line {
public:
    Line(std::string text, int number) : text_(std::move(text)), number_(number) {}

    [[noreturn]] void fail(const std::string &what) const;  // AttrError
    bool at_end() {
        skip();
        return at_ == text_.size();
    }
    // Consumes `token` if it comes next, and returns true then. A name must match as a whole.
    bool eat(const std::string &token);
    void expect(const std::string &token);  // fails unless `token` comes next
    void end();                             // fails unless the line is at its end
    char peek();                            // returns the next character that isn't a space, or 0
    bool at_name();                         // returns true if a letter or _ comes next
    std::string name();                     // [A-Za-z_][A-Za-z0-9_.$]*
    std::string word();                     // up to a space, '[', '=' or ','
    std::string rest() {
        skip();
        return text_.substr(at_);
    }
    size_t mark() const { return at_; }
    void back_to(size_t mark) { at_ = mark; }
    Expr expr();  // C's precedence; operators of one level associate to the left
    template<class T> T number(int base = 10) {
        skip();
        T v{};
        const char *begin = text_.data() + at_;
        const char *end = text_.data() + text_.size();
        std::from_chars_result r;
        if constexpr (std::is_integral_v<T>)
            r = std::from_chars(begin, end, v, base);
        else
            r = std::from_chars(begin, end, v);
        if (r.ec != std::errc()) fail("expected a number");
        at_ += size_t(r.ptr - begin);
        return v;
    }

private:
    void skip();
    Expr level(int n);
    Expr unary();
    Expr atom();

    std::string text_;
    int number_;
    size_t at_ = 0;
    int nesting_ = 0;
};

}  // namespace halyard::dv

#include "ascend/program/line.h"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <utility>
#include <vector>

#include "registry/base/error.h"

namespace halyard::dv {
namespace {

bool starts_name(char c) {
    return std::isalpha((unsigned char)c) || c == '_';
}
bool in_name(char c) {
    return std::isalnum((unsigned char)c) || c == '_' || c == '.' || c == '$';
}

// Binary operators by precedence, the lowest first. Within a level longer spellings come first.
const std::vector<std::vector<std::pair<const char *, ExprOp>>> levels = {
    {{"||", ExprOp::logical_or}},
    {{"&&", ExprOp::logical_and}},
    {{"==", ExprOp::eq}, {"!=", ExprOp::ne}},
    {{"<=", ExprOp::le}, {"<", ExprOp::lt}},
    {{"+", ExprOp::add}, {"-", ExprOp::sub}},
    {{"*", ExprOp::mul}, {"/", ExprOp::div}, {"%", ExprOp::mod}},
};

}  // namespace

void Line::fail(const std::string &what) const {
    throw AttrError("dv", "line " + std::to_string(number_) + ", column " +
                              std::to_string(at_ + 1) + ": " + what + " in '" + text_ + "'");
}

void Line::skip() {
    while (at_ < text_.size() && std::isspace((unsigned char)text_[at_]))
        at_++;
}

bool Line::eat(const std::string &token) {
    skip();
    if (text_.compare(at_, token.size(), token) != 0) return false;
    if (starts_name(token[0]) && in_name(token.back()) && at_ + token.size() < text_.size() &&
        in_name(text_[at_ + token.size()]))
        return false;
    at_ += token.size();
    return true;
}

void Line::expect(const std::string &token) {
    if (!eat(token)) fail("expected '" + token + "'");
}

void Line::end() {
    if (!at_end()) fail("unexpected '" + rest() + "'");
}

char Line::peek() {
    skip();
    return at_ < text_.size() ? text_[at_] : '\0';
}
bool Line::at_name() {
    return starts_name(peek());
}

std::string Line::name() {
    if (!at_name()) fail("expected a name");
    const size_t from = at_;
    while (at_ < text_.size() && in_name(text_[at_]))
        at_++;
    return text_.substr(from, at_ - from);
}

std::string Line::word() {
    skip();
    const size_t from = at_;
    while (at_ < text_.size() && !std::isspace((unsigned char)text_[at_]) &&
           std::string("[=,").find(text_[at_]) == std::string::npos)
        at_++;
    if (from == at_) fail("expected a word");
    return text_.substr(from, at_ - from);
}

Expr Line::expr() {
    return level(0);
}

Expr Line::level(int n) {
    if (n == int(levels.size())) return unary();
    Expr a = level(n + 1);
    for (bool more = true; more;) {
        more = false;
        for (const auto &[sign, op] : levels[size_t(n)]) {
            if (!eat(sign)) continue;
            a = Expr::binary(op, a, level(n + 1));
            more = true;
            break;
        }
    }
    return a;
}

Expr Line::unary() {
    if (++nesting_ > 100) fail("nested deeper than 100");
    Expr e = eat("-") ? 0 - unary() : atom();
    nesting_--;
    return e;
}

Expr Line::atom() {
    if (eat("(")) {
        Expr e = expr();
        expect(")");
        return e;
    }
    if (std::isdigit((unsigned char)peek())) return number<int64_t>();
    const std::string word = name();
    static constexpr ExprOp functions[] = {ExprOp::min, ExprOp::max, ExprOp::bit_and,
                                           ExprOp::bit_or, ExprOp::bit_xor};
    const auto *const op = std::find_if(std::begin(functions), std::end(functions),
                                        [&](ExprOp f) { return word == function_name(f); });
    if (op == std::end(functions) || !eat("(")) return Expr::var(word);
    const Expr a = expr();
    expect(",");
    const Expr b = expr();
    expect(")");
    return Expr::binary(*op, a, b);
}

}  // namespace halyard::dv

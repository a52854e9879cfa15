#include "gpu/ptx/lexer.h"

#include <bit>
#include <cctype>
#include <cstdlib>

#include "registry/base/error.h"

namespace halyard::ptx {
namespace {

bool begins_word(char c) {
    return std::isalpha((unsigned char)c) || c == '_' || c == '$' || c == '%' || c == '.';
}

bool continues_word(char c) {
    return std::isalnum((unsigned char)c) || c == '_' || c == '$' || c == '.' || c == '%';
}

}  // namespace

void refuse(int line, const std::string &what) {
    throw DeviceError("ptx", "line " + std::to_string(line) + ": " + what);
}

void Lexer::skip_comment() {
    const bool is_block = text_[at_ + 1] == '*';
    const size_t end = text_.find(is_block ? "*/" : "\n", at_ + 2);
    const size_t stop = end == std::string_view::npos ? text_.size() : end + (is_block ? 2 : 0);
    for (; at_ < stop; at_++)
        line_ += text_[at_] == '\n';
}

void Lexer::skip_blanks() {
    while (at_ < text_.size()) {
        const char c = text_[at_];
        const bool is_comment = c == '/' && at_ + 1 < text_.size() &&
                                (text_[at_ + 1] == '/' || text_[at_ + 1] == '*');
        if (is_comment) {
            skip_comment();
        } else if (std::isspace((unsigned char)c)) {
            line_ += c == '\n';
            at_++;
        } else {
            return;
        }
    }
}

size_t Lexer::length_of_token() const {
    const std::string_view rest = text_.substr(at_);
    size_t n = 1;
    if (rest[0] == '"') {
        const size_t end = rest.find('"', 1);
        return end == std::string_view::npos ? rest.size() : end + 1;
    }
    if (begins_word(rest[0]) || std::isdigit((unsigned char)rest[0])) {
        while (n < rest.size() && continues_word(rest[n]))
            n++;
    }
    return n;
}

void Lexer::advance() {
    skip_blanks();
    next_ = {Token::Kind::end, {}, line_};
    if (at_ == text_.size() || text_[at_] == '\0') return;
    const char c = text_[at_];
    next_.kind = c == '"'                         ? Token::Kind::text
                 : std::isdigit((unsigned char)c) ? Token::Kind::number
                 : begins_word(c)                 ? Token::Kind::word
                                                  : Token::Kind::sign;
    next_.spelling = text_.substr(at_, length_of_token());
    at_ += next_.spelling.size();
}

Token Lexer::take() {
    const Token taken = next_;
    advance();
    return taken;
}

bool Lexer::accept(std::string_view s) {
    if (!next_.is(s)) return false;
    advance();
    return true;
}

Token Lexer::expect(std::string_view s) {
    if (!next_.is(s)) {
        refuse(next_.line,
               "expected '" + std::string(s) + "', not '" + std::string(next_.spelling) + "'");
    }
    return take();
}

Token Lexer::expect(Token::Kind kind, const char *what) {
    if (next_.kind != kind) {
        refuse(next_.line,
               std::string("expected ") + what + ", not '" + std::string(next_.spelling) + "'");
    }
    return take();
}

uint64_t Lexer::integer() {
    const bool negative = accept("-");
    const uint64_t value = bits_of_number(expect(Token::Kind::number, "a number"));
    return negative ? 0 - value : value;
}

uint64_t bits_of_number(const Token &t) {
    std::string digits(t.spelling);
    char *end = nullptr;
    uint64_t bits = 0;
    const bool is_float = digits.starts_with("0f") || digits.starts_with("0F") ||
                          digits.starts_with("0d") || digits.starts_with("0D");
    if (is_float) {
        bits = std::strtoull(digits.c_str() + 2, &end, 16);
    } else if (digits.find('.') != std::string::npos) {
        bits = std::bit_cast<uint64_t>(std::strtod(digits.c_str(), &end));
    } else {
        if (digits.back() == 'U') digits.pop_back();
        bits = std::strtoull(digits.c_str(), &end, 0);
    }
    if (*end != '\0') refuse(t.line, "'" + std::string(t.spelling) + "' is no number");
    return bits;
}

}  // namespace halyard::ptx

// The words and signs of a PTX text.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace halyard::ptx {

// Throws DeviceError "[ptx] line N: what".
[[noreturn]] void refuse(int line, const std::string &what);

struct Token {
    enum class Kind : uint8_t { word, number, text, sign, end };
    Kind kind = Kind::end;
    std::string_view spelling;
    int line = 0;

    bool is(std::string_view s) const { return spelling == s && kind != Kind::end; }
};

class Lexer {
public:
    explicit Lexer(std::string_view text) : text_(text) { advance(); }
    const Token &peek() const { return next_; }
    Token take();
    bool accept(std::string_view s);   // takes the token if it is `s`
    Token expect(std::string_view s);  // throws DeviceError if it isn't `s`
    Token expect(Token::Kind kind, const char *what);
    uint64_t integer();  // takes an integer, which may have a minus sign

private:
    void advance();
    void skip_blanks();
    void skip_comment();
    size_t length_of_token() const;

    std::string_view text_;
    size_t at_ = 0;
    int line_ = 1;
    Token next_;
};

// Returns the bits of "12", "0x1F", "0f3F800000", "0d3FF0000000000000" or "1.5", the last as f64.
uint64_t bits_of_number(const Token &t);

}  // namespace halyard::ptx

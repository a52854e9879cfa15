// Makes names from outside of the kit safe to print.
#pragma once
#include <string>

namespace halyard::command {

// Returns control bytes as \x1b, because they move a terminal's cursor and more. Bytes of UTF-8
// stay.
inline std::string printable(char c) {
    const auto byte = (unsigned char)c;
    if (byte >= 0x20 && byte != 0x7f) return std::string(1, c);
    constexpr char digits[] = "0123456789abcdef";
    return std::string("\\x") + digits[byte >> 4] + digits[byte & 15];
}

inline std::string printable(const std::string &text) {
    std::string all;
    for (char c : text)
        all += printable(c);
    return all;
}

}  // namespace halyard::command

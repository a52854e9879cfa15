// What is printed of names that others chose.
#pragma once
#include <string>

namespace halyard::command {

// Control bytes move a terminal's cursor and more: they are shown as \x1b. Bytes of UTF-8 stay.
inline std::string shown(char c) {
    const auto byte = (unsigned char)c;
    if (byte >= 0x20 && byte != 0x7f) return std::string(1, c);
    constexpr char digits[] = "0123456789abcdef";
    return std::string("\\x") + digits[byte >> 4] + digits[byte & 15];
}

inline std::string shown(const std::string &text) {
    std::string all;
    for (char c : text)
        all += shown(c);
    return all;
}

}  // namespace halyard::command

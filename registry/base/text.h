// Small functions for messages and listings.
#pragma once
#include <string>
#include <type_traits>

namespace halyard {

// Returns the texts or numbers of `list` with `separator` between them: "c, h, w".
template<class List> std::string join(const List &list, const std::string &separator = ", ") {
    std::string text;
    bool first = true;
    for (const auto &element : list) {
        if (!first) text += separator;
        if constexpr (std::is_arithmetic_v<std::decay_t<decltype(element)>>)
            text += std::to_string(element);
        else
            text += element;
        first = false;
    }
    return text;
}

// Returns `text` with blanks for its newlines and tabs, and without blanks at its end.
inline std::string one_line(std::string text) {
    for (char &c : text)
        if (c == '\n' || c == '\t') c = ' ';
    while (!text.empty() && text.back() == ' ')
        text.pop_back();
    return text;
}

}  // namespace halyard

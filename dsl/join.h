#pragma once
#include <string>

namespace halyard {

// Returns the texts of `list` with `separator` between them: "c, h, w".
template<class List> std::string join(const List &list, const std::string &separator = ", ") {
    std::string text;
    bool first = true;
    for (const auto &element : list) {
        if (!first) text += separator;
        text += element;
        first = false;
    }
    return text;
}

}  // namespace halyard

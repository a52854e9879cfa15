#include "dsl/name_counters.h"

#include <algorithm>
#include <cctype>
#include <map>

namespace halyard {
namespace {

bool in_name(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$';
}

// Returns `text` with every name replaced by f(name).
template<class F> std::string replace_names(const std::string &text, F f) {
    std::string out;
    for (size_t i = 0; i < text.size();) {
        size_t end = i;
        while (end < text.size() && in_name(text[end]))
            end++;
        if (end == i)
            out += text[i++];
        else {
            out += f(text.substr(i, end - i));
            i = end;
        }
    }
    return out;
}

bool is_digit(char c) {
    return std::isdigit(static_cast<unsigned char>(c));
}

// Returns a name without its counters: "relu" for relu$3, "t" for t74, and "peak_intm" for the Func
// that rfactor() makes of peak$3. Returns "" if the name has no counters.
std::string stem_of(const std::string &name) {
    if (name.size() > 1 && name[0] == 't' && std::all_of(name.begin() + 1, name.end(), is_digit))
        return "t";
    std::string stem;
    for (size_t i = 0; i < name.size();) {
        size_t end = i + 1;
        while (end < name.size() && is_digit(name[end]))
            end++;
        if (end > i + 1 &&
            (name[i] == '$' || (name[i] == '_' && name.compare(end, 5, "_intm") == 0)))
            i = end;
        else
            stem += name[i++];
    }
    return stem == name ? "" : stem;
}

}  // namespace

std::string without_counters(const std::string &text) {
    std::map<std::string, std::string> renamed;
    std::map<std::string, int> next;
    return replace_names(text, [&](const std::string &name) {
        const std::string stem = stem_of(name);
        if (stem.empty()) return name;
        const auto [at, is_new] = renamed.emplace(name, stem);
        if (is_new) {
            if (const int n = next[stem]++; stem == "t" || n > 0)
                at->second += (stem == "t" ? "" : "$") + std::to_string(n);
        }
        return at->second;
    });
}

}  // namespace halyard

#include "dsl/c99/names.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

#include "dsl/c99/functions.h"
#include "registry/base/error.h"

namespace halyard::c99 {
namespace {

constexpr std::array words_of_c = {
    "INFINITY", "NAN",   "NULL",     "arena",   "auto",     "bool",   "break",    "case",
    "char",     "const", "continue", "default", "do",       "double", "else",     "enum",
    "extern",   "float", "for",      "frexp",   "goto",     "if",     "inline",   "int",
    "isfinite", "isinf", "isnan",    "ldexp",   "long",     "main",   "register", "restrict",
    "return",   "short", "signbit",  "signed",  "sizeof",   "static", "struct",   "switch",
    "typedef",  "union", "unsigned", "void",    "volatile", "while"};

// Returns true for a name that Halide made up: r, t or an underscore, and a number.
bool is_made_up(const std::string &s) {
    return s.size() > 1 && std::string("rt_").find(s[0]) != std::string::npos &&
           std::all_of(s.begin() + 1, s.end(),
                       [](unsigned char c) { return std::isdigit(c) != 0; });
}

// Returns the part of Halide's name that stands for the author's.
std::string short_name(const std::string &halide_name) {
    // Halide's mark of a loop that begins at 0.
    constexpr std::string_view moved = ".rebased";
    if (halide_name.ends_with(moved))
        return short_name(halide_name.substr(0, halide_name.size() - moved.size()));
    std::string s = halide_name.substr(halide_name.rfind('.') + 1);
    if (const size_t counter = s.find('$'); counter != std::string::npos && counter > 0)
        s.resize(counter);
    for (char &c : s)
        if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
    // Halide calls the partial sums of sum$11 sum_11_intm.
    if (const size_t suffix = s.rfind("_intm"); suffix != std::string::npos && suffix > 0) {
        s.resize(suffix);
        if (const size_t counter = s.find_last_not_of("0123456789");
            counter > 0 && counter + 1 < s.size() && s[counter] == '_')
            s.resize(counter);
    }
    // Halide numbers the variables that have no name: r544, t13, _0.
    if (is_made_up(s)) s = s[0] == '_' ? "i" : s.substr(0, 1);
    if (s.empty() || std::isdigit(static_cast<unsigned char>(s[0]))) {
        // A part of a tuple, "sums$2.1".
        const size_t dot = halide_name.rfind('.');
        s = (dot == std::string::npos ? "v" : short_name(halide_name.substr(0, dot))) + s;
    }
    return s;
}

}  // namespace

Names::Names() : used_(words_of_c.begin(), words_of_c.end()), blocks_(1) {}

void Names::open_block() {
    blocks_.emplace_back();
}

void Names::close_block() {
    for (auto d = blocks_.back().rbegin(); d != blocks_.back().rend(); ++d) {
        if (!d->name.empty()) used_.erase(d->name);
        if (d->hidden.empty())
            names_.erase(d->halide_name);
        else
            names_[d->halide_name] = d->hidden;
    }
    blocks_.pop_back();
}

std::string Names::declare(const std::string &halide_name) {
    return declare(halide_name, short_name(halide_name));
}

std::string Names::declare(const std::string &halide_name, const std::string &name) {
    const bool is_taken_by_c = is_library_function(name) || name.starts_with("hy_");
    std::string free = is_taken_by_c ? name + "_" : name;
    const bool ends_with_digit = std::isdigit(static_cast<unsigned char>(free.back())) != 0;
    for (int n = 2; used_.count(free) > 0; n++)
        free = name + (ends_with_digit ? "_" : "") + std::to_string(n);
    used_.insert(free);
    const auto before = names_.find(halide_name);
    blocks_.back().push_back({halide_name, free, before == names_.end() ? "" : before->second});
    names_[halide_name] = free;
    return free;
}

void Names::alias(const std::string &halide_name, const std::string &name) {
    const auto before = names_.find(halide_name);
    blocks_.back().push_back({halide_name, "", before == names_.end() ? "" : before->second});
    names_[halide_name] = name;
}

const std::string &Names::of(const std::string &halide_name) {
    const auto at = names_.find(halide_name);
    if (at != names_.end()) read_.insert(at->second);
    if (at == names_.end()) throw Error("c99", "no variable " + halide_name + " is declared");
    return at->second;
}

}  // namespace halyard::c99

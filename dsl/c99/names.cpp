#include "dsl/c99/names.h"

#include <array>
#include <cctype>

#include "dsl/c99/functions.h"
#include "registry/base/error.h"

namespace halyard::c99 {
namespace {

constexpr std::array words_of_c = {
    "INFINITY", "NAN",      "NULL",     "arena",    "auto",     "bool",    "break",  "case",
    "char",     "const",    "continue", "default",  "do",       "double",  "else",   "enum",
    "extern",   "float",    "for",      "frexp",    "goto",     "if",      "inline", "int",
    "ldexp",    "long",     "main",     "register", "restrict", "return",  "short",  "signbit",
    "signed",   "sizeof",   "static",   "struct",   "switch",   "typedef", "union",  "unsigned",
    "void",     "volatile", "while"};

// Returns the part of Halide's name that stands for the author's.
std::string short_name(const std::string &halide_name) {
    std::string s = halide_name.substr(halide_name.rfind('.') + 1);
    if (const size_t counter = s.find('$'); counter != std::string::npos && counter > 0)
        s.resize(counter);
    for (char &c : s)
        if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
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
        used_.erase(d->name);
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

const std::string &Names::of(const std::string &halide_name) const {
    const auto at = names_.find(halide_name);
    if (at == names_.end()) throw Error("c99", "no variable " + halide_name + " is declared");
    return at->second;
}

}  // namespace halyard::c99

// The names of ops: the kit's own, MindSpore's, NumPy's and PyTorch's.
#include <algorithm>
#include <cctype>
#include <string_view>

#include "registry/op/op_record.h"

namespace halyard {

namespace {

std::string camel_case(const std::string &name) {
    std::string s;
    bool up = true;
    for (char c : name) {
        if (c == '_')
            up = true;
        else {
            s += up ? char(std::toupper((unsigned char)c)) : c;
            up = false;
        }
    }
    return s;
}

// The words that can't be constants of a Choice: C++'s keywords, macros of its headers, and
// Choice's own members.
constexpr std::string_view reserved_words[] = {
    "alignas",       "alignof",     "and",
    "and_eq",        "asm",         "auto",
    "bitand",        "bitor",       "bool",
    "break",         "case",        "catch",
    "char",          "char16_t",    "char32_t",
    "char8_t",       "class",       "co_await",
    "co_return",     "co_yield",    "compl",
    "concept",       "const",       "const_cast",
    "consteval",     "constexpr",   "constinit",
    "continue",      "decltype",    "default",
    "delete",        "do",          "double",
    "dynamic_cast",  "else",        "enum",
    "explicit",      "export",      "extern",
    "false",         "float",       "for",
    "friend",        "goto",        "if",
    "inline",        "int",         "long",
    "mutable",       "namespace",   "new",
    "noexcept",      "not",         "not_eq",
    "nullptr",       "operator",    "or",
    "or_eq",         "private",     "protected",
    "public",        "register",    "reinterpret_cast",
    "requires",      "return",      "short",
    "signed",        "sizeof",      "static",
    "static_assert", "static_cast", "struct",
    "switch",        "template",    "this",
    "thread_local",  "throw",       "true",
    "try",           "typedef",     "typeid",
    "typename",      "union",       "unsigned",
    "using",         "virtual",     "void",
    "volatile",      "wchar_t",     "while",
    "xor",           "xor_eq",      "EOF",
    "INFINITY",      "NAN",         "NULL",
    "Choice",        "Name",        "names",
    "text",          "type",
};

// Returns a constant for `name` in the class `type`.
std::string constant_of(const std::string &name, const std::string &type) {
    std::string s;
    for (char c : name) {
        const bool kept = std::isalnum((unsigned char)c) || c == '_';
        if (kept || !s.ends_with('_')) s += kept ? c : '_';
    }
    if (s.empty() || !std::isalpha((unsigned char)s[0]))
        s = (s.starts_with('_') ? "as" : "as_") + s;
    return s == type || std::ranges::count(reserved_words, s) ? s + "_" : s;
}

}  // namespace

std::vector<const VariantSpec *> all_variants(const OpRecord &op) {
    std::vector<const VariantSpec *> all;
    for (const auto *variants : {&op.variants, &op.gpu_variants})
        for (const VariantSpec &v : *variants)
            all.push_back(&v);
    return all;
}

const VariantSpec *find_variant(const OpRecord &op, const std::string &name) {
    // Planning calls this for each candidate, so no list is made.
    for (const auto *variants : {&op.variants, &op.gpu_variants}) {
        const auto v = std::ranges::find(*variants, name, &VariantSpec::name);
        if (v != variants->end()) return &*v;
    }
    return nullptr;
}

std::string class_name(const OpRecord &op) {
    return op.alias.empty() ? camel_case(op.name) : op.alias;
}

std::string choice_type(const AttrSpec &choice) {
    return choice.type.empty() ? camel_case(choice.name) : choice.type;
}

std::vector<std::string> choice_constants(const AttrSpec &choice) {
    std::vector<std::string> all;
    for (const std::string &name : choice.choices) {
        const std::string first = constant_of(name, choice_type(choice));
        std::string constant = first;
        for (int k = 2; std::ranges::count(all, constant) > 0; k++)
            constant = first + (first.ends_with('_') ? "" : "_") + std::to_string(k);
        all.push_back(constant);
    }
    return all;
}

const std::string &function_name(const OpRecord &op) {
    return op.functional.empty() ? op.name : op.functional;
}

std::string kernel_function_name(const OpRecord &op) {
    constexpr std::string_view suffix = "_kernel";
    std::string name = op.name;
    const size_t at = name.find(suffix);
    if (at != std::string::npos) name.erase(at, suffix.size());
    return name;
}

std::vector<std::string> further_names(const OpRecord &op) {
    std::vector<std::string> all;
    if (op.internal) return all;
    auto add = [&](const std::string &name) {
        if (name != op.name && std::find(all.begin(), all.end(), name) == all.end())
            all.push_back(name);
    };
    add(function_name(op));
    add(class_name(op));
    for (auto &name : op.other_names)
        add(name);
    return all;
}

}  // namespace halyard

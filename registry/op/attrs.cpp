#include "registry/op/attrs.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <sstream>

#include "registry/base/error.h"
#include "registry/base/text.h"

namespace halyard {
namespace {

int64_t to_integer(const OpRecord &op, const AttrSpec &a, const std::string &s) {
    size_t used = 0;
    int64_t v = 0;
    try {
        v = std::stoll(s, &used);
    } catch (const std::exception &) {
        used = 0;
    }
    if (s.empty() || used != s.size())
        throw AttrError(op.name, a.name + " is '" + s + "', expected an integer");
    return v;
}

AttrValue parsed(const OpRecord &op, const AttrSpec &a, const std::string &s) {
    switch (a.kind) {
    case AttrKind::integer: return to_integer(op, a, s);
    case AttrKind::boolean:
        if (s == "true" || s == "True") return true;
        if (s == "false" || s == "False") return false;
        return to_integer(op, a, s) != 0;
    case AttrKind::real: {
        char *end = nullptr;
        const double v = std::strtod(s.c_str(), &end);
        if (s.empty() || *end)
            throw AttrError(op.name, a.name + " is '" + s + "', expected a number");
        return v;
    }
    case AttrKind::ints: {
        Ints list;
        std::stringstream words(s);
        for (std::string w; std::getline(words, w, ',');)
            list.push_back(to_integer(op, a, w));
        return list;
    }
    case AttrKind::choice:
    case AttrKind::dtype:
    case AttrKind::text: break;
    }
    return s;
}

}  // namespace

Attrs::Attrs(const OpRecord &op, const std::vector<std::pair<std::string, AttrValue>> &given)
    : op_(&op), values_(op.attrs.size()) {
    for (auto &[name, value] : given)
        if (find(name) < 0) throw AttrError(op.name, "no attribute '" + name + "'");
    for (size_t k = 0; k < op.attrs.size(); k++) {
        const AttrSpec &a = op.attrs[k];
        const AttrValue *value = nullptr;
        for (auto &g : given)
            if (g.first == a.name) value = &g.second;
        if (value)
            assign(k, *value);
        else if (!a.is_required())
            assign(k, parsed(op, a, a.value));
        else
            throw AttrError(op.name, "attribute '" + a.name + "' is required");
    }
    rehash();
}

Attrs::Attrs(const OpRecord &op, std::initializer_list<AttrValue> in_order)
    : op_(&op), values_(op.attrs.size()) {
    auto next = in_order.begin();
    for (size_t k = 0; k < op.attrs.size(); k++) {
        const AttrSpec &a = op.attrs[k];
        if (!a.at_call && next != in_order.end())
            assign(k, *next++);
        else if (!a.is_required())
            assign(k, parsed(op, a, a.value));
    }
    rehash();
}

Attrs::Attrs(const OpRecord &op, const std::map<std::string, std::string> &text) : op_(&op) {
    std::vector<std::pair<std::string, AttrValue>> given;
    for (auto &[name, value] : text) {
        const int k = find(name);
        if (k < 0) throw AttrError(op.name, "no attribute '" + name + "'");
        given.emplace_back(name, parsed(op, op.attrs[k], value));
    }
    *this = Attrs(op, given);
}

Attrs::Attrs(const OpRecord &op, const OpRecord &other_op, const Attrs &other)
    : op_(&op), values_(op.attrs.size()) {
    for (size_t k = 0; k < op.attrs.size(); k++) {
        const AttrSpec &a = op.attrs[k];
        size_t j = 0;
        while (j < other_op.attrs.size() && other_op.attrs[j].name != a.name)
            j++;
        if (j < other_op.attrs.size())
            values_[k] = other.values_[j];
        else if (!a.is_required())
            assign(k, parsed(op, a, a.value));
        else
            throw AttrError(op.name, "attribute '" + a.name + "' is required");
    }
    rehash();
}

int Attrs::find(const std::string &name) const {
    for (size_t k = 0; k < op_->attrs.size(); k++)
        if (op_->attrs[k].name == name) return int(k);
    return -1;
}

void Attrs::set(size_t k, const AttrValue &value) {
    assign(k, value);
    rehash();
}

namespace {

// Returns the integers of `value`; one integer stands for all parts.
Ints ints_of(const OpRecord &op, const AttrSpec &a, Ints value) {
    if (a.parts.empty()) return value;
    if (value.size() == 1) value.assign(a.parts.size(), value[0]);
    if (value.size() != a.parts.size()) {
        throw AttrError(op.name, fmt::format("{} has {} values, expected 1 or {}", a.name,
                                             value.size(), a.parts.size()));
    }
    return value;
}

int64_t choice_of(const OpRecord &op, const AttrSpec &a, const std::string &name) {
    const auto it = std::ranges::find(a.choices, name);
    if (it != a.choices.end()) return it - a.choices.begin();
    throw AttrError(op.name, a.name + " is '" + name + "', expected one of " + join(a.choices));
}

int64_t dtype_value(const OpRecord &op, const AttrSpec &a, const std::string &name) {
    try {
        return static_cast<int64_t>(dtype_of(name));
    } catch (const DTypeError &e) {
        throw AttrError(op.name, a.name + ": " + e.detail());
    }
}

// Returns the value as a T. Throws AttrError naming what was expected if it is of another type.
template<class T>
const T &get(const OpRecord &op, const AttrSpec &a, const AttrValue &value, const char *expected) {
    if (const T *v = std::get_if<T>(&value.v)) return *v;
    throw AttrError(op.name, a.name + ": expected " + expected);
}

}  // namespace

void Attrs::assign(size_t k, const AttrValue &value) {
    const AttrSpec &a = op_->attrs[k];
    Value &to = values_[k];
    const auto *integer = std::get_if<int64_t>(&value.v);
    switch (a.kind) {
    case AttrKind::integer:
    case AttrKind::boolean: to.i = get<int64_t>(*op_, a, value, "an integer"); break;
    case AttrKind::real:
        to.r = integer ? static_cast<double>(*integer) : get<double>(*op_, a, value, "a number");
        break;
    case AttrKind::ints:
        to.ints = ints_of(*op_, a,
                          integer ? Ints{*integer} : get<Ints>(*op_, a, value, "integers"));
        break;
    case AttrKind::choice:
        to.i = choice_of(*op_, a, get<std::string>(*op_, a, value, "a name"));
        break;
    case AttrKind::dtype:
        to.i = dtype_value(*op_, a, get<std::string>(*op_, a, value, "a dtype"));
        break;
    case AttrKind::text: {
        const std::string &text = get<std::string>(*op_, a, value, "text");
        to.ints.assign(text.begin(), text.end());
        break;
    }
    }
}

uint64_t Attrs::hash(const std::vector<bool> &left_out) const {
    uint64_t h = uint64_t(uintptr_t(op_));
    auto eat = [&](uint64_t v) {
        h = (h ^ v) * 0x9E3779B97F4A7C15u;
        h ^= h >> 32;
    };
    for (size_t k = 0; k < values_.size(); k++) {
        if (k < left_out.size() && left_out[k]) continue;
        const Value &v = values_[k];
        eat(uint64_t(v.i));
        eat(v.ints.size());
        for (int64_t i : v.ints)
            eat(uint64_t(i));
    }
    return h;
}

bool Attrs::plans_like(const Attrs &o, const std::vector<bool> &left_out) const {
    bool same = op_ == o.op_ && values_.size() == o.values_.size();
    for (size_t k = 0; same && k < values_.size(); k++)
        same = (k < left_out.size() && left_out[k]) || values_[k] == o.values_[k];
    return same;
}

std::string Attrs::value_text(size_t k, int digits) const {
    const AttrSpec &a = op_->attrs[k];
    switch (a.kind) {
    case AttrKind::real: return fmt::format("{:.{}g}", values_[k].r, digits);
    case AttrKind::choice: return a.choices[size_t(values_[k].i)];
    case AttrKind::dtype: return name_of(static_cast<DType>(values_[k].i));
    case AttrKind::ints: return join(values_[k].ints, ",");
    case AttrKind::text: return words(k);
    default: return std::to_string(values_[k].i);
    }
}

std::string Attrs::text() const {
    constexpr int readable = 9;
    std::string s;
    for (size_t k = 0; k < values_.size(); k++)
        s += (k ? " " : "") + op_->attrs[k].name + "=" + value_text(k, readable);
    return s;
}

std::string Attrs::exact_text(size_t k) const {
    return value_text(k, std::numeric_limits<double>::max_digits10);
}

std::map<std::string, std::string> Attrs::exact_texts() const {
    std::map<std::string, std::string> texts;
    for (size_t k = 0; k < values_.size(); k++)
        texts[op_->attrs[k].name] = exact_text(k);
    return texts;
}

}  // namespace halyard

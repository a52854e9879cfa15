#include "registry/op/names.h"

#include <algorithm>

#include "registry/op/expr_cache.h"

namespace halyard {

void bind_attributes(const Attrs &attrs, Dims &dims) {
    const OpRecord &r = attrs.op();
    for (size_t k = 0; k < r.attrs.size(); k++) {
        const AttrSpec &a = r.attrs[k];
        for (size_t c = 0; c < a.choices.size(); c++)
            dims[a.choices[c]] = int64_t(c);
        if (a.kind == AttrKind::ints) {
            for (size_t p = 0; p < a.parts.size(); p++)
                dims[a.parts[p]] = attrs.ints(k)[p];
        } else if (a.kind != AttrKind::real)
            dims[a.name] = attrs.integer(k);
    }
}

namespace {

// Returns how a condition fails: "stride_h>=1: stride_h is 0" or "pad_mode==pad||top==0
// (pad_mode=valid, top=1)"; "" when it holds.
std::string broken(const OpRecord &op, const ParsedExpr &condition, const Dims &dims) {
    std::string why;
    try {
        if (holds(condition.text(), dims, &why)) return "";
    } catch (const ShapeError &e) {
        return condition.text() + " (" + e.detail() + ")";
    }
    if (condition.is_comparison()) return why;
    std::string values;
    for (const std::string &name : condition.names()) {
        bool choice = false;
        std::string value = std::to_string(dims.at(name));
        for (const AttrSpec &a : op.attrs) {
            choice |= std::find(a.choices.begin(), a.choices.end(), name) != a.choices.end();
            if (a.name == name && a.kind == AttrKind::choice)
                value = a.choices[size_t(dims.at(name))];
        }
        if (!choice) values += (values.empty() ? "" : ", ") + name + "=" + value;
    }
    return condition.text() + " (" + values + ")";
}

}  // namespace

void check_conditions(const OpRecord &op, const Dims &dims, bool all) {
    for (const std::string &text : op.conditions) {
        const std::shared_ptr<const ParsedExpr> condition = parsed(text, op.name);
        bool known = true, of_attribute = false;
        for (const std::string &name : condition->names()) {
            known &= dims.count(name) > 0;
            for (const AttrSpec &a : op.attrs) {
                of_attribute |= name == a.name ||
                                std::find(a.parts.begin(), a.parts.end(), name) != a.parts.end();
            }
        }
        if (!known && !all) continue;
        const std::string why = broken(op, *condition, dims);
        if (why.empty()) continue;
        if (of_attribute) throw AttrError(op.name, "needs " + why);
        throw ShapeError(op.name, "needs " + why);
    }
}

void bind_derived(const OpRecord &r, Dims &dims) {
    bool has_derived = true;
    auto derive = [&](const std::string &name, const std::string &value) {
        if (dims.count(name)) return;
        const std::shared_ptr<const ParsedExpr> expression = parsed(value, r.name);
        for (const std::string &n : expression->names())
            if (!dims.count(n)) return;
        dims[name] = value_of(r.name, *expression, dims);
        has_derived = true;
    };
    for (int round = 0; round < 2 && has_derived; round++) {
        has_derived = false;
        for (auto &s : r.scalars)
            if (!s.real) derive(s.name, s.value);
        for (auto &l : r.lets)
            derive(l.name, l.value);
    }
}

}  // namespace halyard

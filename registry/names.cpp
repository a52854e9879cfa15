// The names that a record's expressions may use.
#include "registry/expr.h"
#include "registry/plan.h"

namespace halyard {

void bind_attributes(const Attrs &attrs, std::map<std::string, int64_t> &dims) {
    const OpRecord &r = attrs.op();
    for (size_t k = 0; k < r.attrs.size(); k++) {
        const AttrSpec &a = r.attrs[k];
        for (size_t c = 0; c < a.choices.size(); c++) dims[a.choices[c]] = (int64_t)c;
        if (a.kind == AttrKind::ints)
            for (size_t p = 0; p < a.parts.size(); p++) dims[a.parts[p]] = attrs.ints(k)[p];
        else if (a.kind != AttrKind::real) dims[a.name] = attrs.integer(k);
    }
}

void bind_derived(const OpRecord &r, std::map<std::string, int64_t> &dims) {
    auto derive = [&](const std::string &name, const std::string &value) {
        if (dims.count(name)) return;
        const std::vector<std::string> needed = ParsedExpr(value).names();
        for (auto &n : needed)
            if (!dims.count(n)) return;
        dims[name] = evaluate<int64_t>(value, dims);
    };
    for (int round = 0; round < 2; round++) {
        for (auto &s : r.scalars)
            if (!s.real) derive(s.name, s.value);
        for (auto &l : r.lets) derive(l.name, l.value);
    }
}

}  // namespace halyard

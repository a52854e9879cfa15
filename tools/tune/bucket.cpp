#include "tools/tune/bucket.h"

#include <algorithm>
#include <bit>

#include "registry/op/expr.h"
#include "registry/op/names.h"

namespace halyard::tune {

std::string bucket_of(const Plan &plan) {
    const RegisteredOp &op = *plan.op;
    std::vector<std::string> names;
    for (auto *list : {&op.signature.inputs, &op.signature.outputs}) {
        for (const TensorSpec &t : *list) {
            if (t.any_rank) names.insert(names.end(), {"d0", "d1", "d2"});
            if (!t.group.empty()) names.push_back(t.group);
            for (auto &e : t.extents)
                if (is_name(e)) names.push_back(e);
        }
    }
    std::string text;
    auto add = [&](const std::string &name, int64_t value) {
        text += (text.empty() ? "" : " ") + name + "=" + std::to_string(value);
    };
    std::vector<std::string> seen;
    for (auto &name : names) {
        const auto at = plan.dims.find(name);
        if (at == plan.dims.end() || std::find(seen.begin(), seen.end(), name) != seen.end())
            continue;
        seen.push_back(name);
        add(name, at->second > 0 ? int64_t(std::bit_floor(uint64_t(at->second))) : 0);
    }
    std::map<std::string, int64_t> defaults;
    bind_attributes(Attrs(op.record), defaults);
    for (const AttrSpec &a : op.record.attrs) {
        std::vector<std::string> values = a.parts;
        values.push_back(a.name);
        for (auto &name : values) {
            const auto at = plan.dims.find(name);
            const std::map<std::string, int64_t>::const_iterator usual = defaults.find(name);
            if (at != plan.dims.end() && (usual == defaults.end() || usual->second != at->second))
                add(name, at->second);
        }
    }
    return text;
}

}  // namespace halyard::tune

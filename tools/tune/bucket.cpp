#include "tools/tune/bucket.h"

#include <algorithm>
#include <bit>

#include "registry/op/expr.h"
#include "registry/op/names.h"

namespace halyard::tune {

namespace {

// Returns the dimensions of a signature, each once.
std::vector<std::string> dimensions_of(const Signature &sig) {
    std::vector<std::string> names;
    const auto add = [&](const std::string &name) {
        if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    };
    for (auto *list : {&sig.inputs, &sig.outputs}) {
        for (const TensorSpec &t : *list) {
            for (const char *name : {"d0", "d1", "d2"})
                if (t.any_rank) add(name);
            if (!t.group.empty()) add(t.group);
            for (auto &e : t.extents)
                if (is_name(e)) add(e);
        }
    }
    return names;
}

}  // namespace

std::string bucket_of(const Plan &plan) {
    const OpRecord &record = plan.op->record;
    std::string text;
    const auto add = [&](const std::string &name, int64_t value) {
        text += (text.empty() ? "" : " ") + name + "=" + std::to_string(value);
    };
    for (auto &name : dimensions_of(plan.op->signature)) {
        if (const auto at = plan.dims.find(name); at != plan.dims.end())
            add(name, at->second > 0 ? int64_t(std::bit_floor(uint64_t(at->second))) : 0);
    }
    Dims defaults;
    bind_attributes(Attrs(record), defaults);
    for (const AttrSpec &a : record.attrs) {
        std::vector<std::string> values = a.parts;
        values.push_back(a.name);
        for (auto &name : values) {
            const auto at = plan.dims.find(name);
            const auto usual = defaults.find(name);
            if (at != plan.dims.end() && (usual == defaults.end() || usual->second != at->second))
                add(name, at->second);
        }
    }
    return text;
}

}  // namespace halyard::tune

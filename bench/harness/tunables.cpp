#include "bench/harness/tunables.h"
#include "registry/base/text.h"

#include "bench/harness/op_call.h"

namespace halyard::bench {

Tunables tunables_from(const std::string &op, const Instance &baseline,
                       const std::vector<std::string> &texts) {
    if (texts.empty()) return {};
    const auto offered = Kernel(op_table().make(op), baseline).instance.tunables.offered;
    Tunables tunables;
    for (auto &t : texts) {
        const auto [name, value] = assignment(op, t);
        const auto it = offered.find(name);
        if (it == offered.end()) {
            std::string all;
            for (auto &[known, values] : offered)
                all += (all.empty() ? "there are " : ", ") + known + " (" + join(values) + ")";
            throw AttrError(op, "no pick '" + name + "', " +
                                    (all.empty() ? "this kernel has none" : all));
        }
        bool found = false;
        for (int v : it->second) {
            if (std::to_string(v) == value) {
                tunables.chosen[name] = v;
                found = true;
            }
        }
        if (!found)
            throw AttrError(op, name + " is '" + value + "', offered are " + join(it->second));
    }
    return tunables;
}

}  // namespace halyard::bench

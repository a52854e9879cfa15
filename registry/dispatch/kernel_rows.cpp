#include "registry/dispatch/kernel_rows.h"

#include <sstream>

namespace halyard {

std::vector<KernelEntry> kernel_entries(const KernelRow *rows, size_t count) {
    std::vector<KernelEntry> all;
    all.reserve(count);
    for (size_t i = 0; i < count; i++) {
        const KernelRow &r = rows[i];
        KernelEntry &k = all.emplace_back(
            KernelEntry{r.op, r.backend, r.dtypes, r.variant, r.isa, r.lanes, {}, r.fn});
        if (!*r.tunables) continue;  // most of some thousand, at each start
        std::istringstream tunables(r.tunables);
        std::string name;
        for (int64_t value; tunables >> name >> value;)
            k.tunables[name] = value;
    }
    return all;
}

}  // namespace halyard

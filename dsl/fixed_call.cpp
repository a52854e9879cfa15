#include "dsl/fixed_call.h"

#include <algorithm>

namespace halyard {

bool FixedCall::is_dense(const Layout &l) {
    int64_t next = 1;
    for (auto &d : l) {
        if (d.extent > 1 && d.stride != next) return false;
        next *= d.extent;
    }
    return true;
}

bool FixedCall::is_empty(const Layout &l) {
    return std::any_of(l.begin(), l.end(), [](const Dim &d) { return d.extent == 0; });
}

int64_t elements_spanned(const FixedCall::Layout &layout) {
    if (FixedCall::is_empty(layout)) return 0;
    int64_t last = 0;
    for (auto &d : layout)
        last += int64_t(d.extent - 1) * d.stride;
    return last + 1;
}

}  // namespace halyard

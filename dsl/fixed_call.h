// FixedCall: the one call that a program is made for, where a backend makes programs for calls and
// not for shapes: Ascend's and C99's.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "registry/base/named.h"

namespace halyard {

// The call that a program is made for.
struct FixedCall {
    struct Dim {
        int extent = 1, stride = 1;  // the stride in elements
    };
    using Layout = std::vector<Dim>;        // innermost first
    static bool is_dense(const Layout &l);  // contiguous, in the order of the dimensions
    static bool is_empty(const Layout &l);  // has no element
    std::vector<Layout> inputs, outputs;    // the layouts of the kernel's tensors
    // The value of each scalar of the record, in its order; undefined for real ones.
    std::vector<int> integers;
    Named<int64_t> dims;             // the values that conditions of variants may use (Plan::dims)
    std::string chip = "ascend910";  // a profile of ascend/profiles
    int lanes = 1;  // C99: neighbours of an output whose sums are computed side by side
};

// Returns the number of elements from the first to the last one in memory, including gaps.
int64_t elements_spanned(const FixedCall::Layout &layout);

}  // namespace halyard

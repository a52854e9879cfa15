// The kernels of an op file as its generated records list them: plain rows, which a compiler reads
// at once. The same list as initialised KernelEntry objects took GCC 50 s for 1074 kernels (AMD
// EPYC Zen 5), against 1 s.
#pragma once
#include "registry/op/op_record.h"

namespace halyard {

struct KernelRow {
    const char *op, *backend, *dtypes, *variant;
    Isa isa;
    int lanes;
    const char *tunables;  // "block 16 unroll 4", or ""
    KernelFn fn;
};

std::vector<KernelEntry> kernel_entries(const KernelRow *rows, size_t count);

}  // namespace halyard

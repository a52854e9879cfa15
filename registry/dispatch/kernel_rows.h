// The list of kernels in an op file's generated records. It is made of plain rows, because a list
// of initialised KernelEntry objects takes a compiler far longer (docs/performance.md, "Run time").
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

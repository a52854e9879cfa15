#include "registry/gpu/buffer_rows.h"

#include <algorithm>
#include <vector>

namespace halyard::gpu {
namespace {

struct Dimension {
    size_t extent, stride;  // the stride is in bytes
};

// Returns the dimensions that move, the innermost first.
std::vector<Dimension> moving_dimensions(const halide_buffer_t &buffer) {
    std::vector<Dimension> all;
    for (int d = 0; d < buffer.dimensions; d++) {
        const halide_dimension_t &dim = buffer.dim[d];
        if (dim.extent > 1 && dim.stride != 0)
            all.push_back({size_t(dim.extent), size_t(dim.stride) * size_t(buffer.type.bytes())});
    }
    std::sort(all.begin(), all.end(), [](auto &a, auto &b) { return a.stride < b.stride; });
    return all;
}

void visit_rows(const Dimension *begin, const Dimension *end, size_t offset, size_t bytes,
                const std::function<void(size_t, size_t)> &f) {
    if (begin == end) return f(offset, bytes);
    const Dimension &outer = end[-1];
    for (size_t k = 0; k < outer.extent; k++)
        visit_rows(begin, end - 1, offset + k * outer.stride, bytes, f);
}

}  // namespace

size_t span_of(const halide_buffer_t &buffer) {
    int64_t last = 0;
    for (int d = 0; d < buffer.dimensions; d++) {
        const halide_dimension_t &dim = buffer.dim[d];
        if (dim.extent == 0) return 0;
        last += int64_t(dim.extent - 1) * dim.stride;
    }
    return size_t(last + 1) * size_t(buffer.type.bytes());
}

void for_each_row(const halide_buffer_t &buffer, const std::function<void(size_t, size_t)> &f) {
    if (span_of(buffer) == 0) return;
    const std::vector<Dimension> all = moving_dimensions(buffer);
    size_t bytes = size_t(buffer.type.bytes());
    size_t joined = 0;
    while (joined < all.size() && all[joined].stride == bytes)
        bytes *= all[joined++].extent;
    visit_rows(all.data() + joined, all.data() + all.size(), 0, bytes, f);
}

}  // namespace halyard::gpu

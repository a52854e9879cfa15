#include "registry/tensor/tensor_copy.h"

#include <algorithm>
#include <cstring>

#include "registry/base/parallel.h"
#include "registry/tensor/convert.h"
#include "registry/tensor/transpose.h"

namespace halyard {
namespace {

constexpr int64_t parallel_elements = 1 << 16;  // below, a second thread costs more than it saves

struct Dim {
    int64_t extent, to, from;  // strides in elements
};

// The loops of a copy, outermost first. There are at least two, of extents other than 1 as far as
// possible; neighbours that are contiguous on both sides are merged.
struct Loops {
    Dim d[max_rank + 2];
    int rank = 0;
};

Loops loops_of(const TensorImpl &to, const TensorImpl &from) {
    Dim all[max_rank];
    int n = 0;
    for (int i = 0; i < to.shape.rank(); i++)
        if (to.shape[i] != 1) all[n++] = {to.shape[i], to.strides[i], from.strides[i]};
    // Writes go through memory in order.
    std::stable_sort(all, all + n, [](const Dim &a, const Dim &b) { return a.to > b.to; });
    Loops l;
    for (int i = 0; i < n; i++) {
        Dim *last = l.rank ? &l.d[l.rank - 1] : nullptr;
        if (last && last->to == all[i].to * all[i].extent &&
            last->from == all[i].from * all[i].extent)
            *last = {last->extent * all[i].extent, all[i].to, all[i].from};
        else
            l.d[l.rank++] = all[i];
    }
    while (l.rank < 2) {
        for (int i = l.rank++; i > 0; i--)
            l.d[i] = l.d[i - 1];
        l.d[0] = {1, 0, 0};
    }
    // In a transposition the loop that reads in order comes last but one, next to the one that
    // writes in order, so that both are tiled.
    if (l.d[l.rank - 1].from != 1) {
        for (int i = 0; i + 2 < l.rank; i++)
            if (l.d[i].from == 1) std::rotate(l.d + i, l.d + i + 1, l.d + l.rank - 1);
    }
    return l;
}

// Copies rows that are contiguous on both sides.
template<class To, class From>
void copy_contiguous(To *to, const From *from, const Dim &row, const Dim &col) {
    for (int64_t i = 0; i < row.extent; i++, to += row.to, from += row.from) {
        if constexpr (std::is_same_v<To, From>) {
            std::memcpy(to, from, size_t(col.extent) * sizeof(To));
        } else {
            for (int64_t j = 0; j < col.extent; j++)
                to[j] = convert<To>(from[j]);
        }
    }
}

template<class To, class From>
void copy_strided(To *to, const From *from, const Dim &row, const Dim &col) {
    for (int64_t i = 0; i < row.extent; i++) {
        for (int64_t j = 0; j < col.extent; j++)
            to[i * row.to + j * col.to] = convert<To>(from[i * row.from + j * col.from]);
    }
}

// Copies tile by tile, for sources whose columns are contiguous.
template<class To, class From>
void copy_tiles(To *to, const From *from, const Dim &row, const Dim &col) {
    constexpr int64_t tile = 16;
    for (int64_t i = 0; i < row.extent; i += tile) {
        for (int64_t j = 0; j < col.extent; j += tile) {
            copy_strided(to + i * row.to + j * col.to, from + i * row.from + j * col.from,
                         {std::min(tile, row.extent - i), row.to, 1},
                         {std::min(tile, col.extent - j), col.to, col.from});
        }
    }
}

template<class To, class From>
void copy_rows(To *to, const From *from, const Dim &row, const Dim &col) {
    constexpr bool same = std::is_same_v<To, From>;
    if (col.to == 1 && col.from == 1) {
        copy_contiguous(to, from, row, col);
    } else if (same && col.to == 1 && row.from == 1) {
        transpose_elements(to, from, row.extent, col.extent, row.to, col.from, sizeof(To));
    } else if (same && col.to == 1 && col.from == -1) {
        for (int64_t i = 0; i < row.extent; i++)
            reverse_elements(to + i * row.to, from + i * row.from, col.extent, sizeof(To));
    } else if (row.from == 1 && row.extent > 1) {
        copy_tiles(to, from, row, col);
    } else {
        copy_strided(to, from, row, col);
    }
}

template<class To, class From> void copy_loops(To *to, const From *from, const Dim *d, int rank) {
    if (rank == 2) return copy_rows(to, from, d[0], d[1]);
    for (int64_t i = 0; i < d->extent; i++)
        copy_loops(to + i * d->to, from + i * d->from, d + 1, rank - 1);
}

template<class To, class From>
void copy_parallel(To *to, const From *from, const Loops &l, int64_t elements) {
    if (elements < parallel_elements || threads() == 1) return copy_loops(to, from, l.d, l.rank);
    const int64_t parts = 4 * threads();
    int split = 0;  // the outermost loop with enough iterations for all parts, else the longest
    for (int i = 0; i < l.rank && l.d[split].extent < parts; i++)
        if (l.d[i].extent > l.d[split].extent) split = i;
    const Dim whole = l.d[split];
    const int64_t n = std::min(parts, whole.extent);
    parallel_for(0, n, [&](int64_t part) {
        const int64_t begin = whole.extent * part / n;
        const int64_t end = whole.extent * (part + 1) / n;
        Loops mine = l;
        mine.d[split].extent = end - begin;
        copy_loops(to + begin * whole.to, from + begin * whole.from, mine.d, mine.rank);
    });
}

}  // namespace

void copy_elements(const Tensor &target, const Tensor &source) {
    const TensorImpl &to = *target.impl();
    const TensorImpl &from = *source.impl();
    const int64_t elements = to.shape.elements();
    if (elements == 0) return;
    DeviceCopy *const elsewhere = from.storage->device.load(std::memory_order_acquire);
    if (elsewhere && elsewhere->copy_elements(target, source)) return;
    from.before_read();
    to.before_overwrite();
    if (to.dense && from.dense && to.dtype == from.dtype && elements < parallel_elements) {
        std::memcpy(to.data, from.data, size_t(elements) * bytes_of(to.dtype));
        return;
    }
    const Loops l = loops_of(to, from);
    visit_dtype(from.dtype, [&](auto s) {
        using From = decltype(s);
        const auto *p = reinterpret_cast<const From *>(from.data);
        if (from.dtype == to.dtype)
            return copy_parallel(reinterpret_cast<From *>(to.data), p, l, elements);
        visit_dtype(to.dtype, [&](auto d) {
            copy_parallel(reinterpret_cast<decltype(d) *>(to.data), p, l, elements);
        });
    });
}

}  // namespace halyard

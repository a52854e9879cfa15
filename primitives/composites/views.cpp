// Compositions that take dimensions in another order, apart or together (records:
// kernels/layout/views.cpp).
#include <algorithm>
#include <numeric>

#include "primitives/composites/composite.h"
#include "primitives/composites/composition.h"

namespace halyard {
namespace {

Result contiguous(Tensors in, const Attrs &) {
    return {in[0].dense() ? alias_of(in[0]) : dense(in[0])};
}

Result swapaxes(Tensors in, const Attrs &a) {
    const int rank = in[0].rank();
    const int p = normal_axis("swapaxes", integer(a, "axis0"), rank);
    const int q = normal_axis("swapaxes", integer(a, "axis1"), rank);
    std::vector<int> order(static_cast<size_t>(rank));
    std::iota(order.begin(), order.end(), 0);
    std::swap(order[size_t(p)], order[size_t(q)]);
    return {transposed(in[0], order)};
}

Result movedim(Tensors in, const Attrs &a) {
    const Ints &source = ints(a, "source");
    const Ints &destination = ints(a, "destination");
    const int rank = in[0].rank();
    if (source.size() != destination.size()) {
        throw AttrError("movedim", "destination has " + std::to_string(destination.size()) +
                                       " values, expected " + std::to_string(source.size()) +
                                       " as source");
    }
    std::vector<int> order(static_cast<size_t>(rank), -1);
    unsigned moved = 0;
    for (size_t k = 0; k < source.size(); k++) {
        const int from = normal_axis("movedim", source[k], rank);
        const int to = normal_axis("movedim", destination[k], rank);
        if (moved >> from & 1)
            throw AttrError("movedim", "source " + std::to_string(source[k]) + " is given twice");
        if (order[size_t(to)] >= 0) {
            throw AttrError("movedim",
                            "destination " + std::to_string(destination[k]) + " is given twice");
        }
        moved |= 1u << from;
        order[size_t(to)] = from;
    }
    int next = 0;
    for (int &from : order) {
        if (from >= 0) continue;
        while (moved >> next & 1)
            next++;
        from = next++;
    }
    return {transposed(in[0], order)};
}

// x[n,c,h,w] as six dimensions whose `order` puts blocks of `size` x `size` pixels into the
// channels or takes them out.
struct Blocks {
    const char *op, *size;
    bool to_space;
    // the places of block row, block column and channel within x's channels; only in space
    std::vector<int> split;
    std::vector<int> order;
};
const Blocks depth_to_space{"depth_to_space", "block_size", true, {0, 1, 2}, {0, 3, 4, 1, 5, 2}};
const Blocks pixel_shuffle{"pixel_shuffle", "upscale_factor", true, {1, 2, 0}, {0, 1, 4, 2, 5, 3}};
const Blocks space_to_depth{"space_to_depth", "block_size", false, {}, {0, 3, 5, 1, 2, 4}};
const Blocks pixel_unshuffle{"pixel_unshuffle", "downscale_factor", false, {}, {0, 1, 3, 5, 2, 4}};

template<const Blocks &blocks> Result in_blocks(Tensors in, const Attrs &a) {
    const Tensor &x = in[0];
    const int64_t b = integer(a, blocks.size);
    if (x.rank() != 4) {
        throw ShapeError(blocks.op,
                         "x has rank " + std::to_string(x.rank()) + ", expected 4 (n,c,h,w)");
    }
    if (b < 1 || b > 32767) {
        throw AttrError(blocks.op, std::string(blocks.size) + " is " + std::to_string(b) +
                                       ", expected 1 to 32767");
    }
    auto divisible = [&](int d, const char *name, int64_t by) {
        if (x.shape()[d] % by) {
            throw ShapeError(blocks.op, std::string("x.") + name + " is " +
                                            std::to_string(x.shape()[d]) +
                                            ", expected a multiple of " + std::to_string(by));
        }
    };
    const int64_t n = x.shape()[0];
    const int64_t c = x.shape()[1];
    const int64_t h = x.shape()[2];
    const int64_t w = x.shape()[3];
    if (!blocks.to_space) {
        divisible(2, "h", b);
        divisible(3, "w", b);
        return {reshaped(transposed(reshaped(x, {n, c, h / b, b, w / b, b}), blocks.order),
                         {n, c * b * b, h / b, w / b})};
    }
    divisible(1, "c", b * b);
    Shape apart{n, 0, 0, 0, h, w};
    for (int k = 0; k < 3; k++)
        apart[1 + blocks.split[size_t(k)]] = k < 2 ? b : c / (b * b);
    return {reshaped(transposed(reshaped(x, apart), blocks.order), {n, c / (b * b), h * b, w * b})};
}

Result diagonal(Tensors in, const Attrs &a) {
    const int rank = in[0].rank();
    if (rank < 2) {
        throw ShapeError("diagonal",
                         "x has rank " + std::to_string(rank) + ", expected at least 2");
    }
    const int p = normal_axis("diagonal", integer(a, "dim1"), rank);
    const int q = normal_axis("diagonal", integer(a, "dim2"), rank);
    if (p == q)
        throw AttrError("diagonal", "dim1 and dim2 are both dimension " + std::to_string(p));
    return {diagonal_of(in[0], {integer(a, "offset"), p, q})};
}

Result diag(Tensors in, const Attrs &a) {
    const int64_t k = integer(a, "diagonal");
    if (in[0].rank() == 2) return {diagonal_of(in[0], {k, 0, 1})};
    if (in[0].rank() != 1) {
        throw ShapeError("diag",
                         "x has rank " + std::to_string(in[0].rank()) + ", expected 1 or 2");
    }
    if (k < -INT32_MAX || k > INT32_MAX)
        throw AttrError("diag", "diagonal is " + std::to_string(k) + ", past 2^31-1");
    const int64_t n = in[0].shape()[0] + std::abs(k);
    return {on_diagonal(in[0], {n, n}, {k, 0, 1})};
}

Result trace(Tensors in, const Attrs &) {
    if (in[0].rank() != 2) {
        throw ShapeError("trace",
                         "x has rank " + std::to_string(in[0].rank()) + ", expected 2 (r,c)");
    }
    return {run1("reduce_sum", {diagonal_of(in[0], {0, 0, 1})})};
}

// Elements right of the diagonal `lower` and left of `upper`, those of both included; 0 elsewhere.
Tensor band(const char *op, const Tensor &x, int64_t lower, int64_t upper) {
    if (x.rank() < 2)
        throw ShapeError(op, "x has rank " + std::to_string(x.rank()) + ", expected at least 2");
    auto within = [](int64_t diagonal) {
        return std::clamp<int64_t>(diagonal, -INT32_MAX, INT32_MAX);
    };
    return run1("band_kernel", {x}, {{"lower", within(lower)}, {"upper", within(upper)}});
}
Result tril(Tensors in, const Attrs &a) {
    return {band("tril", in[0], -INT32_MAX, integer(a, "diagonal"))};
}
Result triu(Tensors in, const Attrs &a) {
    return {band("triu", in[0], integer(a, "diagonal"), INT32_MAX)};
}

Result rot90(Tensors in, const Attrs &a) {
    const Ints &dims = ints(a, "dims");
    if (dims.size() != 2)
        throw AttrError("rot90", "dims has " + std::to_string(dims.size()) + " values, expected 2");
    const int rank = in[0].rank();
    const int p = normal_axis("rot90", dims[0], rank);
    const int q = normal_axis("rot90", dims[1], rank);
    if (p == q) throw AttrError("rot90", "dims are both dimension " + std::to_string(p));
    const int64_t turns = (integer(a, "k") % 4 + 4) % 4;
    auto flipped = [&](const Tensor &x, const Ints &axes) {
        return run1("flip", {x}, {{"dims", axes}});
    };
    if (turns == 0) return {alias_of(in[0])};
    if (turns == 2) return {flipped(in[0], {p, q})};
    std::vector<int> order(static_cast<size_t>(rank));
    std::iota(order.begin(), order.end(), 0);
    std::swap(order[size_t(p)], order[size_t(q)]);
    return {transposed(flipped(in[0], {turns == 1 ? q : p}), order)};
}

}  // namespace

Family views_family() {
    static const Family::value_type all[] = {{"contiguous", contiguous},
                                             {"swapaxes", swapaxes},
                                             {"movedim", movedim},
                                             {"diagonal", diagonal},
                                             {"diag", diag},
                                             {"trace", trace},
                                             {"rot90", rot90},
                                             {"tril", tril},
                                             {"triu", triu},
                                             {"depth_to_space", in_blocks<depth_to_space>},
                                             {"space_to_depth", in_blocks<space_to_depth>},
                                             {"pixel_shuffle", in_blocks<pixel_shuffle>},
                                             {"pixel_unshuffle", in_blocks<pixel_unshuffle>}};
    return all;
}

}  // namespace halyard

#include "primitives/composites/resize.h"

#include <algorithm>
#include <cmath>

#include "primitives/composites/composite.h"
#include "primitives/composites/composition.h"
#include "primitives/composites/places.h"

namespace halyard {
namespace {

enum Mode { nearest, nearest_exact, linear, bilinear, bicubic, trilinear };
enum Coordinates { asymmetric, half_pixel, align_corners };

// An axis of n that becomes one of m. Places are long double, so that their fractions, the weights,
// have all digits of a double.
struct Axis {
    int64_t n, m;
    Coordinates coordinates;
    double factor = 0;  // elements of m to one of n; 0: m / n

    // (i + shift) n / m, rounded once: floor() of it never misses an element.
    long double at(int64_t i, long double shift) const {
        const long double place = (long double)i + shift;
        return factor > 0 ? place / factor : place * (long double)n / (long double)m;
    }
    long double source(int64_t i) const {
        if (coordinates == half_pixel) return at(i, 0.5L) - 0.5L;
        if (coordinates == asymmetric) return at(i, 0);
        return m > 1 ? (long double)i * (long double)(n - 1) / (long double)(m - 1) : 0;
    }
    long double last() const { return (long double)(n - 1); }
    int64_t clipped(long double place) const { return int64_t(std::clamp(place, 0.0L, last())); }
};

// What each element of an axis is made of: [taps,m].
struct Taps {
    Tensor place, weight;
    Taps(int64_t taps, int64_t m)
        : place(Tensor::zeros({taps, m}, DType::i32)),
          weight(Tensor::zeros({taps, m}, DType::f64)) {}
    void set(int64_t tap, int64_t i, int64_t from, double w) const {
        const int64_t at = tap * place.shape()[1] + i;
        place.data<int32_t>()[at] = int32_t(from);
        weight.data<double>()[at] = w;
    }
};

Taps linear_taps(const Axis &axis) {
    const Taps t(2, axis.m);
    for (int64_t i = 0; i < axis.m; i++) {
        const long double at = std::clamp(axis.source(i), 0.0L, axis.last());
        const long double low = std::floor(at);
        t.set(0, i, axis.clipped(low), double(1 - (at - low)));
        t.set(1, i, axis.clipped(low + 1), double(at - low));
    }
    return t;
}

// Keys, "Cubic convolution interpolation for digital image processing" (IEEE TASSP 29, 1981), with
// a = -3/4 as in PyTorch and ONNX.
Taps cubic_taps(const Axis &axis) {
    const Taps t(4, axis.m);
    constexpr double a = -0.75;
    for (int64_t i = 0; i < axis.m; i++) {
        const long double at = axis.source(i);
        const long double low = std::floor(at);
        for (int64_t k = 0; k < 4; k++) {
            const auto d = double(std::fabs(at - (low + (long double)k - 1)));
            t.set(k, i, axis.clipped(low + (long double)k - 1),
                  d <= 1 ? ((a + 2) * d - (a + 3)) * d * d + 1
                         : ((a * d - 5 * a) * d + 8 * a) * d - 4 * a);
        }
    }
    return t;
}

// The same table by element of the input: what each of n gives to those of the output. Throws
// ShapeError for a place outside of it.
Taps transposed_taps(const char *name, const Tensor &place, const Tensor &weight, int64_t n) {
    const int64_t taps = place.shape()[0];
    const int64_t m = place.shape()[1];
    const Tensor from = labels_of("resize_kernel", name, place, n);
    const Tensor w = weight.contiguous();
    std::vector<int64_t> used(static_cast<size_t>(n), 0);
    for (int64_t e = 0; e < taps * m; e++)
        used[size_t(from.data<int32_t>()[e])] += w.data<double>()[e] != 0;
    const Taps t(std::max<int64_t>(1, *std::max_element(used.begin(), used.end())), n);
    std::fill(used.begin(), used.end(), 0);
    for (int64_t i = 0; i < m; i++) {
        for (int64_t k = 0; k < taps; k++) {
            const int64_t to = from.data<int32_t>()[k * m + i];
            if (const double v = w.data<double>()[k * m + i]; v != 0)
                t.set(used[size_t(to)]++, to, i, v);
        }
    }
    return t;
}

// Every element of dimension `d` that `place` names.
Tensor picked(const Tensor &x, int d, const Axis &axis, Mode mode) {
    std::vector<int32_t> places(static_cast<size_t>(axis.m));
    for (int64_t i = 0; i < axis.m; i++) {
        long double at = mode == nearest_exact || axis.coordinates == half_pixel
                             ? std::floor(axis.at(i, 0.5))
                             : std::floor(axis.source(i));
        if (axis.coordinates == align_corners) at = std::round(axis.source(i));
        places[size_t(i)] = int32_t(axis.clipped(at));
    }
    if (axis.n == axis.m && std::is_sorted(places.begin(), places.end()) &&
        std::adjacent_find(places.begin(), places.end()) == places.end())
        return x;
    return run1("index_select", {x, Tensor::from(places, {axis.m})}, {{"axis", d}});
}

// x[..., h, w] with its last axes, `rows` and `columns`, of another size.
Tensor resized(const Tensor &x, Mode mode, const Axis &rows, const Axis &columns) {
    const int h = x.rank() - 2;
    const int w = x.rank() - 1;
    if (mode == nearest || mode == nearest_exact) {
        // what there is less of in between
        const bool columns_first = columns.m * rows.n < rows.m * columns.n;
        const Tensor half = columns_first ? picked(x, w, columns, mode) : picked(x, h, rows, mode);
        const Tensor y = columns_first ? picked(half, h, rows, mode)
                                       : picked(half, w, columns, mode);
        return y.impl() == x.impl() ? alias_of(x) : y;
    }
    Shape s = x.shape();
    s[h] = rows.m;
    s[w] = columns.m;
    if (s.elements() == 0) return Tensor::zeros(s, x.dtype());
    const Taps r = mode == bicubic ? cubic_taps(rows) : linear_taps(rows);
    const Taps c = mode == bicubic ? cubic_taps(columns) : linear_taps(columns);
    const int64_t images = x.elements() / (rows.n * columns.n);
    return reshaped(run1("resize_kernel", {reshaped(x, {images, rows.n, columns.n}), r.place,
                                           r.weight, c.place, c.weight}),
                    s);
}

void check_image(const char *op, const Tensor &x) {
    for (int d = 2; d < x.rank(); d++) {
        if (x.shape()[d] == 0) {
            throw ShapeError(op, "dimension " + std::to_string(d) + " of x" + x.shape().text() +
                                     " is 0, expected 1 or more");
        }
    }
}
int64_t checked_size(const char *op, int64_t v) {
    if (v < 1 || v > INT32_MAX)
        throw AttrError(op, "size is " + std::to_string(v) + ", expected 1 or more");
    return v;
}

// x[n,c,d,h,w]: every plane, then the places of planes along depth. 16-bit floats would round in
// between.
Tensor resized_volumes(const Tensor &given, Mode mode, const Axis &depth, const Axis &rows,
                       const Axis &columns) {
    const Tensor x = mode == bilinear && bytes_of(given.dtype()) == 2 ? cast_to(given, DType::f32)
                                                                      : given;
    const int64_t n = x.shape()[0];
    const int64_t c = x.shape()[1];
    const int64_t area = rows.m * columns.m;
    const Tensor planes = resized(reshaped(x, {n, c * depth.n, rows.n, columns.n}), mode, rows,
                                  columns);
    const Tensor y = resized(reshaped(planes, {n, c, depth.n, area}), mode, depth,
                             {area, area, depth.coordinates});
    return cast_to(reshaped(y, {n, c, depth.m, rows.m, columns.m}), given.dtype());
}

// The rank of x that a mode is for; 0: 3, 4 or 5.
int rank_of(Mode mode) {
    return mode == linear ? 3 : mode == bilinear || mode == bicubic ? 4 : mode == trilinear ? 5 : 0;
}

void check_rank(const Tensor &x, Mode mode) {
    const int rank = rank_of(mode);
    if (rank ? x.rank() == rank : x.rank() >= 3 && x.rank() <= 5) return;
    throw ShapeError("interpolate", "x has rank " + std::to_string(x.rank()) + ", expected " +
                                        (rank ? std::to_string(rank) : "3, 4 or 5"));
}

Result interpolate(Tensors in, const Attrs &a) {
    const Tensor &x = in[0];
    const auto mode = (Mode)integer(a, "mode");
    const bool smooth = mode >= linear;
    check_rank(x, mode);
    const int rank = x.rank();
    check_image("interpolate", x);
    if (is_set(a, "align_corners") && !smooth) {
        throw AttrError("interpolate",
                        "align_corners is for linear, bilinear, trilinear and bicubic");
    }
    const Ints &size = ints(a, "size");
    const double factor = real(a, "scale_factor");
    if (size.empty() == (factor == 0))
        throw AttrError("interpolate", "expected either size or scale_factor");
    if (size.empty() && !(factor > 0 && factor < 1e6)) {
        throw AttrError("interpolate",
                        "scale_factor is " + std::to_string(factor) + ", expected more than 0");
    }
    if (!size.empty() && int(size.size()) != rank - 2) {
        throw AttrError("interpolate", "size has " + std::to_string(size.size()) +
                                           " values, expected " + std::to_string(rank - 2));
    }
    const Coordinates coordinates = !smooth                      ? asymmetric
                                    : is_set(a, "align_corners") ? align_corners
                                                                 : half_pixel;
    const auto axis = [&](int d) {
        const int64_t n = x.shape()[d];
        if (!size.empty())
            return Axis{n, checked_size("interpolate", size[size_t(d) - 2]), coordinates};
        const int64_t m = checked_size("interpolate", int64_t(std::floor(double(n) * factor)));
        return Axis{n, m, coordinates, is_set(a, "recompute_scale_factor") ? 0 : factor};
    };
    if (rank == 5) return {resized_volumes(x, smooth ? bilinear : mode, axis(2), axis(3), axis(4))};
    if (rank == 4) return {resized(x, mode, axis(2), axis(3))};
    const Axis one{1, 1, coordinates};
    Shape image = x.shape();
    image.insert(2, 1);
    const Tensor y = resized(reshaped(x, image), smooth ? bilinear : mode, one, axis(2));
    return {reshaped(y, {y.shape()[0], y.shape()[1], y.shape()[3]})};
}

template<Mode mode> Result resize_to(Tensors in, const Attrs &a) {
    const char *op = a.op().name.c_str();
    const Tensor &x = in[0];
    if (x.rank() != 4)
        throw ShapeError(op, "x has rank " + std::to_string(x.rank()) + ", expected 4 (n,c,h,w)");
    check_image(op, x);
    if (is_set(a, "align_corners") && is_set(a, "half_pixel_centers"))
        throw AttrError(op, "align_corners and half_pixel_centers exclude each other");
    const Coordinates coordinates = is_set(a, "align_corners")        ? align_corners
                                    : is_set(a, "half_pixel_centers") ? half_pixel
                                                                      : asymmetric;
    const Ints &size = ints(a, "size");
    return {resized(x, mode, {x.shape()[2], checked_size(op, size[0]), coordinates},
                    {x.shape()[3], checked_size(op, size[1]), coordinates})};
}

}  // namespace

Family resize_family() {
    static const Family::value_type all[] = {{"interpolate", interpolate},
                                             {"resize_nearest_neighbor", resize_to<nearest>},
                                             {"resize_bilinear", resize_to<bilinear>}};
    return all;
}

Tensor resize_in_x(std::span<const Tensor> in, const RegisteredOp &, const Attrs &) {
    const Shape x = in[0].shape();
    const Taps rows = transposed_taps("row", in[1], in[2], x[1]);
    const Taps columns = transposed_taps("column", in[3], in[4], x[2]);
    return run1("resize_kernel", {in[5], rows.place, rows.weight, columns.place, columns.weight});
}

}  // namespace halyard

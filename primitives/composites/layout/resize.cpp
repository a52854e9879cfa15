// Images of another size: nearest, bilinear, bicubic. Every output is a weighted sum of a few
// inputs per axis. Their indices and weights are tables in double, so one kernel serves all modes
// and gradients.
#include "primitives/composites/composite.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "primitives/composites/indexing/indexing.h"
#include "primitives/composites/places.h"
#include "primitives/ops/resize_kernel.h"

namespace halyard {
namespace {

enum Mode { nearest, nearest_exact, linear, bilinear, bicubic, trilinear };

enum Coordinates { asymmetric, half_pixel, align_corners };

// An axis of n elements that becomes one of m. Coordinates are long double, so that their
// fractions, which are the weights, have all digits of a double.
struct Axis {
    int64_t n, m;
    Coordinates coordinates;
    double factor = 0;  // Output elements for each input element; 0 stands for m / n.

    // Returns (i + shift) n / m, rounded once, so that its floor() is exact.
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

// The indices and weights of the inputs of each element of an axis: [taps,m].
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

// Returns the transposed table: for each of n inputs, the indices of outputs and the weights there.
// Throws ShapeError for an index outside of the input.
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

// Returns the elements of dimension `d` that are nearest to the outputs.
Tensor picked(const Tensor &x, int d, const Axis &axis, Mode mode) {
    // A tensor counts against the limit of memory.
    const Tensor indices = Tensor::empty({axis.m}, DType::i32);
    const std::span<int32_t> places(indices.data<int32_t>(), size_t(axis.m));
    for (int64_t i = 0; i < axis.m; i++) {
        long double at = mode == nearest_exact || axis.coordinates == half_pixel
                             ? std::floor(axis.at(i, 0.5))
                             : std::floor(axis.source(i));
        if (axis.coordinates == align_corners) at = std::round(axis.source(i));
        places[size_t(i)] = int32_t(axis.clipped(at));
    }
    if (axis.n == axis.m && std::ranges::is_sorted(places) &&
        std::ranges::adjacent_find(places) == places.end())
        return x;
    return composite::index_select(x, indices, d);
}

// Returns x[...,h,w] with its last axes, `rows` and `columns`, of another size.
Tensor resized(const Tensor &x, Mode mode, const Axis &rows, const Axis &columns) {
    const int h = x.rank() - 2;
    const int w = x.rank() - 1;
    if (mode == nearest || mode == nearest_exact) {
        // The axis that leaves the smaller intermediate result comes first.
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
    return reshaped(kernel::resize(reshaped(x, {images, rows.n, columns.n}), r.place, r.weight,
                                   c.place, c.weight),
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

// Resizes every plane of x[n,c,d,h,w], then along depth. 16-bit floats are computed in f32, because
// they would be rounded in between.
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

// Returns the rank of x that a mode is for; 0 stands for 3, 4 or 5.
int rank_of(Mode mode) {
    return mode == linear ? 3 : mode == bilinear || mode == bicubic ? 4 : mode == trilinear ? 5 : 0;
}

void check_rank(const Tensor &x, Mode mode) {
    const int rank = rank_of(mode);
    if (rank ? x.rank() == rank : x.rank() >= 3 && x.rank() <= 5) return;
    throw ShapeError("interpolate", "x has rank " + std::to_string(x.rank()) + ", expected " +
                                        (rank ? std::to_string(rank) : "3, 4 or 5"));
}

// For references. Returns the weight of element k of n in element i of m, by the definitions.
// `factor` is the number of output elements for each input element; 0 stands for m / n.
double weight(Mode mode, Coordinates coordinates, int64_t i, int64_t m, int64_t k, int64_t n,
              double factor) {
    // A weight is the fraction of a coordinate, which therefore needs more digits than the weight.
    using Place = long double;
    const auto scaled = [&](Place place) {
        return factor > 0 ? place / factor : place * (Place)n / (Place)m;
    };
    Place at = coordinates == half_pixel   ? scaled((Place)i + 0.5L) - 0.5L
               : coordinates == asymmetric ? scaled((Place)i)
                                           : 0;
    if (coordinates == align_corners && m > 1) at = (Place)i * (Place)(n - 1) / (Place)(m - 1);
    const auto clipped = [&](Place place) {
        return std::fmin(std::fmax(place, 0), (Place)(n - 1));
    };
    if (mode == nearest) {
        return clipped(coordinates == align_corners
                           ? std::round(at)
                           : std::floor(coordinates == half_pixel ? at + 0.5L : at)) == (Place)k;
    }
    if (mode == nearest_exact) return clipped(std::floor(scaled((Place)i + 0.5L))) == (Place)k;
    if (mode != bicubic) return double(std::fmax(0, 1 - std::fabs(clipped(at) - (Place)k)));
    // Keys' cubic convolution kernel with a = -3/4. Coordinates outside of the image are clamped to
    // its border.
    double sum = 0;
    for (Place place = std::floor(at) - 1; place <= std::floor(at) + 2; place++) {
        const double d = double(std::fabs(at - place));
        const double a = -0.75;
        if (clipped(place) == (Place)k) {
            sum += d <= 1 ? ((a + 2) * d - (a + 3)) * d * d + 1
                          : ((a * d - 5 * a) * d + 8 * a) * d - 4 * a;
        }
    }
    return sum;
}

struct Resized : Composite {
    Resized(const std::string &n, const std::string &signature, const std::string &formula)
        : Composite(n, signature, formula) {
        dtypes = {"f32", "f16", "bf16", "f64"};
        contract = {Contract::products, 8};
    }
    static void resize(Problem &p, Mode mode, Coordinates coordinates, int64_t h, int64_t w,
                       double factor = 0) {
        const Array x = p("x");
        const int64_t n = x.shape[0];
        const int64_t c = x.shape[1];
        const int64_t from_h = x.shape[2];
        const int64_t from_w = x.shape[3];
        Array y({n, c, h, w});
        Array terms(y.shape);
        for (int64_t i = 0; i < h; i++) {
            for (int64_t k = 0; k < from_h; k++) {
                for (int64_t j = 0; j < w; j++) {
                    for (int64_t l = 0; l < from_w; l++) {
                        const double f = weight(mode, coordinates, i, h, k, from_h, factor) *
                                         weight(mode, coordinates, j, w, l, from_w, factor);
                        for (int64_t e = 0; f != 0 && e < n * c; e++) {
                            y(e / c, e % c, i, j) += f * x(e / c, e % c, k, l);
                            terms(e / c, e % c, i, j) += std::fabs(f * x(e / c, e % c, k, l));
                        }
                    }
                }
            }
        }
        p.tensors["y"] = y;
        p.abs_sum["y"] = terms;
    }
};

struct Interpolate : Resized {
    Interpolate()
        : Resized("interpolate", "x[n,c,h,w] -> y[n,c,p,q]",
                  "y = x at `size`, or scale_factor times as large. nearest: x[floor(i s)]; "
                  "nearest_exact: x[floor((i + 1/2) s)]; bilinear, bicubic (a = -3/4): "
                  "at (i + 1/2) s - 1/2, where s = input / output extent, or 1 / scale_factor; "
                  "align_corners: at i (input - 1) / (output - 1). "
                  "linear is bilinear's name for x[n,c,w], trilinear for x[n,c,d,h,w]") {
        let("p", "h");
        let("q", "w");
        at_call("size", AttrKind::ints, "");
        at_call("scale_factor", AttrKind::real, "0");
        choice_at_call("mode",
                       {"nearest", "nearest_exact", "linear", "bilinear", "bicubic", "trilinear"},
                       "Interpolation");
        at_call("align_corners", AttrKind::boolean, "0");
        at_call("recompute_scale_factor", AttrKind::boolean, "0");
        samples = {"n=1 c=1 h=1 w=1 size=1,1",
                   "n=2 c=3 h=4 w=5 size=7,9",
                   "n=1 c=2 h=7 w=17 size=3,31 mode=nearest_exact",
                   "n=2 c=3 h=4 w=5 size=7,10 mode=bilinear",
                   "n=1 c=2 h=9 w=7 size=4,33 mode=bilinear align_corners=1",
                   "n=1 c=2 h=5 w=3 mode=bilinear scale_factor=1.7",
                   "n=1 c=2 h=5 w=3 mode=bilinear scale_factor=1.7 recompute_scale_factor=1",
                   "n=1 c=2 h=5 w=4 size=9,17 mode=bicubic",
                   "n=1 c=1 h=7 w=9 size=4,5 mode=bicubic align_corners=1",
                   "n=1 c=1 h=3 w=4 size=1,1 mode=bilinear align_corners=1"};
    }
    Result compose(const Call &call) const override {
        const Tensor &x = call[0];
        const auto mode = (Mode)call.integer("mode");
        const bool smooth = mode >= linear;
        check_rank(x, mode);
        const int rank = x.rank();
        check_image("interpolate", x);
        if (call.is_set("align_corners") && !smooth) {
            throw AttrError("interpolate",
                            "align_corners is for linear, bilinear, trilinear and bicubic");
        }
        const Ints &size = call.ints("size");
        const double factor = call.real("scale_factor");
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
        const Coordinates coordinates = !smooth                        ? asymmetric
                                        : call.is_set("align_corners") ? align_corners
                                                                       : half_pixel;
        const auto axis = [&](int d) {
            const int64_t n = x.shape()[d];
            if (!size.empty())
                return Axis{n, checked_size("interpolate", size[size_t(d) - 2]), coordinates};
            const int64_t m = checked_size("interpolate", int64_t(std::floor(double(n) * factor)));
            return Axis{n, m, coordinates, call.is_set("recompute_scale_factor") ? 0 : factor};
        };
        if (rank == 5)
            return {resized_volumes(x, smooth ? bilinear : mode, axis(2), axis(3), axis(4))};
        if (rank == 4) return {resized(x, mode, axis(2), axis(3))};
        const Axis one{1, 1, coordinates};
        Shape image = x.shape();
        image.insert(2, 1);
        const Tensor y = resized(reshaped(x, image), smooth ? bilinear : mode, one, axis(2));
        return {reshaped(y, {y.shape()[0], y.shape()[1], y.shape()[3]})};
    }
    void reference(Problem &p) const override {
        const Shape size = list(p, "size");
        const double factor = p.real("scale_factor");
        const int64_t h = size.empty() ? int64_t(std::floor(double(p["h"]) * factor)) : size[0];
        const int64_t w = size.empty() ? int64_t(std::floor(double(p["w"]) * factor)) : size[1];
        const auto mode = (Mode)p["mode"];
        const bool smooth = mode >= linear;
        resize(p, mode,
               !smooth              ? asymmetric
               : p["align_corners"] ? align_corners
                                    : half_pixel,
               h, w, size.empty() && !p["recompute_scale_factor"] ? factor : 0);
    }
};

// MindSpore's primitives. Without half_pixel_centers the origin of coordinates is the center of the
// first pixel.
struct ResizeTo : Resized {
    const Mode mode;
    ResizeTo(const std::string &n, Mode m, const std::string &formula)
        : Resized(n, "x[n,c,h,w] -> y[n,c,p,q]", formula), mode(m) {
        required("size", AttrKind::ints, {"p", "q"});
        flag("align_corners", false);
        flag("half_pixel_centers", false);
        if (m == nearest) {
            dtypes = all_dtypes;
            contract = {Contract::elementwise, 0};
        }
        samples = {"n=1 c=1 h=1 w=1 size=1,1", "n=2 c=3 h=4 w=5 size=7,9",
                   "n=1 c=2 h=7 w=17 size=3,31 half_pixel_centers=1",
                   "n=1 c=2 h=4 w=7 size=9,3 align_corners=1"};
    }
    Result compose(const Call &call) const override {
        const char *op = call.op().c_str();
        const Tensor &x = call[0];
        if (x.rank() != 4)
            throw ShapeError(op,
                             "x has rank " + std::to_string(x.rank()) + ", expected 4 (n,c,h,w)");
        check_image(op, x);
        if (call.is_set("align_corners") && call.is_set("half_pixel_centers"))
            throw AttrError(op, "align_corners and half_pixel_centers exclude each other");
        const Coordinates coordinates = call.is_set("align_corners")        ? align_corners
                                        : call.is_set("half_pixel_centers") ? half_pixel
                                                                            : asymmetric;
        const Ints &size = call.ints("size");
        return {resized(x, mode, {x.shape()[2], checked_size(op, size[0]), coordinates},
                        {x.shape()[3], checked_size(op, size[1]), coordinates})};
    }
    void reference(Problem &p) const override {
        resize(p, mode,
               p["align_corners"]        ? align_corners
               : p["half_pixel_centers"] ? half_pixel
                                         : asymmetric,
               p["p"], p["q"]);
    }
};

// The gradient of resize_kernel: the same sum with transposed tables. in = {x, row, row_weight,
// column, column_weight, dy}.
Tensor resize_in_x(Tensors in, const RegisteredOp &, const Attrs &) {
    const Shape x = in[0].shape();
    const Taps rows = transposed_taps("row", in[1], in[2], x[1]);
    const Taps columns = transposed_taps("column", in[3], in[4], x[2]);
    return kernel::resize(in[5], rows.place, rows.weight, columns.place, columns.weight);
}

}  // namespace

HALYARD_COMPOSITES {
    composites.add<Interpolate>();
    composites.add<ResizeTo>("resize_nearest_neighbor", nearest,
                             "y = x[floor(i s)], of s = input / output extent; half_pixel_centers: "
                             "x[floor((i + 1/2) s)]; "
                             "align_corners: x[round(i (input - 1) / (output - 1))]");
    composites.add<ResizeTo>("resize_bilinear", bilinear,
                             "y = x interpolated at i s, of s = input / output extent; "
                             "half_pixel_centers: at (i + 1/2) s - 1/2; "
                             "align_corners: at i (input - 1) / (output - 1)");
    composites.gradient({"resize_kernel",
                         "x",
                         {"x", "row", "row_weight", "column", "column_weight", "dy"},
                         resize_in_x});
}

}  // namespace halyard

// Images of another size: nearest, bilinear, bicubic. Every output is a weighted sum of a few
// inputs per axis. The indices of these inputs and their weights are tables, which
// primitives/composites/resize.cpp computes in double. So one kernel serves all modes and
// gradients.
#include <cmath>

#include "kernels/layout/composite.h"

namespace halyard {
namespace {

using Halide::clamp;
using Halide::Expr;

constexpr int task_elements = 16384;

// y[n,i,j] = the sum over a, b of row_weight[a,i] column_weight[b,j] x[n,row[a,i],column[b,j]].
// Elements of weight 0 are ignored even if they are infinite or NaN.
struct Resize : Op {
    Resize()
        : Op("resize_kernel", "x[n,h,w] row:i32[a,p] row_weight:f64[a,p] column:i32[b,q] "
                              "column_weight:f64[b,q] -> y[n,p,q]") {
        internal = true;
        let("row_end", "h");
        let("column_end", "w");
        conditions = {"h>0", "w>0"};
        add({"two",
             Dim("a") == 2 && Dim("b") == 2,
             {.algorithm = [this](const Build &) { define(2, 2); },
              .schedule = [this](const Cpu &cpu) { schedule_two(cpu); }}});
        add({"", DimExpr::always()});
        samples = {"n=1 h=1 w=1 a=1 p=1 b=1 q=1",   "n=2 h=3 w=5 a=2 p=7 b=2 q=9",
                   "n=3 h=4 w=7 a=4 p=5 b=4 q=16",  "n=1 h=9 w=33 a=2 p=3 b=2 q=65",
                   "n=2 h=5 w=17 a=3 p=2 b=1 q=31", "n=2 h=65 w=300 a=2 p=70 b=2 q=200"};
        bench = {"n=64 h=56 w=56 a=2 p=112 b=2 q=112", "n=3 h=480 w=640 a=2 p=224 b=2 q=224"};
        contract = {Contract::products, 8};
    }
    Func x = input("x"), row = input("row"), row_weight = input("row_weight"),
         column = input("column"), column_weight = input("column_weight");
    Func y = output("y");
    Func row_factor{"of_row"}, column_factor{"of_column"};  // the weights, converted
    Func rows{"rows"}, sum{"sum"};  // weighted sums of rows of x; of these along columns
    Var i{"i"}, j{"j"}, n{"n"}, t{"t"};
    RDom down, across;

    static Expr weighted(const Expr &weight, const Expr &value) {
        return select(weight == 0_r, 0_r, weight * value);
    }
    void algorithm() override { define(size("a"), size("b")); }
    // An element is a sum over `a` rows and `b` columns.
    void define(const Expr &a, const Expr &b) {
        down = RDom(0, a);
        across = RDom(0, b);
        row_factor(i, t) = row_weight(i, t);
        column_factor(j, t) = column_weight(j, t);
        rows(j, i, n) = 0_r;
        rows(j, i, n) += weighted(row_factor(i, down),
                                  x(j, clamp(row(i, down), 0, size("h") - 1), n));
        sum(j, i, n) = 0_r;
        sum(j, i, n) += weighted(column_factor(j, across),
                                 rows(clamp(column(j, across), 0, size("w") - 1), i, n));
        y(j, i, n) = sum(j, i, n);
    }
    // Each row of y needs one weighted sum of rows of x, which is computed first and stays in L1.
    // The sums along columns read it. "two" unrolls bilinear interpolation.
    void schedule(const Cpu &cpu) override {
        Func last = store();
        Var vec("vec"), lane("lane"), line("line"), task("task");
        row_factor.compute_root();
        column_factor.compute_root().vectorize(j, cpu.lanes, Tail::GuardWithIf);
        last.split(var(0), vec, lane, cpu.lanes, Tail::GuardWithIf)
            .vectorize(lane)
            .fuse(var(1), var(2), line);
        last.split(line, task, line, max(1, task_elements / max(1, max(size("w"), size("q")))),
                   Tail::GuardWithIf)
            .parallel(task);
        rows.compute_at(last, line).vectorize(j, cpu.lanes, Tail::GuardWithIf);
        rows.update().reorder(j, down).vectorize(j, cpu.lanes, Tail::GuardWithIf);
        sum.compute_at(last, vec).vectorize(j, cpu.lanes, Tail::GuardWithIf);
        sum.update().reorder(j, across).vectorize(j, cpu.lanes, Tail::GuardWithIf);
    }
    void schedule_two(const Cpu &cpu) {
        schedule(cpu);
        rows.update().reorder(down, j).unroll(down);
        sum.update().unroll(across);
    }
    void reference(Problem &p) const override {
        p("y") = Array(p("y").shape);
        Array &abs_sum = p.abs_sum["y"] = Array(p("y").shape);
        for (int64_t k = 0; k < p["n"]; k++) {
            for (int64_t i = 0; i < p["p"]; i++) {
                for (int64_t j = 0; j < p["q"]; j++) {
                    for (int64_t b = 0; b < p["b"]; b++) {
                        const double weight = p("column_weight")(b, j);
                        if (weight == 0) continue;
                        const auto [sum, abs] = column_sum(p, k, i, int64_t(p("column")(b, j)));
                        p("y")(k, i, j) += weight * sum;
                        abs_sum(k, i, j) += std::fabs(weight) * abs;
                    }
                }
            }
        }
    }
    // Returns the weighted sum of the elements of column `column` for row i of y, and the sum of
    // the terms' absolute values.
    static std::pair<double, double> column_sum(Problem &p, int64_t k, int64_t i, int64_t column) {
        double sum = 0, abs_sum = 0;
        for (int64_t a = 0; a < p["a"]; a++) {
            const double weight = p("row_weight")(a, i);
            if (weight == 0) continue;
            const double term = weight * p("x")(k, int64_t(p("row")(a, i)), column);
            sum += term;
            abs_sum += std::fabs(term);
        }
        return {sum, abs_sum};
    }
};

enum Mode { nearest, nearest_exact, linear, cubic };
enum Coordinates { asymmetric, half_pixel, align_corners };

// How much element k of n counts in element i of m, by the definitions. `factor`: elements of the
// output to one of the input; 0: m / n.
double weight(Mode mode, Coordinates coordinates, int64_t i, int64_t m, int64_t k, int64_t n,
              double factor) {
    // a weight is what is left of a place: its digits must be more than a weight's
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
    if (mode == linear) return double(std::fmax(0, 1 - std::fabs(clipped(at) - (Place)k)));
    // Keys' cubic convolution kernel, a = -3/4; places outside are those of the border
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
        attrs.push_back({"mode",
                         AttrKind::choice,
                         "nearest",
                         {"nearest", "nearest_exact", "linear", "bilinear", "bicubic", "trilinear"},
                         {},
                         true});
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
    void reference(Problem &p) const override {
        const Shape size = list(p, "size");
        const double factor = p.real("scale_factor");
        const int64_t h = size.empty() ? int64_t(std::floor(double(p["h"]) * factor)) : size[0];
        const int64_t w = size.empty() ? int64_t(std::floor(double(p["w"]) * factor)) : size[1];
        static constexpr Mode modes[] = {nearest, nearest_exact, linear, linear, cubic, linear};
        const Mode mode = modes[p["mode"]];
        const bool smooth = mode == linear || mode == cubic;
        resize(p, mode,
               !smooth              ? asymmetric
               : p["align_corners"] ? align_corners
                                    : half_pixel,
               h, w, size.empty() && !p["recompute_scale_factor"] ? factor : 0);
    }
};

// MindSpore's primitives: without half_pixel_centers, coordinates have their origin in the middle
// of the first pixel.
struct ResizeTo : Resized {
    const Mode mode;
    ResizeTo(const std::string &n, Mode m, const std::string &formula)
        : Resized(n, "x[n,c,h,w] -> y[n,c,p,q]", formula), mode(m) {
        ints("size", "!", {"p", "q"});
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
    void reference(Problem &p) const override {
        resize(p, mode,
               p["align_corners"]        ? align_corners
               : p["half_pixel_centers"] ? half_pixel
                                         : asymmetric,
               p["p"], p["q"]);
    }
};

}  // namespace

HALYARD_OPS {
    ops.add<Resize>();
    ops.add<Interpolate>();
    ops.add<ResizeTo>("resize_nearest_neighbor", nearest,
                      "y = x[floor(i s)], of s = input / output extent; half_pixel_centers: "
                      "x[floor((i + 1/2) s)]; "
                      "align_corners: x[round(i (input - 1) / (output - 1))]");
    ops.add<ResizeTo>("resize_bilinear", linear,
                      "y = x interpolated at i s, of s = input / output extent; "
                      "half_pixel_centers: at (i + 1/2) s - 1/2; "
                      "align_corners: at i (input - 1) / (output - 1)");
}

}  // namespace halyard

// unfold (im2col) and fold (col2im), each the adjoint of the other. Unfolding copies overlapping
// windows; folding is a kernel that sums the windows at each element.
#include "primitives/composites/composite.h"

#include <cmath>

#include "primitives/autograd/recorded.h"
#include "primitives/ops/fold_kernel.h"

namespace halyard {
namespace {

// Windows over an image; the first element of each pair is for rows, the second for columns.
struct Windows {
    int64_t kernel[2], dilation[2], padding[2], stride[2];
    int64_t count[2];  // of windows
    Shape image;       // h, w
};

Windows windows_of(const Call &call, const Shape &image) {
    Windows s{};
    s.image = image;
    const char *const names[] = {"kernel_size", "dilation", "padding", "stride"};
    int64_t(*const parts[])[2] = {&s.kernel, &s.dilation, &s.padding, &s.stride};
    for (size_t k = 0; k < 4; k++) {
        const Ints &v = call.ints(names[k]);
        for (size_t d = 0; d < 2; d++) {
            const int64_t min_value = k == 2 ? 0 : 1;
            const int64_t max_value = 1 << 20;
            if (v[d] < min_value || v[d] > max_value) {
                throw AttrError(call.op(), std::string(names[k]) + " is " + std::to_string(v[d]) +
                                               ", expected " + std::to_string(min_value) + " to " +
                                               std::to_string(max_value));
            }
            (*parts[k])[d] = v[d];
        }
    }
    for (int d = 0; d < 2; d++) {
        const int64_t reach = s.dilation[d] * (s.kernel[d] - 1) + 1;
        const int64_t padded = image[d] + 2 * s.padding[d];
        if (padded < reach) {
            throw ShapeError(call.op(), std::string(d ? "w" : "h") + " is " +
                                            std::to_string(image[d]) + ", " +
                                            std::to_string(padded) +
                                            " with padding, expected at least the windows' " +
                                            std::to_string(reach));
        }
        s.count[d] = (padded - reach) / s.stride[d] + 1;
    }
    return s;
}

Tensor folded(const Tensor &x, const Windows &s);

Tensor unfolded(const Tensor &x, const Windows &s) {
    const int64_t n = x.shape()[0];
    const int64_t c = x.shape()[1];
    Tensor padded = x;
    if (s.padding[0] || s.padding[1]) {
        padded = Tensor::zeros({n, c, s.image[0] + 2 * s.padding[0], s.image[1] + 2 * s.padding[1]},
                               x.dtype());
        padded.slice(2, s.padding[0], s.padding[0] + s.image[0])
            .slice(3, s.padding[1], s.padding[1] + s.image[1])
            .assign(x);
    }
    const Shape step = padded.strides();
    const Tensor view = padded.with_view({n, c, s.kernel[0], s.kernel[1], s.count[0], s.count[1]},
                                         {step[0], step[1], s.dilation[0] * step[2],
                                          s.dilation[1] * step[3], s.stride[0] * step[2],
                                          s.stride[1] * step[3]},
                                         0);
    const Tensor y = view.copy().reshape(
        {n, c * s.kernel[0] * s.kernel[1], s.count[0] * s.count[1]});
    return recorded(x, y, [s](const Tensor &dy) { return folded(dy, s); });
}

Tensor folded(const Tensor &x, const Windows &s) {
    const int64_t n = x.shape()[0];
    const int64_t c = x.shape()[1] / (s.kernel[0] * s.kernel[1]);
    const auto pair = [](const int64_t(&v)[2]) { return Ints{v[0], v[1]}; };
    const auto sums = [&] {
        const StopTape stop;
        return kernel::fold(reshaped(x, {n * c, s.kernel[0], s.kernel[1], s.count[0], s.count[1]}),
                            {s.image[0], s.image[1]}, pair(s.dilation), pair(s.padding),
                            pair(s.stride));
    };
    return recorded(x, sums().reshape({n, c, s.image[0], s.image[1]}),
                    [s](const Tensor &dy) { return unfolded(dy, s); });
}

struct WindowOp : Composite {
    WindowOp(const std::string &n, const std::string &signature, const std::string &formula)
        : Composite(n, signature, formula) {
        for (const std::string d : {"h", "w"}) {
            const std::string reach = "dilation_" + d + "*(kernel_" + d + "-1)+1";
            let("o" + d, "(" + d + "+2*pad_" + d + "-(" + reach + "))/stride_" + d + "+1");
        }
    }
    void settings() {
        required("kernel_size", AttrKind::ints, {"kernel_h", "kernel_w"});
        ints("dilation", "1,1", {"dilation_h", "dilation_w"});
        ints("padding", "0,0", {"pad_h", "pad_w"});
        ints("stride", "1,1", {"stride_h", "stride_w"});
    }
    // Calls visit(n, c, row of the windows, column of the windows, i, j) for each element of each
    // window. i and j may be outside of the image.
    template<class F> static void each(const Problem &p, int64_t batch, int64_t channels, F visit) {
        for (int64_t n = 0; n < batch; n++) {
            for (int64_t c = 0; c < channels; c++) {
                for (int64_t u = 0; u < p["kernel_h"]; u++) {
                    for (int64_t v = 0; v < p["kernel_w"]; v++) {
                        for (int64_t a = 0; a < p["oh"]; a++) {
                            for (int64_t b = 0; b < p["ow"]; b++) {
                                visit(n, c, (c * p["kernel_h"] + u) * p["kernel_w"] + v,
                                      a * p["ow"] + b,
                                      a * p["stride_h"] + u * p["dilation_h"] - p["pad_h"],
                                      b * p["stride_w"] + v * p["dilation_w"] - p["pad_w"]);
                            }
                        }
                    }
                }
            }
        }
    }
};

struct Unfold : WindowOp {
    Unfold()
        : WindowOp("unfold", "x[n,c,h,w] -> y[n,c*kernel_h*kernel_w,oh*ow]",
                   "y[n, (c kh + u) kw + v, p ow + q] = x[n, c, p stride + u dilation - padding, q "
                   "stride + v dilation - padding], 0 outside of x: im2col") {
        settings();
        other_names = {"im2col"};
        samples = {"n=1 c=1 h=1 w=1 kernel_size=1,1", "n=2 c=3 h=5 w=7 kernel_size=3,2",
                   "n=1 c=2 h=7 w=17 kernel_size=3,3 stride=2,3 padding=1,2 dilation=2,1",
                   "n=1 c=1 h=2 w=2 kernel_size=2,2 padding=1,1 stride=3,3"};
    }
    Result compose(const Call &call) const override {
        if (call[0].rank() != 4) {
            throw ShapeError("unfold", "x has rank " + std::to_string(call[0].rank()) +
                                           ", expected 4 (n,c,h,w)");
        }
        return {unfolded(call[0], windows_of(call, {call[0].shape()[2], call[0].shape()[3]}))};
    }
    void reference(Problem &p) const override {
        const Array x = p("x");
        Array y({p["n"], p["c"] * p["kernel_h"] * p["kernel_w"], p["oh"] * p["ow"]});
        each(p, p["n"], p["c"],
             [&](int64_t n, int64_t c, int64_t row, int64_t column, int64_t i, int64_t j) {
                 if (i >= 0 && i < p["h"] && j >= 0 && j < p["w"])
                     y(n, row, column) = x(n, c, i, j);
             });
        p.tensors["y"] = y;
    }
};

struct FoldWindows : WindowOp {
    FoldWindows()
        : WindowOp("fold", "x[n,k,l] -> y[n,k/(kernel_h*kernel_w),h,w]",
                   "y = the sum of what unfold would have read from each element, of x = its "
                   "result: col2im") {
        required("output_size", AttrKind::ints, {"h", "w"});
        settings();
        dtypes = {"f32", "f16", "bf16", "f64"};
        contract = {Contract::products, 8};
        samples = {
            "n=1 k=1 l=1 output_size=1,1 kernel_size=1,1",
            "n=2 k=18 l=18 output_size=5,7 kernel_size=3,2",
            "n=1 k=18 l=21 output_size=7,17 kernel_size=3,3 stride=2,3 padding=1,2 dilation=2,1"};
    }
    Result compose(const Call &call) const override {
        const Tensor &x = call[0];
        const Ints &size = call.ints("output_size");
        if (x.rank() != 3)
            throw ShapeError("fold",
                             "x has rank " + std::to_string(x.rank()) + ", expected 3 (n,k,l)");
        for (int64_t v : size) {
            if (v < 1 || v > INT32_MAX)
                throw AttrError("fold",
                                "output_size is " + std::to_string(v) + ", expected 1 or more");
        }
        const Windows s = windows_of(call, {size[0], size[1]});
        const int64_t area = s.kernel[0] * s.kernel[1];
        const int64_t count = s.count[0] * s.count[1];
        if (x.shape()[1] % area) {
            throw ShapeError("fold", "x.k is " + std::to_string(x.shape()[1]) +
                                         ", expected a multiple of kernel_size's " +
                                         std::to_string(area));
        }
        if (x.shape()[2] != count) {
            throw ShapeError("fold", "x.l is " + std::to_string(x.shape()[2]) + ", expected " +
                                         std::to_string(count) + " windows");
        }
        return {folded(x, s)};
    }
    void reference(Problem &p) const override {
        const Array x = p("x");
        const int64_t channels = p["k"] / (p["kernel_h"] * p["kernel_w"]);
        Array y({p["n"], channels, p["h"], p["w"]});
        Array terms(y.shape);
        each(p, p["n"], channels,
             [&](int64_t n, int64_t c, int64_t row, int64_t column, int64_t i, int64_t j) {
                 if (i < 0 || i >= p["h"] || j < 0 || j >= p["w"]) return;
                 y(n, c, i, j) += x(n, row, column);
                 terms(n, c, i, j) += std::fabs(x(n, row, column));
             });
        p.tensors["y"] = y;
        p.abs_sum["y"] = terms;
    }
};

}  // namespace

HALYARD_COMPOSITES {
    composites.add<Unfold>();
    composites.add<FoldWindows>();
}

}  // namespace halyard

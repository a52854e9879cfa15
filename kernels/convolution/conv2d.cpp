// conv2d: the cross-correlation of feature maps with a bank of filters, NCHW and OIHW.
#include "kernels/convolution/conv2d.h"

#include "dsl/ascend/convolution/convolution.h"
#include "dsl/ascend/schedule.h"

namespace halyard {

Conv2d::Conv2d() : Conv2d("conv2d", "x[n,c,h,w] weight[o,c/group,u,v] -> y[n,o,oh,ow]") {
    alias = "Conv2D";
}

Conv2d::Conv2d(const std::string &op, const std::string &text) : Convolution(op, text) {
    doc = "y[o] = sum over c, u, v of weight[o,c,u,v] * x[c], shifted by (u, v) * dilation; "
          "stride, padding and groups as in MindSpore";
    add(winograd_small_maps(*this, 7));
    add(winograd_small_maps(*this, 8));
    add(winograd(*this));
    add(pointwise_wide(*this));
    add(pointwise(*this));
    add(im2col(*this));
    add(direct_packed_row(*this));
    add(direct_packed(*this));
    add(direct_packed_narrow(*this));
    add(depthwise(*this, 3, 1));
    add(depthwise(*this, 3, 2));
    add(depthwise(*this, 0, 1));
    add(depthwise(*this, 0, 2));
    add(direct(*this));
    add_for_gpu(thread_tiles(*this));
    add_for_gpu(thread_sums(*this));
}

void Conv2d::schedule(const Ascend &npu) {
    ascend::convolve(npu, *this, ascend::Gradient::none);
}

void Conv2d::reference(Problem &p) const {
    const Array &in = p("x"), &k = p("weight");
    Array &out = p("y");
    Array &size = p.abs_sum["y"] = Array(out.shape);
    const int64_t per_group = p["c"] / p["group"];
    each_product(p, [&](int64_t i, int64_t o, int64_t oy, int64_t ox, int64_t ch, int64_t iy,
                        int64_t ix, int64_t u, int64_t v, bool inside) {
        if (!inside) return;
        const double term = k(o, ch % per_group, u, v) * in(i, ch, iy, ix);
        out(i, o, oy, ox) += term;
        size(i, o, oy, ox) += std::fabs(term);
    });
    excuse(p, "y", tiled(p), [&](int64_t, int64_t o) {
        bool any = false;
        for (int64_t ch = 0; ch < per_group; ch++)
            any |= any_special(k, o, ch);
        return any;
    });
}

namespace {

// A convolution with an epilogue: bias, a shortcut z, and an activation that clamps its argument.
struct Conv2dClamp : Conv2d {
    const bool shortcut;
    explicit Conv2dClamp(bool with_z)
        : Conv2d(with_z ? "conv2d_bias_add_clamp" : "conv2d_bias_clamp",
                 std::string("x[n,c,h,w] weight[o,c/group,u,v] bias[o]") +
                     (with_z ? " z[n,o,oh,ow]" : "") + " -> y[n,o,oh,ow]"),
          shortcut(with_z) {
        internal = true;
        dtypes = {"f32"};
    }
    Func bias = input("bias");
    Func z = shortcut ? input("z") : Func();
    Expr low = scalar("low", -HUGE_VAL);
    Expr high = scalar("high", HUGE_VAL);

    bool epilogue_reads_map() const override { return shortcut; }
    Expr epilogue(const Expr &value) const override {
        return clamped_sum(value, bias(c), shortcut ? z(x, y, c, n) : Expr(), low, high);
    }
    void reference(Problem &p) const override {
        Conv2d::reference(p);
        clamp_sums(p, p["o"], p["oh"] * p["ow"]);
    }
};

}  // namespace

HALYARD_OPS {
    ops.add<Conv2d>();
    ops.add<Conv2dClamp>(false);
    ops.add<Conv2dClamp>(true);
    ops.add<Conv2dDx>();
    ops.add<Conv2dDweight>();
}

}  // namespace halyard

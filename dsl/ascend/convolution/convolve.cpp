// The correlations of a call of conv2d or its gradients.
#include <algorithm>

#include "dsl/ascend/convolution/convolution.h"
#include "dsl/ascend/convolution/dilate.h"
#include "dsl/ascend/convolution/prove_convolution.h"
#include "dsl/ascend/schedule.h"
#include "dsl/op.h"
#include "registry/base/error.h"

namespace halyard::ascend {

namespace {

constexpr int64_t max_border = 255, max_stride = 63, max_dilation = 255;  // the limits of load3d
constexpr int64_t max_taps = 64;  // half of l0b has a square for each

Correlation call_of(const Ascend &npu, const Op &op, const FixedCall::Layout &x,
                    const FixedCall::Layout &weight, const FixedCall::Layout &y) {
    const auto scalar = [&](const std::string &name) { return npu.scalar(op, name); };
    Correlation c;
    c.n = x[3].extent;
    c.group = scalar("group");
    c.c = x[2].extent / c.group;
    c.h = x[1].extent;
    c.w = x[0].extent;
    c.o = y[2].extent / c.group;
    c.oh = y[1].extent;
    c.ow = y[0].extent;
    c.u = weight[1].extent;
    c.v = weight[0].extent;
    c.stride_h = scalar("stride_h");
    c.stride_w = scalar("stride_w");
    c.dil_h = scalar("dil_h");
    c.dil_w = scalar("dil_w");
    c.top = scalar("pad_top");
    c.bottom = scalar("pad_bottom");
    c.left = scalar("pad_left");
    c.right = scalar("pad_right");
    return c;
}

// Returns the correlation of dy with the transposed filters, which is dx. If there is a stride, dy
// is dilated first, which may append zeros.
Correlation image_gradient_of(const Correlation &c) {
    const auto dilated = [](int64_t size, int64_t out, int64_t stride, int64_t reach,
                            int64_t begin) {
        return stride == 1 ? out
                           : std::max((out - 1) * stride + 1,
                                      std::min(out * stride, size + 2 * reach - begin));
    };
    const int64_t reach_h = (c.u - 1) * c.dil_h;
    const int64_t reach_w = (c.v - 1) * c.dil_w;
    Correlation d = c;
    std::swap(d.c, d.o);
    std::swap(d.oh, d.h);
    std::swap(d.ow, d.w);
    d.stride_h = d.stride_w = 1;
    d.top = reach_h - c.top;
    d.left = reach_w - c.left;
    d.h = dilated(c.h, c.oh, c.stride_h, reach_h, d.top);
    d.w = dilated(c.w, c.ow, c.stride_w, reach_w, d.left);
    d.bottom = c.h + reach_h - d.top - d.h;
    d.right = c.w + reach_w - d.left - d.w;
    return d;
}

void require_at_most(const std::string &op, const char *what, int64_t got, int64_t limit) {
    if (got > limit) {
        throw DispatchError(op, std::string("no program for the cube unit: ") + what + " is " +
                                    std::to_string(got) + ", it may be " + std::to_string(limit));
    }
}

void check(const std::string &op, const Correlation &c) {
    require_at_most(op, "u * v", c.taps(), max_taps);
    require_at_most(op, "stride_h", c.stride_h, max_stride);
    require_at_most(op, "stride_w", c.stride_w, max_stride);
    require_at_most(op, "dil_h", c.dil_h, max_dilation);
    require_at_most(op, "dil_w", c.dil_w, max_dilation);
    require_at_most(op, "a border", std::max({c.top, c.bottom, c.left, c.right}), max_border);
    if (std::min({c.top, c.bottom, c.left, c.right}) < 0)
        throw DispatchError(op, "no program for the cube unit: padding is wider than the filter");
}

void check(const std::string &op, const Dilation &d) {
    require_at_most(op, "stride_w", d.stride_w, max_dilated_stride);
    require_at_most(op, "stride_h rows of the gradient, dilated,", d.stride_h * d.to_w,
                    max_dilated_row);
}

}  // namespace

void convolve(const Ascend &npu, const Op &op, Gradient g) {
    const auto &in = npu.call->inputs;
    for (auto &[name, t] : npu.types) {
        if (t != DType::f16) {
            throw DispatchError(
                op.name,
                std::string("no program for the cube unit: it multiplies f16, not ") + name_of(t));
        }
    }
    for (auto *all : {&npu.call->inputs, &npu.call->outputs}) {
        for (auto &layout : *all) {
            if (!FixedCall::is_dense(layout)) {
                throw DispatchError(op.name,
                                    "no program for the cube unit: a tensor isn't dense NCHW");
            }
        }
    }
    const Correlation c = call_of(npu, op, in[0], in[1],
                                  g == Gradient::none ? npu.call->outputs[0] : in[2]);
    const Correlation product = g == Gradient::image ? image_gradient_of(c) : c;
    check(op.name, c);
    check(op.name, product);
    const int shrink = npu.pick("shrink", {0, 1, 2, 3, 4, 5});
    BufferPlan &plan = *npu.buffer_plan;
    if (g == Gradient::filters) {
        plan.emitted = {[=](Writer &w) {
            correlate_taps(w, c, "x", "dy", "dweight", shrink);
            prove_taps(w.program, c, "x", "dy", "dweight");
        }};
        return;
    }
    const Filters f{"weight", "fractals", c.group, c.o, c.c, c.taps(), g == Gradient::image};
    CorrelationTensors t = g == Gradient::image ? CorrelationTensors{"dy", f.to, "dx"}
                                                : CorrelationTensors{"x", f.to, "y"};
    plan.workspaces = {{f.to, DType::f16, f.size(), dv::GmTensor::workspace}};
    plan.emitted = {[=](Writer &w) {
        filters_to_fractals(w, f);
        prove(w.program, f);
    }};
    if (g == Gradient::image && c.stride_h * c.stride_w > 1) {
        const Dilation d{t.image,    "dilated",  c.n * c.group * c.o, c.oh,     c.ow,
                         c.stride_h, c.stride_w, product.h,           product.w};
        check(op.name, d);
        plan.workspaces.push_back({d.to, DType::f16,
                                   whole_fractals(d.planes * d.to_h * d.to_w) + fractal_side,
                                   dv::GmTensor::workspace});
        plan.emitted.push_back([=](Writer &w) {
            dilate(w, d);
            prove(w.program, d);
        });
        t.image = d.to;
    }
    plan.emitted.push_back([=](Writer &w) {
        correlate(w, product, t, shrink);
        prove(w.program, product, t);
    });
}

}  // namespace halyard::ascend

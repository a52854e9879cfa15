#include "nn/pooling.h"

#include "primitives/ops.h"

namespace halyard::nn {
namespace {

const Pool2dOptions &checked(const char *layer, const Pool2dOptions &o) {
    check_least(layer, "kernel_size", o.kernel_size, 1);
    check_least(layer, "stride", o.stride, 1);
    if (o.pad_mode != "same" && o.pad_mode != "valid" && o.pad_mode != "pad")
        throw AttrError(layer, "pad_mode is " + o.pad_mode + ", expected same, valid or pad");
    if (o.pad_mode != "pad" && o.padding.any()) throw AttrError(layer, "padding is not 0, but pad_mode is " + o.pad_mode + ", expected pad");
    return o;
}

}  // namespace

MaxPool2d::MaxPool2d(const Pool2dOptions &o) : options_(checked("MaxPool2d", o)) {}

Tensor MaxPool2d::construct(const Tensor &x) const {
    const Pool2dOptions &o = options_;
    return F::max_pool2d(x, o.kernel_size.ints(), o.stride.ints(), o.pad_mode, o.padding.ints(), o.data_format);
}

AvgPool2d::AvgPool2d(const Pool2dOptions &o, bool count_include_pad) : options_(checked("AvgPool2d", o)), count_include_pad_(count_include_pad) {}

Tensor AvgPool2d::construct(const Tensor &x) const {
    const Pool2dOptions &o = options_;
    return F::avg_pool2d(x, o.kernel_size.ints(), o.stride.ints(), o.pad_mode, o.padding.ints(), o.data_format, count_include_pad_);
}

}  // namespace halyard::nn

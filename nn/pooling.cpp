#include "nn/pooling.h"

#include "primitives/ops/avg_pool2d.h"
#include "primitives/ops/max_pool2d.h"
#include "primitives/ops/pool1d_pool3d.h"
#include "primitives/ops/reduce.h"
#include "primitives/ops/shapes.h"

namespace halyard::nn {
namespace {

template<class Options> void check_windows(const std::string &layer, const Options &o) {
    check_min(layer, "kernel_size", o.kernel_size, 1);
    check_min(layer, "stride", o.stride, 1);
    check_padding(layer, o.pad_mode, o.padding);
}

template<int N> const PoolOptions<N> &checked(const std::string &layer, const PoolOptions<N> &o) {
    check_windows(layer, o);
    check_data_format<N>(layer, o.data_format);
    return o;
}

template<int N>
const MaxPoolOptions<N> &checked(const std::string &layer, const MaxPoolOptions<N> &o) {
    check_windows(layer, o);
    check_data_format<N>(layer, o.data_format);
    check_min(layer, "dilation", o.dilation, 1);
    return o;
}

template<int N>
const MaxUnpoolOptions<N> &checked(const std::string &layer, const MaxUnpoolOptions<N> &o) {
    check_min(layer, "kernel_size", o.kernel_size, 1);
    if (o.stride) check_min(layer, "stride", *o.stride, 1);
    check_min(layer, "padding", o.padding, 0);
    return o;
}

template<int N> Ints checked(const std::string &layer, const Sizes<N> &output_size) {
    check_min(layer, "output_size", output_size, 1);
    return output_size.ints();
}

template<class Options> std::string repr(const Options &o) {
    return "kernel_size=" + in_brackets(o.kernel_size.ints()) +
           ", stride=" + in_brackets(o.stride.ints()) + ", pad_mode=" + o.pad_mode.text() +
           ", padding=" + in_brackets(o.padding.ints());
}

}  // namespace

template<int N> MaxPool<N>::MaxPool(const MaxPoolOptions<N> &o)
    : options_(checked(with_rank<N>("MaxPool"), o)) {}

template<int N> Tensor MaxPool<N>::construct(const Tensor &x) const {
    const MaxPoolOptions<N> &o = options_;
    const Ints kernel = o.kernel_size.ints();
    const Ints stride = o.stride.ints();
    const Ints padding = o.padding.ints();
    const Ints dilation = o.dilation.ints();
    if constexpr (N == 1)
        return F::max_pool1d(x, kernel, stride, o.pad_mode, padding, o.ceil_mode, dilation);
    else if constexpr (N == 2) {
        return F::max_pool2d(x, kernel, stride, o.pad_mode, padding, o.data_format, o.ceil_mode,
                             dilation);
    } else
        return F::max_pool3d(x, kernel, stride, o.pad_mode, padding, o.ceil_mode, dilation);
}

template<int N> std::vector<Tensor> MaxPool<N>::construct(Tensors in) const {
    if (!options_.return_indices || in.size() != 1) return Cell::construct(in);
    const MaxPoolOptions<N> &o = options_;
    const Ints kernel = o.kernel_size.ints();
    const Ints stride = o.stride.ints();
    const Ints padding = o.padding.ints();
    const Ints dilation = o.dilation.ints();
    const auto pooled = [&](const Tensor &x) {
        if constexpr (N == 1) {
            return F::max_pool1d_with_indices(x, kernel, stride, o.pad_mode, padding, o.ceil_mode,
                                              dilation);
        } else if constexpr (N == 2) {
            return F::max_pool2d_with_indices(x, kernel, stride, o.pad_mode, padding, o.ceil_mode,
                                              dilation);
        } else {
            return F::max_pool3d_with_indices(x, kernel, stride, o.pad_mode, padding, o.ceil_mode,
                                              dilation);
        }
    };
    if (o.data_format == channels_first<N>) {
        const auto [y, indices] = pooled(in[0]);
        return {y, indices};
    }
    const auto [y, indices] = pooled(F::transpose(in[0], {0, 3, 1, 2}));
    return {F::transpose(y, {0, 2, 3, 1}), F::transpose(indices, {0, 2, 3, 1})};
}

template<int N> MaxUnpool<N>::MaxUnpool(const MaxUnpoolOptions<N> &o)
    : options_(checked(with_rank<N>("MaxUnpool"), o)) {}

template<int N> Tensor MaxUnpool<N>::construct(const Tensor &x, const Tensor &indices) const {
    if (x.rank() != N + 2) {
        throw ShapeError(cls_name(), "x's rank is " + std::to_string(x.rank()) + ", expected " +
                                         std::to_string(N + 2));
    }
    const Ints kernel = options_.kernel_size.ints();
    const Ints stride = options_.stride.value_or(options_.kernel_size).ints();
    const Ints padding = options_.padding.ints();
    Ints size;
    for (size_t d = 0; d < size_t(N); d++) {
        size.push_back((x.shape()[d + 2] - 1) * stride[d] + kernel[d] - padding[2 * d] -
                       padding[2 * d + 1]);
    }
    return construct(x, indices, size);
}

template<int N> Tensor MaxUnpool<N>::construct(const Tensor &x, const Tensor &indices,
                                               const Ints &output_size) const {
    if constexpr (N == 1)
        return F::max_unpool1d(x, indices, output_size);
    else if constexpr (N == 2)
        return F::max_unpool2d(x, indices, output_size);
    else
        return F::max_unpool3d(x, indices, output_size);
}

template<int N>
AvgPool<N>::AvgPool(const PoolOptions<N> &o, bool count_include_pad, int64_t divisor_override)
    : options_(checked(with_rank<N>("AvgPool"), o)), count_include_pad_(count_include_pad),
      divisor_override_(divisor_override) {
    check_min(with_rank<N>("AvgPool"), "divisor_override", divisor_override, 0);
}

template<int N> Tensor AvgPool<N>::construct(const Tensor &x) const {
    const PoolOptions<N> &o = options_;
    const Ints kernel = o.kernel_size.ints();
    const Ints stride = o.stride.ints();
    const Ints padding = o.padding.ints();
    const bool include = count_include_pad_;
    const int64_t divisor = divisor_override_;
    if constexpr (N == 1)
        return F::avg_pool1d(x, kernel, stride, o.pad_mode, padding, o.ceil_mode, include, divisor);
    else if constexpr (N == 2) {
        return F::avg_pool2d(x, kernel, stride, o.pad_mode, padding, o.data_format, include,
                             o.ceil_mode, divisor);
    } else
        return F::avg_pool3d(x, kernel, stride, o.pad_mode, padding, o.ceil_mode, include, divisor);
}

template<int N> AdaptiveAvgPool<N>::AdaptiveAvgPool(Sizes<N> output_size)
    : output_size_(checked(with_rank<N>("AdaptiveAvgPool"), output_size)) {}

template<int N> Tensor AdaptiveAvgPool<N>::construct(const Tensor &x) const {
    if constexpr (N == 1)
        return F::adaptive_avg_pool1d(x, output_size_);
    else if constexpr (N == 2)
        return F::adaptive_avg_pool2d(x, output_size_);
    else
        return F::adaptive_avg_pool3d(x, output_size_);
}

template<int N> AdaptiveMaxPool<N>::AdaptiveMaxPool(Sizes<N> output_size)
    : output_size_(checked(with_rank<N>("AdaptiveMaxPool"), output_size)) {}

template<int N> Tensor AdaptiveMaxPool<N>::construct(const Tensor &x) const {
    if constexpr (N == 1)
        return F::adaptive_max_pool1d(x, output_size_);
    else if constexpr (N == 2)
        return F::adaptive_max_pool2d(x, output_size_);
    else
        return F::adaptive_max_pool3d(x, output_size_);
}

template<int N> std::string MaxPool<N>::extend_repr() const {
    const bool dilates = options_.dilation.ints() != Sizes<N>(1).ints();
    return repr(options_) + (dilates ? ", dilation=" + in_brackets(options_.dilation.ints()) : "") +
           (options_.return_indices ? ", return_indices=true" : "");
}
template<int N> std::string MaxUnpool<N>::extend_repr() const {
    return "kernel_size=" + in_brackets(options_.kernel_size.ints()) +
           ", stride=" + in_brackets(options_.stride.value_or(options_.kernel_size).ints()) +
           ", padding=" + in_brackets(options_.padding.ints());
}
template<int N> std::string AvgPool<N>::extend_repr() const {
    return repr(options_);
}
template<int N> std::string AdaptiveAvgPool<N>::extend_repr() const {
    return "output_size=" + in_brackets(output_size_);
}
template<int N> std::string AdaptiveMaxPool<N>::extend_repr() const {
    return "output_size=" + in_brackets(output_size_);
}

Tensor GlobalAvgPool::construct(const Tensor &x) const {
    if (x.rank() < 3) {
        throw ShapeError("GlobalAvgPool",
                         "x's rank is " + std::to_string(x.rank()) + ", expected at least 3");
    }
    Ints rest;
    for (int d = 2; d < x.rank(); d++)
        rest.push_back(d);
    return F::reduce_mean(x, rest, keep_dims_);
}

template class MaxPool<1>;
template class MaxPool<2>;
template class MaxPool<3>;
template class MaxUnpool<1>;
template class MaxUnpool<2>;
template class MaxUnpool<3>;
template class AvgPool<1>;
template class AvgPool<2>;
template class AvgPool<3>;
template class AdaptiveAvgPool<1>;
template class AdaptiveAvgPool<2>;
template class AdaptiveAvgPool<3>;
template class AdaptiveMaxPool<1>;
template class AdaptiveMaxPool<2>;
template class AdaptiveMaxPool<3>;

}  // namespace halyard::nn

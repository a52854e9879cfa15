#include "nn/basic.h"

#include <sstream>

#include "primitives/operators.h"
#include "primitives/ops/binary.h"
#include "primitives/ops/composites.h"
#include "primitives/ops/dropout.h"

namespace halyard::nn {

Tensor Flatten::construct(const Tensor &x) const {
    if (x.rank() < 1) throw ShapeError("Flatten", "x's rank is 0, expected at least 1");
    int64_t rest = 1;
    for (int i = 1; i < x.rank(); i++)
        rest *= x.size(i);
    return F::reshape(x, {x.size(0), rest});
}

namespace {

double checked(const std::string &layer, double p) {
    if (!(p >= 0 && p < 1))
        throw AttrError(layer, "p is " + std::to_string(p) + ", expected 0 <= p < 1");
    return p;
}

std::string repr(double p) {
    std::ostringstream out;
    out << "p=" << p;
    return out.str();
}

}  // namespace

Dropout::Dropout(double p) : p_(checked("Dropout", p)) {}
Tensor Dropout::construct(const Tensor &x) const {
    return training() && p_ > 0 ? F::dropout(x, p_)[0] : x;
}
std::string Dropout::extend_repr() const {
    return repr(p_);
}

template<int N> ChannelDropout<N>::ChannelDropout(double p)
    : p_(checked(with_rank<N>("Dropout"), p)) {}
template<int N> std::string ChannelDropout<N>::extend_repr() const {
    return repr(p_);
}

template<int N> Tensor ChannelDropout<N>::construct(const Tensor &x) const {
    if (x.rank() != N + 2) {
        throw ShapeError(cls_name(), "x's rank is " + std::to_string(x.rank()) + ", expected " +
                                         std::to_string(N + 2));
    }
    if (!training() || p_ == 0) return x;
    Shape channels{x.size(0), x.size(1)};
    for (int d = 0; d < N; d++)
        channels.push_back(1);
    return x * F::dropout(Tensor::ones(channels, x.dtype()), p_)[0];
}

template class ChannelDropout<1>;
template class ChannelDropout<2>;
template class ChannelDropout<3>;

}  // namespace halyard::nn

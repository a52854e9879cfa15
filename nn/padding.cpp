#include "nn/padding.h"

namespace halyard::nn {

Pad::Pad(const std::vector<std::pair<int64_t, int64_t>> &paddings, const std::string &mode)
    : rank_(paddings.size()) {
    if (mode != "CONSTANT" && mode != "REFLECT" && mode != "SYMMETRIC")
        throw AttrError("Pad", "mode is " + mode + ", expected CONSTANT, REFLECT or SYMMETRIC");
    for (char c : mode)
        mode_ += char(c - 'A' + 'a');
    for (size_t k = paddings.size(); k-- > 0;) {
        check_min("Pad", "paddings", std::min(paddings[k].first, paddings[k].second), 0);
        from_the_last_.insert(from_the_last_.end(), {paddings[k].first, paddings[k].second});
    }
}

Tensor Pad::construct(const Tensor &x) const {
    if (x.rank() != int(rank_)) {
        throw ShapeError("Pad", "x's rank is " + std::to_string(x.rank()) + ", expected " +
                                    std::to_string(rank_) + ", the number of paddings");
    }
    return F::pad(x, from_the_last_, mode_);
}

template<int N> SidePad<N>::SidePad(const std::string &layer, Paddings<N> padding,
                                    const F::BorderMode &mode, double value)
    : padding_(padding.ints()), mode_(mode), value_(value) {
    check_min(layer, "padding", padding, 0);
}

template<int N> Tensor SidePad<N>::construct(const Tensor &x) const {
    if (x.rank() < N) {
        throw ShapeError(this->cls_name(), "x's rank is " + std::to_string(x.rank()) +
                                               ", expected at least " + std::to_string(N));
    }
    return F::pad(x, padding_, mode_, value_);
}

template class SidePad<1>;
template class SidePad<2>;
template class SidePad<3>;

}  // namespace halyard::nn

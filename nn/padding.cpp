#include "nn/padding.h"

#include "primitives/ops.h"

namespace halyard::nn {

Pad::Pad(const std::vector<std::pair<int64_t, int64_t>> &paddings, const std::string &mode) : rank_(paddings.size()) {
    if (mode != "CONSTANT" && mode != "REFLECT" && mode != "SYMMETRIC") throw AttrError("Pad", "mode is " + mode + ", expected CONSTANT, REFLECT or SYMMETRIC");
    for (char c : mode) mode_ += (char)(c - 'A' + 'a');
    for (size_t k = paddings.size(); k-- > 0;) {
        check_least("Pad", "paddings", std::min(paddings[k].first, paddings[k].second), 0);
        from_the_last_.insert(from_the_last_.end(), {paddings[k].first, paddings[k].second});
    }
}

Tensor Pad::construct(const Tensor &x) const {
    if (x.rank() != (int)rank_)
        throw ShapeError("Pad", "x's rank is " + std::to_string(x.rank()) + ", expected " + std::to_string(rank_) + ", the number of paddings");
    return F::pad(x, from_the_last_, mode_);
}

}  // namespace halyard::nn

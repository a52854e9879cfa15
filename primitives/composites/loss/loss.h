// The base of losses. Names, defaults and semantics are MindSpore's (torch.nn.functional has the
// same names). 16-bit floats are computed in f32. A weight may be an undefined tensor, which stands
// for ones.
#pragma once
#include <string>
#include <vector>

#include "primitives/composites/composite.h"
#include "primitives/ops/binary.h"
#include "primitives/ops/reduce.h"

namespace halyard {

// The choices of attribute `reduction`. Only kl_div has the last one.
enum class LossReduction : uint8_t { mean, none, sum, batchmean };

// The inputs of a loss: floats in the arithmetic of the loss.
class LossInputs {
public:
    explicit LossInputs(const Call &call);

    const Call &call;
    const Tensor &operator[](size_t k) const { return x_[k]; }
    Tensors all() const { return x_; }
    double real(const char *attr) const { return call.real(attr); }
    // Returns real attribute `attr`. Throws AttrError unless it is a positive number.
    double positive(const char *attr) const;
    // Returns loss * input `weight`, or `loss` where that input is undefined.
    Tensor weighted(const Tensor &loss, size_t weight) const;
    LossReduction reduction() const { return LossReduction(call.integer("reduction")); }
    // Returns `loss` reduced as attribute `reduction` says, in the dtype of the first input. A mean
    // divides by `over`, by the number of elements where that is undefined.
    Result reduced(const Tensor &loss, const Tensor &over = {}) const;
    // Returns `result` in the dtype of the first input.
    Result as_given(const Tensor &result) const;

private:
    std::vector<Tensor> x_;
};

class LossComposite : public Composite {
protected:
    LossComposite(const std::string &name, const std::string &signature, const std::string &doc,
                  double ulps = 24);
    void reduction() { choice("reduction", {"mean", "none", "sum"}); }

    // The loss before its reduction. A loss that overrides compose() may do without.
    virtual Tensor terms(const LossInputs &) const { return {}; }
    Result compose(const Call &call) const override;

    // Sets the reduction of `loss`, which is what `none` gives. A mean divides the sum by `over`,
    // by the number of elements where that is 0.
    static void reduce(Problem &p, const Array &loss, double over = 0);
};

// Short names for the compositions of losses.
// Returns a scalar of x's dtype.
inline Tensor like(const Tensor &x, double v) {
    return Tensor::scalar(v, x.dtype());
}
inline Tensor relu(const Tensor &x) {
    return F::maximum(x, 0);
}
inline Tensor sum(const Tensor &x) {
    return F::reduce_sum(x);
}
inline Tensor sum_along(const Tensor &x, int axis) {
    return F::reduce_sum(x, {axis});
}

}  // namespace halyard

#include "primitives/composites/loss/loss.h"
#include "primitives/operators.h"

namespace halyard {

LossInputs::LossInputs(const Call &c) : call(c) {
    const DType given = c[0].dtype();
    if (given == DType::boolean) {
        const std::string &signature = c.attrs.op().signature;
        throw DTypeError(c.op(), signature.substr(0, signature.find_first_of("[:")) +
                                     " is bool, expected a float");
    }
    const DType d = bytes_of(given) == 2 ? DType::f32 : given;
    for (const Tensor &t : c.in)
        x_.push_back(t.defined() && is_float(t.dtype()) ? cast_to(t, d) : t);
}

double LossInputs::positive(const char *attr) const {
    const double v = real(attr);
    if (!(v > 0)) {
        throw AttrError(call.op(),
                        std::string(attr) + " is " + std::to_string(v) + ", expected more than 0");
    }
    return v;
}

Tensor LossInputs::weighted(const Tensor &loss, size_t weight) const {
    return x_[weight].defined() ? loss * x_[weight] : loss;
}

Result LossInputs::as_given(const Tensor &result) const {
    return {cast_to(result, call[0].dtype())};
}

Result LossInputs::reduced(const Tensor &loss, const Tensor &over) const {
    const LossReduction how = reduction();
    if (how == LossReduction::none) return as_given(loss);
    if (how == LossReduction::sum) return as_given(sum(loss));
    return as_given(over.defined() ? sum(loss) / over : F::reduce_mean(loss));
}

LossComposite::LossComposite(const std::string &n, const std::string &text,
                             const std::string &formula, double ulps)
    : Composite(n, text, formula) {
    dtypes = {"f32", "f16", "bf16", "f64"};
    contract = {Contract::normwise, ulps};
}

Result LossComposite::compose(const Call &call) const {
    const LossInputs x(call);
    return x.reduced(terms(x));
}

void LossComposite::reduce(Problem &p, const Array &loss, double over) {
    const auto how = LossReduction(p["reduction"]);
    if (how == LossReduction::none) {
        p.tensors["loss"] = loss;
        return;
    }
    double sum = 0;
    for (double v : loss.v)
        sum += v;
    Array y{Shape{}};
    y.v = {how == LossReduction::sum ? sum : sum / (over > 0 ? over : double(loss.v.size()))};
    p.tensors["loss"] = y;
}

}  // namespace halyard

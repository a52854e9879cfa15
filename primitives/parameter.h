// Parameter: a named tensor that training changes. Copies are handles of the same parameter.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "primitives/settings_fingerprint.h"
#include "registry/tensor/tensor.h"

namespace halyard {

class Parameter {
public:
    Parameter() = default;
    explicit Parameter(Tensor value, std::string name = "", bool requires_grad = true)
        : state_(std::make_shared<State>(State{std::move(value), std::move(name), requires_grad})) {
    }

    bool defined() const { return state_ != nullptr; }
    const Tensor &data() const { return state_->value; }
    operator const Tensor &() const { return state_->value; }
    // Copies the elements of `value`. Throws ShapeError or DTypeError if it has another shape or
    // dtype.
    void set_data(const Tensor &value) const;
    const std::string &name() const { return state_->name; }
    void set_name(const std::string &n) const { state_->name = n; }
    bool requires_grad() const { return state_->requires_grad; }
    void set_requires_grad(bool on) const {
        if (state_->requires_grad != on) settings_toggled(state_.get(), Switch::requires_grad);
        state_->requires_grad = on;
    }
    const Shape &shape() const { return state_->value.shape(); }
    bool same(const Parameter &o) const { return state_ == o.state_; }

private:
    struct State {
        Tensor value;
        std::string name;
        bool requires_grad;
    };
    std::shared_ptr<State> state_;
};

using ParameterTuple = std::vector<Parameter>;

}  // namespace halyard

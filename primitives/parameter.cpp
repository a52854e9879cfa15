#include "primitives/parameter.h"

namespace halyard {

void Parameter::set_data(const Tensor &value) const {
    const Tensor &own = state_->value;
    const std::string who = name().empty() ? "it" : name();
    if (own.dtype() != value.dtype()) {
        throw DTypeError("parameter", who + " is " + name_of(own.dtype()) + ", the value is " +
                                          name_of(value.dtype()));
    }
    if (!(own.shape() == value.shape())) {
        throw ShapeError("parameter", who + " has shape " + own.shape().text() +
                                          ", the value has " + value.shape().text());
    }
    own.assign(value);
}

}  // namespace halyard

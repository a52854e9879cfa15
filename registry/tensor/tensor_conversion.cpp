// Copies and conversions of tensors.
#include "registry/tensor/tensor.h"
#include "registry/tensor/tensor_copy.h"
#include "registry/tensor/tensor_methods.h"

namespace halyard {

template<class T> std::vector<T> Tensor::to_vector() const {
    const UnrecordedMethods numbers_only;
    const Tensor t = dtype() == dtype_for<T>::value ? contiguous() : to(dtype_for<T>::value);
    return std::vector<T>(t.values<T>(), t.values<T>() + t.elements());
}

Tensor Tensor::copy() const {
    Tensor t = empty(shape(), dtype());
    copy_elements(t, *this);
    if (CallListener *listener = call_listener()) listener->copied(t, *this);
    if (const MethodRecorder record = method_recorder())
        record(*this, t, {TensorMethod::Kind::copied, "copy"});
    return t;
}

Tensor Tensor::to(DType dtype) const {
    Tensor t = empty(shape(), dtype);
    copy_elements(t, *this);
    if (CallListener *listener = call_listener()) listener->copied(t, *this);
    if (const MethodRecorder record = method_recorder())
        record(*this, t, {TensorMethod::Kind::copied, "to"});
    return t;
}

void Tensor::assign(const Tensor &from) const {
    if (!(shape() == from.shape())) {
        throw ShapeError("assign",
                         "shape is " + from.shape().text() + ", expected " + shape().text());
    }
    for (int i = 0; i < rank(); i++) {
        if (shape()[i] > 1 && strides()[i] == 0) {
            throw ShapeError("assign", "dimension " + std::to_string(i) + " of " + shape().text() +
                                           " has stride 0: its " + std::to_string(shape()[i]) +
                                           " elements are one");
        }
    }
    const bool same_place = impl_->data == from.impl_->data && strides() == from.strides() &&
                            dtype() == from.dtype();
    if (same_place) return;
    {
        const UnrecordedMethods elements_only;
        const ListenerScope unheard(nullptr);
        copy_elements(*this, overlaps(from) ? from.copy() : from);
    }
    if (CallListener *listener = call_listener()) listener->copied(*this, from);
}

#define HALYARD_INSTANTIATE(T) template std::vector<T> Tensor::to_vector<T>() const;
HALYARD_INSTANTIATE(double)
HALYARD_INSTANTIATE(float)
HALYARD_INSTANTIATE(float16)
HALYARD_INSTANTIATE(bfloat16)
HALYARD_INSTANTIATE(int64_t)
HALYARD_INSTANTIATE(int32_t)
HALYARD_INSTANTIATE(int8_t)
HALYARD_INSTANTIATE(uint8_t)
HALYARD_INSTANTIATE(bool)
#undef HALYARD_INSTANTIATE

}  // namespace halyard

#include "registry/tensor/tensor.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <new>

#include "registry/tensor/convert.h"
#include "registry/tensor/memory.h"
#include "registry/tensor/view_strides.h"

namespace halyard {
namespace {

// A storage and its first tensor share one block, which is released with the last of the two.
struct First {
    TensorImpl tensor;
    Storage storage;
};

First *owner_of(Storage *s) {
    return reinterpret_cast<First *>(reinterpret_cast<char *>(s) - offsetof(First, storage));
}

// Sets the strides of a dense tensor. They are computed in place, because copying data that was
// just written element by element stalls.
TensorImpl *new_first(void *data, size_t bytes, bool pooled, const Shape &shape, DType dtype) {
    auto *f = new (memory::allocate_uncounted(sizeof(First)))
        First{{{1}, nullptr, static_cast<char *>(data), shape, shape, dtype, true},
              {{1}, data, bytes, pooled, {!pooled}, {0}, {nullptr}}};
    f->tensor.storage = &f->storage;
    int64_t n = 1;
    for (int i = shape.rank(); i-- > 0;) {
        f->tensor.strides[i] = n;
        n *= shape[i] > 0 ? shape[i] : 1;
    }
    return &f->tensor;
}

// Releases a reference. The last one needs no locked instruction: nobody else can take one.
template<class T> bool drop(T *counted) {
    return counted->references.load(std::memory_order_acquire) == 1 ||
           counted->references.fetch_sub(1, std::memory_order_acq_rel) == 1;
}

std::string number(double v, DType t) {
    if (t == DType::boolean) return v != 0 ? "true" : "false";
    char s[40];
    std::snprintf(s, sizeof(s), t == DType::f64 ? "%.10g" : is_float(t) ? "%.6g" : "%.0f", v);
    return s;
}

void print(const Tensor &t, Shape &index, int depth, int limit, std::string &out) {
    if (depth == t.rank()) {
        out += number(t.at(index), t.dtype());
        return;
    }
    out += "[";
    const int64_t n = t.shape()[depth];
    for (int64_t i = 0; i < n; i++) {
        if (i) out += ", ";
        if (i == limit) {
            out += "...";
            break;
        }
        index[depth] = i;
        print(t, index, depth + 1, limit, out);
    }
    out += "]";
}

char *element(const TensorImpl &t, const Shape &index) {
    if (index.rank() != t.shape.rank()) {
        throw ShapeError("tensor", "index has rank " + std::to_string(index.rank()) +
                                       ", expected " + std::to_string(t.shape.rank()));
    }
    int64_t offset = 0;
    for (int i = 0; i < index.rank(); i++) {
        if (index[i] < 0 || index[i] >= t.shape[i]) {
            throw ShapeError("tensor", "index " + std::to_string(i) + " is " +
                                           std::to_string(index[i]) + ", expected 0 to " +
                                           std::to_string(t.shape[i] - 1));
        }
        offset += index[i] * t.strides[i];
    }
    return t.data + offset * int64_t(bytes_of(t.dtype));
}

}  // namespace

size_t TensorImpl::span_bytes() const {
    int64_t last = 0;
    for (int i = 0; i < shape.rank(); i++) {
        if (shape[i] == 0) return 0;
        last += (shape[i] - 1) * strides[i];
    }
    return size_t(last + 1) * bytes_of(dtype);
}

bool TensorImpl::is_whole_storage() const {
    return dense && size_t(shape.elements()) * bytes_of(dtype) == storage->bytes;
}

Tensor Tensor::make(Storage *storage, void *data, const Shape &shape, const Shape &strides,
                    DType dtype, bool dense) {
    auto *t = new (memory::allocate_uncounted(sizeof(TensorImpl))) TensorImpl;
    t->storage = storage;
    t->data = static_cast<char *>(data);
    t->shape = shape;
    t->strides = strides;
    t->dtype = dtype;
    t->dense = dense;
    return Tensor(t);
}

void Tensor::release() {
    if (!drop(impl_)) return;
    Storage *s = impl_->storage;
    First *const owner = owner_of(s);
    if (impl_ != &owner->tensor) memory::release_uncounted(impl_);
    if (!drop(s)) return;
    if (CallListener *listener = call_listener()) listener->released(*s);
    delete s->device.load(std::memory_order_acquire);
    if (s->pooled) memory::release(s->data);
    memory::release_uncounted(owner);
}

void Tensor::wrong_dtype(DType asked) const {
    throw DTypeError("tensor", std::string("asked for ") + name_of(asked) +
                                   " data, the tensor is " + name_of(dtype()));
}

Tensor Tensor::empty(const Shape &shape, DType dtype) {
    const size_t bytes = size_t(checked_elements("tensor", shape)) * bytes_of(dtype);
    Tensor t(new_first(memory::allocate(bytes), bytes, true, shape, dtype));
    if (CallListener *listener = call_listener()) listener->allocated(*t.impl_->storage);
    return t;
}

Tensor Tensor::full(const Shape &shape, double value, DType dtype) {
    Tensor t = empty(shape, dtype);
    t.fill(value);
    return t;
}

void Tensor::fill(double value) const {
    impl_->before_overwrite();
    if (value == 0 && !std::signbit(value)) {
        std::memset(impl_->data, 0, bytes());
    } else {
        visit_dtype(dtype(), [&](auto zero) {
            using T = decltype(zero);
            std::fill_n(reinterpret_cast<T *>(impl_->data), elements(), convert<T>(value));
        });
    }
    if (CallListener *listener = call_listener()) listener->filled(*this, value);
}

void Tensor::report_access() const {
    call_listener()->touched(*impl_);
}

Tensor Tensor::borrow(void *data, const Shape &shape, const Shape &strides, DType dtype) {
    const int64_t n = checked_elements("tensor", shape);
    if (strides.rank() != shape.rank()) {
        throw ShapeError("tensor", "strides have rank " + std::to_string(strides.rank()) +
                                       ", expected " + std::to_string(shape.rank()));
    }
    int64_t last = 0;  // the offset of the last element
    for (int i = 0; i < strides.rank(); i++) {
        if (strides[i] < 0) {
            throw ShapeError("tensor", "stride " + std::to_string(i) + " of " + strides.text() +
                                           " is negative");
        }
        int64_t reach = 0;
        if (n && (__builtin_mul_overflow(shape[i] - 1, strides[i], &reach) ||
                  __builtin_add_overflow(last, reach, &last) || last >= INT32_MAX)) {
            throw ShapeError(
                "tensor",
                "shape " + shape.text() + " with strides " + strides.text() +
                    " spans more than 2147483647 elements (sizes past 2^31 are not supported)");
        }
    }
    if (!data && n)
        throw MemoryError("tensor", "borrowed memory of shape " + shape.text() + " is null");
    if (uintptr_t(data) % bytes_of(dtype)) {
        throw MemoryError("tensor", std::string("borrowed memory of ") + name_of(dtype) + " is " +
                                        std::to_string(uintptr_t(data) % bytes_of(dtype)) +
                                        " bytes off a multiple of " +
                                        std::to_string(bytes_of(dtype)));
    }
    TensorImpl *t = new_first(data, 0, false, shape, dtype);
    t->strides = strides;
    t->dense = is_dense(shape, strides);
    t->storage->bytes = t->span_bytes();
    return Tensor(t);
}

Tensor Tensor::with_view(const Shape &shape, const Shape &strides, int64_t offset) const {
    impl_->storage->references.fetch_add(1, std::memory_order_relaxed);
    return make(impl_->storage, impl_->data + offset * int64_t(bytes_of(dtype())), shape, strides,
                dtype(), is_dense(shape, strides));
}

Tensor Tensor::with_memory(DType dtype, const Shape &shape, const Shape &strides,
                           int64_t offset) const {
    impl_->storage->references.fetch_add(1, std::memory_order_relaxed);
    return make(impl_->storage, impl_->data + offset, shape, strides, dtype,
                is_dense(shape, strides));
}

double Tensor::at(const Shape &index) const {
    if (call_listener()) report_access();
    impl_->before_read();
    const char *p = element(*impl_, index);
    return visit_dtype(dtype(), [&](auto zero) {
        return convert<double>(*reinterpret_cast<const decltype(zero) *>(p));
    });
}

void Tensor::set(const Shape &index, double value) const {
    if (call_listener()) report_access();
    impl_->before_write();
    char *p = element(*impl_, index);
    visit_dtype(dtype(), [&](auto zero) {
        *reinterpret_cast<decltype(zero) *>(p) = convert<decltype(zero)>(value);
    });
}

template<class T> T Tensor::item() const {
    if (call_listener()) report_access();
    impl_->before_read();
    if (elements() != 1)
        throw ShapeError("tensor", "item() of shape " + shape().text() + ", expected one element");
    return visit_dtype(dtype(), [&](auto zero) {
        return convert<T>(*reinterpret_cast<const decltype(zero) *>(impl_->data));
    });
}

template<class T> Tensor Tensor::from(const std::vector<T> &values, const Shape &shape) {
    if (checked_elements("tensor", shape) != int64_t(values.size())) {
        throw ShapeError("tensor", std::to_string(values.size()) + " values for shape " +
                                       shape.text() + ", expected " +
                                       std::to_string(shape.elements()));
    }
    Tensor t = empty(shape, dtype_for<T>::value);
    std::copy(values.begin(), values.end(), reinterpret_cast<T *>(t.impl_->data));
    if (call_listener()) t.report_access();
    return t;
}

bool Tensor::overlaps(const Tensor &o) const {
    const size_t a = impl_->span_bytes();
    const size_t b = o.impl_->span_bytes();
    return a && b && impl_->data < o.impl_->data + b && o.impl_->data < impl_->data + a;
}

std::string Tensor::text(int limit) const {
    if (!defined()) return "undefined";
    std::string out;
    Shape index = shape();
    print(*this, index, 0, limit, out);
    return out + " " + name_of(dtype()) + shape().text();
}

#define HALYARD_INSTANTIATE(T)                                                                     \
    template T Tensor::item<T>() const;                                                            \
    template Tensor Tensor::from<T>(const std::vector<T> &, const Shape &);
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

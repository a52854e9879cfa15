// Tensor: a reference-counted, strided, n-dimensional array. Copying a Tensor copies a handle;
// views share memory.
#pragma once
#include <atomic>
#include <type_traits>
#include <utility>
#include <vector>

#include "registry/tensor/dtype.h"
#include "registry/tensor/index.h"
#include "registry/tensor/shape.h"

namespace halyard {

// Memory of one or several tensors: 64-byte aligned, from the pool (registry/tensor/memory.h) or
// owned by the caller.
struct Storage {
    std::atomic<int64_t> references{1};
    void *data = nullptr;
    size_t bytes = 0;
    bool pooled = true;  // false: borrowed, `data` is the caller's
};

// What a handle points to. Layout is public to the dispatcher, which reads it on every call.
struct TensorImpl {
    std::atomic<int64_t> references{1};
    Storage *storage = nullptr;
    char *data = nullptr;  // of element [0,0,...]
    Shape shape, strides;  // strides in elements; 0 = broadcast; negative strides don't exist
    DType dtype = DType::f32;
    bool dense = true;  // row-major without gaps
};

class Tensor {
public:
    Tensor() = default;  // undefined: defined() is false
    Tensor(const Tensor &o) : impl_(o.impl_) {
        if (impl_) impl_->references.fetch_add(1, std::memory_order_relaxed);
    }
    Tensor(Tensor &&o) noexcept : impl_(std::exchange(o.impl_, nullptr)) {}
    Tensor &operator=(Tensor o) noexcept {
        std::swap(impl_, o.impl_);
        return *this;
    }
    ~Tensor() {
        if (impl_) release();
    }

    // Uninitialised memory. Throws ShapeError on a negative extent or more than 2^31-1 elements or
    // bytes that overflow.
    static Tensor empty(const Shape &shape, DType dtype = DType::f32);
    static Tensor full(const Shape &shape, double value, DType dtype = DType::f32);
    static Tensor zeros(const Shape &shape, DType dtype = DType::f32) {
        return full(shape, 0, dtype);
    }
    static Tensor ones(const Shape &shape, DType dtype = DType::f32) {
        return full(shape, 1, dtype);
    }
    static Tensor scalar(double value, DType dtype = DType::f32) { return full({}, value, dtype); }
    // A copy of `values`, row-major. Throws ShapeError when their number is not the shape's.
    template<class T> static Tensor from(const std::vector<T> &values, const Shape &shape);
    template<class T> static Tensor from(std::initializer_list<T> v) {
        return from(std::vector<T>(v), Shape{int64_t(v.size())});
    }
    // A view of the caller's memory, aligned to dtype, which must outlive the tensor. Strides in
    // elements, the last at most 2^31-2 away.
    static Tensor borrow(void *data, const Shape &shape, const Shape &strides, DType dtype);

    bool defined() const { return impl_ != nullptr; }
    const Shape &shape() const { return impl_->shape; }
    const Shape &strides() const { return impl_->strides; }
    int rank() const { return impl_->shape.rank(); }
    int64_t size(int axis) const { return impl_->shape[normal_axis("tensor", axis, rank())]; }
    int64_t elements() const { return impl_->shape.elements(); }
    DType dtype() const { return impl_->dtype; }
    size_t bytes() const { return size_t(elements()) * bytes_of(dtype()); }
    bool dense() const { return impl_->dense; }

    void *raw() const { return impl_->data; }
    // Element [0,0,...]; throws DTypeError when T is not the tensor's dtype.
    template<class T> T *data() const {
        if (dtype_for<std::remove_const_t<T>>::value != impl_->dtype)
            wrong_dtype(dtype_for<std::remove_const_t<T>>::value);
        return reinterpret_cast<T *>(impl_->data);
    }
    // The only element, as T; throws ShapeError when there are several.
    template<class T = double> T item() const;
    // One element, whatever the dtype: for tests and printing.
    double at(const Shape &index) const;
    void set(const Shape &index, double value) const;
    template<class T> std::vector<T> to_vector() const;  // converted, row-major

    // Views: no element moves. Each throws ShapeError when no stride can say it.
    // one extent may be -1; of a strided view where strides can say it
    Tensor reshape(const Shape &shape) const;
    bool can_reshape(const Shape &shape) const;
    Tensor transpose(const std::vector<int> &permutation) const;
    Tensor swap_axes(int a, int b) const;
    // [from, to) by step >= 1
    Tensor slice(int axis, int64_t from, int64_t to, int64_t step = 1) const;
    // broadcast: extents of 1 become stride 0
    Tensor expand(const Shape &shape) const;
    Tensor unsqueeze(int axis) const;
    Tensor squeeze(int axis) const;
    // Returns the elements that one entry per leading dimension selects: `x[2]`,
    // `x[{range(1, 3), 0}]`. Throws ShapeError when an integer is out of range.
    Tensor operator[](const Index &index) const;
    Tensor operator[](std::initializer_list<Index> index) const;
    // unchecked: the above are built on it
    Tensor with_view(const Shape &shape, const Shape &strides, int64_t offset) const;

    Tensor copy() const;  // dense, new memory
    Tensor contiguous() const { return dense() ? *this : copy(); }
    // converted copy (C++ casts, see registry/tensor/convert.h; saturates nothing)
    Tensor to(DType dtype) const;
    // writes from's elements, converted, into this memory; shapes must agree, none of ours be a
    // broadcast
    void assign(const Tensor &from) const;
    bool same_memory(const Tensor &o) const { return impl_ == o.impl_; }
    // do the spans from first to last byte intersect (interleaved views do)
    bool overlaps(const Tensor &o) const;

    // also the tensor's identity, for the tape
    const TensorImpl *impl() const { return impl_; }
    std::string text(int limit = 6) const;  // "[[1, 2], [3, 4]] f32[2,2]"

private:
    explicit Tensor(TensorImpl *p) : impl_(p) {}
    static Tensor make(Storage *storage, void *data, const Shape &shape, const Shape &strides,
                       DType dtype, bool dense);
    [[noreturn]] void wrong_dtype(DType asked) const;
    void release();
    TensorImpl *impl_ = nullptr;
};

}  // namespace halyard

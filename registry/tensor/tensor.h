// Tensor: a reference-counted, strided, n-dimensional array. Copying a Tensor copies a handle;
// views share memory.
#pragma once
#include <atomic>
#include <type_traits>
#include <utility>
#include <vector>

#include "registry/tensor/call_listener.h"
#include "registry/tensor/device_copy.h"
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
    bool pooled = true;  // false: `data` belongs to the caller
    // The host's code has the address, and may read and write through it at any time. So a device
    // receives the bytes for each of its calls, and gives them back after it.
    std::atomic<bool> exposed{false};
    // Rises with each write, but for those through addresses that the host's code has.
    std::atomic<uint32_t> writes{0};
    std::atomic<DeviceCopy *> device{nullptr};  // owned; null until a device uses the memory
};

// The object that handles point to. It is public because dispatch reads it on every call.
struct TensorImpl {
    std::atomic<int64_t> references{1};
    Storage *storage = nullptr;
    char *data = nullptr;  // the address of element [0,0,...]
    Shape shape, strides;  // strides in elements, never negative; 0: broadcast
    DType dtype = DType::f32;
    bool dense = true;  // contiguous: row-major without gaps

    // Returns the bytes from the first element to the end of the last one; 0 without elements.
    size_t span_bytes() const;

    // To be called before the host reads elements, writes some, or writes all of them. Without a
    // device each costs one comparison, and writes an increment.
    void before_read() const {
        if (device()) [[unlikely]]
            device()->fetch();
    }
    void before_write() const {
        count_write();
        if (device()) [[unlikely]]
            device()->fetch_to_write(false);
    }
    void before_overwrite() const {
        count_write();
        if (device()) [[unlikely]]
            device()->fetch_to_write(is_whole_storage());
    }
    // To be called before a device writes elements.
    void count_write() const { storage->writes.fetch_add(1, std::memory_order_release); }
    // Returns true if writing all elements writes every byte of the storage.
    bool is_whole_storage() const;

private:
    DeviceCopy *device() const { return storage->device.load(std::memory_order_acquire); }
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

    // Returns a tensor of uninitialised memory. Throws ShapeError on a negative extent and on more
    // than 2^31-1 elements, MemoryError if the allocation fails.
    static Tensor empty(const Shape &shape, DType dtype = DType::f32);
    static Tensor full(const Shape &shape, double value, DType dtype = DType::f32);
    static Tensor zeros(const Shape &shape, DType dtype = DType::f32) {
        return full(shape, 0, dtype);
    }
    static Tensor ones(const Shape &shape, DType dtype = DType::f32) {
        return full(shape, 1, dtype);
    }
    static Tensor scalar(double value, DType dtype = DType::f32) { return full({}, value, dtype); }
    // Returns a row-major copy of `values`. Throws ShapeError if their number is not the shape's.
    template<class T> static Tensor from(const std::vector<T> &values, const Shape &shape);
    template<class T> static Tensor from(std::initializer_list<T> v) {
        return from(std::vector<T>(v), Shape{int64_t(v.size())});
    }
    // Returns a view of the caller's memory, which must be aligned for dtype and outlive the
    // tensor. Strides are in elements; the last element is at most 2^31-2 elements from the first.
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

    // Returns the address of element [0,0,...], to read and write as long as the tensor lives. A
    // device then copies the memory for each of its calls; see forget_addresses(). A listener takes
    // this and data() for an access of the host.
    void *raw() const {
        if (call_listener()) [[unlikely]]
            report_access();
        // Threads that ask in a loop share the line of memory as long as nobody stores.
        std::atomic<bool> &exposed = impl_->storage->exposed;
        if (!exposed.load(std::memory_order_relaxed))
            exposed.store(true, std::memory_order_relaxed);
        impl_->before_write();
        return impl_->data;
    }
    // Throws DTypeError if T is not the tensor's dtype.
    template<class T> T *data() const {
        check_dtype<T>();
        return static_cast<T *>(raw());
    }
    // As data(), to read until the tensor is written the next time: a copy on a device stays valid.
    template<class T> const T *values() const {
        check_dtype<T>();
        return static_cast<const T *>(bytes_to_read());
    }
    const void *bytes_to_read() const {
        if (call_listener()) [[unlikely]]
            report_access();
        impl_->before_read();
        return impl_->data;
    }
    // Promises that nobody uses an address that data() or raw() returned for this memory: from now
    // on a device may keep its copy.
    void forget_addresses() const {
        Storage &s = *impl_->storage;
        impl_->count_write();  // it may have been written until now
        if (s.pooled) s.exposed.store(false, std::memory_order_relaxed);
    }
    // Returns the only element, converted to T. Throws ShapeError unless there is exactly one.
    template<class T = double> T item() const;
    // Reads or writes one element of any dtype: for tests and printing.
    double at(const Shape &index) const;
    void set(const Shape &index, double value) const;
    template<class T> std::vector<T> to_vector() const;  // converted, row-major

    // Views share this tensor's memory. Each throws ShapeError if no strides describe the view.
    // reshape: one extent may be -1.
    Tensor reshape(const Shape &shape) const;
    bool can_reshape(const Shape &shape) const;
    Tensor transpose(const std::vector<int> &permutation) const;
    Tensor swap_axes(int a, int b) const;
    // Elements from, from + step, ... before `to` of one dimension; step >= 1.
    Tensor slice(int axis, int64_t from, int64_t to, int64_t step = 1) const;
    // Broadcasts: extents of 1 and missing leading dimensions are repeated with stride 0.
    Tensor expand(const Shape &shape) const;
    Tensor unsqueeze(int axis) const;
    Tensor squeeze(int axis) const;
    // Returns the elements that one entry per leading dimension selects: `x[2]`,
    // `x[{range(1, 3), 0}]`. Throws ShapeError when an integer is out of range.
    Tensor operator[](const Index &index) const;
    Tensor operator[](std::initializer_list<Index> index) const;
    // Any view, unchecked, with an offset in elements. The tape does not record it.
    Tensor with_view(const Shape &shape, const Shape &strides, int64_t offset) const;
    // As with_view(), of elements of another dtype, with an offset in bytes.
    Tensor with_memory(DType dtype, const Shape &shape, const Shape &strides, int64_t offset) const;
    // Sets all elements of a dense tensor.
    void fill(double value) const;

    Tensor copy() const;  // dense, in new memory
    Tensor contiguous() const { return dense() ? *this : copy(); }
    // Returns a converted copy, without saturation (registry/tensor/convert.h).
    Tensor to(DType dtype) const;
    // Writes the elements of `from`, converted, into this memory. Throws ShapeError if the shapes
    // differ or this tensor is a broadcast view.
    void assign(const Tensor &from) const;
    bool same_memory(const Tensor &o) const { return impl_ == o.impl_; }
    // Returns true if the ranges from the first to the last byte intersect; they may interleave.
    bool overlaps(const Tensor &o) const;

    // The address is the tensor's identity for the tape.
    const TensorImpl *impl() const { return impl_; }
    std::string text(int limit = 6) const;  // "[[1, 2], [3, 4]] f32[2,2]"

private:
    explicit Tensor(TensorImpl *p) : impl_(p) {}
    static Tensor make(Storage *storage, void *data, const Shape &shape, const Shape &strides,
                       DType dtype, bool dense);
    template<class T> void check_dtype() const {
        constexpr DType asked = dtype_for<std::remove_const_t<T>>::value;
        if (asked != impl_->dtype) wrong_dtype(asked);
    }
    [[noreturn]] void wrong_dtype(DType asked) const;
    void report_access() const;
    void release();
    TensorImpl *impl_ = nullptr;
};

}  // namespace halyard

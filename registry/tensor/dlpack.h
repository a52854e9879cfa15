// DLPack: tensors go to other libraries, and come from them, without a copy. The structs have the
// layout of dlpack.h, version 0.x: Managed is its DLManagedTensor, a capsule "dltensor" of Python.
#pragma once
#include <memory>
#include <utility>

#include "registry/base/error.h"
#include "registry/tensor/tensor.h"

namespace halyard::dlpack {

inline constexpr int32_t cpu = 1;

struct Device {
    int32_t type = cpu, id = 0;
};
struct DataType {
    uint8_t code = 0, bits = 0;
    uint16_t lanes = 1;
};
struct View {
    void *data = nullptr;
    Device device;
    int32_t rank = 0;
    DataType dtype;
    int64_t *shape = nullptr;
    int64_t *strides = nullptr;  // in elements; null: row-major without gaps
    uint64_t byte_offset = 0;
};
struct Managed {
    View view;
    void *owner = nullptr;
    void (*deleter)(Managed *) = nullptr;  // null: nothing is to be released
};

inline constexpr struct {
    DType dtype;
    uint8_t code, bits;
} data_types[] = {
    {DType::f32, 2, 32}, {DType::f64, 2, 64},  {DType::f16, 2, 16},
    {DType::i32, 0, 32}, {DType::i64, 0, 64},  {DType::i8, 0, 8},
    {DType::u8, 1, 8},   {DType::bf16, 4, 16}, {DType::boolean, 6, 8},
};
static_assert(std::size(data_types) == dtype_count);

// Returns the tensor for another library, which calls the deleter when it is done. The memory lives
// until then.
inline Managed *to_dlpack(const Tensor &t) {
    struct Export {
        Managed managed;
        Tensor tensor;
        Shape shape, strides;
    };
    if (!t.defined()) throw ShapeError("to_dlpack", "the tensor is undefined");
    auto made = std::make_unique<Export>();
    made->tensor = t;
    made->shape = t.shape();
    made->strides = t.strides();
    View &v = made->managed.view;
    v.data = t.raw();
    v.rank = t.rank();
    for (const auto &type : data_types)
        if (type.dtype == t.dtype()) v.dtype = {type.code, type.bits, 1};
    v.shape = made->shape.begin();
    v.strides = made->strides.begin();
    made->managed.owner = made.get();
    made->managed.deleter = [](Managed *m) { delete static_cast<Export *>(m->owner); };
    return &made.release()->managed;
}

// A tensor of another library. Its memory is that library's, and lives as long as this object: no
// tensor that shares it may live longer.
class Imported {
public:
    Imported(Tensor tensor, Managed *managed) : tensor_(std::move(tensor)), managed_(managed) {}
    Imported(Imported &&o) noexcept
        : tensor_(std::move(o.tensor_)), managed_(std::exchange(o.managed_, nullptr)) {}
    Imported &operator=(Imported o) noexcept {
        std::swap(tensor_, o.tensor_);
        std::swap(managed_, o.managed_);
        return *this;
    }
    ~Imported() {
        if (managed_ && managed_->deleter) managed_->deleter(managed_);
    }

    const Tensor &tensor() const { return tensor_; }

private:
    Tensor tensor_;
    Managed *managed_;
};

namespace detail {

inline DType dtype_from(const DataType &t) {
    for (const auto &type : data_types)
        if (type.code == t.code && type.bits == t.bits && t.lanes == 1) return type.dtype;
    throw DTypeError("from_dlpack", "dtype code " + std::to_string(t.code) + " of " +
                                        std::to_string(t.bits) + " bits and " +
                                        std::to_string(t.lanes) + " lanes is no dtype of tensors");
}

}  // namespace detail

// Takes a tensor over. Throws ShapeError, DTypeError, DeviceError or MemoryError, and takes
// nothing, if it is not in the CPU's memory or no tensor can describe it.
inline Imported from_dlpack(Managed *managed) {
    if (!managed) throw ShapeError("from_dlpack", "the tensor is null");
    const View &v = managed->view;
    if (v.device.type != cpu) {
        throw DeviceError("from_dlpack", "the tensor is on a device of type " +
                                             std::to_string(v.device.type) +
                                             ", expected 1, the CPU");
    }
    if (v.rank < 0 || v.rank > max_rank || (v.rank > 0 && !v.shape)) {
        throw ShapeError("from_dlpack",
                         "rank is " + std::to_string(v.rank) + ", expected 0 to 8, with a shape");
    }
    const DType dtype = detail::dtype_from(v.dtype);
    const Shape shape(v.shape, v.shape + v.rank);
    checked_elements("from_dlpack", shape);
    const Shape strides = v.strides ? Shape(v.strides, v.strides + v.rank) : dense_strides(shape);
    char *const data = static_cast<char *>(v.data);
    return {Tensor::borrow(data ? data + v.byte_offset : data, shape, strides, dtype), managed};
}

}  // namespace halyard::dlpack

// The ops as functions that MindSpore's ops.Custom of type "aot" calls. It needs none of its
// headers: the object that MindSpore passes is described here, in the order of its functions
// (2.10).
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "hy.h"

namespace {

class KernelData {
public:
    virtual ~KernelData() = default;
};

class Extra {
public:
    virtual ~Extra() = default;
    virtual bool has(std::string name) = 0;
    const KernelData *data() const { return data_; }
    void keep(KernelData *data) { data_ = data; }
    std::string text_of(const char *name) { return text(name); }

private:
    virtual bool boolean(std::string name) = 0;
    virtual int64_t integer(std::string name) = 0;
    virtual float real(std::string name) = 0;
    virtual std::string text(std::string name) = 0;
    virtual std::vector<int64_t> integers(std::string name) = 0;
    virtual std::vector<float> reals(std::string name) = 0;
    virtual std::vector<std::vector<int64_t>> rows_of_integers(std::string name) = 0;
    virtual std::vector<std::vector<float>> rows_of_reals(std::string name) = 0;

    std::vector<size_t> workspace_;
    KernelData *data_ = nullptr;
};

// An op with the attributes of one operator.
class Op : public KernelData {
public:
    Op(const char *name, Extra &extra) {
        hy_error error;
        op_ = hy_find(name, extra.text_of("attributes").c_str(), &error);
        if (!op_) throw std::runtime_error(error.text);
    }
    ~Op() override { hy_release(op_); }
    Op(const Op &) = delete;
    Op &operator=(const Op &) = delete;
    const hy_op *get() const { return op_; }

private:
    hy_op *op_;
};

struct DTypeName {
    std::string_view mindspore, halyard;
    hy_dtype dtype;
};
constexpr DTypeName dtype_names[] = {
    {"float32", "f32", {HY_FLOAT, 32, 1}}, {"float16", "f16", {HY_FLOAT, 16, 1}},
    {"float64", "f64", {HY_FLOAT, 64, 1}}, {"bfloat16", "bf16", {HY_BFLOAT, 16, 1}},
    {"int32", "i32", {HY_INT, 32, 1}},     {"int64", "i64", {HY_INT, 64, 1}},
    {"int8", "i8", {HY_INT, 8, 1}},        {"uint8", "u8", {HY_UINT, 8, 1}},
    {"bool", "bool", {HY_BOOL, 8, 1}},
};

hy_dtype dtype_of(const char *op, std::string_view name) {
    for (const DTypeName &known : dtype_names)
        if (name == known.mindspore || name == known.halyard) return known.dtype;
    throw std::runtime_error("[" + std::string(op) + "] a tensor is " + std::string(name) +
                             ", which no op takes");
}

hy_tensor tensor_of(int rank, int64_t *shape, hy_dtype dtype) {
    hy_tensor t;
    std::memset(&t, 0, sizeof t);
    t.device.device_type = HY_CPU;
    t.ndim = rank;
    t.dtype = dtype;
    t.shape = shape;
    return t;
}

// MindSpore reports exceptions, and of another result only its number.
int init(const char *name, void *extra) {
    auto &e = *static_cast<Extra *>(extra);
    e.keep(new Op(name, e));
    return 0;
}

int run(const char *name, int count, void **data, int *ranks, int64_t **shapes, const char **dtypes,
        void *extra) {
    const auto *op = static_cast<const Op *>(static_cast<Extra *>(extra)->data());
    if (!op) throw std::runtime_error("[" + std::string(name) + "] wasn't initialised");
    constexpr int most = 24;  // as many as hy_call() takes
    if (count > most)
        throw std::runtime_error("[" + std::string(name) + "] has " + std::to_string(count) +
                                 " tensors, expected at most " + std::to_string(most));
    hy_tensor tensors[most];
    for (int k = 0; k < count; k++) {
        tensors[k] = tensor_of(ranks[k], shapes[k], dtype_of(name, dtypes[k]));
        tensors[k].data = data[k];
    }
    const int32_t inputs = hy_inputs(op->get());
    hy_error error;
    if (hy_call(op->get(), tensors, inputs, tensors + inputs, count - inputs, &error))
        throw std::runtime_error(error.text);
    return 0;
}

// Returns the shape of the only result; {-2}, any rank, while an extent of an input is unknown. The
// attribute `dtypes` has names of dtypes that the op takes: "f32 i32".
std::vector<int64_t> infer(const char *name, int *ranks, int64_t **shapes, void *extra) {
    auto &e = *static_cast<Extra *>(extra);
    const Op op(name, e);
    std::vector<hy_tensor> in;
    std::string names = e.text_of("dtypes") + " ";
    for (int32_t k = 0; k < hy_inputs(op.get()); k++) {
        for (int d = 0; d < ranks[k]; d++)
            if (shapes[k][d] < 0) return {-2};
        const size_t end = names.find(' ');
        in.push_back(tensor_of(ranks[k], shapes[k], dtype_of(name, names.substr(0, end))));
        names.erase(0, end + 1);
    }
    hy_shape shape;
    hy_error error;
    if (hy_infer(op.get(), in.data(), int32_t(in.size()), &shape, 1, &error))
        throw std::runtime_error(error.text);
    return {shape.extents, shape.extents + shape.ndim};
}

}  // namespace

// The ops follow, a line each.
#define HALYARD_OP(name)                                                                           \
    extern "C" [[gnu::visibility("default")]] int op_##name##Init(int *, int64_t **,               \
                                                                  const char **, void *extra) {    \
        return init(#name, extra);                                                                 \
    }                                                                                              \
    extern "C" [[gnu::visibility("default")]] std::vector<int64_t> op_##name##InferShape(          \
        int *ranks, int64_t **shapes, void *extra) {                                               \
        return infer(#name, ranks, shapes, extra);                                                 \
    }                                                                                              \
    extern "C" [[gnu::visibility("default")]] int op_##name(int count, void **data, int *ranks,    \
                                                            int64_t **shapes, const char **dtypes, \
                                                            void *, void *extra) {                 \
        return run(#name, count, data, ranks, shapes, dtypes, extra);                              \
    }

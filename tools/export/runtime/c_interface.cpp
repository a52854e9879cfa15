// The C functions of an exported library (tools/export/project/hy.h).
#include <algorithm>
#include <sstream>

#include "registry/base/error.h"
#include "registry/base/host_threads.h"
#include "registry/base/version.h"
#include "registry/dispatch/plan.h"
#include "registry/dispatch/tensor_list.h"
#include "tools/export/runtime/c_support.h"
#include "tools/export/runtime/host.h"

struct hy_op {
    const halyard::RegisteredOp *op;
    halyard::Attrs attrs;
};

namespace halyard {
namespace {

static_assert(HY_MAX_RANK == max_rank);

using c::guarded;
using c::Refusal;
using host::ops;

void require(const void *argument, const std::string &op, const char *name) {
    if (!argument) throw Refusal(HY_NULL, op, std::string(name) + " is null");
}

std::map<std::string, std::string> parsed_attributes(const std::string &op, const char *text) {
    std::map<std::string, std::string> all;
    std::istringstream words(text ? text : "");
    for (std::string word; words >> word;) {
        const size_t equals = word.find('=');
        if (equals == std::string::npos || equals == 0)
            throw AttrError(op, "attribute '" + word + "', expected name=value");
        if (!all.emplace(word.substr(0, equals), word.substr(equals + 1)).second)
            throw AttrError(op, "attribute '" + word.substr(0, equals) + "' is given twice");
    }
    return all;
}

hy_dtype dtype_to_c(DType t) {
    for (const c::DTypeCode &c : c::dtype_codes)
        if (c.dtype == t) return {c.code, c.bits, 1};
    return {};
}

// A tensor of a call, for messages.
struct Place {
    const RegisteredOp &op;
    const std::string &name;
};

DType dtype_from_c(const Place &at, const hy_dtype &t) {
    if (const std::optional<DType> found = c::dtype_of(t)) return *found;
    throw DTypeError(at.op.record.name, at.name + " has DLPack's dtype code " +
                                            std::to_string(t.code) + " of " +
                                            std::to_string(t.bits) + " bits and " +
                                            std::to_string(t.lanes) + " lanes, which no op takes");
}

// Returns dtype, shape and strides of a tensor, which describe memory that a kernel may be given.
host::TensorMeta meta_from_c(const Place &at, const hy_tensor &t) {
    const std::string &op = at.op.record.name;
    if (t.device.device_type != HY_CPU) {
        throw DeviceError(op, at.name + " is on a device of DLPack's type " +
                                  std::to_string(int(t.device.device_type)) +
                                  ", expected 1, the CPU");
    }
    if (t.ndim < 0 || t.ndim > HY_MAX_RANK) {
        throw ShapeError(op, at.name + " has rank " + std::to_string(t.ndim) + ", expected 0 to " +
                                 std::to_string(HY_MAX_RANK));
    }
    if (t.ndim > 0) require(t.shape, op, (at.name + ".shape").c_str());
    host::TensorMeta meta{dtype_from_c(at, t.dtype), {}, {}};
    for (int d = 0; d < t.ndim; d++) {
        if (t.shape[d] < 0) {
            throw ShapeError(op, at.name + " has extent " + std::to_string(t.shape[d]) +
                                     " in dimension " + std::to_string(d));
        }
        meta.shape.push_back(t.shape[d]);
    }
    checked_elements(op.c_str(), meta.shape);
    if (!t.strides) {
        meta.strides = dense_strides(meta.shape);
        return meta;
    }
    for (int d = 0; d < t.ndim; d++) {
        if (t.strides[d] < 0) {
            throw ShapeError(op, at.name + " has stride " + std::to_string(t.strides[d]) +
                                     " in dimension " + std::to_string(d) + ", expected 0 or more");
        }
        meta.strides.push_back(t.strides[d]);
    }
    return meta;
}

Tensor tensor_from_c(const Place &at, const hy_tensor &t) {
    const host::TensorMeta meta = meta_from_c(at, t);
    char *const data = static_cast<char *>(t.data);
    try {
        return Tensor::borrow(data ? data + t.byte_offset : data, meta.shape, meta.strides,
                              meta.dtype);
    } catch (const ShapeError &e) {
        throw ShapeError(at.op.record.name, at.name + ": " + e.detail());
    } catch (const MemoryError &e) {
        if (!data) throw Refusal(HY_NULL, at.op.record.name, at.name + ".data is null");
        throw MemoryError(at.op.record.name, at.name + ": " + e.detail());
    }
}

void require_count(const RegisteredOp &op, const char *what, int32_t got, size_t expected) {
    if (got >= 0 && size_t(got) == expected) return;
    throw ShapeError(op.record.name, "got " + std::to_string(got) + " " + what + ", expected " +
                                         std::to_string(expected));
}

// Throws unless both arrays have the op's number of tensors.
void require_arrays(const RegisteredOp &op, const void *in, int32_t inputs, const void *out,
                    int32_t outputs) {
    if (op.signature.inputs.size() + op.signature.outputs.size() > Plan::max_arguments)
        throw DispatchError(op.record.name, "has too many tensors");
    require_count(op, "inputs", inputs, op.signature.inputs.size());
    require_count(op, "outputs", outputs, op.signature.outputs.size());
    if (inputs > 0) require(in, op.record.name, "the array of inputs");
    require(out, op.record.name, "the array of outputs");
}

// Returns true if each element has a place of its own, as far as sorting the strides shows it.
bool has_distinct_elements(const Tensor &t) {
    std::vector<std::pair<int64_t, int64_t>> dims;  // stride and extent
    for (int d = 0; d < t.rank(); d++)
        if (t.shape()[d] > 1) dims.emplace_back(t.strides()[d], t.shape()[d]);
    std::ranges::sort(dims);
    int64_t reach = 0;
    for (const auto &[stride, extent] : dims) {
        if (stride <= reach) return false;
        reach += stride * (extent - 1);
    }
    return true;
}

// Throws if the output, which has strides of its own, overlaps another tensor of the call.
void require_apart(const RegisteredOp &op, size_t k, std::span<const Tensor> in,
                   std::span<const Tensor> out) {
    const std::string &name = op.signature.outputs[k].name;
    if (!has_distinct_elements(out[k])) {
        throw ShapeError(op.record.name, "elements of " + name + " with strides " +
                                             out[k].strides().text() + " overlap each other");
    }
    for (size_t i = 0; i < in.size(); i++) {
        if (!in[i].overlaps(out[k])) continue;
        throw ShapeError(op.record.name, name + " overlaps input " + op.signature.inputs[i].name +
                                             ": only dense outputs may lie on an input");
    }
    for (size_t i = 0; i < out.size(); i++) {
        if (i == k || !out[i].overlaps(out[k])) continue;
        throw ShapeError(op.record.name, name + " overlaps output " + op.signature.outputs[i].name);
    }
}

// The tensors of a call. The kit writes dense outputs; others are computed in memory of the pool
// and then copied.
class Call {
public:
    Call(const RegisteredOp &op, const hy_tensor *in, const hy_tensor *out) : op_(op) {
        const std::vector<TensorSpec> &inputs = op.signature.inputs;
        for (size_t k = 0; k < inputs.size(); k++)
            in_.push_back(tensor_from_c({op, inputs[k].name}, in[k]));
        const std::vector<TensorSpec> &outputs = op.signature.outputs;
        for (size_t k = 0; k < outputs.size(); k++) {
            out_.push_back(tensor_from_c({op, outputs[k].name}, out[k]));
            strided_ |= !out_[k].dense();
        }
    }

    void run(const Attrs &attrs) {
        if (strided_) return run_strided(attrs);
        host::run_into(op_, in_, attrs, out_);
    }

private:
    void run_strided(const Attrs &attrs) {
        TensorList results;
        for (size_t k = 0; k < out_.size(); k++) {
            if (!out_[k].dense()) require_apart(op_, k, in_, out_);
            results.push_back(out_[k].dense() ? out_[k]
                                              : Tensor::empty(out_[k].shape(), out_[k].dtype()));
        }
        host::run_into(op_, in_, attrs, results);
        for (size_t k = 0; k < out_.size(); k++)
            if (!out_[k].dense()) out_[k].assign(results[k]);
    }

    const RegisteredOp &op_;
    bool strided_ = false;
    TensorList in_, out_;
};

hy_shape shape_to_c(const host::TensorMeta &o) {
    hy_shape s = {dtype_to_c(o.dtype), o.shape.rank(), {}};
    for (int d = 0; d < s.ndim; d++)
        s.extents[d] = o.shape[d];
    return s;
}

const RegisteredOp &op_called(const std::string &name) {
    try {
        return ops().at(name);
    } catch (const DispatchError &e) {
        throw Refusal(HY_NO_OP, name, e.detail());
    }
}

}  // namespace
}  // namespace halyard

using namespace halyard;

const hy_info *hy_version() {
    static const hy_info info = {sizeof(hy_info), HY_INTERFACE, sizeof(hy_tensor), sizeof(hy_error),
                                 version()};
    return &info;
}

const char *const *hy_names() {
    static const char *const none[] = {nullptr};
    const char *const *names = none;
    guarded(nullptr, [&] {
        static const std::vector<const char *> &all = []() -> const std::vector<const char *> & {
            auto &list = *new std::vector<const char *>;
            for (const RegisteredOp *op : ops().ops())
                list.push_back(op->record.name.c_str());
            list.push_back(nullptr);
            return list;
        }();
        names = all.data();
    });
    return names;
}

hy_op *hy_find(const char *name, const char *attributes, hy_error *error) {
    hy_op *found = nullptr;
    guarded(error, [&] {
        require(name, "hy_find", "the name");
        const RegisteredOp &op = op_called(name);
        const auto given = parsed_attributes(op.record.name, attributes);
        found = new hy_op{&op, Attrs(op.record, given)};
    });
    return found;
}

hy_op *hy_gradient(const hy_op *op, const char *input, int32_t *output, hy_error *error) {
    hy_op *found = nullptr;
    guarded(error, [&] {
        require(op, "hy_gradient", "the op");
        const OpRecord &forward = op->op->record;
        require(input, forward.name, "the input's name");
        const GradientOp gradient = ops().gradient_in(*op->op, input);
        if (!gradient.op) {
            throw Refusal(HY_NO_OP, forward.name,
                          "no gradient in " + std::string(input) + " in this library");
        }
        found = new hy_op{gradient.op, Attrs(gradient.op->record, forward, op->attrs)};
        if (output) *output = int32_t(gradient.output);
    });
    return found;
}

void hy_release(hy_op *op) {
    delete op;
}

const char *hy_name(const hy_op *op) {
    return op ? op->op->record.name.c_str() : nullptr;
}

const char *hy_signature(const hy_op *op) {
    return op ? op->op->record.signature.c_str() : nullptr;
}

int32_t hy_inputs(const hy_op *op) {
    return op ? int32_t(op->op->signature.inputs.size()) : 0;
}

int32_t hy_outputs(const hy_op *op) {
    return op ? int32_t(op->op->signature.outputs.size()) : 0;
}

const char *hy_tensor_name(const hy_op *op, int32_t k) {
    if (k < 0 || k >= hy_inputs(op) + hy_outputs(op)) return nullptr;
    const Signature &signature = op->op->signature;
    const size_t inputs = signature.inputs.size();
    return size_t(k) < inputs ? signature.inputs[size_t(k)].name.c_str()
                              : signature.outputs[size_t(k) - inputs].name.c_str();
}

int32_t hy_infer(const hy_op *op, const hy_tensor *in, int32_t inputs, hy_shape *out,
                 int32_t outputs, hy_error *error) {
    return guarded(error, [&] {
        require(op, "hy_infer", "the op");
        require_arrays(*op->op, in, inputs, out, outputs);
        std::vector<host::TensorMeta> metas;
        for (size_t k = 0; k < size_t(inputs); k++)
            metas.push_back(meta_from_c({*op->op, op->op->signature.inputs[k].name}, in[k]));
        const std::vector<host::TensorMeta> results = host::infer(*op->op, metas, op->attrs);
        for (size_t k = 0; k < results.size(); k++)
            out[k] = shape_to_c(results[k]);
    });
}

int32_t hy_call(const hy_op *op, const hy_tensor *in, int32_t inputs, const hy_tensor *out,
                int32_t outputs, hy_error *error) {
    return guarded(error, [&] {
        require(op, "hy_call", "the op");
        require_arrays(*op->op, in, inputs, out, outputs);
        Call(*op->op, in, out).run(op->attrs);
    });
}

void hy_set_parallel_for(hy_parallel_for loop, void *host, int32_t threads) {
    guarded(nullptr, [&] { set_host_loop(loop, host, threads); });
}

#include "primitives/primitive.h"

#include <algorithm>
#include <new>
#include <optional>
#include <stdexcept>
#include <utility>

#include "primitives/autograd/tape.h"
#include "primitives/composite_error.h"
#include "primitives/composition.h"
#include "primitives/library.h"
#include "primitives/ops/cast.h"
#include "primitives/profiler.h"
#include "primitives/running_composite.h"
#include "registry/op/shape_binder.h"

namespace halyard {
namespace {

// Returns true if the op has kernels whose first type, T, is `d`.
bool takes(const OpRecord &op, DType d) {
    const std::string name = name_of(d);
    for (const std::string &set : op.dtypes)
        if (set.substr(0, set.find(',')) == name) return true;
    return false;
}

// Returns the dtype of a kernel for integers or bools: `d`, a wider integer, or f32, as for
// division.
DType nearest(const OpRecord &op, DType d) {
    if (is_float(d) || takes(op, d)) return d;
    for (DType wider : {DType::i32, DType::i64, DType::f32})
        if (promote(d, wider) == wider && takes(op, wider)) return wider;
    return d;
}

Tensor number_as(const OpRecord &op, double v, DType d) {
    Tensor t = Tensor::scalar(v, d);
    if (is_integer(d) && t.item<double>() != v) {
        throw DTypeError(op.name, "number " + std::to_string(int64_t(v)) + " is out of range of " +
                                      name_of(d));
    }
    return t;
}

// Throws an error of Shape, Tensor or an op inside a composition as an error of the composite op.
template<class E> [[noreturn]] void rethrow_as(const RegisteredOp &op, std::span<const Tensor> in,
                                               const Attrs &attrs, const E &e) {
    if (e.op() == op.record.name) throw e;
    throw E(op.record.name, detail_for_caller(op, in, attrs, e));
}

[[noreturn]] void rethrow_as(const std::string &op, const MemoryError &e) {
    if (e.op() == op) throw e;
    throw MemoryError(op, e.op() == "memory" ? e.detail() : e.op() + ": " + e.detail());
}

}  // namespace

const RegisteredOp &find_op(const char *name) {
    return library().at(name);
}

Primitive::Primitive(const char *op, const std::vector<std::pair<std::string, AttrValue>> &attrs)
    : op_(&find_op(op)), attrs_(op_->record, attrs) {}

namespace {

[[noreturn]] void undefined_tensor(const std::string &op, const std::string &input) {
    throw ShapeError(op, input + " is an undefined tensor");
}

std::vector<Tensor> compose(const RegisteredOp &op, std::span<const Tensor> in,
                            const Attrs &attrs) {
    const std::string &name = op.record.name;
    const Composition *composition = composition_of(name);
    if (!composition) throw DispatchError(name, "has no composition");
    require_input_count(op.signature, in.size());
    for (size_t k = 0; k < in.size(); k++) {
        const std::string &input = op.signature.inputs[k].name;
        if (!in[k].defined() && !composition->is_optional(input)) undefined_tensor(name, input);
    }
    const CompositeScope scope(op.record);
    try {
        return composition->run(in, attrs);
    } catch (const ShapeError &e) {
        rethrow_as(op, in, attrs, e);
    } catch (const AttrError &e) {
        rethrow_as(op, in, attrs, e);
    } catch (const DTypeError &e) {
        rethrow_as(op, in, attrs, e);
    } catch (const DispatchError &e) {
        rethrow_as(op, in, attrs, e);
    }
}

// An allocation outside the memory pool failed.
[[noreturn]] void out_of_memory(const std::string &op) {
    throw MemoryError(op, "out of memory: the system has none left for its lists");
}

}  // namespace

bool is_optional(const std::string &op, const std::string &input) {
    const Composition *composition = composition_of(op);
    return composition && composition->is_optional(input);
}

void require_defined(const char *op, std::span<const Tensor> x) {
    for (size_t k = 0; k < x.size(); k++)
        if (!x[k].defined()) undefined_tensor(op, "x" + std::to_string(k));
}

std::vector<Tensor> Primitive::run(std::span<const Tensor> in) const {
    const profiler::Call call(op_->record, in);
    try {
        if (op_->record.form == Form::composite) return compose(*op_, in, attrs_);
        std::vector<Tensor> out = dispatch(*op_, in, attrs_);
        if (Tape *tape = Tape::current()) tape->record(*op_, attrs_, in, out);
        return out;
    } catch (const MemoryError &e) {
        rethrow_as(op_->record.name, e);
    } catch (const std::bad_alloc &) {
        out_of_memory(op_->record.name);
    } catch (const std::length_error &) {
        out_of_memory(op_->record.name);
    }
}

void Primitive::run_in_place(std::span<const Tensor> in) const {
    if (op_->record.form == Form::composite) {
        run(in);  // the composition writes the inputs
        return;
    }
    const profiler::Call call(op_->record, in);
    std::vector<Tensor> out;
    for (const TensorSpec &o : op_->signature.outputs) {
        for (size_t k = 0; k < in.size() && k < op_->signature.inputs.size(); k++)
            if (op_->signature.inputs[k].name + "_out" == o.name) out.push_back(in[k]);
    }
    try {
        dispatch_into(*op_, in, attrs_, out);
    } catch (const MemoryError &e) {
        rethrow_as(op_->record.name, e);
    }
}

namespace {

// Returns the dtype that the inputs of one type variable share: the promotion of the tensors'
// dtypes. A number keeps it, except that a real number makes an integer dtype f32.
DType shared_dtype(const RegisteredOp &op, std::span<const Argument> in,
                   const std::string &variable) {
    std::optional<DType> promoted;
    bool has_integer = false, has_real = false;
    for (size_t k = 0; k < in.size(); k++) {
        if (op.signature.inputs[k].dtype != variable) continue;
        if (in[k].tensor.defined()) {
            const DType d = in[k].tensor.dtype();
            promoted = promoted ? promote(*promoted, d) : d;
        } else {
            (in[k].is_integer ? has_integer : has_real) = true;
        }
    }
    DType d = promoted.value_or(DType::boolean);
    if (has_real && !is_float(d))
        d = DType::f32;
    else if (has_integer && d == DType::boolean)
        d = DType::i32;
    return variable == "T" ? nearest(op.record, d) : d;
}

Tensor as_tensor(const OpRecord &op, const Argument &a, DType d) {
    return a.tensor.defined() ? cast_to(a.tensor, d) : number_as(op, a.number, d);
}

}  // namespace

std::vector<Tensor> Primitive::run_promoted(std::initializer_list<Argument> arguments) const {
    const OpRecord &op = op_->record;
    const std::span<const Argument> in(arguments.begin(), arguments.size());
    const std::vector<TensorSpec> &specs = op_->signature.inputs;
    require_input_count(op_->signature, in.size());
    for (size_t k = 0; k < in.size(); k++)
        if (!in[k].is_number && !in[k].tensor.defined()) undefined_tensor(op.name, specs[k].name);
    std::vector<Tensor> tensors;
    tensors.reserve(in.size());
    for (size_t k = 0; k < in.size(); k++) {
        if (is_type_variable(specs[k].dtype))
            tensors.push_back(as_tensor(op, in[k], shared_dtype(*op_, in, specs[k].dtype)));
        else if (in[k].tensor.defined())
            tensors.push_back(in[k].tensor);
        else
            tensors.push_back(number_as(op, in[k].number, dtype_of(specs[k].dtype)));
    }
    return run(tensors);
}

std::vector<Tensor> Primitive::run_unary(const Tensor &x) const {
    if (!x.defined() || is_float(x.dtype())) return run({x});
    return run({cast_to(x, nearest(op_->record, x.dtype()))});
}

Primitive Primitive::with(const char *attr, const AttrValue &value) const {
    const int k = attrs_.find(attr);
    if (k < 0) throw AttrError(op_->record.name, std::string("no attribute '") + attr + "'");
    Primitive p = *this;
    p.attrs_.set(size_t(k), value);
    return p;
}

Tensor run1(const char *op, std::initializer_list<Tensor> in,
            const std::vector<std::pair<std::string, AttrValue>> &attrs) {
    return std::move(Primitive(op, attrs).run(in)[0]);
}

Tensor cast_to(const Tensor &x, DType dtype) {
    return x.dtype() == dtype ? x : F::cast(x, dtype);
}

}  // namespace halyard

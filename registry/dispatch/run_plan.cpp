#include "registry/dispatch/run_plan.h"

#include <cstddef>
#include <new>

#include "registry/base/runtime.h"
#include "registry/dispatch/device.h"
#include "registry/dispatch/simulated.h"
#include "registry/tensor/tensor_methods.h"

namespace halyard {
namespace {

// The pool failed to allocate a kernel's scratch memory. The kernel's error is the pool's message:
// "[memory] out of memory: ...".
[[noreturn]] void out_of_memory(const std::string &op) {
    const std::string message = last_kernel_error();
    throw MemoryError(op, message.substr(message.starts_with("[") ? message.find("] ") + 2 : 0));
}

int32_t argument_of(const Plan &p, size_t scalar, int64_t value) {
    const OpRecord &op = p.op->record;
    if (value > INT32_MAX || value < INT32_MIN) {
        throw AttrError(op.name, op.scalars[scalar].name + " is " + std::to_string(value) +
                                     ", past 32 bits");
    }
    return int32_t(value);
}

// Halide's own text is dropped where it names Funcs such as padded$14, which callers can't look up.
[[noreturn]] void failed(const std::string &op, int status) {
    if (status == halide_error_code_out_of_memory) out_of_memory(op);
    if (status == halide_error_code_buffer_allocation_too_large ||
        status == halide_error_code_buffer_extents_too_large) {
        throw MemoryError(op, "out of memory: a stage of this call would take more than the "
                              "2147483647 bytes or elements that a kernel can address");
    }
    throw DispatchError(op, std::string("kernel failed: ") + last_kernel_error());
}

// The arguments of a kernel call. The buffers stand in raw memory: an array of them would be
// cleared first.
struct Arguments {
    alignas(halide_buffer_t) std::byte memory[Plan::max_arguments * sizeof(halide_buffer_t)];
    union Scalar {
        int32_t i;
        double r;
    } scalars[Plan::max_arguments];
    void *args[2 * Plan::max_arguments];
    int count = 0;

    halide_buffer_t *buffers() { return reinterpret_cast<halide_buffer_t *>(memory); }

    void add_buffer(size_t k, const Plan::Buffer &b, const Tensor &t) {
        args[count++] = new (&buffers()[k])
            halide_buffer_t{0,      nullptr, reinterpret_cast<uint8_t *>(t.impl()->data), 0,
                            b.type, b.rank,  const_cast<halide_dimension_t *>(b.dims),    nullptr};
    }
    void add_scalar(const Plan &p, size_t k, const Attrs &attrs) {
        const Plan::Scalar &scalar = p.scalars[k];
        if (scalar.attr >= 0)
            scalars[k].r = attrs.real(size_t(scalar.attr));
        else if (scalar.integer_attr >= 0)
            scalars[k].i = argument_of(p, k, attrs.integer(size_t(scalar.integer_attr)));
        else
            scalars[k].i = scalar.i;
        args[count++] = &scalars[k];
    }
};

// Returns the kernel's status.
int try_kernel(const Plan &p, Arguments &a) {
    return p.on_device ? call_on_device(p.kernel->fn, a.args, a.buffers(), p.inputs.size(),
                                        p.outputs.size())
                       : p.kernel->fn(a.args);
}

void call_kernel(const Plan &p, Arguments &a) {
    if (p.simulated) return simulated_device().run(p, a.args);
    if (const int status = try_kernel(p, a)) failed(p.op->record.name, status);
}

// The tensors and attributes of a call.
struct Operands {
    const Plan &plan;
    const Tensor *in;
    const Attrs &attrs;
    const Tensor *out;

    void add_to(Arguments &a) const {
        const size_t inputs = plan.inputs.size();
        for (size_t k = 0; k < inputs; k++)
            a.add_buffer(k, plan.inputs[k], in[k]);
        for (size_t k = 0; k < plan.scalars.size(); k++)
            a.add_scalar(plan, k, attrs);
        for (size_t k = 0; k < plan.outputs.size(); k++)
            a.add_buffer(inputs + k, plan.outputs[k], out[k]);
    }
    // Makes the buffers those of iteration i of the plan's loops.
    void move_to(Arguments &a, int64_t i) const {
        int64_t at[max_rank] = {};
        const int rank = plan.loops.rank();
        for (int d = rank; d-- > 0; i /= plan.loops[d])
            at[d] = i % plan.loops[d];
        const size_t inputs = plan.inputs.size();
        for (size_t k = 0; k < inputs + plan.outputs.size(); k++) {
            const Plan::Buffer &from = k < inputs ? plan.inputs[k] : plan.outputs[k - inputs];
            const Tensor &t = k < inputs ? in[k] : out[k - inputs];
            int64_t offset = 0;
            for (int d = 0; d < rank; d++)
                offset += at[d] * from.outer[d];
            a.buffers()[k].host = reinterpret_cast<uint8_t *>(t.impl()->data) + offset;
        }
    }
};

// Calls the kernel for iteration i; `closure` is the call's Operands.
int call_iteration(void *, int i, uint8_t *closure) {
    const Operands &call = *reinterpret_cast<const Operands *>(closure);
    announce_call(&call.plan);
    Arguments a;
    call.add_to(a);
    call.move_to(a, i);
    return try_kernel(call.plan, a);
}

void call(const Plan &p, const Tensor *in, const Attrs &attrs, const Tensor *out) {
    Operands operands{p, in, attrs, out};
    announce_call(&p);
    const int64_t iterations = p.loops.empty() ? 1 : p.loops.elements();
    if (p.parallel_loops && iterations <= INT32_MAX) {
        const int status = halide_do_par_for(nullptr, call_iteration, 0, int(iterations),
                                             reinterpret_cast<uint8_t *>(&operands));
        if (status != 0) failed(p.op->record.name, status);
        return;
    }
    Arguments a;
    operands.add_to(a);
    if (p.loops.empty()) return call_kernel(p, a);
    for (int64_t i = 0; i < iterations; i++) {
        operands.move_to(a, i);
        call_kernel(p, a);
    }
}

}  // namespace

Tensor gathered(const Tensor &t, const Plan::Buffer &b) {
    const std::vector<int> &order = b.copy_order;
    std::vector<int> back(order.size());
    for (size_t i = 0; i < order.size(); i++)
        back[order[i]] = int(i);
    const UnrecordedMethods copies_of_a_call;  // the tape records the call itself
    return t.expand(b.copy_shape).transpose(order).copy().transpose(back);
}

namespace {

void run_converted(const Plan &p, std::span<const Tensor> in, const Attrs &attrs,
                   std::span<const Tensor> out) {
    std::vector<Tensor> from(in.begin(), in.end());
    std::vector<Tensor> to;
    for (size_t k = 0; k < from.size(); k++) {
        const DType dtype = p.converted_inputs[k];
        if (from[k].dtype() == dtype) continue;
        const Tensor given = from[k];
        from[k] = Tensor::empty(given.shape(), dtype);
        from[k].assign(given);
    }
    for (auto &o : p.converted->outputs)
        to.push_back(Tensor::empty(o.shape, o.dtype));
    run_plan(*p.converted, from, attrs, to);
    for (size_t k = 0; k < to.size(); k++)
        out[k].assign(to[k]);
}

}  // namespace

void run_plan(const Plan &p, std::span<const Tensor> in, const Attrs &attrs,
              std::span<const Tensor> out) {
    if (p.converted) {
        const ListenerScope unheard(nullptr);  // the call is one event
        return run_converted(p, in, attrs, out);
    }
    bool copies = false, all_empty = true;
    for (auto &b : p.inputs)
        copies |= !b.copy_order.empty();
    for (auto &b : p.outputs)
        copies |= !b.copy_order.empty();
    for (const Tensor &t : out)
        all_empty &= t.elements() == 0;
    if (all_empty) return;
    if (!copies) return call(p, in.data(), attrs, out.data());
    const ListenerScope unheard(nullptr);  // the call is one event
    std::vector<Tensor> from(in.begin(), in.end());
    std::vector<Tensor> to(out.begin(), out.end());
    for (size_t k = 0; k < from.size(); k++)
        if (!p.inputs[k].copy_order.empty()) from[k] = gathered(from[k], p.inputs[k]);
    for (size_t k = 0; k < to.size(); k++)
        if (!p.outputs[k].copy_order.empty()) to[k] = gathered(to[k], p.outputs[k]);
    call(p, from.data(), attrs, to.data());
    for (size_t k = 0; k < to.size(); k++)
        if (!p.outputs[k].copy_order.empty()) out[k].assign(to[k]);
}

}  // namespace halyard

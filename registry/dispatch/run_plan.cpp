#include "registry/dispatch/run_plan.h"

#include "registry/base/runtime.h"
#include "registry/dispatch/arguments.h"
#include "registry/dispatch/device.h"
#include "registry/dispatch/simulated.h"
#include "registry/tensor/tensor_methods.h"

namespace halyard {
namespace {

// Returns the kernel's error without who raised it: the pool's "[memory] out of memory: ...", or a
// device's "[opencl] ...".
std::string bare_kernel_error() {
    const std::string message = last_kernel_error();
    return message.substr(message.starts_with("[") ? message.find("] ") + 2 : 0);
}

}  // namespace

int32_t Arguments::integer_argument(const Plan &p, size_t scalar, int64_t value) {
    const OpRecord &op = p.op->record;
    if (value > INT32_MAX || value < INT32_MIN) {
        throw AttrError(op.name, op.scalars[scalar].name + " is " + std::to_string(value) +
                                     ", past 32 bits");
    }
    return int32_t(value);
}

// Halide's own text is dropped where it names Funcs such as padded$14, which callers can't look up.
void kernel_failed(const std::string &op, int status) {
    if (status == halide_error_code_out_of_memory) throw MemoryError(op, bare_kernel_error());
    if (status == halide_error_code_gpu_device_error) throw DeviceError(op, bare_kernel_error());
    if (status == halide_error_code_buffer_allocation_too_large ||
        status == halide_error_code_buffer_extents_too_large) {
        throw MemoryError(op, "out of memory: a stage of this call would take more than the "
                              "2147483647 bytes or elements that a kernel can address");
    }
    throw DispatchError(op, std::string("kernel failed: ") + last_kernel_error());
}

namespace {

void call_kernel(const Plan &p, Arguments &a) {
    if (p.simulated) return simulated_device().run(p, a.args);
    if (const int status = p.kernel->fn(a.args)) kernel_failed(p.op->record.name, status);
}

void move_to(const Operands &call, Arguments &a, int64_t i) {
    for (size_t k = 0; k < call.buffers(); k++) {
        a.buffers()[k].host = reinterpret_cast<uint8_t *>(call.tensor(k).impl()->data) +
                              call.offset(k, i);
    }
}

// Makes the host's bytes of the tensors up to date.
void bring_to_host(const Operands &call) {
    const size_t inputs = call.plan.inputs.size();
    for (size_t k = 0; k < inputs; k++)
        call.in[k].impl()->before_read();
    for (size_t k = 0; k < call.plan.outputs.size(); k++)
        call.out[k].impl()->before_overwrite();
}

// Calls the kernel for iteration i; `closure` is the call's Operands.
int call_iteration(void *, int i, uint8_t *closure) {
    const Operands &call = *reinterpret_cast<const Operands *>(closure);
    announce_call(&call.plan);
    Arguments a;
    call.add_to(a);
    move_to(call, a, i);
    return call.plan.kernel->fn(a.args);
}

void call(const Plan &p, const Tensor *in, const Attrs &attrs, const Tensor *out) {
    Operands operands{p, in, attrs, out};
    announce_call(&p);
    if (p.on_device) return call_on_device(operands);
    bring_to_host(operands);
    const int64_t iterations = p.loops.empty() ? 1 : p.loops.elements();
    if (p.parallel_loops && iterations <= INT32_MAX) {
        const int status = halide_do_par_for(nullptr, call_iteration, 0, int(iterations),
                                             reinterpret_cast<uint8_t *>(&operands));
        if (status != 0) kernel_failed(p.op->record.name, status);
        return;
    }
    Arguments a;
    operands.add_to(a);
    if (p.loops.empty()) return call_kernel(p, a);
    for (int64_t i = 0; i < iterations; i++) {
        move_to(operands, a, i);
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

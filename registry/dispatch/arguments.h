// The arguments that a plan's kernel is called with.
#pragma once
#include <cstddef>
#include <new>
#include <string>

#include "registry/dispatch/plan.h"

namespace halyard {

// The buffers stand in raw memory: an array of them would be cleared first.
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
            scalars[k].i = integer_argument(p, k, attrs.integer(size_t(scalar.integer_attr)));
        else
            scalars[k].i = scalar.i;
        args[count++] = &scalars[k];
    }

private:
    // Throws AttrError if the attribute's value has more than 32 bits.
    static int32_t integer_argument(const Plan &p, size_t scalar, int64_t value);
};

// The tensors and attributes of a call.
struct Operands {
    const Plan &plan;
    const Tensor *in;
    const Attrs &attrs;
    const Tensor *out;

    size_t buffers() const { return plan.inputs.size() + plan.outputs.size(); }
    const Tensor &tensor(size_t k) const {
        const size_t inputs = plan.inputs.size();
        return k < inputs ? in[k] : out[k - inputs];
    }
    void add_to(Arguments &a) const {
        const size_t inputs = plan.inputs.size();
        for (size_t k = 0; k < inputs; k++)
            a.add_buffer(k, plan.inputs[k], in[k]);
        for (size_t k = 0; k < plan.scalars.size(); k++)
            a.add_scalar(plan, k, attrs);
        for (size_t k = 0; k < plan.outputs.size(); k++)
            a.add_buffer(inputs + k, plan.outputs[k], out[k]);
    }
    // Returns how far, in bytes, buffer k of iteration i of the plan's loops begins behind its
    // tensor's first element.
    int64_t offset(size_t k, int64_t i) const {
        const size_t inputs = plan.inputs.size();
        const Plan::Buffer &from = k < inputs ? plan.inputs[k] : plan.outputs[k - inputs];
        int64_t offset = 0;
        for (int d = plan.loops.rank(); d-- > 0; i /= plan.loops[d])
            offset += i % plan.loops[d] * from.outer[d];
        return offset;
    }
};

// Throws what a kernel's status other than 0 stands for.
[[noreturn]] void kernel_failed(const std::string &op, int status);

}  // namespace halyard

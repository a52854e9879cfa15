#include "tools/c99/call_source.h"

#include <algorithm>

#include "dsl/c99/function.h"
#include "dsl/c99/functions.h"
#include "dsl/c99/names.h"
#include "registry/base/error.h"
#include "registry/dispatch/force.h"
#include "registry/dispatch/planner.h"
#include "tools/c99/elements.h"
#include "tools/fixed_call.h"

namespace halyard::c99 {
namespace {

constexpr int64_t alignment = 8;  // of arrays in the arena

// Writes the function that callers see around the one that Halide made: the plan's loops, and
// copies of tensors that are stored in another order of dimensions.
class Wrapper {
public:
    Wrapper(const Plan &plan, std::span<const OperandMeta> in, CallSource &call)
        : plan_(plan), in_(in), call_(call) {}

    // Takes the arena that copies need. The inner function's begins behind it.
    void plan_copies() {
        const size_t tensors = call_.parameters.size();
        offsets_.assign(tensors, -1);
        for (size_t k = 0; k < tensors; k++) {
            if (buffer(k).copy_order.empty()) continue;
            offsets_[k] = call_.arena_bytes;
            const int64_t bytes = buffer(k).copy_shape.elements() * buffer(k).bytes_per_element;
            call_.arena_bytes += (bytes + alignment - 1) / alignment * alignment;
        }
    }

    std::string text(const std::string &inner) {
        lines_ = prototype_of(call_) + " {\n";
        for (size_t k = 0; k < call_.parameters.size(); k++)
            if (offsets_[k] >= 0) declare_copy(k);
        for (size_t k = 0; k < call_.parameters.size(); k++)
            if (offsets_[k] >= 0 && !call_.parameters[k].is_output) copy(k);
        call_inner(inner);
        for (size_t k = 0; k < call_.parameters.size(); k++)
            if (offsets_[k] >= 0 && call_.parameters[k].is_output) copy(k);
        return lines_ + "}\n";
    }

private:
    const Plan &plan_;
    std::span<const OperandMeta> in_;
    CallSource &call_;
    std::vector<int64_t> offsets_;  // of copies in the arena; -1: not copied
    std::string lines_;
    size_t depth_ = 1;

    const Plan::Buffer &buffer(size_t k) const {
        return k < plan_.inputs.size() ? plan_.inputs[k] : plan_.outputs[k - plan_.inputs.size()];
    }
    const std::string &name(size_t k) const { return call_.parameters[k].name; }

    void line(const std::string &text) { lines_ += std::string(depth_ * 4, ' ') + text + "\n"; }
    void begin_loop(const std::string &v, int64_t extent) {
        line("for (int32_t " + v + " = 0; " + v + " < " + std::to_string(extent) + "; " + v +
             "++) {");
        depth_++;
    }
    void end_loops(size_t count) {
        for (; count > 0; count--) {
            depth_--;
            line("}");
        }
    }
    // Returns "x + 12 * i0" as text, without what is 0.
    static std::string plus(const std::string &text, int64_t step, const std::string &v) {
        if (step == 0) return text;
        return (text.empty() ? "" : text + " + ") +
               (step == 1 ? "" : std::to_string(step) + " * ") + v;
    }

    void declare_copy(size_t k) {
        const std::string type = c_type_of(call_.parameters[k].dtype);
        line(type + " *const " + name(k) + "_in_order = (" + type + " *)(arena.bytes + " +
             std::to_string(offsets_[k]) + ");");
        line("int32_t " + name(k) + "_at = 0;");
    }

    // Copies a tensor to memory with its dimensions in the kernel's order, or back.
    void copy(size_t k) {
        const Plan::Buffer &b = buffer(k);
        const Shape &shape = call_.parameters[k].shape;
        const Shape strides = k < in_.size() ? in_[k].strides : dense_strides(shape);
        const int missing = b.copy_shape.rank() - shape.rank();
        std::string index;
        for (const int d : b.copy_order) {
            const std::string v = "i" + std::to_string(d);
            begin_loop(v, b.copy_shape[d]);
            if (d >= missing && shape[d - missing] > 1)
                index = plus(index, strides[d - missing], v);
        }
        if (index.empty()) index = "0";
        const std::string copied = name(k) + "_in_order[" + name(k) + "_at++]";
        const std::string callers = name(k) + "[" + index + "]";
        line(call_.parameters[k].is_output ? callers + " = " + copied + ";"
                                           : copied + " = " + callers + ";");
        end_loops(b.copy_order.size());
    }

    void call_inner(const std::string &inner) {
        for (int d = 0; d < plan_.loops.rank(); d++)
            begin_loop("i" + std::to_string(d), plan_.loops[d]);
        std::string arguments;
        for (size_t k = 0; k < call_.parameters.size(); k++) {
            std::string argument = name(k) + (offsets_[k] >= 0 ? "_in_order" : "");
            for (int d = 0; d < plan_.loops.rank(); d++) {
                argument = plus(argument, buffer(k).outer[d] / buffer(k).bytes_per_element,
                                "i" + std::to_string(d));
            }
            arguments += (arguments.empty() ? "" : ", ") + argument;
        }
        line(inner + "(" + arguments + ");");
        end_loops(size_t(plan_.loops.rank()));
    }
};

// Fills in the parameters, with names that C allows.
void add_parameters(CallSource &call, const Plan &plan, std::span<const OperandMeta> in) {
    const Signature &sig = plan.op->signature;
    Names names;
    for (size_t k = 0; k < in.size(); k++) {
        const std::string &name = sig.inputs[k].name;
        call.parameters.push_back({names.declare("input " + name, name), in[k].dtype, in[k].shape});
    }
    for (size_t k = 0; k < plan.outputs.size(); k++) {
        const std::string &name = sig.outputs[k].name;
        call.parameters.push_back({names.declare("output " + name, name), plan.outputs[k].dtype,
                                   plan.outputs[k].shape, true, true});
    }
}

// Returns the function that Halide makes of the plan's call.
Function kernel_of(const Plan &plan, const Attrs &attrs, const std::string &name,
                   int64_t arena_begin, int lanes) {
    const OpRecord &record = plan.op->record;
    Instance i;
    i.backend = "c99";
    i.dtypes = plan.kernel->dtypes;
    FixedCall call = fixed_call_of(plan);
    call.lanes = lanes;
    i.call = std::make_shared<FixedCall>(std::move(call));
    OpPtr op = op_table().make(record.name);
    if (!op) throw DispatchError(record.name, "no C99 function: its source isn't in the kit");
    Kernel kernel(std::move(op), i);
    return function_of(kernel, name, reals_of(plan, attrs), arena_begin);
}

}  // namespace

Plan plan_of(const RegisteredOp &op, std::span<const OperandMeta> in, const Attrs &attrs) {
    const Force all_levels(Isa::avx512, "");
    Plan plan = make_plan(op, in, attrs);
    if (plan.converted)
        throw DispatchError(op.record.name, "no C99 function: this build has no kernel for " +
                                                std::string(name_of(in[0].dtype)));
    const auto is_empty = [](const Plan::Output &o) { return o.shape.elements() == 0; };
    if (!plan.kernel || std::ranges::all_of(plan.outputs, is_empty))
        throw DispatchError(op.record.name, "no C99 function: the call computes nothing");
    return plan;
}

bool is_wrapped(const Plan &p) {
    const auto is_copied = [](const Plan::Buffer &b) { return !b.copy_order.empty(); };
    return !p.loops.empty() || std::ranges::any_of(p.inputs, is_copied) ||
           std::ranges::any_of(p.outputs, is_copied);
}

std::map<std::string, double> reals_of(const Plan &plan, const Attrs &attrs) {
    const OpRecord &record = plan.op->record;
    std::map<std::string, double> reals;
    for (size_t k = 0; k < record.scalars.size(); k++) {
        if (plan.scalars[k].attr >= 0)
            reals[record.scalars[k].name] = attrs.real(size_t(plan.scalars[k].attr));
    }
    return reals;
}

std::string prototype_of(const CallSource &call) {
    std::string text;
    for (const Parameter &p : call.parameters) {
        text += text.empty() ? "" : ", ";
        text += p.is_written ? "" : "const ";
        text += std::string(c_type_of(p.dtype)) + " *" + p.name;
    }
    return "void " + call.name + "(" + text + ")";
}

CallSource source_of(const RegisteredOp &op, std::span<const OperandMeta> in, const Attrs &attrs,
                     const std::string &name, int64_t arena_begin, int lanes) {
    const Plan plan = plan_of(op, in, attrs);
    CallSource call;
    call.name = name;
    call.arena_bytes = arena_begin;
    add_parameters(call, plan, in);
    Wrapper wrapper(plan, in, call);
    const bool wraps = is_wrapped(plan);
    if (wraps) wrapper.plan_copies();
    const std::string inner = wraps ? name + "_part" : name;
    const Function f = kernel_of(plan, attrs, inner, call.arena_bytes, lanes);
    call.arena_bytes = f.arena_bytes;
    call.helpers = f.helpers;
    if (wraps)
        call.text = "static void " + inner + f.parameters + f.body + "\n" + wrapper.text(inner);
    else
        call.text = "void " + name + f.parameters + f.body;
    return call;
}

std::string unit_of(const std::vector<CallSource> &calls, const std::string &head,
                    const std::string &included) {
    std::set<std::string> helpers;
    int64_t arena = 0;
    std::string functions;
    for (const CallSource &c : calls) {
        helpers.insert(c.helpers.begin(), c.helpers.end());
        arena = std::max(arena, c.arena_bytes);
        functions += "\n" + c.constants + c.text;
    }
    std::string text = head + "#include <math.h>\n#include <stdint.h>\n";
    if (!included.empty()) text += "\n" + included;
    if (arena > 0) {
        text +=
            "\n/* What the functions compute in between. */\nstatic union {\n    double d;\n    "
            "int64_t i;\n    unsigned char bytes[" +
            std::to_string(arena) + "];\n} arena;\n";
    }
    if (const std::string h = helper_texts(helpers); !h.empty()) text += "\n" + h;
    return text + functions;
}

}  // namespace halyard::c99

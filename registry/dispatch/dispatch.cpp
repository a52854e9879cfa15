#include "registry/dispatch/dispatch.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <memory>
#include <new>

#include "registry/base/runtime.h"
#include "registry/dispatch/choice.h"
#include "registry/dispatch/device.h"
#include "registry/dispatch/plan.h"
#include "registry/dispatch/simulated.h"
#include "registry/tensor/tensor_methods.h"

namespace halyard {
namespace {

std::atomic<uint64_t> generation{1};
[[gnu::tls_model("initial-exec")]] constinit thread_local const Force::Choice *forced = nullptr;

// A cache of plans per thread, in sets of four: a hit compares the whole key. Sets, because two
// calls of one training step that share a slot would throw each other out on every step, and a plan
// costs a few hundred calls.
struct Entry {
    uint64_t hash = 0, generation = 0;
    std::vector<OperandMeta> in;
    std::unique_ptr<Attrs> attrs;
    std::shared_ptr<const Plan> plan;
};
struct Cache {
    static constexpr size_t sets = 512, ways = 4;
    std::vector<Entry> entries{sets * ways};
    size_t next = 0;  // the way that is given up
    // calls: a thread that waits inside a loop may take up others
    size_t running = 0;
    std::vector<std::shared_ptr<const Plan>> given_up;  // which calls may still run by
};
[[gnu::tls_model("initial-exec")]] constinit thread_local Cache *cache = nullptr;
[[gnu::noinline]] Cache &make_cache() {
    thread_local Cache c;
    return *(cache = &c);
}

// The plan of a call that runs. Counted by thread: two locked instructions less than a shared
// pointer of its own.
class Planned {
public:
    Planned(Cache &c, const Plan &p) : cache_(c), plan_(p) { c.running++; }
    ~Planned() {
        if (--cache_.running == 0 && !cache_.given_up.empty()) cache_.given_up.clear();
    }
    Planned(const Planned &) = delete;
    Planned &operator=(const Planned &) = delete;
    const Plan &operator*() const { return plan_; }
    const Plan *operator->() const { return &plan_; }

private:
    Cache &cache_;
    const Plan &plan_;
};

uint64_t mix(uint64_t h, uint64_t v) {
    h = (h ^ v) * 0x9E3779B97F4A7C15u;
    return h ^ (h >> 29);
}

// The sum of extents or strides, each times a large number of its own: products that don't wait for
// each other.
uint64_t weighed(const Shape &s, int first) {
    uint64_t sum = 0;
    for (int d = 0; d < s.rank(); d++)
        sum += uint64_t(s[d]) * (0xD1B54A32D192ED03u * uint64_t(2 * (first + d) + 1));
    return sum;
}

// So few numbers are compared before memcmp would be called.
bool alike(const Shape &a, const Shape &b) {
    bool same = a.rank() == b.rank();
    for (int d = 0; same && d < a.rank(); d++)
        same = a[d] == b[d];
    return same;
}

// Ascend's programs have integers in them, so there each value is planned.
bool same_attributes(const Entry &e, const RegisteredOp &op, const Attrs &attrs) {
    const Plan &runs = e.plan->converted ? *e.plan->converted : *e.plan;
    if (!op.shares_plans || runs.simulated) return e.attrs->plans_like(attrs);
    return e.attrs->plans_like(attrs, op.only_argument);
}

bool same(const Entry &e, const RegisteredOp &op, std::span<const Tensor> in, const Attrs &attrs) {
    if (e.in.size() != in.size() || !same_attributes(e, op, attrs)) return false;
    for (size_t k = 0; k < in.size(); k++) {
        const TensorImpl &t = *in[k].impl();
        if (t.dtype != e.in[k].dtype || !alike(t.shape, e.in[k].shape) ||
            !alike(t.strides, e.in[k].strides))
            return false;
    }
    return true;
}

[[noreturn]] void undefined_input(const RegisteredOp &op, size_t place) {
    const std::vector<TensorSpec> &named = op.signature.inputs;
    throw ShapeError(op.record.name,
                     (place < named.size() ? named[place].name : "input " + std::to_string(place)) +
                         " is an undefined tensor");
}

Planned planned(const RegisteredOp &op, std::span<const Tensor> in, const Attrs &attrs) {
    Cache &mine = cache ? *cache : make_cache();
    uint64_t h = op.shares_plans ? attrs.hash(op.only_argument) : attrs.hash();
    for (const Tensor &t : in) {
        if (!t.defined()) undefined_input(op, size_t(&t - in.data()));
        const TensorImpl &i = *t.impl();
        h = mix(h, uint64_t(i.dtype) * 16 + uint64_t(i.shape.rank()) + weighed(i.shape, 0) +
                       (i.dense ? 0 : weighed(i.strides, max_rank)));
    }
    const uint64_t now = generation.load(std::memory_order_acquire);
    Entry *const set = &mine.entries[h % Cache::sets * Cache::ways];
    Entry *victim = nullptr;
    for (Entry *e = set; e != set + Cache::ways; e++) {
        if (!e->plan || e->generation != now)
            victim = e;
        else if (e->hash == h && !forced && same(*e, op, in, attrs))
            return {mine, *e->plan};
    }
    std::vector<OperandMeta> metas;
    for (const Tensor &t : in)
        metas.push_back(meta_of(t));
    auto plan = std::make_shared<const Plan>(make_plan(op, metas, attrs));
    if (forced) {
        mine.given_up.push_back(plan);
        return {mine, *plan};
    }
    Entry &e = *(victim ? victim : set + mine.next++ % Cache::ways);
    if (e.plan && mine.running) mine.given_up.push_back(std::move(e.plan));
    e = {h, now, std::move(metas), std::make_unique<Attrs>(attrs), plan};
    return {mine, *plan};
}

// The pool refused a kernel's scratch: "[memory] out of memory: ..." is what it said.
[[noreturn]] void out_of_memory(const std::string &op) {
    const std::string said = last_kernel_error();
    throw MemoryError(op, said.substr(said.starts_with("[") ? said.find("] ") + 2 : 0));
}

int32_t argument_of(const Plan &p, size_t scalar, int64_t value) {
    const OpRecord &op = p.op->record;
    if (value > INT32_MAX || value < INT32_MIN) {
        throw AttrError(op.name, op.scalars[scalar].name + " is " + std::to_string(value) +
                                     ", past 32 bits");
    }
    return int32_t(value);
}

// Halide's numbers in Halide's names, such as padded$14, say nothing to a caller.
[[noreturn]] void failed(const std::string &op, int status) {
    if (status == halide_error_code_out_of_memory) out_of_memory(op);
    if (status == halide_error_code_buffer_allocation_too_large ||
        status == halide_error_code_buffer_extents_too_large) {
        throw MemoryError(op, "out of memory: a stage of this call would take more than the "
                              "2147483647 bytes or elements that a kernel can address");
    }
    throw DispatchError(op, std::string("kernel failed: ") + last_kernel_error());
}

void call(const Plan &p, const Tensor *in, const Attrs &attrs, const Tensor *out) {
    // an array of them would be cleared first
    alignas(halide_buffer_t) std::byte room[Plan::max_arguments * sizeof(halide_buffer_t)];
    auto *const buffers = reinterpret_cast<halide_buffer_t *>(room);
    union {
        int32_t i;
        double r;
    } scalars[Plan::max_arguments];
    void *args[2 * Plan::max_arguments];
    int n = 0;
    const size_t inputs = p.inputs.size();
    const size_t outputs = p.outputs.size();
    const auto filled = [&](size_t k, const Plan::Buffer &b, const Tensor &t) {
        return new (&buffers[k]) halide_buffer_t{0,
                                                 nullptr,
                                                 (uint8_t *)t.raw(),
                                                 0,
                                                 b.type,
                                                 b.rank,
                                                 const_cast<halide_dimension_t *>(b.dims),
                                                 nullptr};
    };
    for (size_t k = 0; k < inputs; k++)
        args[n++] = filled(k, p.inputs[k], in[k]);
    for (size_t k = 0; k < p.scalars.size(); k++) {
        const Plan::Scalar &scalar = p.scalars[k];
        if (scalar.attr >= 0)
            scalars[k].r = attrs.real(size_t(scalar.attr));
        else if (scalar.integer_attr >= 0)
            scalars[k].i = argument_of(p, k, attrs.integer(size_t(scalar.integer_attr)));
        else
            scalars[k].i = scalar.i;
        args[n++] = &scalars[k];
    }
    for (size_t k = 0; k < outputs; k++)
        args[n++] = filled(inputs + k, p.outputs[k], out[k]);

    auto once = [&] {
        if (p.simulated) return simulated_device().run(p, args);
        int status;
        if (p.on_device)
            status = call_on_device(p.kernel->fn, args, buffers, inputs, outputs);
        else
            status = p.kernel->fn(args);
        if (status != 0) failed(p.op->record.name, status);
    };
    announce_call(&p);
    if (p.loops.empty()) return once();
    int64_t at[max_rank] = {};
    const int rank = p.loops.rank();
    for (int64_t i = 0, total = p.loops.elements(); i < total; i++) {
        for (size_t k = 0; k < inputs + outputs; k++) {
            const Plan::Buffer &from = k < inputs ? p.inputs[k] : p.outputs[k - inputs];
            const Tensor &t = k < inputs ? in[k] : out[k - inputs];
            int64_t offset = 0;
            for (int d = 0; d < rank; d++)
                offset += at[d] * from.outer[d];
            buffers[k].host = (uint8_t *)t.raw() + offset;
        }
        once();
        for (int d = rank - 1; d >= 0 && ++at[d] == p.loops[d]; d--)
            at[d] = 0;
    }
}

}  // namespace

Tensor gathered(const Tensor &t, const Plan::Buffer &b) {
    const std::vector<int> &order = b.copy_order;
    std::vector<int> back(order.size());
    for (size_t i = 0; i < order.size(); i++)
        back[size_t(order[i])] = int(i);
    const UnrecordedMethods copies_of_a_call;  // the tape hears of the call itself
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
    if (p.converted) return run_converted(p, in, attrs, out);
    bool copies = false, nothing = true;
    for (auto &b : p.inputs)
        copies |= !b.copy_order.empty();
    for (auto &b : p.outputs)
        copies |= !b.copy_order.empty();
    for (const Tensor &t : out)
        nothing &= t.elements() == 0;
    if (nothing) return;
    if (!copies) return call(p, in.data(), attrs, out.data());
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

std::vector<Tensor> dispatch(const RegisteredOp &op, std::span<const Tensor> in,
                             const Attrs &attrs) {
    const auto plan = planned(op, in, attrs);
    std::vector<Tensor> out;
    out.reserve(plan->outputs.size());
    for (auto &o : plan->outputs)
        out.push_back(Tensor::empty(o.shape, o.dtype));
    run_plan(*plan, in, attrs, out);
    return out;
}

Tensor dispatch1(const RegisteredOp &op, std::span<const Tensor> in, const Attrs &attrs) {
    const auto plan = planned(op, in, attrs);
    const Tensor out = Tensor::empty(plan->outputs[0].shape, plan->outputs[0].dtype);
    run_plan(*plan, in, attrs, {&out, 1});
    return out;
}

void dispatch_into(const RegisteredOp &op, std::span<const Tensor> in, const Attrs &attrs,
                   std::span<const Tensor> out) {
    const auto plan = planned(op, in, attrs);
    const std::string &name = op.record.name;
    if (out.size() != plan->outputs.size()) {
        throw ShapeError(name, "got " + std::to_string(out.size()) + " outputs, expected " +
                                   std::to_string(plan->outputs.size()));
    }
    for (size_t k = 0; k < out.size(); k++) {
        const auto &o = plan->outputs[k];
        const std::string &label = op.signature.outputs[k].name;
        if (!out[k].defined()) throw ShapeError(name, label + " is an undefined tensor");
        if (!(out[k].shape() == o.shape)) {
            throw ShapeError(name, label + " has shape " + out[k].shape().text() + ", expected " +
                                       o.shape.text());
        }
        if (out[k].dtype() != o.dtype) {
            throw DTypeError(name, label + " is " + name_of(out[k].dtype()) + ", expected " +
                                       name_of(o.dtype));
        }
        if (!out[k].dense()) throw ShapeError(name, label + " must be dense");
        for (size_t i = 0; i < in.size(); i++) {
            if (!in[i].overlaps(out[k])) continue;
            const std::string &other = op.signature.inputs[i].name;
            const bool on = op.record.form == Form::elementwise && in[i].raw() == out[k].raw() &&
                            in[i].shape() == out[k].shape() && in[i].dense() &&
                            in[i].dtype() == out[k].dtype();
            if (!on) {
                throw ShapeError(name,
                                 label + " overlaps input " + other +
                                     ": only elementwise ops run in place, element on element");
            }
            // Outputs are written one after the other, and those that are still to come may read
            // every input but their own.
            if (out.size() > 1 && label != other + "_out") {
                throw ShapeError(name, label + " lies on input " + other +
                                           ": of several outputs only " + other + "_out may");
            }
        }
        for (size_t i = 0; i < k; i++) {
            if (out[i].overlaps(out[k]))
                throw ShapeError(name, label + " overlaps output " + op.signature.outputs[i].name);
        }
    }
    run_plan(*plan, in, attrs, out);
}

Force::Force(Isa isa, std::string variant, std::string backend)
    : choice_{isa, std::move(variant), std::move(backend)}, before_(forced) {
    forced = &choice_;
}
Force::~Force() {
    forced = before_;
}
const Force::Choice *Force::current() {
    return forced;
}

void invalidate_plans() {
    generation.fetch_add(1, std::memory_order_acq_rel);
}

}  // namespace halyard

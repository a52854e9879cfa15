#include "registry/dispatch/dispatch.h"

#include <memory>

#include "registry/dispatch/dispatch_to.h"
#include "registry/dispatch/planner.h"
#include "registry/dispatch/run_plan.h"
#include "registry/dispatch/tensor_list.h"

namespace halyard {
namespace {

// A thread's cache of plans, four-way set-associative; a hit compares the whole key. With one entry
// a slot, two calls of a training step that share it would evict each other on every step, and
// planning costs as much as a few hundred calls.
struct Entry {
    uint64_t hash = 0, generation = 0;
    std::vector<OperandMeta> in;
    std::unique_ptr<Attrs> attrs;
    std::shared_ptr<const Plan> plan;
};
struct Cache {
    static constexpr size_t sets = 512, ways = 4;
    std::vector<Entry> entries{sets * ways};
    size_t next = 0;  // the way that is evicted next
    // The calls that run: a thread that waits inside a parallel loop may start others.
    size_t running = 0;
    std::vector<std::shared_ptr<const Plan>> evicted;  // plans that running calls may still use
};
[[gnu::tls_model("initial-exec")]] constinit thread_local Cache *cache = nullptr;
[[gnu::noinline]] Cache &make_cache() {
    thread_local Cache c;
    return *(cache = &c);
}

// Keeps the plan of a running call alive. The cache counts running calls, which costs two locked
// instructions less than a shared pointer.
class Planned {
public:
    Planned(Cache &c, const Plan &p) : cache_(c), plan_(p) { c.running++; }
    ~Planned() {
        if (--cache_.running == 0 && !cache_.evicted.empty()) cache_.evicted.clear();
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

// Hashes extents or strides: the sum of each times a constant of its own, so that the products are
// independent.
uint64_t weighted_sum(const Shape &s, int first) {
    uint64_t sum = 0;
    for (int d = 0; d < s.rank(); d++)
        sum += uint64_t(s[d]) * (0xD1B54A32D192ED03u * uint64_t(2 * (first + d) + 1));
    return sum;
}

// Compares in a plain loop, which ends before a call of memcmp would begin.
bool same_extents(const Shape &a, const Shape &b) {
    bool same = a.rank() == b.rank();
    for (int d = 0; same && d < a.rank(); d++)
        same = a[d] == b[d];
    return same;
}

// Ascend's programs contain integer attributes as constants, so each value has a plan of its own.
bool same_attributes(const Entry &e, const RegisteredOp &op, const Attrs &attrs) {
    const Plan &runs = e.plan->converted ? *e.plan->converted : *e.plan;
    if (!op.shares_plans || runs.simulated) return e.attrs->plans_like(attrs);
    return e.attrs->plans_like(attrs, op.only_argument);
}

bool same(const Entry &e, const RegisteredOp &op, std::span<const Tensor> in, const Attrs &attrs) {
    if (e.in.size() != in.size() || !same_attributes(e, op, attrs)) return false;
    for (size_t k = 0; k < in.size(); k++) {
        const TensorImpl &t = *in[k].impl();
        if (t.dtype != e.in[k].dtype || !same_extents(t.shape, e.in[k].shape) ||
            !same_extents(t.strides, e.in[k].strides))
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
        h = mix(h, uint64_t(i.dtype) * 16 + uint64_t(i.shape.rank()) + weighted_sum(i.shape, 0) +
                       (i.dense ? 0 : weighted_sum(i.strides, max_rank)));
    }
    const bool forced = Force::current() != nullptr;
    const uint64_t now = plan_generation.load(std::memory_order_acquire);
    Entry *const set = &mine.entries[h % Cache::sets * Cache::ways];
    Entry *victim = nullptr;
    for (Entry *e = set; e != set + Cache::ways; e++) {
        if (!e->plan || e->generation != now)
            victim = e;
        else if (e->hash == h && !forced && same(*e, op, in, attrs))
            return {mine, *e->plan};
    }
    std::vector<OperandMeta> metas = metas_of(in);
    auto plan = std::make_shared<const Plan>(make_plan(op, metas, attrs));
    if (forced) {
        mine.evicted.push_back(plan);
        return {mine, *plan};
    }
    Entry &e = *(victim ? victim : set + mine.next++ % Cache::ways);
    if (e.plan && mine.running) mine.evicted.push_back(std::move(e.plan));
    e = {h, now, std::move(metas), std::make_unique<Attrs>(attrs), plan};
    return {mine, *plan};
}

}  // namespace

std::vector<Tensor> dispatch(const RegisteredOp &op, std::span<const Tensor> in,
                             const Attrs &attrs) {
    const auto plan = planned(op, in, attrs);
    std::vector<Tensor> out;
    out.reserve(plan->outputs.size());
    for (auto &o : plan->outputs)
        out.push_back(Tensor::empty(o.shape, o.dtype));
    run_plan(*plan, in, attrs, out);
    if (CallListener *listener = call_listener()) listener->called(op, attrs, in, out);
    return out;
}

Tensor dispatch1(const RegisteredOp &op, std::span<const Tensor> in, const Attrs &attrs) {
    const auto plan = planned(op, in, attrs);
    Tensor out = Tensor::empty(plan->outputs[0].shape, plan->outputs[0].dtype);
    run_plan(*plan, in, attrs, {&out, 1});
    if (CallListener *listener = call_listener()) listener->called(op, attrs, in, {&out, 1});
    return out;
}

void dispatch_to(const RegisteredOp &op, std::span<const Tensor> in, const Attrs &attrs,
                 OutputAllocator &outputs) {
    const auto plan = planned(op, in, attrs);
    TensorList out;
    for (size_t k = 0; k < plan->outputs.size(); k++)
        out.push_back(outputs.allocate(k, plan->outputs[k].shape, plan->outputs[k].dtype));
    run_plan(*plan, in, attrs, out);
    if (CallListener *listener = call_listener()) listener->called(op, attrs, in, out);
}

namespace {

// Throws unless `out` has the shape and dtype of output k and is dense.
void check_output(const Plan &plan, size_t k, const Tensor &out) {
    const Plan::Output &expected = plan.outputs[k];
    const std::string &op = plan.op->record.name;
    const std::string &name = plan.op->signature.outputs[k].name;
    if (!out.defined()) throw ShapeError(op, name + " is an undefined tensor");
    if (!(out.shape() == expected.shape)) {
        throw ShapeError(op, name + " has shape " + out.shape().text() + ", expected " +
                                 expected.shape.text());
    }
    if (out.dtype() != expected.dtype) {
        throw DTypeError(op, name + " is " + name_of(out.dtype()) + ", expected " +
                                 name_of(expected.dtype));
    }
    if (!out.dense()) throw ShapeError(op, name + " must be dense");
}

bool same_elements(const Tensor &a, const Tensor &b) {
    return a.impl()->data == b.impl()->data && a.shape() == b.shape() && a.dense() &&
           a.dtype() == b.dtype();
}

// Throws if `out`, output k of several, overlaps an input in a way that would change results.
void check_overlap(const RegisteredOp &op, std::span<const Tensor> in, size_t k, const Tensor &out,
                   size_t outputs) {
    const std::string &name = op.signature.outputs[k].name;
    for (size_t i = 0; i < in.size(); i++) {
        if (!in[i].overlaps(out)) continue;
        const std::string &other = op.signature.inputs[i].name;
        if (op.record.form != Form::elementwise || !same_elements(in[i], out)) {
            throw ShapeError(op.record.name,
                             name + " overlaps input " + other +
                                 ": only elementwise ops run in place, element on element");
        }
        // Outputs are written one after the other, and those that follow may read every input
        // except their own.
        if (outputs > 1 && name != other + "_out") {
            throw ShapeError(op.record.name, name + " lies on input " + other +
                                                 ": of several outputs only " + other + "_out may");
        }
    }
}

}  // namespace

void dispatch_into(const RegisteredOp &op, std::span<const Tensor> in, const Attrs &attrs,
                   std::span<const Tensor> out) {
    const auto plan = planned(op, in, attrs);
    if (out.size() != plan->outputs.size()) {
        throw ShapeError(op.record.name, "got " + std::to_string(out.size()) +
                                             " outputs, expected " +
                                             std::to_string(plan->outputs.size()));
    }
    for (size_t k = 0; k < out.size(); k++) {
        check_output(*plan, k, out[k]);
        check_overlap(op, in, k, out[k], out.size());
        for (size_t i = 0; i < k; i++) {
            if (!out[i].overlaps(out[k])) continue;
            throw ShapeError(op.record.name, op.signature.outputs[k].name + " overlaps output " +
                                                 op.signature.outputs[i].name);
        }
    }
    run_plan(*plan, in, attrs, out);
    if (CallListener *listener = call_listener()) listener->called(op, attrs, in, out);
}

}  // namespace halyard

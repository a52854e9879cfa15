#include "ascend/emit/tik_tensors.h"

#include <algorithm>

namespace halyard::dv {
namespace {

// Calls f for every node in order; for those in inner loops only with `loops`.
template<class F> void each(const Body &nodes, bool loops, const F &f) {
    for (const Node &n : nodes) {
        f(n);
        if (const If *c = std::get_if<If>(&n.is)) {
            each(c->then, loops, f);
            each(c->otherwise, loops, f);
        } else if (const For *l = std::get_if<For>(&n.is); l && loops)
            each(l->body, loops, f);
    }
}

template<class F> void slots_of(const Body &nodes, const std::string &buffer, const F &f) {
    each(nodes, true, [&](const Node &n) {
        if (const Instr *i = std::get_if<Instr>(&n.is)) {
            for (const ConstOperand &o : operands(*i))
                if (o.ref->buffer == buffer) f(o.ref->slot);
        }
    });
}

bool uses(const Node &n, const std::string &buffer) {
    bool found = false;
    slots_of({n}, buffer, [&](const Expr &) { found = true; });
    return found;
}

int64_t bytes_of(const Buffer &b) {
    return b.slot_bytes() * b.slots;
}

}  // namespace

TikTensors::TikTensors(const Program &p) : program_(p) {
    sink_rings(program_.body);
    plan(program_.body);
}

bool TikTensors::is_ring_of(const For &f, const Buffer &b) const {
    bool all = b.slots > 1;
    slots_of(f.body, b.name,
             [&](const Expr &slot) { all = all && same(slot, Expr::var(f.var) % b.slots); });
    return all;
}

// Moves the Alloc of each ring that the iterations of one loop alternate into that loop.
void TikTensors::sink_rings(Body &nodes) {
    for (size_t n = 0; n < nodes.size(); n++) {
        if (For *f = std::get_if<For>(&nodes[n].is))
            sink_rings(f->body);
        else if (If *c = std::get_if<If>(&nodes[n].is)) {
            sink_rings(c->then);
            sink_rings(c->otherwise);
        }
        const Alloc *a = std::get_if<Alloc>(&nodes[n].is);
        if (!a || program_.buffer(a->buffer)->slots == 1) continue;
        const Buffer &b = *program_.buffer(a->buffer);
        Body *body = &nodes;
        for (;;) {  // goes inwards as long as one loop has all its uses
            std::vector<Node *> users;
            for (Node &m : *body)
                if (uses(m, b.name)) users.push_back(&m);
            For *loop = users.size() == 1 ? std::get_if<For>(&users[0]->is) : nullptr;
            if (!loop) break;
            body = &loop->body;
            if (!is_ring_of(*loop, b)) continue;
            body->insert(body->begin(), Node(Alloc{b.name}));
            nodes.erase(nodes.begin() + int64_t(n--));
            break;
        }
    }
}

// Returns the number of slots of the loop's rings, if they agree and no inner loop has such rings.
int TikTensors::threads(const For &f) const {
    int slots = 0;
    bool inner = false;
    each(f.body, false, [&](const Node &n) {
        if (const Alloc *a = std::get_if<Alloc>(&n.is)) {
            const Buffer &b = *program_.buffer(a->buffer);
            if (is_ring_of(f, b)) slots = slots == 0 || slots == b.slots ? b.slots : -1;
        }
    });
    each(f.body, true, [&](const Node &n) {
        if (const For *l = std::get_if<For>(&n.is)) inner = inner || threads(*l) > 1;
    });
    return inner ? 1 : std::max(slots, 1);
}

void TikTensors::plan(const Body &nodes) {
    Buffers here;
    for (const Node &n : nodes)
        if (const Alloc *a = std::get_if<Alloc>(&n.is)) here.push_back(program_.buffer(a->buffer));
    for (const Tensor &t : share(here))
        declared_[t.name] = t;
    for (const Node &n : nodes) {
        if (const If *c = std::get_if<If>(&n.is)) {
            plan(c->then);
            plan(c->otherwise);
        }
        const For *f = std::get_if<For>(&n.is);
        if (!f) continue;
        if (threads(*f) == 1) {
            plan(f->body);
            continue;
        }
        Buffers others;
        each(f->body, true, [&](const Node &m) {
            const Alloc *a = std::get_if<Alloc>(&m.is);
            if (!a) return;
            const Buffer &b = *program_.buffer(a->buffer);
            if (!is_ring_of(*f, b)) return others.push_back(&b);
            alternating_.insert(b.name);
            homes_[b.name] = {b.name, b.dtype, 0};
            declared_[b.name] = {b.name, b.scope, b.dtype, b.size};
        });
        around_[f] = share(others);
    }
}

// Returns tensors for these buffers: one for each run of overlapping addresses, with the name of
// the first buffer of the list in it.
std::vector<TikTensors::Tensor> TikTensors::share(const Buffers &buffers) {
    Buffers sorted = buffers;
    std::stable_sort(sorted.begin(), sorted.end(), [](const Buffer *a, const Buffer *b) {
        return std::pair(a->scope, a->address) < std::pair(b->scope, b->address);
    });
    std::vector<Tensor> tensors;
    for (size_t i = 0; i < sorted.size();) {
        size_t end = i + 1;
        int64_t past = sorted[i]->address + bytes_of(*sorted[i]);
        for (; end < sorted.size() && sorted[i]->address >= 0 &&
               sorted[end]->scope == sorted[i]->scope && sorted[end]->address < past;
             end++)
            past = std::max(past, sorted[end]->address + bytes_of(*sorted[end]));
        const Buffer &first = **std::find_if(buffers.begin(), buffers.end(), [&](const Buffer *b) {
            return std::count(sorted.begin() + int64_t(i), sorted.begin() + int64_t(end), b);
        });
        const bool is_single = end == i + 1 && first.slots == 1;
        tensors.push_back(
            {first.name, first.scope, first.dtype,
             is_single ? first.size
                       : (past - sorted[i]->address) / int64_t(halyard::bytes_of(first.dtype))});
        for (size_t k = i; k < end; k++) {
            homes_[sorted[k]->name] = {first.name, first.dtype,
                                       sorted[k]->address - sorted[i]->address};
        }
        i = end;
    }
    return tensors;
}

std::vector<TikTensors::Tensor> TikTensors::around(const For &f) const {
    const auto found = around_.find(&f);
    return found == around_.end() ? std::vector<Tensor>() : found->second;
}

const TikTensors::Tensor *TikTensors::declared_at(const Alloc &a) const {
    const auto found = declared_.find(a.buffer);
    return found == declared_.end() ? nullptr : &found->second;
}

}  // namespace halyard::dv

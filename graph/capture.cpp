#include "graph/capture.h"

#include <algorithm>
#include <utility>

#include "graph/draw_words.h"

namespace halyard::graph {

Capture::Capture(std::string name, std::vector<Tensor> arguments)
    : arguments_(std::move(arguments)) {
    graph_.name = std::move(name);
    for (size_t k = 0; k < arguments_.size(); k++) {
        const Tensor &t = arguments_[k];
        if (!t.defined()) continue;
        const Storage &s = *t.impl()->storage;
        if (buffers_.count(&s)) {
            refuse("two arguments share memory");
            return;
        }
        add_buffer(s, State::computed, {Role::input, t.bytes(), int(k), t});
    }
}

int Capture::add_buffer(const Storage &s, State state, Buffer b) {
    const int id = int(graph_.buffers.size());
    graph_.buffers.push_back(std::move(b));
    states_.push_back(state);
    buffers_[&s] = id;
    return id;
}

View Capture::view_of(int buffer, const Tensor &t) const {
    const TensorImpl &i = *t.impl();
    const Tensor &held = graph_.buffers[size_t(buffer)].held;
    const char *const base = held.defined() ? held.impl()->data
                                            : static_cast<const char *>(i.storage->data);
    return {buffer, i.data - base, i.shape, i.strides, i.dtype};
}

View Capture::read(const std::string &by, const Tensor &t) {
    const Storage &s = *t.impl()->storage;
    const auto known = buffers_.find(&s);
    if (known == buffers_.end())
        return view_of(add_buffer(s, State::computed, {Role::captured, s.bytes, -1, t}), t);
    const int id = known->second;
    Buffer &b = graph_.buffers[size_t(id)];
    switch (states_[size_t(id)]) {
    case State::unwritten: refuse("'" + by + "' reads elements that were computed unheard"); break;
    case State::touched:
        if (b.role == Role::temporary) {
            b.role = Role::constant;
            b.held = t.with_memory(t.dtype(), t.shape(), t.strides(), 0);
        }
        break;
    default: break;
    }
    const View v = view_of(id, t);
    const bool inside = v.offset >= 0 || b.role == Role::captured || b.role == Role::constant;
    if (!inside) refuse("'" + by + "' reads elements before those of an argument");
    return v;
}

View Capture::write(const std::string &by, const Tensor &t) {
    const Storage &s = *t.impl()->storage;
    const auto known = buffers_.find(&s);
    if (known == buffers_.end())
        return view_of(add_buffer(s, State::computed, {Role::captured, s.bytes, -1, t}), t);
    const int id = known->second;
    State &state = states_[size_t(id)];
    if (state == State::touched) refuse("'" + by + "' writes a tensor that the host also writes");
    state = State::computed;
    return view_of(id, t);
}

void Capture::add(Node n) {
    for (const std::string &p : parts_)
        n.part += (n.part.empty() ? "" : "/") + p;
    graph_.nodes.push_back(std::move(n));
}

// Returns the number of the draw whose words the attributes hold; -1 if they hold none.
int Capture::draw_of(const Attrs &attrs) const {
    std::array<int64_t, 4> words{};
    for (size_t k = 0; k < words.size(); k++) {
        const int at = attrs.find(draw_attributes[k]);
        if (at < 0) return -1;
        words[k] = attrs.integer(size_t(at));
    }
    for (size_t k = 0; k < draws_.size(); k++)
        if (draw_words(draws_[k]) == words) return int(k);
    return -1;
}

void Capture::called(const RegisteredOp &op, const Attrs &attrs, std::span<const Tensor> in,
                     std::span<const Tensor> out) {
    Node n;
    n.kind = Node::Kind::call;
    n.op = &op;
    n.attrs = attrs;
    n.name = op.record.name;
    n.draw = draw_of(attrs);
    if (n.draw >= 0) draw_used_[size_t(n.draw)] = 1;
    for (const Tensor &t : in)
        n.in.push_back(read(n.name, t));
    for (const Tensor &t : out)
        n.out.push_back(write(n.name, t));
    add(std::move(n));
}

void Capture::copied(const Tensor &to, const Tensor &from) {
    Node n;
    n.kind = Node::Kind::copy;
    n.name = "copy";
    n.in.push_back(read(n.name, from));
    n.out.push_back(write(n.name, to));
    add(std::move(n));
}

void Capture::filled(const Tensor &t, double value) {
    Node n;
    n.kind = Node::Kind::fill;
    n.name = "fill";
    n.value = value;
    n.out.push_back(write(n.name, t));
    const View &v = n.out[0];
    const Buffer &b = graph_.buffers[size_t(v.buffer)];
    if (b.role == Role::temporary && v.offset == 0) states_[size_t(v.buffer)] = State::filled;
    add(std::move(n));
}

void Capture::ran_on_host(const std::string &name, const HostFunction &f,
                          std::span<const Tensor> in, std::span<const Tensor> out) {
    Node n;
    n.kind = Node::Kind::host;
    n.name = name;
    n.function = f;
    for (const Tensor &t : in)
        n.in.push_back(read(name, t));
    for (const Tensor &t : out) {
        const Storage &s = *t.impl()->storage;
        n.out.push_back(view_of(add_buffer(s, State::computed, {Role::host, s.bytes}), t));
        n.out.back().offset = 0;
    }
    add(std::move(n));
}

// The elements of a fill don't depend on what the graph computes. Once the host has written there,
// the fill is no node any more, and the memory is a constant.
void Capture::touched(const TensorImpl &t) {
    const auto known = buffers_.find(t.storage);
    if (known == buffers_.end()) return refuse("the host reads a tensor from outside");
    State &state = states_[size_t(known->second)];
    const Buffer &b = graph_.buffers[size_t(known->second)];
    if (state == State::computed) {
        return refuse(b.role == Role::input ? "the host reads an argument"
                                            : "the host reads what a kernel computes");
    }
    if (b.role == Role::constant)
        return refuse("the host writes a constant after a kernel read it");
    if (state != State::filled && state != State::unwritten) return;
    for (const Node &n : graph_.nodes) {
        if (std::ranges::any_of(n.in, [&](const View &v) { return v.buffer == known->second; }))
            return refuse("the host uses a tensor that a kernel has read");
    }
    std::erase_if(graph_.nodes, [&](const Node &n) {
        return n.kind == Node::Kind::fill && n.out[0].buffer == known->second;
    });
    state = State::touched;
}

void Capture::allocated(const Storage &s) {
    add_buffer(s, State::unwritten, {Role::temporary, s.bytes});
}

void Capture::released(const Storage &s) {
    buffers_.erase(&s);
}

void Capture::drew(const RngState &state) {
    draws_.push_back(state);
    draw_used_.push_back(0);
}

void Capture::enter(const std::string &part) {
    parts_.push_back(part);
}
void Capture::leave() {
    parts_.pop_back();
}

void Capture::refuse(const std::string &why) {
    if (!reason_.empty()) return;
    reason_ = why;
    for (size_t k = 0; k < parts_.size(); k++)
        reason_ += (k ? "/" : " in ") + parts_[k];
}

// A tensor that nobody but this graph holds was made in the run, on another thread: its elements
// may depend on the graph's.
void Capture::check_captured() {
    for (const Buffer &b : graph_.buffers) {
        if (b.role != Role::captured) continue;
        const TensorImpl &i = *b.held.impl();
        if (i.references.load(std::memory_order_acquire) == 1 &&
            i.storage->references.load(std::memory_order_acquire) == 1)
            refuse("a tensor was made on another thread");
    }
}

void Capture::finish(const std::vector<Tensor> &out) {
    for (const Tensor &t : out) {
        if (!t.defined()) {
            graph_.outputs.emplace_back();
            continue;
        }
        const View v = read("return", t);
        Buffer &b = graph_.buffers[size_t(v.buffer)];
        if (b.role == Role::temporary) b.role = Role::output;
        graph_.outputs.push_back(v);
    }
    for (const char used : draw_used_)
        if (!used) refuse("a random number is used on the host");
    graph_.draws = int(draws_.size());
    check_captured();
    arguments_.clear();
    for (Buffer &b : graph_.buffers)
        if (b.role == Role::input) b.held = {};
    if (!reason_.empty()) return;
    remove_dead_nodes(graph_);
    hold_constant_fills(graph_);
    find_lifetimes(graph_);
}

}  // namespace halyard::graph

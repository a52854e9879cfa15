#include "graph/capture.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>
#include <utility>

#include "graph/draw_words.h"
#include "graph/memory_plan.h"
#include "registry/base/text.h"
#include "registry/tensor/memory.h"

namespace halyard::graph {

Capture::Capture(std::string name, std::vector<Tensor> arguments, const Graph *known)
    : arguments_(std::move(arguments)), known_(known) {
    graph_.name = std::move(name);
    for (size_t k = 0; k < arguments_.size(); k++) {
        const Tensor &t = arguments_[k];
        if (!t.defined()) continue;
        const Storage &s = *t.impl()->storage;
        if (buffers_.count(&s)) {
            refuse("two arguments share memory");
            return;
        }
        const int id = add_buffer(s, State::computed, {Role::input, t.bytes(), int(k), t});
        graph_.buffers[size_t(id)].dtype = t.dtype();
        graph_.buffers[size_t(id)].shape = t.shape();
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
    n.part = part();
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
std::string Capture::part() const {
    return join(parts_, "/");
}

void Capture::refuse(const std::string &why) {
    if (!reason_.empty()) return;
    reason_ = parts_.empty() ? why : why + " in " + part();
}

namespace {

// Returns numbers that differ from `values`, and by differences that differ.
std::vector<double> moved(const std::vector<double> &values) {
    std::vector<double> others;
    for (const double v : values) {
        const double share = 1 + double(others.size()) / 4096;
        others.push_back(v + (std::abs(v) + 1e-3) * share / 1024);
    }
    return others;
}

bool same_bits(double a, double b) {
    return std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b);
}

// Sets tensors to what they were, at the end of the scope.
class Undo {
public:
    explicit Undo(std::span<const Tensor> written) : written_(written) {
        const ListenerScope unheard(nullptr);
        for (const Tensor &t : written)
            before_.push_back(t.copy());
    }
    ~Undo() {
        const ListenerScope unheard(nullptr);
        for (size_t k = 0; k < written_.size(); k++)
            written_[k].assign(before_[k]);
        before_.clear();
    }
    Undo(const Undo &) = delete;
    Undo &operator=(const Undo &) = delete;

private:
    std::span<const Tensor> written_;
    std::vector<Tensor> before_;
};

}  // namespace

// Returns the nodes of a run, which leaves no trace in the graph and in `written`.
std::vector<Node> Capture::recorded_apart(std::span<const Tensor> written,
                                          const std::function<void()> &run) {
    const size_t nodes = graph_.nodes.size();
    const size_t buffers = graph_.buffers.size();
    const size_t draws = draws_.size();
    const std::vector<State> states = states_;
    size_t bytes = 0;
    for (const Tensor &t : written)
        bytes += t.bytes();
    if (bytes >= large_memory) memory::trim();
    {
        const Undo undo(written);
        run();
    }
    if (bytes >= large_memory) memory::trim();
    if (graph_.nodes.size() < nodes || draws_.size() != draws) {
        refuse("a step with numbers draws random numbers or writes a constant");
        return {};
    }
    const auto first = graph_.nodes.begin() + std::ptrdiff_t(nodes);
    std::vector<Node> recorded(std::make_move_iterator(first),
                               std::make_move_iterator(graph_.nodes.end()));
    graph_.nodes.erase(first, graph_.nodes.end());
    std::erase_if(buffers_, [&](const auto &b) { return size_t(b.second) >= buffers; });
    graph_.buffers.resize(buffers);
    states_ = states;
    return recorded;
}

// Compares the nodes from `begin` on with those of a run with other numbers: what differs is the
// place of a number.
void Capture::find_numbers(size_t begin, const std::vector<Node> &other_run,
                           const std::vector<double> &values, const std::vector<double> &others,
                           GraphNumbers &found) {
    const auto number_of = [&](double value, double other) {
        for (size_t k = 0; k < values.size(); k++)
            if (same_bits(values[k], value) && same_bits(others[k], other)) return int(k);
        return -1;
    };
    const auto place = [&](size_t i, size_t attribute, double value, double other) {
        if (same_bits(value, other)) return;
        const int number = number_of(value, other);
        Node &n = graph_.nodes[begin + i];
        if (number < 0) return refuse("'" + n.name + "' computes with a number of the step");
        n.numbers.push_back({attribute, number_count_ + size_t(number)});
        found.places.emplace_back(i, n.numbers.back());
    };
    if (graph_.nodes.size() - begin != other_run.size())
        return refuse("a number of the step decides which ops run");
    for (size_t i = 0; i < other_run.size(); i++) {
        const Node &n = graph_.nodes[begin + i];
        const Node &o = other_run[i];
        if (n.kind != o.kind || n.op != o.op || n.in.size() != o.in.size())
            return refuse("a number of the step decides which ops run");
        if (n.kind == Node::Kind::fill) place(i, 0, n.value, o.value);
        for (size_t k = 0; n.attrs && k < n.attrs->op().attrs.size(); k++) {
            if (n.attrs->integer(k) != o.attrs->integer(k) || n.attrs->ints(k) != o.attrs->ints(k))
                return refuse("a number of the step is an integer of '" + n.name + "'");
            place(i, k, n.attrs->real(k), o.attrs->real(k));
        }
    }
}

// The nodes may be others than those of the known graph, which difference() then finds.
void Capture::take_known_numbers(size_t begin) {
    const size_t source = graph_.numbers.size();
    if (source >= known_->numbers.size()) return;
    for (const auto &[i, place] : known_->numbers[source].places) {
        if (begin + i >= graph_.nodes.size()) return;
        Node &n = graph_.nodes[begin + i];
        const bool has_attribute = n.attrs && place.attribute < n.attrs->op().attrs.size();
        if (n.kind == Node::Kind::fill || has_attribute) n.numbers.push_back(place);
    }
}

void Capture::with_numbers(const NumberSource &source, std::span<const Tensor> written,
                           const NumberedRun &run) {
    std::vector<double> values;
    GraphNumbers made{source, 0, {}};
    {
        const ListenerScope unheard(nullptr);
        made.phase = source.phase();
        values = source.values();
    }
    std::vector<double> others;
    std::vector<Node> other_run;
    const bool finds = !known_ && !values.empty();
    if (finds) {
        others = moved(values);
        other_run = recorded_apart(written, [&] { run(others); });
    }
    const size_t begin = graph_.nodes.size();
    run(values);
    if (finds) find_numbers(begin, other_run, values, others, made);
    if (known_) take_known_numbers(begin);
    number_count_ += values.size();
    graph_.numbers.push_back(std::move(made));
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
}

}  // namespace halyard::graph

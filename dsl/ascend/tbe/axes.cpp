#include "dsl/ascend/tbe/axes.h"

#include <algorithm>

#include "dsl/ascend/graph.h"
#include "registry/base/error.h"

namespace halyard::ascend {
using namespace Halide;
using namespace Halide::Internal;

namespace {

// Returns the name of the tensor that an operand of a product loads, through Funcs that only
// convert.
std::string loaded_by(Expr e, const std::map<std::string, Function> &environment) {
    for (;;) {
        if (const auto *c = e.as<Cast>())
            e = c->value;
        else if (const auto *f = e.as<Call>(); f && f->call_type == Call::Halide)
            e = environment.at(f->name).values()[0];
        else
            break;
    }
    return e.as<Call>()->name;
}

}  // namespace

void refuse_tbe(const std::string &op, const std::string &where, const std::string &why) {
    throw AttrError(op, "E-EMIT: " + (where.empty() ? "" : "stage " + where + ": ") +
                            "TBE can't say " + why);
}

Axes::Axes(const Kernel &k) : k_(k) {
    std::vector<Function> outputs;
    for (const Func &f : k.pipeline.outputs())
        outputs.push_back(f.function());
    environment_ = build_environment(outputs);
    for (auto &[name, f] : environment_) {
        visit(name, f.definition());
        for (const Definition &d : f.updates())
            visit(name, d);
    }
    for (const Func &f : k.pipeline.outputs())
        find_products(f);
    number_axes();
    order_axes();
}

Axes::Node Axes::root(const Node &n) const {
    const auto up = parent_.find(n);
    return up == parent_.end() || up->second == n ? n : root(up->second);
}

void Axes::visit(const std::string &func, const Definition &d) {
    const std::string where = stage_name(func);
    std::map<std::string, Node> nodes;
    const std::vector<std::string> args = environment_.at(func).args();
    for (size_t a = 0; a < args.size(); a++) {
        const Variable *v = d.args()[a].as<Variable>();
        if (!v || v->name != args[a])
            refuse_tbe(k_.op->name, where, "an update of single elements");
        nodes[args[a]] = {func, int(a)};
    }
    for (const ReductionVariable &r : d.schedule().rvars()) {
        if (!is_const_zero(r.min))
            refuse_tbe(k_.op->name, where, "a reduction that doesn't begin at 0");
        nodes[r.var] = {r.var, -1};
        over_[func].insert(r.var);
        over_extents_[r.var] = constant(r.extent, where);
    }
    if (!is_const_one(d.predicate()))
        refuse_tbe(k_.op->name, where, "a reduction over a part of its domain");
    struct : IRVisitor {
        using IRVisitor::visit;
        void visit(const Call *c) override {
            if (c->call_type == Call::Halide || c->call_type == Call::Image) calls.push_back(c);
            IRVisitor::visit(c);
        }
        std::vector<const Call *> calls;
    } found;
    for (const Expr &e : d.values())
        e.accept(&found);
    for (const Call *c : found.calls) {
        for (size_t a = 0; a < c->args.size(); a++) {
            const Variable *v = c->args[a].as<Variable>();
            const auto node = v ? nodes.find(v->name) : nodes.end();
            std::ostringstream text;
            text << c->args[a];
            if (node == nodes.end()) {
                refuse_tbe(k_.op->name, where,
                           "the index " + text.str() + " of " + stage_name(c->name));
            }
            join({c->name, int(a)}, node->second);
        }
    }
}

void Axes::find_products(const Func &output) {
    for (auto &[name, node] : Graph(output).nodes) {
        if (!node.multiplies) continue;
        const Mul *m = node.function.update(0).values()[0].as<Add>()->b.as<Mul>();
        const size_t a = input(loaded_by(m->a, environment_));
        const size_t b = input(loaded_by(m->b, environment_));
        products_[name] = {a, b};
        multiplied_.insert(a);
        multiplied_.insert(b);
    }
}

size_t Axes::input(const std::string &name) const {
    size_t i = 0;
    while (k_.op->memory[i].name() != name)
        i++;
    return i;
}

// Gives each axis a number and its extent. Throws if dimensions of one axis have different extents.
void Axes::number_axes() {
    const auto add = [&](const Node &n, int64_t extent, const std::string &of) {
        const auto [id, fresh] = ids_.try_emplace(root(n), int(ids_.size()));
        const auto [known, first] = extents_.try_emplace(id->second, extent);
        if (known->second != extent) {
            refuse_tbe(k_.op->name, "",
                       of + ", which goes over " + std::to_string(extent) + " of " +
                           std::to_string(known->second) + " elements");
        }
    };
    for (size_t i = 0; i < k_.op->memory.size(); i++) {
        for (size_t d = 0; d < k_.instance.call->inputs[i].size(); d++) {
            add({k_.op->memory[i].name(), int(d)}, k_.instance.call->inputs[i][d].extent,
                k_.op->sig.inputs[i].name);
        }
    }
    for (size_t i = 0; i < k_.pipeline.outputs().size(); i++) {
        for (size_t d = 0; d < k_.instance.call->outputs[i].size(); d++) {
            add({k_.pipeline.outputs()[i].name(), int(d)}, k_.instance.call->outputs[i][d].extent,
                k_.op->sig.outputs[i].name);
        }
    }
    for (auto &[name, extent] : over_extents_)
        add({name, -1}, extent, "a reduction");
    for (auto &[name, f] : environment_) {
        for (int d = 0; d < f.dimensions(); d++) {
            if (!ids_.count(root({name, d})))
                refuse_tbe(k_.op->name, stage_name(name), "a dimension that no tensor has");
        }
    }
}

// Throws unless the tensor has every axis once, and each stride is the product of the extents
// within.
std::vector<int> Axes::layout_of(size_t k) const {
    const size_t inputs = k_.op->memory.size();
    const bool in = k < inputs;
    const FixedCall::Layout &layout = in ? k_.instance.call->inputs[k]
                                         : k_.instance.call->outputs[k - inputs];
    const std::string name = in ? k_.op->memory[k].name()
                                : k_.pipeline.outputs()[k - inputs].name();
    const std::string shown = in ? k_.op->sig.inputs[k].name : k_.op->sig.outputs[k - inputs].name;
    std::vector<size_t> dims;
    for (size_t d = 0; d < layout.size(); d++)
        if (layout[d].extent > 1 && layout[d].stride != 0) dims.push_back(d);
    std::stable_sort(dims.begin(), dims.end(),
                     [&](size_t a, size_t b) { return layout[a].stride > layout[b].stride; });
    int64_t within = 1;
    std::vector<int> all;
    for (size_t i = dims.size(); i-- > 0; within *= layout[dims[i]].extent) {
        if (layout[dims[i]].stride != within)
            refuse_tbe(k_.op->name, "", shown + ", whose elements don't lie beside each other");
    }
    for (const size_t d : dims) {
        all.push_back(axis({name, int(d)}));
        if (std::count(all.begin(), all.end(), all.back()) > 1)
            refuse_tbe(k_.op->name, "", shown + " on its diagonal");
    }
    return all;
}

// Inserts the axes of tensor `k` into the order. Throws if they are in another order already.
void Axes::add_order(size_t k) {
    const size_t inputs = k_.op->memory.size();
    size_t next = 0;
    for (const int a : layout_of(k)) {
        const auto at = std::find(order_.begin(), order_.end(), a);
        if (at == order_.end()) {
            order_.insert(order_.begin() + int64_t(next), a);
            next++;
            continue;
        }
        if (size_t(at - order_.begin()) < next) {
            refuse_tbe(k_.op->name, "",
                       "a transpose: " + k_.op->sig.inputs[k < inputs ? k : 0].name +
                           " has its dimensions in another order");
        }
        next = size_t(at - order_.begin()) + 1;
    }
}

void Axes::order_axes() {
    const size_t inputs = k_.op->memory.size();
    const size_t outputs = k_.pipeline.outputs().size();
    for (size_t i = 0; i < inputs + outputs; i++) {
        const size_t k = i < outputs ? inputs + i : i - outputs;  // outputs first
        if (!multiplied_.count(k)) add_order(k);
    }
    for (auto &[func, variables] : over_) {
        if (products_.count(func)) continue;
        for (auto &v : variables) {
            const int a = axis({v, -1});
            if (extents_.at(a) > 1 && !std::count(order_.begin(), order_.end(), a)) {
                refuse_tbe(k_.op->name, stage_name(func),
                           "a reduction of what doesn't move with it");
            }
        }
    }
}

std::map<std::string, int> Axes::variables(const std::string &func) const {
    std::map<std::string, int> all;
    const std::vector<std::string> args = function(func).args();
    for (size_t d = 0; d < args.size(); d++)
        all[args[d]] = axis({func, int(d)});
    if (const auto over = over_.find(func); over != over_.end()) {
        for (auto &v : over->second)
            all[v] = axis({v, -1});
    }
    return all;
}

std::set<int> Axes::dims(const std::string &func) const {
    std::set<int> all;
    for (int d = 0; d < function(func).dimensions(); d++)
        all.insert(axis({func, d}));
    return all;
}

std::set<int> Axes::reduced(const std::string &func) const {
    std::set<int> all;
    if (const auto over = over_.find(func); over != over_.end()) {
        for (auto &v : over->second)
            if (extents_.at(axis({v, -1})) > 1) all.insert(axis({v, -1}));
    }
    return all;
}

std::set<int> Axes::of_input(size_t k) const {
    const std::vector<int> all = layout_of(k);
    return {all.begin(), all.end()};
}

}  // namespace halyard::ascend

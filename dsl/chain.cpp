#include "dsl/chain.h"

#include <fmt/core.h>

#include <algorithm>
#include <sstream>

namespace halyard {
using namespace Halide;

Chain::Chain(const OpTable &ops, std::string n, const std::string &text, const std::string &body)
    : Op(std::move(n), text) {
    for (auto &t : sig.inputs)
        input(t.name);
    std::stringstream statements(body);
    for (std::string statement; std::getline(statements, statement, ';');) {
        steps_.push_back(parse_step(ops, statement));
        inherit(*steps_.back().op);
    }
    out.push_back(steps_.back().op->out[0]);
}

// Parses "t = matmul(a, b)".
Chain::Step Chain::parse_step(const OpTable &ops, std::string statement) const {
    for (char &c : statement)
        if (c == '=' || c == '(' || c == ',' || c == ')') c = ' ';
    std::stringstream words(statement);
    Step step;
    std::string op;
    words >> step.result >> op;
    step.op = ops.make(op);
    if (!step.op) throw Error(name, "no op '" + op + "'");
    for (std::string argument; words >> argument;)
        step.arguments.push_back(argument);
    if (step.arguments.size() != step.op->in.size()) {
        throw Error(name, fmt::format("{} is given {} inputs, expected {}", op,
                                      step.arguments.size(), step.op->in.size()));
    }
    return step;
}

// Gives the chain the scalars of one of its ops, a contract as wide as its own, and the variants
// and attributes of its anchor.
void Chain::inherit(const Op &op) {
    for (auto &s : op.scalars)
        scalars.push_back(s);
    for (auto &[n, parameter] : op.parameters)
        parameters[n] = parameter;
    contract.ulps = std::max(contract.ulps, 2 * op.contract.ulps);
    if (op.contract.measure != Contract::elementwise) contract.measure = Contract::normwise;
    if (op.variants.size() > 1) variants = op.variants;
    if (op.form != Form::elementwise) {
        axis = op.axis;
        attrs = op.attrs;
    }
}

void Chain::algorithm(const Build &build) {
    struct Value {
        Func f;
        Extents extents;
    };
    std::map<std::string, Value> values;
    for (size_t i = 0; i < in.size(); i++) {
        Extents e;
        for (auto &text : extents_of(sig.inputs[i])) {
            e.insert(e.begin(), sig.inputs[i].any_rank ? Expr(memory[i].dim(int(e.size())).extent())
                                                       : size(text));
        }
        values[sig.inputs[i].name] = {in[i], e};
    }
    for (auto &s : steps_) {
        for (size_t i = 0; i < s.arguments.size(); i++)
            s.op->bind_input(i, values.at(s.arguments[i]).f, values.at(s.arguments[i]).extents);
        const auto is_built = [&](const VariantSpec &v) { return v.name == build.variant; };
        Build step = build;
        if (std::none_of(s.op->variants.begin(), s.op->variants.end(), is_built))
            step.variant = s.op->variants.back().name;
        s.op->define(step);
        values[s.result] = {s.op->out[0], s.op->output_extents()};
    }
}

// Schedules each anchor, with the elementwise ops after it as its epilogue. The results of all
// groups but the last are computed at root.
template<class B> void Chain::schedule_anchors(const B &b) {
    const size_t n = steps_.size();
    size_t anchor = n;  // n: none yet
    for (size_t i = 0; i < n; i++) {
        if (steps_[i].op->form != Form::elementwise) anchor = i;
        const bool ends_group = i + 1 == n ||
                                (anchor != n && steps_[i + 1].op->form != Form::elementwise);
        if (!ends_group) continue;
        Op &op = *steps_[anchor == n ? n - 1 : anchor].op;
        op.set_stored(steps_[i].op->out[0]);
        // In a chain of elementwise ops alone, the schedule may read the strides of the inputs.
        if (anchor == n) op.memory = memory;
        if (i + 1 < n) steps_[i].op->out[0].compute_root();
        op.schedule_kernel(b);
        anchor = n;
    }
}

void Chain::reference(Problem &p) const {
    std::map<std::string, Array> values = p.tensors;
    for (auto &s : steps_) {
        Problem q = p;
        for (size_t i = 0; i < s.arguments.size(); i++)
            q.tensors[s.op->sig.inputs[i].name] = values.at(s.arguments[i]);
        // Intermediate results have the shape of the first input, as elementwise ops have.
        const bool is_last = &s == &steps_.back();
        const Array &like = is_last ? p.tensors.at(sig.outputs[0].name)
                                    : q.tensors.at(s.op->sig.inputs[0].name);
        q.tensors[s.op->sig.outputs[0].name] = Array(like.shape);
        s.op->reference(q);
        values[s.result] = q.tensors.at(s.op->sig.outputs[0].name);
    }
    p.tensors.at(sig.outputs[0].name) = values.at(steps_.back().result);
}

}  // namespace halyard

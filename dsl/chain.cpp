#include "dsl/chain.h"

#include <algorithm>
#include <sstream>

namespace halyard {
using namespace Halide;

Chain::Chain(const OpTable &ops, std::string n, const std::string &text, const std::string &body)
    : Op(std::move(n), text) {
    for (auto &t : sig.inputs)
        input(t.name);
    std::stringstream statements(body);
    for (std::string s; std::getline(statements, s, ';');) {
        for (char &c : s)
            if (c == '=' || c == '(' || c == ',' || c == ')') c = ' ';
        std::stringstream words(s);
        Step step;
        std::string op;
        words >> step.to >> op;
        step.op = ops.make(op);
        if (!step.op) throw Error(name, "no op '" + op + "'");
        for (std::string w; words >> w;)
            step.from.push_back(w);
        if (step.from.size() != step.op->in.size()) {
            throw Error(name, op + " is given " + std::to_string(step.from.size()) +
                                  " inputs, expected " + std::to_string(step.op->in.size()));
        }
        for (auto &v : step.op->scalars)
            scalars.push_back(v);
        for (auto &[parameter, p] : step.op->parameters)
            parameters[parameter] = p;
        contract.ulps = std::max(contract.ulps, 2 * step.op->contract.ulps);
        if (step.op->contract.measure != Contract::elementwise)
            contract.measure = Contract::normwise;
        if (step.op->variants.size() > 1) variants = step.op->variants;
        if (step.op->form != Form::elementwise) {
            axis = step.op->axis;
            attrs = step.op->attrs;
        }
        steps_.push_back(std::move(step));
    }
    out.push_back(steps_.back().op->out[0]);
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
        for (size_t i = 0; i < s.from.size(); i++)
            s.op->feed(i, values.at(s.from[i]).f, values.at(s.from[i]).extents);
        const auto has = [&](const VariantSpec &v) { return v.name == build.variant; };
        Build step = build;
        if (std::none_of(s.op->variants.begin(), s.op->variants.end(), has))
            step.variant = s.op->variants.back().name;
        s.op->define(step);
        values[s.to] = {s.op->out[0], s.op->output_extents()};
    }
}

template<class B> void Chain::delegate(const B &b) {
    const size_t n = steps_.size();
    size_t anchor = n;
    for (size_t i = 0; i < n; i++) {
        if (steps_[i].op->form != Form::elementwise) anchor = i;
        const bool closes = i + 1 == n ||
                            (anchor != n && steps_[i + 1].op->form != Form::elementwise);
        if (!closes) continue;
        Op &op = *steps_[anchor == n ? n - 1 : anchor].op;
        op.sink(steps_[i].op->out[0]);
        // elementwise throughout: the schedule may look at the inputs' strides
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
        for (size_t i = 0; i < s.from.size(); i++)
            q.tensors[s.op->sig.inputs[i].name] = values.at(s.from[i]);
        const bool last = &s == &steps_.back();
        const Array &shaped = last ? p.tensors.at(sig.outputs[0].name)
                                   : q.tensors.at(s.op->sig.inputs[0].name);
        q.tensors[s.op->sig.outputs[0].name] = Array(shaped.shape);
        s.op->reference(q);
        values[s.to] = q.tensors.at(s.op->sig.outputs[0].name);
    }
    p.tensors.at(sig.outputs[0].name) = values.at(steps_.back().to);
}

}  // namespace halyard

#include "dsl/chain.h"

#include <fmt/core.h>

#include <algorithm>
#include <sstream>

namespace halyard {
using namespace Halide;

namespace {

// Replaces scalars by others.
class ReplaceScalars : public Internal::IRMutator {
    using IRMutator::visit;
    const std::map<std::string, Expr> &replacements_;

    Expr visit(const Internal::Variable *v) override {
        const auto found = v->param.defined() ? replacements_.find(v->name) : replacements_.end();
        return found == replacements_.end() ? Expr(v) : found->second;
    }

public:
    explicit ReplaceScalars(const std::map<std::string, Expr> &replacements)
        : replacements_(replacements) {}
};

// Replaces scalars in a Func and in all that it depends on.
void replace_scalars(const Func &f, const std::map<std::string, Expr> &replacements) {
    if (replacements.empty()) return;
    ReplaceScalars replace(replacements);
    for (auto &[name, function] : Internal::build_environment({f.function()}))
        function.mutate(&replace);
}

// Returns the extents of the op's result; none if they follow from attributes that kernels don't
// have. Elementwise ops do without.
Op::Extents extents_of_result(const Op &op) {
    try {
        return op.output_extents();
    } catch (const AttrError &) {
        return {};
    }
}

// Returns a Func whose elements are those of `f`, rounded as a caller of its op gets them.
Func edge_after(const Func &f) {
    if (f.type() != Float(64)) return f;  // integers and booleans need no rounding
    Func edge(f.name() + "_edge");
    edge(_) = math::edge(f(_));
    return edge;
}

// Returns a Func with the same elements, as an op gets them that has two inputs of one tensor.
Func twin_of(const Func &f) {
    if (f.type() != Float(64)) return f;
    Func twin(f.name() + "_twin");
    twin(_) = math::twin(f(_));
    return twin;
}

}  // namespace

Chain::Chain(const OpTable &ops, std::string n, const std::string &text, const std::string &body)
    : Op(std::move(n), text) {
    for (auto &t : sig.inputs)
        input(t.name);
    std::stringstream statements(body);
    for (std::string statement; std::getline(statements, statement, ';');)
        steps_.push_back(parse_step(ops, statement));
    check_tensors();
    rename_scalars();
    for (const Step &s : steps_)
        inherit(s);
    for (const TensorSpec &t : sig.outputs)
        out.push_back(step_of(t.name).op->out[0]);
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
    if (step.op->sig.outputs.size() != 1)
        throw Error(name, op + " has several outputs, an op of a chain has one");
    for (std::string argument; words >> argument;)
        step.arguments.push_back(argument);
    if (step.arguments.size() != step.op->in.size()) {
        throw Error(name, fmt::format("{} is given {} inputs, expected {}", op,
                                      step.arguments.size(), step.op->in.size()));
    }
    return step;
}

// Throws Error unless arguments are inputs or earlier results, and outputs are results.
void Chain::check_tensors() const {
    if (steps_.empty()) throw Error(name, "is a chain of no ops");
    std::set<std::string> known;
    for (const TensorSpec &t : sig.inputs)
        known.insert(t.name);
    for (const Step &s : steps_) {
        for (const std::string &argument : s.arguments) {
            if (!known.count(argument))
                throw Error(name, fmt::format("{} of {} is no input and no earlier result",
                                              argument, s.op->name));
        }
        if (!known.insert(s.result).second) throw Error(name, "two tensors are called " + s.result);
    }
    for (const TensorSpec &t : sig.outputs)
        step_of(t.name);
    const auto is_last = [&](const TensorSpec &t) { return t.name == steps_.back().result; };
    if (std::ranges::none_of(sig.outputs, is_last))
        throw Error(name, "the last result, " + steps_.back().result + ", is no output");
    const auto is_elementwise = [](const Step &s) { return s.op->form == Form::elementwise; };
    if (sig.outputs.size() > 1 && !std::ranges::all_of(steps_, is_elementwise))
        throw Error(name, "has several outputs, but not all of its ops are elementwise");
}

const Chain::Step &Chain::step_of(const std::string &result) const {
    const auto found = producer_of(result);
    if (found == steps_.end()) throw Error(name, "output " + result + " is the result of no op");
    return *found;
}

// Gives scalars that several ops have names of their own.
void Chain::rename_scalars() {
    std::map<std::string, int> ops;
    for (const Step &s : steps_)
        for (const ScalarSpec &scalar : s.op->scalars)
            ops[scalar.name]++;
    for (Step &s : steps_) {
        for (const ScalarSpec &scalar : s.op->scalars) {
            if (ops[scalar.name] > 1) s.renamed[scalar.name] = s.result + "_" + scalar.name;
        }
    }
}

// Gives the chain the scalars and attributes of one of its ops, a contract as wide as its own, and
// the variants of its anchor.
void Chain::inherit(const Step &step) {
    const Op &op = *step.op;
    const auto name_of = [&](const std::string &scalar) {
        const auto found = step.renamed.find(scalar);
        return found == step.renamed.end() ? scalar : found->second;
    };
    for (const ScalarSpec &s : op.scalars) {
        if (step.renamed.count(s.name) && s.value != s.name) {
            throw Error(name, fmt::format("{} of {} is computed from attributes, and another op "
                                          "of the chain has one of this name",
                                          s.name, op.name));
        }
        const std::string own = name_of(s.name);
        const Parameter &parameter = op.parameters.at(s.name);
        adopt({own, own == s.name ? s.value : own, s.real},
              own == s.name ? parameter : Parameter(parameter.type(), false, 0, own));
    }
    for (AttrSpec a : op.attrs) {
        a.name = name_of(a.name);
        attrs.push_back(std::move(a));
    }
    contract.ulps = std::max(contract.ulps, 2 * op.contract.ulps);
    if (op.contract.measure != Contract::elementwise) contract.measure = Contract::normwise;
    if (op.variants.size() > 1) variants = op.variants;
    if (op.form != Form::elementwise) axis = op.axis;
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
        for (size_t i = 0; i < s.arguments.size(); i++) {
            const Value &v = values.at(s.arguments[i]);
            const auto place = s.arguments.begin() + std::ptrdiff_t(i);
            const bool is_repeated = std::find(s.arguments.begin(), place, *place) != place;
            s.op->bind_input(i, is_repeated && has_edges ? twin_of(v.f) : v.f, v.extents);
        }
        const auto is_built = [&](const VariantSpec &v) { return v.name == build.variant; };
        Build step = build;
        if (std::none_of(s.op->variants.begin(), s.op->variants.end(), is_built))
            step.variant = s.op->variants.back().name;
        s.op->define(step);
        std::map<std::string, Expr> replacements;
        for (const auto &[scalar, own] : s.renamed) {
            const Parameter &p = parameters.at(own);
            replacements[scalar] = Internal::Variable::make(p.type(), own, p);
        }
        replace_scalars(s.op->out[0], replacements);
        const Func &result = s.op->out[0];
        values[s.result] = {has_edges ? edge_after(result) : result, extents_of_result(*s.op)};
    }
}

// Returns the tensors from which an anchor's inputs are loaded, through elementwise ops; none if
// another anchor computes one.
std::vector<ImageParam> Chain::memory_of(const Step &anchor) const {
    std::vector<ImageParam> all;
    for (const std::string &argument : anchor.arguments) {
        std::string from = argument;
        for (auto s = producer_of(from); s != steps_.end(); s = producer_of(from)) {
            if (s->op->form != Form::elementwise) return {};
            from = s->arguments[0];
        }
        const auto input = std::ranges::find(sig.inputs, from, &TensorSpec::name);
        all.push_back(memory[size_t(input - sig.inputs.begin())]);
    }
    return all;
}

std::vector<Chain::Step>::const_iterator Chain::producer_of(const std::string &tensor) const {
    return std::ranges::find(steps_, tensor, &Step::result);
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
        // A chain of elementwise ops alone is scheduled for the strides of all its inputs.
        op.memory = anchor == n ? memory : memory_of(steps_[anchor]);
        if (anchor == n) op.broadcasts = broadcasts;
        if (i + 1 < n) steps_[i].op->out[0].compute_root();
        for (const Func &stored : i + 1 == n ? out : std::vector<Func>{steps_[i].op->out[0]}) {
            op.set_stored(stored);
            op.schedule_kernel(b);
        }
        anchor = n;
    }
}

void Chain::reference(Problem &p) const {
    Named<Array> values = p.tensors;
    for (auto &s : steps_) {
        Problem q = p;
        for (size_t i = 0; i < s.arguments.size(); i++)
            q.tensors[s.op->sig.inputs[i].name] = values.at(s.arguments[i]);
        // Results of elementwise chains have the output's shape, others that of the first input.
        const bool like_output = form == Form::elementwise || &s == &steps_.back();
        const Array &like = like_output ? p.tensors.at(sig.outputs[0].name)
                                        : q.tensors.at(s.op->sig.inputs[0].name);
        q.tensors[s.op->sig.outputs[0].name] = Array(like.shape);
        for (const auto &[scalar, own] : s.renamed)
            q.reals[scalar] = p.real(own);
        s.op->reference(q);
        values[s.result] = q.tensors.at(s.op->sig.outputs[0].name);
    }
    for (const TensorSpec &t : sig.outputs)
        p.tensors.at(t.name) = values.at(t.name);
}

}  // namespace halyard

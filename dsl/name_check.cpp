#include "dsl/name_check.h"

#include <algorithm>
#include <sstream>

#include "dsl/op_check.h"
#include "registry/base/error.h"
#include "registry/base/text.h"
#include "registry/op/expr.h"

namespace halyard {
namespace {

using Names = std::set<std::string>;

// Returns the names of dimensions, integer attributes, scalars and lets: those that have a value
// when a call is planned (registry/op/names.cpp).
Names names_of(const Op &op) {
    Names all(op.sig.names.begin(), op.sig.names.end());
    for (const TensorSpec &t : op.sig.inputs) {
        for (const std::string &extent : op.extents_of(t))
            if (is_name(extent)) all.insert(extent);
    }
    for (const AttrSpec &a : op.attrs) {
        all.insert(a.choices.begin(), a.choices.end());
        all.insert(a.parts.begin(), a.parts.end());
        if (a.kind != AttrKind::real && a.kind != AttrKind::ints) all.insert(a.name);
    }
    for (const ScalarSpec &s : op.scalars)
        if (!s.real) all.insert(s.name);
    for (const LetSpec &l : op.lets)
        all.insert(l.name);
    return all;
}

// Checks one expression. `quoted` is the string of the op file that contains it, and `what` names
// the expression in messages.
void check_expression(const Op &op, const std::string &what, const std::string &text,
                      const std::string &quoted, const Names &known) {
    // An expression over Dims has no text in the op file, but a name of it has.
    const auto fail = [&](const std::string &why, const std::string &name = "") {
        throw AttrError(op.name,
                        at_location(line_of(op, quoted, name), what + " '" + text + "' " + why));
    };
    std::vector<std::string> used;
    try {
        used = ParsedExpr(text).names();
    } catch (const Error &e) {
        fail("doesn't parse: " + e.detail());
    }
    for (const std::string &name : used)
        if (!known.count(name)) fail("names " + name + ", which is none of " + join(known), name);
}

// Returns the names that the record's expressions use.
Names names_used(const Op &op) {
    Names all;
    const auto add = [&](const std::string &text) {
        const ParsedExpr e(text);
        all.insert(e.names().begin(), e.names().end());
    };
    for (const LetSpec &l : op.lets)
        add(l.value);
    for (const std::string &condition : op.conditions)
        add(condition);
    for (const VariantSpec *v : all_variants(op)) {
        std::istringstream words(v->when);
        for (std::string word; words >> word;)
            add(word);
    }
    for (const ScalarSpec &s : op.scalars)
        if (s.value != s.name) add(s.value);
    for (auto *tensors : {&op.sig.inputs, &op.sig.outputs}) {
        for (const TensorSpec &t : *tensors) {
            for (const std::string &extent : t.extents)
                add(extent);
        }
    }
    return all;
}

class FindScalars : public Halide::Internal::IRGraphVisitor {
public:
    Names names;

private:
    using IRGraphVisitor::visit;
    void visit(const Halide::Internal::Variable *v) override {
        if (v->param.defined() && !v->param.is_buffer()) names.insert(v->name);
    }
};

}  // namespace

void check_names(const Op &op) {
    const Names known = names_of(op);
    for (const LetSpec &l : op.lets)
        check_expression(op, "let " + l.name, l.value, l.value, known);
    for (const ScalarSpec &s : op.scalars)
        if (!s.real) check_expression(op, "scalar " + s.name, s.value, s.value, known);
    for (const std::string &condition : op.conditions)
        check_expression(op, "condition", condition, condition, known);
    // The composition of a composite op determines the shape of its outputs.
    if (op.form == Form::composite) return;
    for (const TensorSpec &t : op.sig.outputs) {
        for (const std::string &extent : t.extents)
            check_expression(op, "output " + t.name + "'s extent", extent, op.signature, known);
    }
}

void check_variant_names(const Op &op, const VariantSpec &v,
                         const std::map<std::string, int64_t> &tunables) {
    Names known = names_of(op);
    known.insert("lanes");
    for (auto &[name, value] : tunables)
        known.insert(name);
    for (const TensorSpec &t : op.sig.inputs) {
        for (size_t d = 0; d < op.extents_of(t).size(); d++)
            known.insert(t.name + "_s" + std::to_string(d));
    }
    for (const TensorSpec &t : op.sig.outputs)
        known.insert(t.name + "_s0");
    std::istringstream words(v.when);
    for (std::string word; words >> word;) {
        check_expression(op, "variant " + (v.name.empty() ? "''" : v.name) + ": its condition",
                         word, v.when, known);
    }
}

void check_gradient_name(const Op &op, const OpTable &ops) {
    const std::string forward_op = forward_name(op.name);
    if (!op.internal || forward_op.empty()) return;
    const OpPtr forward = ops.make(forward_op);
    if (!forward || op.sig.differentiates(forward->sig)) return;
    Names inputs;
    for (const TensorSpec &t : forward->sig.inputs)
        inputs.insert(t.name);
    const std::string input = op.name.substr(forward_op.size() + 2);
    throw AttrError(op.name, at_location(op.defined_at.outermost_location(),
                                         "would be the gradient of " + forward_op +
                                             " in its input " + input + ": the inputs of " +
                                             forward->signature + " are " + join(inputs)));
}

std::set<std::string> scalars_read(const Kernel &k) {
    FindScalars read;
    Halide::Pipeline pipeline = k.pipeline;
    std::vector<Halide::Internal::Function> outputs;
    for (const Halide::Func &f : pipeline.outputs())
        outputs.push_back(f.function());
    for (auto &[name, f] : Halide::Internal::build_environment(outputs))
        f.accept(&read);
    return read.names;
}

void check_scalars(const Op &op, const OpTable &ops, const std::set<std::string> &read) {
    const Names used = names_used(op);
    Names inherited;
    const OpPtr forward = ops.make(forward_name(op.name));
    if (forward && op.sig.differentiates(forward->sig)) {
        for (const ScalarSpec &s : forward->scalars)
            inherited.insert(s.name);
    }
    for (const ScalarSpec &s : op.scalars) {
        if (read.count(s.name) || used.count(s.name) || inherited.count(s.name)) continue;
        throw AttrError(
            op.name, at_location(line_of(op, s.name), "algorithm() never reads scalar " + s.name +
                                                          ", and no expression names it"));
    }
}

}  // namespace halyard

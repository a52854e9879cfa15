#include "dsl/call_facts.h"

#include <sstream>

#include "registry/op/expr.h"

namespace halyard {
namespace {
using Halide::Expr;

// Translates expressions of an op's record. A name without a value there is a variable.
class Translation {
public:
    Translation(const Op &op, const Tunables &tunables, int lanes) : op_(op) {
        known_["lanes"] = lanes;
        for (auto &[name, value] : tunables.values())
            known_[name] = int(value);
    }

    // Returns an integer or a condition; a variable of its own for what Halide can't express, such
    // as a choice by an integer.
    Expr of(const std::string &text) {
        try {
            return ParsedExpr(text).evaluate<Expr>(
                [&](const std::string &name) { return value(name); });
        } catch (const Halide::Error &) {
            return Halide::Internal::Variable::make(Halide::Int(32), "call " + text);
        }
    }

private:
    Expr value(const std::string &name) {
        if (const auto it = known_.find(name); it != known_.end()) return it->second;
        const Expr variable = Halide::Internal::Variable::make(Halide::Int(32), "call " + name);
        known_[name] = variable;  // also ends the recursion of a let that names itself
        for (const LetSpec &l : op_.lets)
            if (l.name == name) known_[name] = of(l.value);
        return known_[name];
    }
    const Op &op_;
    std::map<std::string, Expr> known_;
};

}  // namespace

CallFacts facts_of(const Op &op, const std::string &variant, const Tunables &tunables, int lanes) {
    CallFacts facts;
    Translation translated(op, tunables, lanes);
    const auto add_tensor = [&](const std::string &name, const TensorSpec &spec, bool is_output) {
        const std::vector<std::string> extents = op.extents_of(spec);  // outermost first
        for (size_t d = 0; d < extents.size(); d++) {
            const std::string dim = std::to_string(extents.size() - 1 - d);
            const Expr extent = translated.of(extents[d]);
            facts.values[name + ".extent." + dim] = extent;
            facts.values[name + ".min." + dim] = 0;
            facts.values[name + ".stride." + dim] = translated.of(spec.name + "_s" + dim);
            facts.conditions.push_back(is_output ? extent >= 1 : extent >= 0);
        }
    };
    for (size_t i = 0; i < op.memory.size() && i < op.sig.inputs.size(); i++)
        add_tensor(op.memory[i].name(), op.sig.inputs[i], false);
    for (size_t i = 0; i < op.out.size(); i++)
        add_tensor(op.out[i].name(), op.sig.outputs[i], true);
    for (const ScalarSpec &s : op.scalars) {
        if (!s.real) facts.values[op.parameters.at(s.name).name()] = translated.of(s.value);
    }
    std::vector<std::string> conditions = op.conditions;
    const VariantSpec *chosen = find_variant(op, variant);
    std::stringstream words(chosen ? chosen->when : "");
    for (std::string word; words >> word;)
        conditions.push_back(word);
    for (const std::string &text : conditions) {
        const Expr holds = translated.of(text);
        if (holds.type().is_bool()) facts.conditions.push_back(holds);
    }
    return facts;
}

}  // namespace halyard

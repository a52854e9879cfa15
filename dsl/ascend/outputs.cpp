#include "dsl/ascend/outputs.h"

#include <algorithm>
#include <map>

namespace halyard::ascend {
using namespace Halide;
using namespace Halide::Internal;

namespace {

bool alike(const FixedCall::Layout &x, const FixedCall::Layout &y) {
    return std::equal(x.begin(), x.end(), y.begin(), y.end(),
                      [](auto &p, auto &q) { return p.extent == q.extent; });
}

// Replaces calls of Funcs without update definitions by calls of copies.
class OwnStages : public IRMutator {
    using IRMutator::visit;
    std::map<std::string, Func> copies_;

    Expr visit(const Call *c) override {
        const Expr mutated = IRMutator::visit(c);
        const Call *call = mutated.as<Call>();
        if (!call || call->call_type != Call::Halide) return mutated;
        const Function original(call->func);
        if (original.has_update_definition() || !original.has_pure_definition()) return mutated;
        const Func copy = copy_of(original);
        return Call::make(copy.function(), call->args, call->value_index);
    }
    Func copy_of(const Function &original) {
        const auto known = copies_.find(original.name());
        if (known != copies_.end()) return known->second;
        Func copy(original.name().substr(0, original.name().find('$')));
        std::vector<Var> args;
        for (auto &name : original.args())
            args.emplace_back(name);
        std::vector<Expr> values;
        for (const Expr &value : original.values())
            values.push_back(mutate(value));
        copy(args) = Tuple(values);
        return copies_.emplace(original.name(), copy).first->second;
    }
};

}  // namespace

std::vector<Func> fused_outputs(const std::vector<Func> &outputs,
                                const std::vector<FixedCall::Layout> &layouts) {
    std::vector<Func> all;
    for (size_t first = 0, next = 0; first < outputs.size(); first = next) {
        for (next = first + 1; next < outputs.size() && alike(layouts[first], layouts[next]);)
            next++;
        const Func &f = outputs[first];
        if ((next == first + 1 && all.empty()) || f.has_update_definition()) {
            for (size_t k = first; k < next; k++)
                all.push_back(outputs[k]);
            continue;
        }
        OwnStages stages;
        std::vector<Expr> values;
        for (size_t k = first; k < next; k++) {
            const Expr value = outputs[k](f.args());
            values.push_back(all.empty() ? value : stages.mutate(value));
        }
        Func together("gm");
        together(f.args()) = Tuple(values);
        all.push_back(together);
    }
    return all;
}

}  // namespace halyard::ascend

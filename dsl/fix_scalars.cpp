#include "dsl/fix_scalars.h"

namespace halyard {
using namespace Halide;

namespace {

// Replaces scalars by their values, and expressions that keep Halide from using these.
class FixScalars : public Internal::IRMutator {
    using IRMutator::visit;
    const std::map<std::string, int> &integers_;
    const std::map<std::string, double> &reals_;

    Expr visit(const Internal::Variable *v) override {
        if (!v->param.defined()) return v;
        if (const auto i = integers_.find(v->name); i != integers_.end()) return i->second;
        if (const auto r = reals_.find(v->name); r != reals_.end())
            return Internal::FloatImm::make(Float(64), r->second);
        return v;
    }
    // likely() makes Halide split a loop where a condition changes. Each part of such a loop would
    // be a program of its own, and in nested loops their number multiplies.
    Expr visit(const Internal::Call *c) override {
        if (c->is_intrinsic({Internal::Call::likely, Internal::Call::likely_if_innermost}))
            return mutate(c->args[0]);
        return IRMutator::visit(c);
    }
    // Rewrites i32(min(u32(index), last)) as a clamp, whose bounds Halide can derive.
    Expr visit(const Internal::Cast *c) override {
        const auto *min = c->type == Int(32) && c->value.type() == UInt(32)
                              ? c->value.as<Internal::Min>()
                              : nullptr;
        const auto *index = min ? min->a.as<Internal::Cast>() : nullptr;
        if (!index || index->value.type() != Int(32)) return IRMutator::visit(c);
        const Expr at = mutate(index->value);
        const Expr last = cast(Int(32), mutate(min->b));
        return clamp(select(at < 0, last, at), 0, last);
    }

public:
    FixScalars(const std::map<std::string, int> &integers,
               const std::map<std::string, double> &reals)
        : integers_(integers), reals_(reals) {}
};

}  // namespace

void fix_scalars(const std::vector<Func> &outputs, const std::map<std::string, int> &integers,
                 const std::map<std::string, double> &reals) {
    FixScalars fixed(integers, reals);
    std::vector<Internal::Function> functions;
    for (const Func &f : outputs)
        functions.push_back(f.function());
    for (auto &[name, f] : Internal::build_environment(functions))
        f.mutate(&fixed);
}

}  // namespace halyard

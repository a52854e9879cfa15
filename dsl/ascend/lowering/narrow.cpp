#include "dsl/ascend/lowering/narrow.h"

namespace halyard::ascend {
using namespace Halide;
using namespace Halide::Internal;

namespace {

// Returns the f16 expression that has the value of `e`; undefined if there is none.
Expr exact(const Expr &e) {
    if (const auto *c = e.as<Cast>(); c && c->value.type() == Float(16)) return c->value;
    if (const auto *f = e.as<FloatImm>(); f && double((float16_t) float(f->value)) == f->value)
        return make_const(Float(16), f->value);
    return Expr();
}

// Returns float16(e) computed in f16; undefined if it needs f32.
Expr rounded(const Expr &e) {
    if (Expr x = exact(e); x.defined()) return x;
    if (const auto *op = e.as<Max>()) {
        const Expr a = rounded(op->a);
        const Expr b = rounded(op->b);
        return a.defined() && b.defined() ? Max::make(a, b) : Expr();
    }
    if (const auto *op = e.as<Min>()) {
        const Expr a = rounded(op->a);
        const Expr b = rounded(op->b);
        return a.defined() && b.defined() ? Min::make(a, b) : Expr();
    }
    if (const auto *op = e.as<Select>()) {
        const Expr a = rounded(op->true_value);
        const Expr b = rounded(op->false_value);
        return a.defined() && b.defined() ? Select::make(op->condition, a, b) : Expr();
    }
    const auto *c = e.as<Call>();
    if (!c) return Expr();
    const bool keeps = c->is_intrinsic({Call::strict_max, Call::strict_min, Call::abs});
    if (!keeps &&
        !c->is_intrinsic({Call::strict_add, Call::strict_sub, Call::strict_mul, Call::strict_div}))
        return Expr();
    std::vector<Expr> args;
    for (const Expr &a : c->args) {
        args.push_back(keeps ? rounded(a) : exact(a));
        if (!args.back().defined()) return Expr();
    }
    return Call::make(Float(16), c->name, args, c->call_type);
}

class Narrow : public IRMutator {
    using IRMutator::visit;
    Expr visit(const Cast *op) override {
        const Expr value = mutate(op->value);
        if (op->type == Float(16) && value.type() == Float(32))
            if (Expr e = rounded(value); e.defined()) return e;
        return Cast::make(op->type, value);
    }
};

}  // namespace

Expr narrowed(const Expr &e) {
    return Narrow().mutate(e);
}

}  // namespace halyard::ascend

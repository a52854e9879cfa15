#include "dsl/gpu/strict_operations.h"

#include <utility>

namespace halyard::gpu {
namespace {

using namespace Halide;
using namespace Halide::Internal;

class CallRoundingFunctions : public IRMutator {
    using IRMutator::visit;

    Stmt visit(const For *op) override {
        const bool outer = std::exchange(in_kernel_, in_kernel_ || is_gpu(op->for_type));
        Stmt s = IRMutator::visit(op);
        in_kernel_ = outer;
        return s;
    }
    Expr visit(const Call *op) override {
        Expr e = IRMutator::visit(op);
        const Call *c = e.as<Call>();
        if (!in_kernel_ || !c || !c->type.is_float() || c->type.bits() != 32) return e;
        if (c->is_intrinsic(Call::strict_add))
            return rounded("__nv_fadd_rn", c->args[0], c->args[1]);
        if (c->is_intrinsic(Call::strict_sub))
            return rounded("__nv_fadd_rn", c->args[0], -c->args[1]);
        if (c->is_intrinsic(Call::strict_mul))
            return rounded("__nv_fmul_rn", c->args[0], c->args[1]);
        return e;
    }
    static Expr rounded(const char *function, const Expr &a, const Expr &b) {
        return Call::make(a.type(), function, {a, b}, Call::PureExtern);
    }

    bool in_kernel_ = false;  // in a loop that a GPU runs
};

}  // namespace

void keep_strict_operations(Pipeline &pipeline) {
    pipeline.add_custom_lowering_pass(new CallRoundingFunctions);
}

}  // namespace halyard::gpu

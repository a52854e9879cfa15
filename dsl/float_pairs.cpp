#include "dsl/float_pairs.h"

namespace halyard {
using namespace Halide::Internal;
namespace {

struct KeepFloatPairs : IRMutator {
    using IRMutator::visit;
    Halide::Expr visit(const Ramp *r) override {
        const Sub *difference = r->stride.as<Sub>();
        if (!r->type.is_float() || r->lanes != 2 || !r->base.type().is_scalar() || !difference ||
            !equal(difference->b, r->base))
            return IRMutator::visit(r);
        return Shuffle::make_concat({mutate(r->base), mutate(difference->a)});
    }
};

}  // namespace

void keep_float_pairs(Halide::Pipeline &pipeline) {
    pipeline.add_custom_lowering_pass(new KeepFloatPairs);
}

}  // namespace halyard

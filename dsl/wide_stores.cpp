#include "dsl/wide_stores.h"

namespace halyard {
namespace {
using namespace Halide;
using namespace Halide::Internal;

class AnnounceWideStores : public IRMutator {
    using IRMutator::visit;

    static bool is_left_out(const Store *op) {
        constexpr int most_seen = 16;
        const Type t = op->value.type();
        const Ramp *adjacent = op->index.as<Ramp>();
        return t.bytes() * t.lanes() > most_seen && adjacent && is_const_one(adjacent->stride) &&
               adjacent->base.type().is_scalar() && is_const_one(op->predicate);
    }
    Stmt visit(const Store *op) override {
        if (!is_left_out(op)) return IRMutator::visit(op);
        const int64_t element = op->value.type().bytes();
        const Expr memory = Variable::make(Handle(), op->name);
        const Expr offset = cast(Int(64), op->index.as<Ramp>()->base) *
                            make_const(Int(64), element);
        const Expr bytes = make_const(Int(64), element * op->value.type().lanes());
        const Stmt announcement = Evaluate::make(
            Call::make(Int(32), "halyard_wide_store", {memory, offset, bytes}, Call::Extern));
        return Block::make(IRMutator::visit(op), announcement);
    }
};

}  // namespace

void announce_wide_stores(Pipeline &pipeline) {
    pipeline.add_custom_lowering_pass(new AnnounceWideStores);
}

}  // namespace halyard

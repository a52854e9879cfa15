#include "dsl/fault_probes.h"

#include <algorithm>

namespace halyard {
using namespace Halide;
using namespace Halide::Internal;

namespace {

Expr any_lane(const Expr &condition) {
    return condition.type().is_scalar() ? condition
                                        : VectorReduce::make(VectorReduce::Or, condition, 1);
}

}  // namespace

Expr abort_call() {
    return Call::make(Int(32), "abort", {}, Call::Extern);
}

Stmt abort_before(const Stmt &s) {
    return Block::make(Evaluate::make(abort_call()), s);
}

Expr abort_if(const Expr &condition, const Expr &value) {
    const Type t = value.type().element_of();
    Expr aborts = t.is_bool() ? abort_call() != 0 : cast(t, abort_call());
    if (value.type().is_vector()) aborts = Broadcast::make(aborts, value.type().lanes());
    return Call::make(value.type(), Call::if_then_else, {any_lane(condition), aborts, value},
                      Call::PureIntrinsic);
}

Expr differ(const Expr &a, const Expr &b) {
    const Type t = a.type();
    if (!t.is_float()) return a != b;
    const Type bits = t.with_code(Type::UInt);
    return reinterpret(bits, a) != reinterpret(bits, b);
}

Expr UseConditions::where_used(Expr condition) const {
    const int lanes = condition.type().lanes();
    for (const Expr &use : all_) {
        if (use.type().lanes() == lanes)
            condition = condition && use;
        else if (lanes == 1)
            condition = condition && any_lane(use);
        else if (use.type().is_scalar())
            condition = condition && Broadcast::make(use, lanes);
    }
    return condition;
}

bool UseConditions::exclude_equality(const Expr &a, const Expr &b) const {
    if (!a.type().is_int_or_uint()) return false;
    return std::ranges::any_of(
        all_, [&](const Expr &use) { return is_const_zero(simplify(substitute(a, b, use))); });
}

}  // namespace halyard

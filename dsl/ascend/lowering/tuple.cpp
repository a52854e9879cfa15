#include "dsl/ascend/lowering/tuple.h"

#include "registry/base/error.h"

namespace halyard::ascend {
using namespace Halide;
using namespace Halide::Internal;

namespace {

using Stores = std::vector<const Store *>;

// Returns the loops in which an iteration reads what the one before it stored.
std::set<std::string> carried_loops(const std::vector<Loop> &loops, const Stores &stores) {
    struct : IRVisitor {
        using IRVisitor::visit;
        void visit(const Load *l) override {
            all.push_back(l);
            IRVisitor::visit(l);
        }
        std::vector<const Load *> all;
    } loads;
    for (const Store *store : stores)
        store->value.accept(&loads);
    std::set<std::string> carried;
    for (const Store *store : stores) {
        for (const Load *l : loads.all) {
            if (l->name == store->name && !graph_equal(l->index, store->index))
                carried.merge(carried_dependences(store->index, l->index, loops));
        }
    }
    return carried;
}

// A value of the Tuple: `computed` stores the new one into a temporary, `stored` copies it from
// there.
struct NewValue {
    Stmt computed, stored;
    dv::Ref ref;
};
NewValue new_value(LoweringContext &s, const Store &store) {
    const dv::Ref to = s.buffers.at(store.name);
    if (s.scope(to) != dv::Scope::ub) {
        throw DispatchError("ascend", s.w.stage + ": no Ascend program for values of a Tuple "
                                                  "in global memory that read each other");
    }
    const dv::Ref ref = s.w.temporary(to.dtype, s.w.program.buffer(to.buffer)->size);
    s.buffers[ref.buffer] = ref;
    const auto store_to = [&](const std::string &name, const Expr &value) {
        return Store::make(name, value, store.index, store.param, store.predicate, store.alignment);
    };
    const Expr computed = Load::make(store.value.type(), ref.buffer, store.index, {}, {},
                                     const_true(), {});
    return {store_to(ref.buffer, store.value), store_to(store.name, computed), ref};
}

}  // namespace

void lower_tuple(LoweringContext &s, const std::vector<Loop> &loops, const Stores &stores) {
    const std::set<std::string> carried = carried_loops(loops, stores);
    std::vector<Loop> outer, inner;  // inner: the loops along which every value changes
    for (auto &l : loops) {
        bool moves = !carried.count(l.var);
        for (const Store *store : stores) {
            moves &= expr_uses_var(store->index, l.var) &&
                     !affine(store->index, loops).nonlinear.count(l.var);
        }
        (moves ? inner : outer).push_back(l);
    }
    std::vector<NewValue> values;
    for (const Store *store : stores)
        values.push_back(new_value(s, *store));
    const std::function<void(size_t)> level = [&](size_t d) {
        if (d < outer.size()) {
            s.bounds[outer[d].var] = {0, outer[d].extent - 1};
            return s.w.loop(s.w.reg("n"), outer[d].extent, [&](const dv::Expr &i) {
                s.variables[outer[d].var] = i;
                level(d + 1);
            });
        }
        for (auto &v : values)
            lower_nest(s, inner, *v.computed.as<Store>());
        for (auto &v : values)
            lower_nest(s, inner, *v.stored.as<Store>());
    };
    s.write_fills();
    level(0);
    for (auto &v : values)
        s.w.give_back(v.ref);
}

}  // namespace halyard::ascend

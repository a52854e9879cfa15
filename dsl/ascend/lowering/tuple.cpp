#include "dsl/ascend/lowering/tuple.h"

#include "registry/base/error.h"

namespace halyard::ascend {
using namespace Halide;
using namespace Halide::Internal;

void lower_tuple(Surroundings &s, const std::vector<Loop> &loops,
                 const std::vector<const Store *> &stores) {
    // loops in which an iteration reads what the one before it stored
    std::set<std::string> carried;
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
    for (const Store *store : stores) {
        for (const Load *l : loads.all) {
            if (l->name == store->name && !graph_equal(l->index, store->index))
                carried.merge(carrying(store->index, l->index, loops));
        }
    }
    std::vector<Loop> outer, inner;  // what every value moves with is inside
    for (auto &l : loops) {
        bool moves = !carried.count(l.var);
        for (const Store *store : stores) {
            moves &= expr_uses_var(store->index, l.var) &&
                     !affine(store->index, loops).hard.count(l.var);
        }
        (moves ? inner : outer).push_back(l);
    }
    struct Next {
        Stmt computed, stored;
        dv::Ref ref;
    };
    std::vector<Next> next;
    for (const Store *store : stores) {
        const dv::Ref to = s.buffers.at(store->name);
        if (s.scope(to) != dv::Scope::ub) {
            throw DispatchError("ascend", s.w.where + ": no Ascend program for values of a Tuple "
                                                      "in global memory that read each other");
        }
        const dv::Ref ref = s.w.temporary(to.dtype, s.w.p.buffer(to.buffer)->size);
        s.buffers[ref.buffer] = ref;
        const auto store_to = [&](const std::string &name, const Expr &value) {
            return Store::make(name, value, store->index, store->param, store->predicate,
                               store->alignment);
        };
        const Expr computed = Load::make(store->value.type(), ref.buffer, store->index, {}, {},
                                         const_true(), {});
        next.push_back({store_to(ref.buffer, store->value), store_to(store->name, computed), ref});
    }
    const std::function<void(size_t)> level = [&](size_t d) {
        if (d < outer.size()) {
            s.bounds[outer[d].var] = {0, outer[d].extent - 1};
            return s.w.loop(s.w.reg("n"), outer[d].extent, [&](const dv::Expr &i) {
                s.variables[outer[d].var] = i;
                level(d + 1);
            });
        }
        for (auto &n : next)
            lower_nest(s, inner, *n.computed.as<Store>());
        for (auto &n : next)
            lower_nest(s, inner, *n.stored.as<Store>());
    };
    s.write_fills();
    level(0);
    for (auto &n : next)
        s.w.give_back(n.ref);
}

}  // namespace halyard::ascend

#include "dsl/ascend/lowering/scalar.h"

#include "registry/base/error.h"

namespace halyard::ascend {
using namespace Halide;
using namespace Halide::Internal;
using HExpr = Halide::Expr;
using dv::Number;
using dv::ScalarOp;

namespace {

// Registers hold no truth of a comparison of reals.
bool on_reals(const HExpr &condition) {
    struct : IRVisitor {
        using IRVisitor::visit;
        void visit(const Load *l) override { reals |= l->type.is_float(); }
        bool reals = false;
    } found;
    condition.accept(&found);
    return found.reals;
}

class Elements {
public:
    Elements(Surroundings &s, const std::string &reason) : s_(s), reason_(reason) {}

    void put(const Store &store) {
        if (const auto *op = store.value.as<Select>()) {  // of a condition on indices
            if (on_reals(op->condition)) refuse(store.value);
            const dv::Expr condition = s_.index(op->condition);
            const auto branch = [&](const HExpr &e) {
                const Stmt chosen = Store::make(store.name, e, store.index, store.param,
                                                store.predicate, store.alignment);
                return s_.w.nested([&] { put(*chosen.as<Store>()); });
            };
            dv::Body yes = branch(op->true_value);
            dv::Body no = branch(op->false_value);
            return s_.w.branch(condition, std::move(yes), std::move(no));
        }
        dv::Ref to = at(store.name, store.index);
        const Number v = value(store.value);
        if (s_.scope(to) != dv::Scope::gm) return s_.w.put(dv::ScalarSt{to, v});
        if (s_.w.p.blocks.constant() != 1) {
            throw DispatchError("ascend", s_.w.where + ": cores would change the same blocks of " +
                                              to.buffer + " in part");
        }
        // read, changed and written back
        const dv::Ref block = s_.w.temporary(to.dtype, dv::c0(to.dtype));
        s_.w.put(dv::Dma{block, to, 1, 1, 0, 0});
        s_.w.put(dv::ScalarSt{block, v});
        s_.w.put(dv::Dma{to, block, 1, 1, 0, 0});
        s_.w.give_back(block);
    }

private:
    Surroundings &s_;
    const std::string &reason_;

    dv::Ref at(const std::string &name, const HExpr &index) {
        dv::Ref r = s_.buffers.at(name);
        r.offset = r.offset + s_.index(index);
        return r;
    }

    Number math(ScalarOp op, DType t, const Number &a, const Number &b = {}) {
        const std::string reg = s_.w.reg();
        s_.w.put(dv::ScalarMath{op, reg, a, b, t});
        return {reg};
    }

    Number value(const HExpr &e) {
        const DType t = dtype_of(e.type());
        const auto both = [&](ScalarOp op, const HExpr &a, const HExpr &b) {
            return math(op, t, value(a), value(b));
        };
        if (const auto *op = e.as<FloatImm>()) return {"", op->value};
        if (const auto *op = e.as<IntImm>()) return {"", double(op->value)};
        if (const auto *op = e.as<UIntImm>()) return {"", double(op->value)};
        if (const auto *op = e.as<Load>()) return load(op);
        if (const auto *op = e.as<Let>()) return value(substitute(op->name, op->value, op->body));
        if (const auto *op = e.as<Cast>()) {
            if (op->type.is_int_or_uint() && op->value.type().is_float())
                return math(ScalarOp::to_int, t, value(op->value));
            if (op->type.is_float() && op->value.type().is_float())
                return math(ScalarOp::move, t, value(op->value));
            // an integer register isn't an operand of arithmetic
            if (op->type.is_float()) refuse(e);
        }
        if (const auto *op = e.as<Call>(); op && e.type().is_float()) {
            if (op->is_intrinsic(Call::strict_add))
                return both(ScalarOp::add, op->args[0], op->args[1]);
            if (op->is_intrinsic(Call::strict_sub))
                return both(ScalarOp::sub, op->args[0], op->args[1]);
            if (op->is_intrinsic(Call::strict_mul))
                return both(ScalarOp::mul, op->args[0], op->args[1]);
            if (op->is_intrinsic(Call::strict_div))
                return both(ScalarOp::div, op->args[0], op->args[1]);
            if (op->is_intrinsic(Call::strict_max))
                return both(ScalarOp::max, op->args[0], op->args[1]);
            if (op->is_intrinsic(Call::strict_min))
                return both(ScalarOp::min, op->args[0], op->args[1]);
        }
        if (const auto *op = e.as<Max>(); op && e.type().is_float())
            return both(ScalarOp::max, op->a, op->b);
        if (const auto *op = e.as<Min>(); op && e.type().is_float())
            return both(ScalarOp::min, op->a, op->b);
        if (!e.type().is_float()) {
            const std::string reg = s_.w.reg("i");
            // Registers have more bits than the integers that wrap in them.
            const int64_t values = int64_t(1) << e.type().bits();
            const int64_t half = e.type().is_int() ? values / 2 : 0;
            s_.w.put(dv::Set{reg, (s_.index(e) + half) % values - half});
            return {reg};
        }
        refuse(e);
    }
    [[noreturn]] void refuse(const HExpr &e) const {
        std::ostringstream text;
        text << e;
        throw DispatchError("ascend", s_.w.where + ": no Ascend instruction for " +
                                          text.str().substr(0, 200) +
                                          (reason_.empty() ? "" : "; " + reason_));
    }

    Number load(const Load *l) {
        dv::Ref from = at(l->name, l->index);
        const std::string reg = s_.w.reg();
        if (s_.scope(from) == dv::Scope::gm) {
            const dv::Ref block = s_.w.temporary(from.dtype, dv::c0(from.dtype));
            s_.w.put(dv::Dma{block, from, 1, 1, 0, 0});
            s_.w.put(dv::ScalarLd{reg, block});
            s_.w.give_back(block);
        } else {
            s_.w.put(dv::ScalarLd{reg, from});
        }
        return {reg};
    }
};

}  // namespace

void lower_by_elements(Surroundings &s, const std::vector<Loop> &loops, const Store &store,
                       const std::string &reason) {
    const std::function<void(size_t)> level = [&](size_t d) {
        if (d == loops.size()) return Elements(s, reason).put(store);
        s.w.loop(s.w.reg("n"), loops[d].extent, [&](const dv::Expr &i) {
            s.variables[loops[d].var] = i;
            level(d + 1);
        });
    };
    level(0);
}

}  // namespace halyard::ascend

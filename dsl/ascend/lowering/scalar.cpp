#include "dsl/ascend/lowering/scalar.h"

#include "dsl/ascend/lowering/move.h"
#include "dsl/ascend/lowering/update.h"
#include "registry/base/error.h"

namespace halyard::ascend {
using namespace Halide;
using namespace Halide::Internal;
using HExpr = Halide::Expr;
using dv::CmpOp;
using dv::Number;
using dv::ScalarOp;

namespace {

class ScalarLowering {
public:
    ScalarLowering(LoweringContext &s, const std::string &reason) : s_(s), reason_(reason) {}

    void emit(const Store &store) {
        if (const auto *op = store.value.as<Select>()) {
            return branch(op, [&](const HExpr &e) {
                const Stmt chosen = Store::make(store.name, e, store.index, store.param,
                                                store.predicate, store.alignment);
                emit(*chosen.as<Store>());
            });
        }
        dv::Ref to = at(store.name, store.index);
        const Number v = value(store.value);
        if (s_.scope(to) != dv::Scope::gm) return s_.w.emit(dv::ScalarSt{to, v});
        if (s_.w.program.blocks.constant() != 1) throw SharedBlocks(s_.w.stage, to.buffer);
        // The block is read, changed and written back.
        const dv::Ref block = s_.w.temporary(to.dtype, dv::c0(to.dtype));
        s_.w.emit(dv::Dma{block, to, 1, 1, 0, 0});
        s_.w.emit(dv::ScalarSt{block, v});
        s_.w.emit(dv::Dma{to, block, 1, 1, 0, 0});
        s_.w.give_back(block);
    }

private:
    LoweringContext &s_;
    const std::string &reason_;

    dv::Ref at(const std::string &name, const HExpr &index) {
        dv::Ref r = s_.buffers.at(name);
        r.offset = r.offset + s_.index(index);
        return r;
    }

    // Writes a branch: `take(e)` lowers what happens for the chosen value e.
    template<class F> void branch(const Select *op, F take) {
        const dv::Expr chosen = condition(op->condition);
        dv::Body yes = s_.w.nested([&] { take(op->true_value); });
        dv::Body no = s_.w.nested([&] { take(op->false_value); });
        s_.w.branch(chosen, std::move(yes), std::move(no));
    }

    // Returns whether a condition holds. The unit has no instruction that compares reals: integers
    // in their order are compared instead.
    dv::Expr condition(const HExpr &e) {
        if (!has_reals(e)) return s_.index(e);
        if (const auto *op = e.as<And>()) return condition(op->a) && condition(op->b);
        if (const auto *op = e.as<Or>()) return condition(op->a) || condition(op->b);
        if (const auto *op = e.as<Not>()) return condition(op->a) == 0;
        if (const auto *op = e.as<LT>()) return compared(op->a, op->b, CmpOp::lt);
        if (const auto *op = e.as<LE>()) return compared(op->a, op->b, CmpOp::le);
        if (const auto *op = e.as<GT>()) return compared(op->b, op->a, CmpOp::lt);
        if (const auto *op = e.as<GE>()) return compared(op->b, op->a, CmpOp::le);
        if (const auto *op = e.as<EQ>()) return compared(op->a, op->b, CmpOp::eq);
        if (const auto *op = e.as<NE>()) return compared(op->a, op->b, CmpOp::eq) == 0;
        if (const auto *op = e.as<Call>()) {
            if (op->is_intrinsic({Call::likely, Call::likely_if_innermost}))
                return condition(op->args[0]);
            if (op->is_intrinsic(Call::strict_lt))
                return compared(op->args[0], op->args[1], CmpOp::lt);
            if (op->is_intrinsic(Call::strict_le))
                return compared(op->args[0], op->args[1], CmpOp::le);
            if (op->is_intrinsic(Call::strict_eq))
                return compared(op->args[0], op->args[1], CmpOp::eq);
        }
        refuse(e);
    }
    // Returns true if an expression has reals outside of indices.
    static bool has_reals(const HExpr &e) {
        struct : IRVisitor {
            using IRVisitor::visit;
            void visit(const Load *l) override { any |= l->type.is_float(); }
            void visit(const FloatImm *) override { any = true; }
            bool any = false;
        } reals;
        e.accept(&reals);
        return reals.any;
    }
    // a < b, a <= b or a == b: false if either is NaN.
    dv::Expr compared(const HExpr &a, const HExpr &b, CmpOp op) {
        const bool reals = a.type().is_float();
        const dv::Expr x = reals ? ordered(a) : chosen_integer(a);
        const dv::Expr y = !reals ? chosen_integer(b) : graph_equal(a, b) ? x : ordered(b);
        const dv::Expr holds = op == CmpOp::lt ? x < y : op == CmpOp::le ? x <= y : x == y;
        return reals ? is_number(x) && is_number(y) && holds : holds;
    }
    // Returns an integer that is chosen by a comparison of reals.
    dv::Expr chosen_integer(const HExpr &e) {
        const Number v = value(e);
        return v.is_reg() ? dv::Expr::var(v.reg) : dv::Expr(int64_t(v.imm));
    }
    // Returns an integer that is less than another real's if the real is. It is made of the bits of
    // an f32: those of a negative one are its sign and its absolute value.
    dv::Expr ordered(const HExpr &e) {
        const dv::Ref cell = s_.w.temporary(DType::f32, dv::c0(DType::f32));
        Number v = value(e);
        if (e.type().bits() != 32) v = math(ScalarOp::move, DType::f32, v);
        s_.w.emit(dv::ScalarSt{cell, v});
        dv::Ref bits = cell;
        bits.dtype = DType::i32;
        const std::string loaded = s_.w.reg("i");
        s_.w.emit(dv::ScalarLd{loaded, bits});
        s_.w.give_back(cell);
        const dv::Expr b = dv::Expr::var(loaded);
        const std::string order = s_.w.reg("i");
        s_.w.emit(dv::Set{order, b + (b < 0) * (sign_bit - b * 2)});
        return dv::Expr::var(order);
    }
    static constexpr int64_t sign_bit = -(int64_t(1) << 31);
    static constexpr int64_t infinity = 0x7f800000;
    static dv::Expr is_number(const dv::Expr &order) {
        return order <= infinity && order >= -infinity;
    }

    Number math(ScalarOp op, DType t, const Number &a, const Number &b = {}) {
        const std::string reg = s_.w.reg();
        s_.w.emit(dv::ScalarMath{op, reg, a, b, t});
        return {reg};
    }

    Number value(const HExpr &e) {
        const auto both = [&](ScalarOp op, const HExpr &a, const HExpr &b) {
            return math(op, dtype_of(e.type()), value(a), value(b));
        };
        const bool is_real = e.type().is_float();
        dtype_of(e.type());  // throws DTypeError if the chip has no such type
        if (const auto *op = e.as<FloatImm>()) return {"", op->value};
        if (const auto *op = e.as<IntImm>()) return {"", double(op->value)};
        if (const auto *op = e.as<UIntImm>()) return {"", double(op->value)};
        if (const auto *op = e.as<Load>()) return load(op);
        if (const auto *op = e.as<Let>()) return value(substitute(op->name, op->value, op->body));
        if (const auto *op = e.as<Cast>(); op && (is_real || op->value.type().is_float()))
            return converted(op);
        if (const auto *op = e.as<Select>(); op && has_reals(e)) return selected(op);
        if (!is_real) return integer(e);
        if (const auto *op = e.as<Call>()) return call(op);
        if (const auto *op = e.as<Add>()) return both(ScalarOp::add, op->a, op->b);
        if (const auto *op = e.as<Sub>()) return both(ScalarOp::sub, op->a, op->b);
        if (const auto *op = e.as<Mul>()) return both(ScalarOp::mul, op->a, op->b);
        if (const auto *op = e.as<Div>()) return both(ScalarOp::div, op->a, op->b);
        if (const auto *op = e.as<Max>()) return both(ScalarOp::max, op->a, op->b);
        if (const auto *op = e.as<Min>()) return both(ScalarOp::min, op->a, op->b);
        refuse(e);
    }
    // A branch stores the chosen value to a cell of the Unified Buffer.
    Number selected(const Select *op) {
        const DType t = dtype_of(op->type);
        const dv::Ref cell = s_.w.temporary(t, dv::c0(t));
        branch(op, [&](const HExpr &e) { s_.w.emit(dv::ScalarSt{cell, value(e)}); });
        const std::string reg = s_.w.reg(op->type.is_float() ? "r" : "i");
        s_.w.emit(dv::ScalarLd{reg, cell});
        s_.w.give_back(cell);
        return {reg};
    }
    Number call(const Call *c) {
        static const std::pair<Call::IntrinsicOp, ScalarOp> arithmetic[] = {
            {Call::strict_add, ScalarOp::add}, {Call::strict_sub, ScalarOp::sub},
            {Call::strict_mul, ScalarOp::mul}, {Call::strict_div, ScalarOp::div},
            {Call::strict_max, ScalarOp::max}, {Call::strict_min, ScalarOp::min},
        };
        for (auto &[intrinsic, op] : arithmetic) {
            if (c->is_intrinsic(intrinsic))
                return math(op, dtype_of(c->type), value(c->args[0]), value(c->args[1]));
        }
        refuse(c);
    }
    // An integer register is no operand of arithmetic: integers don't become reals.
    Number converted(const Cast *c) {
        if (!c->value.type().is_float()) refuse(c);
        const ScalarOp op = c->type.is_float() ? ScalarOp::move : ScalarOp::to_int;
        return math(op, dtype_of(c->type), value(c->value));
    }
    // Wraps the value to its type: registers have 64 bits.
    Number integer(const HExpr &e) {
        const std::string reg = s_.w.reg("i");
        const int64_t values = int64_t(1) << e.type().bits();
        const int64_t half = e.type().is_int() ? values / 2 : 0;
        s_.w.emit(dv::Set{reg, (s_.index(e) + half) % values - half});
        return {reg};
    }
    [[noreturn]] void refuse(const HExpr &e) const {
        std::ostringstream text;
        text << e;
        throw DispatchError("ascend", s_.w.stage + ": no Ascend instruction for " +
                                          text.str().substr(0, 200) +
                                          (reason_.empty() ? "" : "; " + reason_));
    }

    Number load(const Load *l) {
        dv::Ref from = at(l->name, l->index);
        const std::string reg = s_.w.reg();
        const dv::Scope scope = s_.scope(from);
        if (scope != dv::Scope::gm && scope != dv::Scope::ub) refuse(l);
        if (scope == dv::Scope::gm) {
            const dv::Ref block = s_.w.temporary(from.dtype, dv::c0(from.dtype));
            s_.w.emit(dv::Dma{block, from, 1, 1, 0, 0});
            s_.w.emit(dv::ScalarLd{reg, block});
            s_.w.give_back(block);
        } else {
            s_.w.emit(dv::ScalarLd{reg, from});
        }
        return {reg};
    }
};

}  // namespace

void lower_by_elements(LoweringContext &s, const std::vector<Loop> &loops, const Store &store,
                       const std::string &reason) {
    const std::function<void(size_t)> level = [&](size_t d) {
        if (d == loops.size()) return ScalarLowering(s, reason).emit(store);
        s.w.loop(s.w.reg("n"), loops[d].extent, [&](const dv::Expr &i) {
            s.variables[loops[d].var] = i;
            level(d + 1);
        });
    };
    level(0);
}

}  // namespace halyard::ascend

#include "dsl/ascend/lowering/scalar.h"

#include "dsl/ascend/lowering/move.h"
#include "dsl/ascend/lowering/update.h"
#include "registry/base/error.h"

namespace halyard::ascend {
using namespace Halide;
using namespace Halide::Internal;
using HExpr = Halide::Expr;
using dv::Number;
using dv::ScalarOp;

namespace {

class ScalarLowering {
public:
    ScalarLowering(LoweringContext &s, const std::string &reason) : s_(s), reason_(reason) {}

    void emit(const Store &store) {
        if (const auto *op =
                store.value.as<Select>()) {  // a branch, if its condition is on indices
            if (reads_reals(op->condition)) refuse(store.value);
            const dv::Expr condition = s_.index(op->condition);
            const auto branch = [&](const HExpr &e) {
                const Stmt chosen = Store::make(store.name, e, store.index, store.param,
                                                store.predicate, store.alignment);
                return s_.w.nested([&] { emit(*chosen.as<Store>()); });
            };
            dv::Body yes = branch(op->true_value);
            dv::Body no = branch(op->false_value);
            return s_.w.branch(condition, std::move(yes), std::move(no));
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
        if (!is_real) return integer(e);
        if (const auto *op = e.as<Call>()) return call(op);
        if (const auto *op = e.as<Max>()) return both(ScalarOp::max, op->a, op->b);
        if (const auto *op = e.as<Min>()) return both(ScalarOp::min, op->a, op->b);
        refuse(e);
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

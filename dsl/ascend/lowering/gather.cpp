#include "dsl/ascend/lowering/gather.h"

#include <algorithm>
#include <optional>

namespace halyard::ascend {
using namespace Halide;
using namespace Halide::Internal;
using HExpr = Halide::Expr;
using dv::VecOp;

namespace {

// Tensors of at most so many bytes are loaded as a whole, and gathered from the chip.
constexpr int64_t max_staged = 32768;
// Rows of a tile are multiples of it: 32 B of the smallest real.
constexpr int64_t row_elements = 16;

// Returns true for calls that the scalar unit computes of integers.
bool is_bitwise(const Call *c) {
    return c->is_intrinsic({Call::likely, Call::likely_if_innermost, Call::bitwise_and,
                            Call::bitwise_or, Call::bitwise_xor, Call::bitwise_not,
                            Call::shift_left, Call::shift_right});
}

// Looks for operations on integers that the vector unit lacks, and for reals.
struct ScalarOperations : IRVisitor {
    using IRVisitor::visit;
    void visit(const Load *l) override {  // an index isn't part of the value
        reals |= l->type.is_float();
        loads.insert(l->name);
    }
    void visit(const Add *a) override {
        any |= a->type.bits() == 8;
        IRVisitor::visit(a);
    }
    void visit(const Sub *s) override {
        any |= s->type.bits() == 8;
        IRVisitor::visit(s);
    }
    void visit(const Mul *m) override {
        any |= m->type.bits() == 8;
        IRVisitor::visit(m);
    }
    void visit(const Div *d) override {
        any |= d->type.is_int_or_uint();
        IRVisitor::visit(d);
    }
    void visit(const Mod *m) override {
        any |= m->type.is_int_or_uint();
        IRVisitor::visit(m);
    }
    void visit(const Cast *c) override {
        reals |= c->type.is_float() || c->value.type().is_float();
        any |= c->type.is_uint() && c->type.bits() > 8;
        IRVisitor::visit(c);
    }
    void visit(const Call *c) override {
        reals |= !is_bitwise(c);
        any |= c->is_intrinsic({Call::shift_left, Call::shift_right});
        IRVisitor::visit(c);
    }
    bool any = false, reals = false;
    std::set<std::string> loads;
};

// Returns true for an integer with an operation that the vector unit lacks: quotients, remainders,
// shifts, sums and products of 8 bits, unsigned numbers; false for a reduction into `result`.
bool needs_scalar_unit(const HExpr &e, const std::string &result) {
    const Type t = e.type();
    if (t != Int(32) && t != Int(8) && t != UInt(8)) return false;
    ScalarOperations found;
    e.accept(&found);
    return found.any && !found.reals && !found.loads.count(result);
}

using Lets = std::vector<std::pair<std::string, HExpr>>;

// Returns true if `e` has only loop variables and constants, and one loop variable at least.
// `names` are lets of such expressions.
bool is_index(const HExpr &e, const LoweringContext &s, const std::vector<Loop> &loops,
              const Lets &names) {
    struct : IRVisitor {
        using IRVisitor::visit;
        void visit(const Let *l) override {
            l->value.accept(this);
            lets.insert(l->name);
            l->body.accept(this);
        }
        void visit(const Variable *v) override {
            if (lets.count(v->name)) {
                any = true;
                return;
            }
            const bool loop = std::any_of(loops->begin(), loops->end(),
                                          [&](const Loop &l) { return l.var == v->name; });
            (loop || s->variables.count(v->name) ? any : other) = true;
        }
        void visit(const Load *) override { other = true; }
        void visit(const FloatImm *) override { other = true; }
        void visit(const Call *c) override {
            if (is_bitwise(c))
                IRVisitor::visit(c);
            else
                other = true;
        }
        const LoweringContext *s = nullptr;
        const std::vector<Loop> *loops = nullptr;
        std::set<std::string> lets;
        bool any = false, other = false;
    } found;
    found.s = &s;
    found.loops = &loops;
    for (auto &[name, value] : names)
        found.lets.insert(name);
    e.accept(&found);
    return found.any && !found.other;
}

class Gather : public IRMutator {
public:
    Gather(LoweringContext &s, const std::vector<Loop> &loops, const Store &store, bool unaligned)
        : s_(s), loops_(loops), store_(store), unaligned_(unaligned), lanes_(lanes_of(store)) {}

    Gathered run() {
        const HExpr value = mutate(store_.value);
        HExpr result;
        if (unaligned_ && is_misaligned()) {
            result =
                tile({}, store_.index, s_.buffers.at(store_.name).dtype, store_.value.type()).load;
        }
        if (tiles_.empty()) return {&store_, {}, {}};
        Gathered g;
        g.tiles = sums_;
        for (auto &t : tiles_)
            g.tiles.push_back(t.ref);
        const auto store = [&](const std::string &name, const HExpr &v, const HExpr &index) {
            return Store::make(name, v, index, store_.param, store_.predicate, store_.alignment);
        };
        g.store = store(store_.name, value, store_.index);
        if (!result.defined()) return g;
        const Load *l = result.as<Load>();
        g.store = store(l->name, value, l->index);
        g.scattered = store(store_.name, result, store_.index);
        return g;
    }

    HExpr mutate(const HExpr &e) override {
        if (e.type() == Int(32) && is_known(e)) return index(e);
        if (const auto *c = e.as<Cast>();
            c && c->type.is_float() && c->value.type() == UInt(32) && is_known(c->value))
            return of_word(c->type, c->value);
        if (needs_scalar_unit(e, store_.name)) return computed(e);
        if (e.type().is_bool() && is_known(e) && !compares_linear(e)) return index(e) != 0;
        return IRMutator::mutate(e);
    }

private:
    using IRMutator::visit;
    LoweringContext &s_;
    const std::vector<Loop> &loops_;
    const Store &store_;
    const bool unaligned_;
    const std::optional<size_t> lanes_;  // the index in loops_
    struct Tile {
        HExpr of;  // the load or the index whose values it has
        dv::Ref ref;
        std::vector<size_t> dims;  // loops, outermost first
        std::vector<int64_t> stride;
        HExpr load;
    };
    std::vector<Tile> tiles_;
    std::vector<dv::Ref> sums_;  // copies of accumulators of the cube unit
    Lets lets_;                  // the lets in scope of integers that depend on loops alone

    bool is_known(const HExpr &e) const { return is_index(e, s_, loops_, lets_); }
    HExpr with_lets(HExpr e) const {
        for (size_t k = lets_.size(); k-- > 0;)
            if (expr_uses_var(e, lets_[k].first)) e = Let::make(lets_[k].first, lets_[k].second, e);
        return e;
    }
    HExpr visit(const Let *l) override {
        if (!l->value.type().is_int_or_uint() || !is_known(l->value)) return IRMutator::visit(l);
        lets_.emplace_back(l->name, l->value);
        const HExpr body = mutate(l->body);
        lets_.pop_back();
        return expr_uses_var(body, l->name) ? Let::make(l->name, mutate(l->value), body) : body;
    }
    HExpr visit(const Load *l) override { return is_irregular(l) ? element(l) : HExpr(l); }

    // Returns the loop along which the store's elements are contiguous; if there is none, the
    // innermost one.
    std::optional<size_t> lanes_of(const Store &store) const {
        std::vector<Loop> linear = loops_;
        const std::set<std::string> nonlinear = affine(store.index, loops_).nonlinear;
        std::erase_if(linear, [&](const Loop &l) { return nonlinear.count(l.var) != 0; });
        const Affine a = affine(store.index, linear);
        for (size_t k = 0; k < linear.size() && a.nonlinear.empty(); k++) {
            for (size_t d = 0; d < loops_.size(); d++)
                if (a.stride[k] == 1 && loops_[d].var == linear[k].var) return d;
        }
        return loops_.empty() ? std::nullopt : std::optional(loops_.size() - 1);
    }

    bool is_irregular(const Load *l) const {
        if (l->name == store_.name && !(graph_equal(l->index, store_.index) && is_misaligned()))
            return false;
        const Affine a = affine(l->index, loops_);
        if (!lanes_) return unaligned_ && is_misaligned(l->name, a);
        if (a.nonlinear.count(loops_[*lanes_].var)) return true;
        struct : IRVisitor {
            using IRVisitor::visit;
            void visit(const Load *inner) override {
                within |= expr_uses_var(inner->index, *lanes);
            }
            const std::string *lanes = nullptr;
            bool within = false;
        } loads;
        loads.lanes = &loops_[*lanes_].var;
        l->index.accept(&loads);
        if (loads.within) return true;
        return unaligned_ && is_misaligned(l->name, a);
    }
    // Returns true for elements on the chip with gaps between lanes, or that aren't aligned to
    // blocks.
    bool is_misaligned(const std::string &name, const Affine &a) const {
        const dv::Ref from = s_.buffers.at(name);
        const dv::Scope scope = s_.scope(from);
        if (!a.nonlinear.empty() || (scope != dv::Scope::ub && scope != dv::Scope::l0c))
            return false;
        const int64_t unit = dv::c0(from.dtype);
        for (size_t d = 0; d < loops_.size(); d++) {
            if (d == lanes_ ? a.stride[d] != 0 && a.stride[d] != 1 : a.stride[d] % unit != 0)
                return true;
        }
        struct : IRVisitor {
            using IRVisitor::visit;
            void visit(const Load *) override { any = true; }
            bool any = false;
        } loads;
        a.base.accept(&loads);
        return (!lanes_ || a.stride[*lanes_] == 1) &&
               (loads.any || !is_multiple(s_.index(a.base), unit));
    }
    // Returns true if the results are misaligned and aren't sums of several iterations.
    bool is_misaligned() const {
        const Affine a = affine(store_.index, loops_);
        return unaligned_ && a.nonlinear.empty() &&
               std::count(a.stride.begin(), a.stride.end(), 0) == 0 &&
               is_misaligned(store_.name, a);
    }

    // Returns true for comparisons of linear indices, which the vector unit computes.
    bool compares_linear(const HExpr &e) const {
        const auto both = [&](const auto *op, auto of) { return of(op->a) && of(op->b); };
        const auto conditions = [&](const HExpr &c) { return compares_linear(c); };
        const auto linear = [&](const HExpr &i) { return affine(i, loops_).nonlinear.empty(); };
        if (const auto *op = e.as<And>()) return both(op, conditions);
        if (const auto *op = e.as<Or>()) return both(op, conditions);
        if (const auto *op = e.as<Not>()) return compares_linear(op->a);
        if (const auto *op = e.as<EQ>()) return both(op, linear);
        if (const auto *op = e.as<NE>()) return both(op, linear);
        if (const auto *op = e.as<LT>()) return both(op, linear);
        if (const auto *op = e.as<LE>()) return both(op, linear);
        if (const auto *op = e.as<GT>()) return both(op, linear);
        if (const auto *op = e.as<GE>()) return both(op, linear);
        return false;
    }

    // Declares a tile with a dimension for each loop that `index` uses, lanes last.
    Tile &tile(const HExpr &of, const HExpr &index, DType t, const Type &type) {
        Tile made{of, {}, {}, {}, {}};
        for (size_t d = 0; d < loops_.size(); d++)
            if (d != lanes_ && expr_uses_var(index, loops_[d].var)) made.dims.push_back(d);
        if (lanes_ && expr_uses_var(index, loops_[*lanes_].var)) made.dims.push_back(*lanes_);
        made.stride.resize(made.dims.size());
        int64_t next = 1;
        HExpr place = 0;
        for (size_t k = made.dims.size(); k-- > 0;) {
            const Loop &l = loops_[made.dims[k]];
            made.stride[k] = next;
            place = place + Variable::make(Int(32), l.var) * int(next);
            next *= l.extent;
            const int64_t row = std::max<int64_t>(dv::c0(t), row_elements);
            if (k + 1 == made.dims.size()) next = (next + row - 1) / row * row;
        }
        made.ref = s_.w.temporary(t, next);
        s_.buffers[made.ref.buffer] = made.ref;
        made.load = Load::make(type, made.ref.buffer, simplify(place), {}, {}, const_true(), {});
        tiles_.push_back(made);
        return tiles_.back();
    }
    HExpr known(const HExpr &e) const {
        for (auto &t : tiles_)
            if (t.of.defined() && graph_equal(t.of, e)) return t.load;
        return {};
    }
    static dv::Ref at(dv::Ref r, const dv::Expr &elements) {
        r.offset = r.offset + elements;
        return r;
    }
    // Emits loops over the outer `dims` dimensions of a tile and body(position) in them. The loops'
    // variables have values in the body.
    void each(const Tile &t, size_t dims, const std::function<void(const dv::Ref &)> &body) {
        const std::function<void(size_t, const dv::Ref &)> level = [&](size_t k,
                                                                       const dv::Ref &to) {
            if (k == dims) return body(to);
            const Loop &l = loops_[t.dims[k]];
            s_.bounds[l.var] = {0, l.extent - 1};
            s_.w.loop(s_.w.reg("n"), l.extent, [&](const dv::Expr &i) {
                s_.variables[l.var] = i;
                level(k + 1, at(to, i * t.stride[k]));
            });
        };
        level(0, t.ref);
        for (size_t k = 0; k < dims; k++)
            s_.variables.erase(loops_[t.dims[k]].var);
    }

    void set(const dv::Ref &to, const dv::Expr &value) {
        if (const auto c = value.constant()) return s_.w.emit(dv::ScalarSt{to, {"", double(*c)}});
        const std::string reg = s_.w.reg("i");
        s_.w.emit(dv::Set{reg, value});
        s_.w.emit(dv::ScalarSt{to, {reg}});
    }

    // Returns an unsigned integer of 32 bits as a real, from its upper and its lower half.
    HExpr of_word(const Type &real, const HExpr &word) {
        const HExpr upper = Cast::make(Int(32), word >> 16);
        const HExpr lower = Cast::make(Int(32), word & 0xffff);
        const HExpr scaled = Cast::make(Float(32), index(upper)) * 65536.0f;
        return Cast::make(real, scaled + Cast::make(Float(32), index(lower)));
    }

    // Replaces each load, those of its indices first, by one that the scalar unit can read.
    HExpr with_staged_loads(const HExpr &e) {
        struct : IRMutator {
            using IRMutator::visit;
            HExpr visit(const Load *inner) override {
                return self->staged(inner, mutate(inner->index));
            }
            Gather *self = nullptr;
        } loads;
        loads.self = this;
        return loads.mutate(e);
    }

    // Computes integers element by element, by the scalar unit.
    HExpr computed(const HExpr &e) {
        if (HExpr already = known(e); already.defined()) return already;
        const HExpr value = with_staged_loads(e);
        s_.write_fills();  // the scalar unit may read initial values
        const Tile t = tile(e, e, dtype_of(e.type()), e.type());
        s_.w.warnings.push_back("W-SCALAR " + s_.w.stage + ": integers are computed one by one");
        const int64_t values = int64_t(1) << e.type().bits();
        const int64_t half = e.type().is_int() ? values / 2 : 0;
        each(t, t.dims.size(),
             [&](const dv::Ref &to) { set(to, (s_.index(value) + half) % values - half); });
        return t.load;
    }

    // Computes an index, or a condition on indices as 0 or 1.
    HExpr index(const HExpr &inner) {
        const HExpr e = with_lets(inner);
        if (HExpr already = known(e); already.defined()) return already;
        const bool is_plain = e.as<Let>() == nullptr;
        const Affine a = is_plain ? affine(e, loops_) : Affine();
        const Tile t = tile(e, e, DType::i32, Int(32));
        const bool counts = is_plain && !e.type().is_bool() && a.nonlinear.empty() && lanes_ &&
                            !t.dims.empty() && t.dims.back() == *lanes_;
        if (counts) {
            count(t, a);
        } else {
            if (!t.dims.empty()) {
                s_.w.warnings.push_back("W-SCALAR " + s_.w.stage +
                                        ": indices as values are computed one by one");
            }
            each(t, t.dims.size(), [&](const dv::Ref &to) { set(to, s_.index(e)); });
        }
        return t.load;
    }
    // Computes a linear index: the first block by the scalar unit, the other blocks of a row by
    // adding to those before, other rows by adding to the first one.
    void count(const Tile &t, const Affine &a) {
        const int64_t n = loops_[*lanes_].extent;
        const int64_t unit = dv::c0(DType::i32);
        const int64_t step = a.stride[*lanes_];
        const dv::Ref row = s_.w.temporary(DType::i32, (n + unit - 1) / unit * unit);
        for (int64_t j = 0; j < unit; j++)
            set(at(row, j), j * step);
        for (int64_t have = unit; have < n; have *= 2)
            add({std::min(have, n - have)}, at(row, have), row, {"", double(have * step)});
        each(t, t.dims.size() - 1, [&](const dv::Ref &to) {
            dv::Expr first = s_.index(a.base);
            for (size_t k = 0; k + 1 < t.dims.size(); k++)
                first = first + s_.variables.at(loops_[t.dims[k]].var) * a.stride[t.dims[k]];
            const std::string reg = s_.w.reg("i");
            s_.w.emit(dv::Set{reg, first});
            add({n}, to, row, {reg});
        });
        s_.w.give_back(row);
    }
    void add(const std::vector<int64_t> &extents, const dv::Ref &to, const dv::Ref &from,
             const dv::Number &n) {
        Vectors v(s_.w, extents);
        const Operand number = v.broadcast(n, DType::i32);
        v.binary(VecOp::add, {to, {1}}, {from, {1}}, number);
        v.give_back(number);
    }

    HExpr element(const Load *l) {
        if (HExpr already = known(l); already.defined()) return already;
        s_.w.warnings.push_back("W-SCALAR " + s_.w.stage + ": elements of " +
                                s_.buffers.at(l->name).buffer + " are gathered one by one");
        const HExpr from = staged(l, with_staged_loads(l->index));
        const Load *load = from.as<Load>();
        const dv::Ref source = s_.buffers.at(load->name);
        s_.write_fills();  // the scalar unit may read initial values
        const Tile t = tile(l, l->index, source.dtype, l->type);
        each(t, t.dims.size(), [&](const dv::Ref &to) {
            const std::string reg = s_.w.reg();
            dv::Ref place = at(source, s_.index(load->index));
            std::optional<dv::Ref> block;
            if (s_.scope(source) == dv::Scope::gm) {
                block = s_.w.temporary(source.dtype, dv::c0(source.dtype));
                s_.w.emit(dv::Dma{*block, place, 1, 1, 0, 0});
                place = *block;
            }
            s_.w.emit(dv::ScalarLd{reg, place});
            s_.w.emit(dv::ScalarSt{to, {reg}});
            if (block) s_.w.give_back(*block);
        });
        return t.load;
    }

    // Replaces a load from GM by one from the chip, if few elements are within the bounds of its
    // index, and a load from l0c, which the scalar unit can't read, by one of its rows.
    HExpr staged(const Load *l, const HExpr &index) {
        const HExpr as_it_is = Load::make(l->type, l->name, index, l->image, l->param, l->predicate,
                                          l->alignment);
        const dv::Ref from = s_.buffers.at(l->name);
        if (s_.scope(from) == dv::Scope::l0c) {
            const dv::Ref rows = rows_of(s_.w, s_.accumulators.at(l->name), from.dtype).ref;
            sums_.push_back(rows);
            s_.buffers[rows.buffer] = rows;
            return Load::make(l->type, rows.buffer, index, {}, {}, const_true(), {});
        }
        if (s_.scope(from) != dv::Scope::gm) return as_it_is;
        Scope<Interval> bounds;
        for (auto &loop : loops_)
            bounds.push(loop.var, Interval(0, HExpr(int(loop.extent) - 1)));
        const Interval reach = bounds_of_expr_in_scope(index, bounds);
        const HExpr length = reach.is_bounded() ? simplify(reach.max - reach.min + 1) : HExpr();
        const int64_t elements = length.defined() ? as_const_int(length).value_or(0) : 0;
        const int64_t unit = dv::c0(from.dtype);
        const int64_t all = *s_.w.program.tensor(from.buffer)->size.constant();
        if (elements < 1 || elements > max_staged / int64_t(bytes_of(from.dtype))) return as_it_is;
        const int64_t blocks = std::min((elements + unit - 1) / unit, all / unit);
        const HExpr first = simplify(clamp(reach.min, 0, int(all - blocks * unit)));
        const dv::Ref here = s_.w.double_buffer(from.buffer + "_ub", dv::Scope::ub, from.dtype,
                                                blocks * unit);
        s_.w.emit(dv::Dma{here, at(from, s_.index(first)), 1, blocks, 0, 0});
        s_.buffers[here.buffer] = here;
        return Load::make(l->type, here.buffer, simplify(index - first), {}, {}, const_true(), {});
    }
};

}  // namespace

Gathered gather(LoweringContext &s, const std::vector<Loop> &loops, const Store &store,
                bool unaligned) {
    std::vector<Loop> longer;
    for (auto &l : loops) {
        if (l.extent > 1)
            longer.push_back(l);
        else {
            s.variables[l.var] = 0;
            s.bounds[l.var] = {0, 0};
        }
    }
    return Gather(s, longer, store, unaligned).run();
}

}  // namespace halyard::ascend

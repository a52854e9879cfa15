#include "dsl/ascend/lowering/nest.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <set>

#include "dsl/ascend/lowering/gather.h"
#include "dsl/ascend/lowering/move.h"
#include "dsl/ascend/lowering/narrow.h"
#include "dsl/ascend/lowering/reduce.h"
#include "dsl/ascend/lowering/scalar.h"
#include "dsl/ascend/lowering/sums.h"
#include "dsl/ascend/lowering/update.h"
#include "registry/base/error.h"

namespace halyard::ascend {
using namespace Halide;
using namespace Halide::Internal;
using HExpr = Halide::Expr;
using dv::VecOp;

namespace {

constexpr int64_t max_copies = 4, max_repeats = 255;
constexpr int64_t full_rate_bytes = 16384;  // a move of so many runs at the full rate

class NestLowering {
public:
    // `aligned` is true for a nest whose unaligned operands have been copied into tiles.
    NestLowering(LoweringContext &s, std::vector<Loop> loops, const Store &store,
                 bool aligned = false)
        : s_(s), loops_(std::move(loops)), store_(store), aligned_(aligned) {
        std::erase_if(loops_, [&](const Loop &l) {
            if (l.extent == 1) {
                s_.variables[l.var] = 0;
                s_.bounds[l.var] = {0, 0};
            }
            return l.extent == 1;
        });
    }

    void lower() {
        if (s_.accumulators.count(store_.name)) {
            const std::set<std::string> sequential = lower_sums(s_, loops_, store_, earlier_);
            if (!sequential.empty()) one_by_one(sequential);
            return;
        }
        if (is_fill()) {
            s_.fills[store_.name] = {loops_, Stmt(&store_)};
            return;
        }
        std::optional<LoweringContext::Fill> first;
        if (const auto fill = s_.fills.find(store_.name);
            fill != s_.fills.end() && update_of(store_).term.defined()) {
            first = fill->second;
            s_.fills.erase(fill);
        }
        bool reads_fill = !first;
        for (const Load *l : loads_of(store_.value))
            reads_fill |= s_.fills.count(l->name) != 0;
        if (reads_fill) s_.write_fills();
        lower(first);
    }

    // `first` is the delayed initialisation of the buffer, if there is one.
    void lower(const std::optional<LoweringContext::Fill> &first) {
        const Update update = update_of(store_);
        const std::set<std::string> sequential = sequential_loops(update);
        const bool replaces = first && sequential.empty() && reduces_ && begins(*first, update);
        if (first && !replaces) write(*first);
        if (!sequential.empty()) return one_by_one(sequential);
        const Writer::Mark before = s_.w.mark();
        try {
            arrange();
            if (reduces_)
                reduction(update, replaces);
            else
                elementwise();
        } catch (const NotVectorizable &e) {
            s_.w.rollback(before);
            if (replaces) write(*first);
            if (!aligned_ && by_tiles()) return;
            if (reduces_) return one_by_one(reduced_loops());
            s_.w.warnings.push_back("W-SCALAR " + s_.w.stage + ": " + e.what());
            by_elements(e.what());
        }
    }

private:
    // Returns the loops that have to stay loops around vector instructions. If there are none,
    // sets reduces_.
    std::set<std::string> sequential_loops(const Update &update) {
        std::set<std::string> sequential = nonlinear_loops(store_, loops_);
        for (const Load *l : loads_of(store_.value)) {
            if (l->name == store_.name && !graph_equal(l->index, store_.index))
                sequential.merge(carried_dependences(store_.index, l->index, loops_));
        }
        if (!sequential.empty()) return sequential;
        const Affine to = affine(store_.index, loops_);
        for (size_t k = 0; k < loops_.size(); k++) {
            if (to.stride[k]) continue;
            reduces_ = true;
            if (!update.term.defined()) sequential.insert(loops_[k].var);
        }
        return sequential;
    }

    // Lowers for the scalar unit; an operation that it lacks is a vector instruction of one
    // element.
    void by_elements(const std::string &reason) {
        const Writer::Mark before = s_.w.mark();
        try {
            lower_by_elements(s_, loops_, store_, reason);
        } catch (const DispatchError &) {
            if (loops_.empty()) throw;
            s_.w.rollback(before);
            std::set<std::string> all;
            for (auto &l : loops_)
                all.insert(l.var);
            one_by_one(all);
        }
    }

    LoweringContext &s_;
    std::vector<Loop> loops_;
    const Store &store_;
    const bool aligned_;
    bool reduces_ = false;
    dv::Expr earlier_ = 0;  // at run time not 0 if loops around have added terms of the sum
    // The loops as dimensions of a space, lanes last. A dimension may be several loops that all
    // operands traverse as one.
    std::vector<int64_t> extents_;
    Operand to_;
    std::map<const Load *, Operand> from_;
    std::vector<std::pair<const Load *, Operand>> staged_;
    std::map<const Load *, int64_t> copies_;  // the number of copies of rows, if more than one

    // Lowers the nest with copies of its unaligned operands. Returns false if it has none.
    bool by_tiles() {
        const Gathered again = gather(s_, loops_, store_, true);
        if (again.tiles.empty()) return false;
        s_.last_use.clear();
        NestLowering rest(s_, loops_, *again.store.as<Store>(), true);
        rest.earlier_ = earlier_;
        rest.lower({});
        if (again.scattered.defined()) {
            s_.w.warnings.push_back("W-SCALAR " + s_.w.stage +
                                    ": results are put into their places one by one");
            lower_by_elements(s_, loops_, *again.scattered.as<Store>(), "");
        }
        for (auto &t : again.tiles)
            s_.w.give_back(t);
        return true;
    }

    std::set<std::string> reduced_loops() const {
        std::set<std::string> reduced;
        for (auto &l : loops_)
            if (!expr_uses_var(store_.index, l.var)) reduced.insert(l.var);
        return reduced;
    }

    // Emits the loops `sequential`; the others are a nest inside of them.
    void one_by_one(const std::set<std::string> &sequential) {
        s_.pending_sums = nullptr;
        s_.last_use.clear();  // every iteration reads
        std::vector<Loop> outer, inner;
        for (auto &l : loops_)
            (sequential.count(l.var) ? outer : inner).push_back(l);
        dv::Expr earlier = earlier_;
        const std::function<void(size_t)> level = [&](size_t d) {
            if (d == outer.size()) {
                NestLowering rest(s_, inner, store_);
                rest.earlier_ = earlier;
                rest.lower();
                return s_.write_fills();
            }
            s_.bounds[outer[d].var] = {0, outer[d].extent - 1};
            s_.w.loop(s_.w.reg("n"), outer[d].extent, [&](const dv::Expr &i) {
                s_.variables[outer[d].var] = i;
                const dv::Expr before = earlier;
                if (!expr_uses_var(store_.index, outer[d].var)) earlier = earlier + i;
                level(d + 1);
                earlier = before;
            });
        };
        level(0);
    }

    // Sets the operands and the space of the nest: chooses the lanes and merges loops.
    void arrange() {
        const std::vector<Operand *> all = operands();
        const std::vector<size_t> order = lanes_last(all);
        for (Operand *o : all) {
            std::vector<int64_t> sorted;
            for (size_t k : order)
                sorted.push_back(o->stride[k]);
            o->stride = sorted;
        }
        for (size_t k : order)
            extents_.push_back(loops_[k].extent);
        merge_dimensions(all);
        // Elements with a stride are rows of one element.
        if (!extents_.empty() && to_.stride.back() <= 1) return;
        extents_.push_back(1);
        for (Operand *o : all)
            o->stride.push_back(1);
    }

    // Sets to_ and from_ and returns pointers to them, the result first.
    std::vector<Operand *> operands() {
        to_ = s_.operand(store_.name, store_.index, loops_);
        std::vector<Operand *> all = {&to_};
        std::vector<const Load *> seen;  // the first load of each element
        for (const Load *l : loads_of(store_.value)) {
            const auto alike = [&](const Load *o) {
                return o->name == l->name && graph_equal(o->index, l->index);
            };
            const auto known = std::find_if(seen.begin(), seen.end(), alike);
            from_[l] = known == seen.end() ? s_.operand(l->name, l->index, loops_)
                                           : from_.at(*known);
            if (known == seen.end()) seen.push_back(l);
            all.push_back(&from_.at(l));
        }
        return all;
    }

    // Returns the loops in the order of the dimensions: by descending stride of the result, the
    // lanes last. Lanes are the loop along which most operands are contiguous.
    std::vector<size_t> lanes_last(const std::vector<Operand *> &all) const {
        std::vector<size_t> order(loops_.size());
        std::iota(order.begin(), order.end(), size_t(0));
        const auto worth = [&](size_t k) {
            int w = to_.stride[k] == 1 ? 2 : to_.stride[k] ? -10 : 0;
            for (size_t o = 1; o < all.size(); o++)
                w += all[o]->stride[k] == 1 ? 1 : all[o]->stride[k] ? -10 : 0;
            return w;
        };
        std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
            if (!to_.stride[a] != !to_.stride[b]) return !to_.stride[a];
            return to_.stride[a] ? to_.stride[a] > to_.stride[b]
                                 : all.back()->stride[a] > all.back()->stride[b];
        });
        if (order.empty()) return order;
        const auto lanes = std::max_element(
            order.begin(), order.end(), [&](size_t a, size_t b) { return worth(a) < worth(b); });
        std::rotate(lanes, lanes + 1, order.end());
        return order;
    }

    void merge_dimensions(const std::vector<Operand *> &all) {
        for (size_t d = extents_.size(); d-- > 1;) {
            const bool as_one = std::all_of(all.begin(), all.end(), [&](const Operand *o) {
                return o->stride[d - 1] == o->stride[d] * extents_[d];
            });
            if (!as_one) continue;
            extents_[d - 1] *= extents_[d];
            for (Operand *o : all) {
                o->stride[d - 1] = o->stride[d];
                o->stride.erase(o->stride.begin() + long(d));
            }
            extents_.erase(extents_.begin() + long(d));
        }
    }

    // Returns how many loops around an input doesn't change in. It is loaded before them.
    size_t loops_without(const Operand &from) const {
        const dv::GmTensor *t = s_.w.program.tensor(from.ref.buffer);
        return t && t->use == dv::GmTensor::in ? s_.w.loops_without(from.ref.offset) : 0;
    }
    // If all rows are combined with the same row of an input, several copies of that row allow few
    // long instructions instead of many short ones.
    void take_copies() {
        const size_t rows = extents_.size() - 2;
        if (!s_.reduced || extents_.size() < 2 || !to_.stride[rows]) return;
        int64_t copies = max_copies;
        while (extents_[rows] % copies ||
               copies * extents_.back() > dv::lanes(DType::f32) * max_repeats)
            copies--;
        if (copies == 1) return;
        for (const auto &[l, from] : from_) {
            if (from.in_gm() && !from.stride[rows] && from.stride.back() == 1 &&
                dv::block_bytes * extents_.back() % 512 == 0 && loops_without(from) > 0)
                copies_[l] = copies;
        }
        if (copies_.empty()) return;
        const auto parted = [&](Operand &o) {
            o.stride.insert(o.stride.begin() + long(rows), o.stride[rows] * copies);
        };
        parted(to_);
        for (auto &[l, from] : from_)
            parted(from);
        extents_[rows] /= copies;
        extents_.insert(extents_.begin() + long(rows) + 1, copies);
    }

    // Returns true if this nest is the last to read the elements, so that they may be overwritten.
    bool is_last_use(const Load *l) const {
        const Operand &from = from_.at(l);
        if (from.scope != dv::Scope::ub || !s_.last_use.count(l->name) ||
            std::count(from.stride.begin(), from.stride.end(), 0))
            return false;
        return std::all_of(from_.begin(), from_.end(), [&](auto &other) {
            return other.first->name != l->name || graph_equal(other.first->index, l->index);
        });
    }

    // Returns the operand on the chip. Elements in GM are loaded into a double buffer of the
    // dimensions along which they change. What is loaded once, before loops, may be converted to
    // `becomes` then.
    Operand on_chip(const Load *l, DType becomes) {
        const Operand &from = from_.at(l);
        if (from.scope == dv::Scope::l0c) return from_l0c(l, DType::f32);
        if (!from.in_gm()) return from;
        const size_t outside = loops_without(from);
        if (!outside || !s_.reduced) becomes = from.ref.dtype;
        for (auto &[other, o] : staged_) {
            if (other->name == l->name && graph_equal(other->index, l->index) &&
                o.ref.dtype == becomes)
                return o;
        }
        const std::vector<size_t> dimensions = dimensions_of(from);
        std::vector<int64_t> extents;
        Operand gm{from.ref, {}, from.scope};
        for (size_t d : dimensions) {
            extents.push_back(extents_[d]);
            gm.stride.push_back(from.stride[d]);
        }
        if (extents.empty()) {
            extents = {1};
            gm.stride = {1};
        }
        const auto repeated = copies_.find(l);
        const int64_t copies = repeated == copies_.end() ? 1 : repeated->second;
        Operand here;
        if (outside) {
            s_.w.before_loops(outside, [&] { here = loaded_once(gm, extents, becomes, copies); });
        } else {
            if (copies > 1) extents.insert(extents.begin(), copies);
            here = Vectors(s_.w, extents).double_buffer(from.ref.buffer + "_ub", from.ref.dtype);
            move(s_.w, extents, here, gm);
        }
        Operand o{here.ref, std::vector<int64_t>(extents_.size(), 0)};
        if (copies > 1) {
            o.stride[extents_.size() - 2] = here.stride[0];
            here.stride.erase(here.stride.begin());
        }
        for (size_t k = 0; k < dimensions.size(); k++)
            o.stride[dimensions[k]] = here.stride[k];
        if (extents_ == std::vector<int64_t>{1}) o.stride = {1};
        staged_.emplace_back(l, o);
        return o;
    }

    // Returns the dimensions along which `from` changes, lanes last; without lanes, by descending
    // stride.
    std::vector<size_t> dimensions_of(const Operand &from) const {
        std::vector<size_t> dimensions;
        for (size_t d = 0; d < extents_.size(); d++)
            if (from.stride[d]) dimensions.push_back(d);
        if (!from.stride.back()) {
            std::stable_sort(dimensions.begin(), dimensions.end(),
                             [&](size_t a, size_t b) { return from.stride[a] > from.stride[b]; });
        }
        return dimensions;
    }

    // Emits the load of `gm`, its conversion, and copies of it as a further, outermost dimension if
    // there are more than one.
    Operand loaded_once(const Operand &gm, const std::vector<int64_t> &extents, DType becomes,
                        int64_t copies) {
        std::vector<int64_t> with_copies = extents;
        if (copies > 1) with_copies.insert(with_copies.begin(), copies);
        const Operand here = Vectors(s_.w, with_copies).buffer(gm.ref.buffer + "_ub", becomes);
        Operand first = here;
        if (copies > 1) first.stride.erase(first.stride.begin());
        Vectors space(s_.w, extents);
        if (becomes == gm.ref.dtype) {
            move(s_.w, extents, first, gm);
        } else {
            const Operand loaded = space.temporary(gm.ref.dtype);
            move(s_.w, extents, loaded, gm);
            space.convert(first, loaded, dv::Round::none);
            space.give_back(loaded);
        }
        Operand others = here;
        for (int64_t made = 1; made < copies; made += with_copies[0]) {
            with_copies[0] = std::min(made, copies - made);
            others.ref.offset = made * here.stride[0];
            Vectors(s_.w, with_copies).copy(others, here);
        }
        return here;
    }

    // A load writes whole blocks. Returns true if rows end within one in a buffer that holds
    // something already, as the padding of a map.
    bool overwrites() const {
        return !to_.in_gm() && s_.initialised.count(store_.name) &&
               extents_.back() % dv::c0(to_.ref.dtype) != 0;
    }

    // Returns sums as rows in the Unified Buffer, with the strides of the statement.
    Operand from_l0c(const Load *l, DType t) {
        const dv::Ref rows = rows_of(s_.w, s_.accumulators.at(l->name), t).ref;
        // It is given back at once, because nothing else in this nest asks for a temporary of its
        // size.
        s_.w.give_back(rows);
        return {{rows.buffer, from_.at(l).ref.offset, 0, t}, from_.at(l).stride};
    }

    void store_sums(const Load *l) {
        const Accumulator &sums = s_.accumulators.at(l->name);
        const Operand &from = from_.at(l);
        const bool all = from.ref.offset.constant() == 0 &&
                         extents_ == std::vector<int64_t>{sums.rows, sums.columns};
        if (all && from.stride == std::vector<int64_t>{sums.pitch, 1} && to_.stride[1] == 1)
            return store_rows(s_.w, sums, to_);
        if (from.ref.offset.constant() == 0 && sums.pitch == sums.columns &&
            extents_ == std::vector<int64_t>{sums.rows * sums.columns} && to_.stride[0] == 1)
            return store_rows(s_.w, sums, {to_.ref, {sums.columns, 1}, to_.scope});
        move(s_.w, extents_, to_, from_l0c(l, DType::f16));
    }

    Values values(Vectors &space) {
        return Values(
            s_.w, space, s_.chip,
            [this](const Load *l, DType becomes) {
                const Operand o = on_chip(l, becomes);
                return Value{false,
                             o,
                             {},
                             o.ref.dtype == becomes ? becomes : dtype_of(l->type),
                             is_last_use(l)};
            },
            s_.scalar);
    }

    void elementwise() {
        take_copies();
        Vectors space(s_.w, extents_);
        const HExpr value = narrowed(store_.value);
        const Load *only = value.as<Load>();
        if (const Cast *c = value.as<Cast>(); c && c->type == Float(16) && to_.in_gm()) {
            if (const Load *l = c->value.as<Load>();
                l && from_.count(l) && from_.at(l).scope == dv::Scope::l0c)
                return store_sums(l);
        }
        if (only && from_.at(only).in_gm() != to_.in_gm() && !overwrites())
            return move(s_.w, extents_, to_, from_.at(only));
        if (to_.in_gm()) {
            if (only) return move(s_.w, extents_, to_, on_chip(only, to_.ref.dtype));
            const std::string name = to_.ref.buffer + "_ub";
            if (!s_.reduced) return put_out(space.double_buffer(name, to_.ref.dtype));
            // During a reduction of the tile the previous result is stored: one slot is enough, and
            // tiles can be larger.
            if (!has_halves()) return put_out(space.loop_ring(name, to_.ref.dtype, 1));
            for (const int half : {0, 1}) {  // in two buffers: flags guard whole buffers
                NestLowering part(*this);
                part.become_half(half);
                part.put_out(Vectors(s_.w, part.extents_).loop_ring(name, to_.ref.dtype, 1));
                staged_ = part.staged_;  // loads that all rows share
            }
            return;
        }
        const std::vector<const Load *> read = loads_of(value);
        values(space).of(value, &to_, std::any_of(read.begin(), read.end(), [&](const Load *l) {
                             return s_.buffers.at(l->name).buffer == to_.ref.buffer;
                         }));
    }

    // Returns true if the first half of a tile is stored while the second one is computed: both
    // have to be large enough to be moved at the full rate.
    bool has_halves() const {
        if (extents_.size() < 2 || extents_[0] % 2 || !to_.stride[0]) return false;
        const bool loads = std::any_of(from_.begin(), from_.end(), [&](auto &f) {
            return f.second.in_gm() && loops_without(f.second) == 0;
        });
        return !loads && Vectors(s_.w, extents_).rows() / 2 * extents_.back() *
                                 int64_t(bytes_of(to_.ref.dtype)) >=
                             full_rate_bytes;
    }
    void become_half(int64_t half) {
        extents_[0] /= 2;
        const auto advance = [&](Operand &o) {
            o.ref.offset = o.ref.offset + half * o.stride[0] * extents_[0];
        };
        advance(to_);
        for (auto &[l, from] : from_)
            advance(from);
    }
    void put_out(const Operand &out) {
        Vectors space(s_.w, extents_);
        values(space).of(narrowed(store_.value), &out);
        move(s_.w, extents_, to_, out);
    }

    // Returns true if the store writes a constant to the chip.
    bool is_fill() const {
        return is_const(store_.value) && s_.scope(s_.buffers.at(store_.name)) == dv::Scope::ub &&
               affine(store_.index, loops_).nonlinear.empty();
    }
    void write(const LoweringContext::Fill &fill) {
        NestLowering(s_, fill.loops, *fill.store.as<Store>()).lower({});
    }
    // Returns true if the reduction covers all that `first` initialises, with its identity element.
    // Then its results needn't be combined with the initial values.
    bool begins(const LoweringContext::Fill &first, const Update &update) const {
        const Store &fill = *first.store.as<Store>();
        const Type t = fill.value.type();
        const HExpr nothing = update.op == VecOp::add   ? make_zero(t)
                              : update.op == VecOp::mul ? make_one(t)
                              : update.op == VecOp::max ? t.min()
                                                        : t.max();
        const bool infinite = t.is_float() && (update.op == VecOp::max || update.op == VecOp::min);
        const auto *number = fill.value.as<FloatImm>();
        const bool neutral = infinite ? number && std::isinf(number->value) &&
                                            (number->value < 0) == (update.op == VecOp::max)
                                      : equal(fill.value, nothing);
        if (!neutral) return false;
        using Extent = std::pair<int64_t, int64_t>;  // stride, extent
        const auto extents = [](const Affine &a, const std::vector<Loop> &loops) {
            std::multiset<Extent> all;
            for (size_t k = 0; k < loops.size(); k++)
                if (a.stride[k] && loops[k].extent > 1) all.insert({a.stride[k], loops[k].extent});
            return all;
        };
        const Affine a = affine(fill.index, first.loops);
        const Affine b = affine(store_.index, loops_);
        return a.nonlinear.empty() && b.nonlinear.empty() &&
               equal(simplify(a.base - b.base), make_zero(Int(32))) &&
               extents(a, first.loops) == extents(b, loops_);
    }

    // Returns true if `e` loads reals, other than sums in l0c, that change along the lanes.
    bool is_elements(const HExpr &e) const {
        const Load *l = e.as<Load>();
        return l && l->type.is_float() && from_.at(l).stride.back() &&
               from_.at(l).scope != dv::Scope::l0c;
    }

    void reduction(const Update &update, bool first) {
        if (to_.in_gm()) throw NotVectorizable("a reduction in global memory");
        s_.reduced = true;
        Vectors space(s_.w, extents_);
        HExpr of = narrowed(update.term);
        // A maximum or minimum of f16 numbers is exact in f16.
        if (const Cast *c = of.as<Cast>(); c && c->value.type() == Float(16) &&
                                           (update.op == VecOp::max || update.op == VecOp::min))
            of = c->value;
        if (bytes_of(to_.ref.dtype) == 1) {
            if (update.op != VecOp::max && update.op != VecOp::min)
                throw NotVectorizable("sums of 8 bits wrap, the vector unit has none");
            of = cast(Float(16), of);
        }
        if (const auto [a, b] = factors_of(of);
            update.op == VecOp::add && a.defined() && is_elements(a) && is_elements(b)) {
            const Operand x = values(space).of(a).operand;
            const Operand y = equal(a, b) ? x : values(space).of(b).operand;
            return reduce_or_delay({extents_, update.op, to_, x, first, y});
        }
        Value term = values(space).of(of);
        if (term.is_number) throw NotVectorizable("a reduction of a number");
        if (term.operand.stride.back() == 0 && !to_.stride.back() && extents_.back() > 1)
            throw NotVectorizable("a reduction of equal elements");
        const Reduction r{extents_, update.op, to_, term.operand, first};
        if (!term.is_temporary) return reduce_or_delay(r);
        reduce(s_.w, s_.chip, r);
        space.give_back(term.operand);
    }
    // Delays a reduction that may be done together with others.
    void reduce_or_delay(const Reduction &r) {
        if (s_.pending_sums &&
            can_reduce_together(s_.chip, r,
                                s_.pending_sums->empty() ? r : s_.pending_sums->front()))
            s_.pending_sums->push_back(r);
        else
            reduce(s_.w, s_.chip, r);
    }
};

}  // namespace

void LoweringContext::write_fills() {
    const auto all = std::move(fills);
    fills.clear();
    for (auto &[name, fill] : all)
        NestLowering(*this, fill.loops, *fill.store.as<Store>()).lower({});
}

void lower_nests(LoweringContext &s, const std::vector<Loop> &loops,
                 const std::vector<const Store *> &stores) {
    std::vector<Reduction> sums;
    if (stores.size() > 1) s.pending_sums = &sums;
    for (const Store *store : stores)
        lower_nest(s, loops, *store);
    s.pending_sums = nullptr;
    if (sums.size() == 1)
        reduce(s.w, s.chip, sums[0]);
    else if (!sums.empty())
        reduce_together(s.w, s.chip, sums);
}

void lower_nest(LoweringContext &s, const std::vector<Loop> &loops, const Store &store) {
    if (s.accumulators.count(store.name)) return NestLowering(s, loops, store).lower();
    for (auto &name : read_by(store)) {
        if (const auto left = s.readers.find(name); left != s.readers.end() && --left->second == 0)
            s.last_use.insert(name);
    }
    const Gathered linear = gather(s, loops, store, false);
    NestLowering(s, loops, *linear.store.as<Store>()).lower();
    for (auto &t : linear.tiles)
        s.w.give_back(t);
    s.last_use.clear();
    s.initialised.insert(store.name);
}

}  // namespace halyard::ascend

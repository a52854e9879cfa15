#include "dsl/ascend/lowering/reduce.h"

#include <algorithm>
#include <cmath>

namespace halyard::ascend {

using dv::Expr;
using dv::VecOp;

namespace {

constexpr int64_t max_stride = 255;    // between repeats, in blocks; also the largest repeat
constexpr int64_t min_transposed = 4;  // rows, of a block each, for which transposing pays

Operand at(Operand o, const Expr &elements) {
    o.ref.offset = o.ref.offset + elements;
    return o;
}

class Reduce {
public:
    Reduce(Writer &w, const dv::Profile &chip, const Reduction &r)
        : w_(w), chip_(chip), extents_(r.extents), op_(r.op), acc_(r.acc), first_(r.first),
          now_(r.source), factor_(r.factor) {
        if (extents_.back() == 1 || now_.stride.back() <= 1) return;
        // Elements with a stride are rows of one lane.
        extents_.push_back(1);
        acc_.stride.push_back(1);
        now_.stride.push_back(1);
        if (factor_) factor_->stride.push_back(1);
    }

    void emit() {
        if (factor_ && !adds_products()) multiply();
        for (size_t d = 0; d + 1 < extents_.size(); d++)
            if (!acc_.stride[d] && extents_[d] > 1) fold(d);
        if (!acc_.stride.back() && extents_.back() > 1)
            lanes();
        else
            add_to(acc_, now_, extents_);
        if (is_temporary_) w_.give_back(now_.ref);
    }

    // Combines neighbouring repeats of every row into `to`, and sets extents_ to what is left.
    void pair_up(const Operand &to) {
        const int64_t lanes = dv::lanes(now_.ref.dtype);
        const int64_t whole = extents_.back() / lanes;
        const int64_t tail = extents_.back() % lanes;
        const int64_t pairs = whole / 2;
        std::vector<int64_t> extents = extents_;
        extents.back() = pairs;
        extents.push_back(lanes);
        const Operand from = now_;
        // Returns every `step`th repeat of a row, from repeat `first` on.
        const auto by_repeats = [&](const Operand &o, int64_t first, int64_t step) {
            Operand r = at(o, first * lanes);
            r.stride.back() = step * lanes;
            r.stride.push_back(1);
            return r;
        };
        Vectors space(w_, extents);
        const Operand sums = by_repeats(to, 0, 1);
        const Operand even = by_repeats(from, 0, 2);
        const Operand odd = by_repeats(from, 1, 2);
        if (factor_) {
            space.binary(VecOp::mul, sums, even, by_repeats(*factor_, 0, 2));
            space.binary(VecOp::mla, sums, odd, by_repeats(*factor_, 1, 2));
        } else {
            space.binary(op_, sums, even, odd);
        }
        const auto rest = [&](int64_t first, int64_t count) {
            extents_.back() = count;
            Vectors more(w_, extents_);
            if (factor_)
                more.binary(VecOp::mla, to, at(from, first), at(*factor_, first));
            else
                more.binary(op_, to, to, at(from, first));
        };
        if (whole % 2) rest((whole - 1) * lanes, lanes);
        if (tail) rest(whole * lanes, tail);
        extents_.back() = pairs * lanes;
        if (is_temporary_) w_.give_back(from.ref);
        now_ = to;
        is_temporary_ = true;
        factor_.reset();
    }
    // Combines repeats of every row until one is left. Contiguous rows are one run of repeats,
    // which takes few instructions.
    void repeats() {
        const int64_t lanes = dv::lanes(now_.ref.dtype);
        while (extents_.back() >= 2 * lanes)
            pair_up(halves().temporary(now_.ref.dtype));
    }
    Vectors halves() const {
        std::vector<int64_t> extents = extents_;
        const int64_t lanes = dv::lanes(now_.ref.dtype);
        extents.back() = extents.back() / lanes / 2 * lanes;
        return Vectors(w_, extents);
    }
    const Operand &left() const { return now_; }

private:
    Writer &w_;
    const dv::Profile &chip_;
    std::vector<int64_t> extents_;
    const VecOp op_;
    Operand acc_;
    const bool first_;
    Operand now_;                    // the elements that are left to reduce
    std::optional<Operand> factor_;  // the factors of these elements
    bool is_temporary_ = false;      // now_ is a temporary

    // Returns true if only lanes are reduced, and more than a repeat of them: one half of the
    // products is then added to the other half as it is computed.
    bool adds_products() const {
        for (size_t d = 0; d + 1 < extents_.size(); d++)
            if (!acc_.stride[d] && extents_[d] > 1) return false;
        return op_ == VecOp::add && !acc_.stride.back() &&
               extents_.back() >= 2 * dv::lanes(now_.ref.dtype);
    }
    void multiply() {
        Vectors whole(w_, extents_);
        const Operand product = whole.temporary(now_.ref.dtype);
        whole.binary(VecOp::mul, product, now_, *factor_);
        now_ = product;
        is_temporary_ = true;
        factor_.reset();
    }

    // Reduces dimension d to 1: the upper half is combined with the lower one until one is left.
    void fold(size_t d) {
        while (extents_[d] > 1)
            halve(d, (extents_[d] + 1) / 2);
    }

    void halve(size_t d, int64_t low) {
        const int64_t n = extents_[d];
        extents_[d] = low;
        Vectors whole(w_, extents_);
        const Operand from = now_;
        // In place, unless rows have become short and are too far apart for one instruction.
        const bool fresh = !is_temporary_ ||
                           (d > 0 && d + 1 == extents_.size() &&
                            from.stride[d - 1] / dv::c0(from.ref.dtype) > max_stride);
        Operand to = now_;
        if (fresh) {
            to = whole.temporary(now_.ref.dtype);
            if (2 * low > n) whole.copy(to, from);
        }
        std::vector<int64_t> upper = extents_;
        upper[d] = n - low;
        Vectors(w_, upper).binary(op_, to, fresh && 2 * low > n ? to : from,
                                  at(from, low * from.stride[d]));
        if (fresh && is_temporary_) w_.give_back(from.ref);
        now_ = to;
        is_temporary_ = true;
    }

    // Reduces the lanes of every row to one repeat, then by the unit's own reduction; if it has
    // none, to one block and to one element.
    void lanes() {
        const DType t = now_.ref.dtype;
        const bool has = chip_.takes(op_ == VecOp::add   ? "vcadd"
                                     : op_ == VecOp::max ? "vcmax"
                                                         : "vcmin",
                                     t);
        const bool by_unit = has && (op_ == VecOp::add || op_ == VecOp::max || op_ == VecOp::min);
        const size_t last = extents_.size() - 1;
        repeats();
        while (extents_[last] > (by_unit ? dv::lanes(t) : dv::c0(t))) {
            const int64_t half = (extents_[last] + 1) / 2;
            halve(last, (half + dv::c0(t) - 1) / dv::c0(t) * dv::c0(t));
        }
        const auto [rows, acc] = results();
        int64_t count = 1;
        for (int64_t n : rows)
            count *= n;
        // Few rows are reduced sooner element by element, but the scalar unit has no integers.
        const bool transposes = !by_unit && extents_[last] > 1 && bytes_of(t) == 4 &&
                                (count >= min_transposed || !is_float(t));
        if (transposes) transpose_rows(count);
        Vectors space(w_, rows);
        const bool direct = holds_results(acc, rows, t);
        const Operand total = direct ? acc : space.temporary(t);
        each_row(rows, total, by_unit, transposes ? 1 : extents_[last]);
        if (direct) return;
        add_to(acc, total, rows);
        space.give_back(total);
    }

    // The space of the results and where they are accumulated. Its lanes are the innermost
    // dimension that is left.
    struct Results {
        std::vector<int64_t> rows;
        Operand acc;
    };
    Results results() const {
        std::vector<int64_t> rows(extents_.begin(), extents_.end() - 1);
        std::vector<int64_t> strides(acc_.stride.begin(), acc_.stride.end() - 1);
        while (!rows.empty() && rows.back() == 1 && rows.size() > 1) {
            rows.pop_back();
            strides.pop_back();
        }
        if (rows.empty()) {
            rows.push_back(1);
            strides.push_back(1);
        }
        return {rows, {acc_.ref, strides}};
    }
    // Returns true if the first results can be written where they are accumulated.
    bool holds_results(const Operand &acc, const std::vector<int64_t> &rows, DType t) const {
        bool direct = first_ && acc.ref.dtype == t && acc.stride.back() == 1 &&
                      is_multiple(acc.ref.offset, dv::c0(t));
        for (size_t d = 0; d + 1 < rows.size(); d++)
            direct &= acc.stride[d] % dv::c0(t) == 0;
        return direct;
    }
    // Reduces the `n` lanes of every row to its result in `total`.
    void each_row(const std::vector<int64_t> &rows, const Operand &total, bool by_unit, int64_t n) {
        const std::function<void(size_t, const Expr &, const Expr &)> each = [&](size_t d,
                                                                                 const Expr &from,
                                                                                 const Expr &to) {
            if (d + 1 < rows.size()) {
                return w_.loop("row", rows[d], [&](const Expr &i) {
                    each(d + 1, from + i * now_.stride[d], to + i * total.stride[d]);
                });
            }
            const int64_t step = rows.back() > 1 ? now_.stride[d] : 0;
            if (by_unit)
                by_repeats(reduce_op(), rows.back(), n, step, at(now_, from), at(total, to));
            // The sum of one element is that element.
            else if (n == 1 && now_.ref.dtype == DType::f32)
                by_repeats(dv::ReduceOp::add, rows.back(), n, step, at(now_, from), at(total, to));
            else
                by_elements(rows.back(), n, step, at(now_, from), at(total, to));
        };
        each(0, 0, 0);
    }

    dv::ReduceOp reduce_op() const {
        return op_ == VecOp::add   ? dv::ReduceOp::add
               : op_ == VecOp::max ? dv::ReduceOp::max
                                   : dv::ReduceOp::min;
    }

    // Reduces the lanes of every row to one block, whose first element is the result. 16 blocks are
    // a matrix of 16 x 16 halves of elements, which the unit transposes. Half of the columns are
    // then whole blocks away, and a second transposition aligns them with the others.
    void transpose_rows(int64_t rows) {
        const DType t = now_.ref.dtype;
        const int64_t block = dv::c0(t);
        const int64_t matrices = (rows + 15) / 16;
        const int64_t size = matrices * 16;
        if (matrices > max_stride) throw NotVectorizable("too many rows to transpose");
        std::vector<int64_t> strides(extents_.size(), 1);
        int64_t next = block;
        for (size_t d = extents_.size() - 1; d-- > 0; next *= extents_[d])
            strides[d] = next;
        // `transposed` comes before `x`, because it is read up to half a matrix past its end.
        const dv::Ref both = w_.temporary(t, 2 * size * block);
        const dv::Ref y = w_.temporary(t, size * block);
        const Operand transposed{both, {1}};
        const Operand x = at({both, {1}}, size * block);
        const auto blocks = [&](int64_t n) { return Vectors(w_, {n * block}); };
        if (extents_.back() < block)
            blocks(size).fill(x, {"", identity(t)});
        else if (size > rows)
            blocks(size - rows).fill(at(x, rows * block), {"", 0});
        Vectors(w_, extents_).copy({x.ref, strides}, now_);
        const auto transpose = [&](const dv::Ref &to, const dv::Ref &from) {
            const auto halves = [](dv::Ref r) {
                r.offset = r.offset * 2;
                r.dtype = DType::f16;
                return r;
            };
            w_.emit(dv::VecTrans{halves(to), halves(from), matrices, 1, 1});
        };
        for (int64_t shift = block / 2; shift > 0; shift /= 2) {
            transpose(transposed.ref, x.ref);
            transpose(y, at(transposed, 2 * shift * block).ref);
            blocks(size).binary(op_, x, x, {y, {1}});
        }
        w_.give_back(y);
        if (is_temporary_) w_.give_back(now_.ref);
        now_ = {x.ref, strides};
        is_temporary_ = true;
    }
    double identity(DType t) const {
        if (op_ == VecOp::add || op_ == VecOp::mul) return op_ == VecOp::mul;
        const double highest = t == DType::i32 ? 2147483647.0 : HUGE_VAL;
        const double lowest = t == DType::i32 ? -2147483648.0 : -HUGE_VAL;
        return op_ == VecOp::min ? highest : lowest;
    }

    void add_to(const Operand &acc, const Operand &total, const std::vector<int64_t> &extents) {
        Vectors space(w_, extents);
        const bool alike = acc.ref.dtype == total.ref.dtype;
        if (first_)
            return alike ? space.copy(acc, total) : space.convert(acc, total, dv::Round::none);
        if (alike) return space.binary(op_, acc, acc, total);
        const bool narrow = bytes_of(acc.ref.dtype) < bytes_of(total.ref.dtype);
        const Operand same = space.temporary(narrow ? total.ref.dtype : acc.ref.dtype);
        space.convert(same, narrow ? acc : total, dv::Round::none);
        space.binary(op_, narrow ? same : acc, narrow ? total : acc, same);
        if (narrow) space.convert(acc, same, dv::Round::none);
        space.give_back(same);
    }

    void by_repeats(dv::ReduceOp op, int64_t rows, int64_t n, int64_t step, const Operand &from,
                    const Operand &to) {
        const int64_t blocks = step / dv::c0(from.ref.dtype);
        if (step % dv::c0(from.ref.dtype))
            throw NotVectorizable("rows of " + from.ref.buffer + " don't begin at blocks of 32 B");
        const int64_t max_rows = blocks <= max_stride ? 240 : 1;  // results begin at blocks again
        const auto part = [&](const Expr &first, int64_t count) {
            reduce_repeats(op, at(to, first), at(from, first * step), n, count,
                           blocks <= max_stride ? blocks : 0);
        };
        if (rows / max_rows)
            w_.loop("part", rows / max_rows, [&](const Expr &i) { part(i * max_rows, max_rows); });
        if (rows % max_rows) part(rows / max_rows * max_rows, rows % max_rows);
    }

    // Reduces each repeat to one element. A chip whose maxima come with their indices takes two
    // reductions by blocks: the first leaves the results of a repeat's blocks in one block, the
    // second one reduces the elements that hold them.
    void reduce_repeats(dv::ReduceOp op, const Operand &to, const Operand &from, int64_t n,
                        int64_t count, int64_t src_rep) {
        const DType t = from.ref.dtype;
        if (op == dv::ReduceOp::add ||
            chip_.takes(std::string("vc") + dv::name_of(op) + ".value", t)) {
            return w_.emit(
                dv::VecReduce{op, false, false, to.ref, from.ref, {n}, count, 1, 1, src_rep});
        }
        const int64_t block = dv::c0(t);
        const int64_t per_repeat = 8;
        const dv::Ref parts = w_.temporary(t, count * block);
        w_.emit(dv::VecReduce{
            op, true, false, parts, from.ref, {n}, count, block / per_repeat, 1, src_rep});
        const auto again = [&](int64_t first, int64_t blocks, int64_t repeat) {
            dv::Mask holding{0, true, 0, 0};
            for (int64_t b = 0; b < blocks; b++) {
                (b * block < 64 ? holding.low : holding.high) |=
                    ((1ull << (n + block - 1) / block) - 1) << b * block % 64;
            }
            dv::Ref source = parts;
            source.offset = source.offset + first * block;
            if (repeat) {
                w_.emit(dv::VecReduce{op, true, false, at(to, first).ref, source, holding, repeat,
                                      1, 1, 8});
            }
        };
        again(0, per_repeat, count / per_repeat);
        if (count % per_repeat) again(count / per_repeat * per_repeat, count % per_repeat, 1);
        w_.give_back(parts);
    }

    void by_elements(int64_t rows, int64_t n, int64_t step, const Operand &from,
                     const Operand &to) {
        const dv::ScalarOp op = op_ == VecOp::add   ? dv::ScalarOp::add
                                : op_ == VecOp::mul ? dv::ScalarOp::mul
                                : op_ == VecOp::max ? dv::ScalarOp::max
                                                    : dv::ScalarOp::min;
        if (n > 1 && !is_float(from.ref.dtype)) throw NotVectorizable("integers along the lanes");
        w_.loop("row", rows, [&](const Expr &i) {
            std::string so_far = w_.reg();
            w_.emit(dv::ScalarLd{so_far, at(from, i * step).ref});
            for (int64_t k = 1; k < n; k++) {
                const std::string next = w_.reg(), both = w_.reg();
                w_.emit(dv::ScalarLd{next, at(from, i * step + k).ref});
                w_.emit(dv::ScalarMath{op, both, {so_far}, {next}, from.ref.dtype});
                so_far = both;
            }
            w_.emit(dv::ScalarSt{at(to, i).ref, {so_far}});
        });
    }
};

}  // namespace

void reduce(Writer &w, const dv::Profile &chip, const Reduction &r) {
    Reduce(w, chip, r).emit();
}

bool can_reduce_together(const dv::Profile &chip, const Reduction &a, const Reduction &b) {
    const DType t = a.source.ref.dtype;
    const auto fits = [&](const Reduction &r) {
        bool rows = r.op == VecOp::add && r.source.ref.dtype == t && r.acc.ref.dtype == t &&
                    r.first && !r.acc.stride.back() && r.source.stride.back() == 1;
        for (size_t d = 0; d + 1 < r.extents.size(); d++)
            rows &= r.acc.stride[d] && r.source.stride[d] % dv::c0(t) == 0;
        return rows && is_multiple(r.source.ref.offset, dv::c0(t));
    };
    // The bytes of both first halves. If there are many rows, memory is worth more than
    // instructions.
    int64_t bytes = int64_t(bytes_of(t));
    for (int64_t n : a.extents)
        bytes *= n;
    return chip.takes("vcadd", t) && a.extents == b.extents && a.extents.size() > 1 &&
           a.extents.back() >= 4 * dv::lanes(t) && bytes <= chip.bytes(dv::Scope::ub) / 8 &&
           fits(a) && fits(b);
}

void reduce_together(Writer &w, const dv::Profile &chip, const std::vector<Reduction> &all) {
    const DType t = all[0].source.ref.dtype;
    Reduction joined = all[0];
    joined.extents = Reduce(w, chip, all[0]).halves().extents();
    joined.extents.insert(joined.extents.begin(), int64_t(all.size()));
    joined.source = Vectors(w, joined.extents).temporary(t);
    joined.factor.reset();
    const auto part = [](const Operand &o, size_t k) {
        return Operand{at(o, int64_t(k) * o.stride[0]).ref, {o.stride.begin() + 1, o.stride.end()}};
    };
    for (size_t k = 0; k < all.size(); k++)
        Reduce(w, chip, all[k]).pair_up(part(joined.source, k));
    Reduce rest(w, chip, joined);
    rest.repeats();
    for (size_t k = 0; k < all.size(); k++) {
        Reduction last = all[k];
        last.extents.back() = dv::lanes(t);
        last.source = part(rest.left(), k);
        last.factor.reset();
        reduce(w, chip, last);
    }
    w.give_back(rest.left().ref);
}

}  // namespace halyard::ascend

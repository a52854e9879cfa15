#include "dsl/ascend/reduce.h"

#include <algorithm>

namespace halyard::ascend {

using dv::Expr;
using dv::VecOp;

namespace {

constexpr int64_t most_stride = 255;  // between repeats, in blocks

Operand at(Operand o, const Expr &elements) {
    o.ref.offset = o.ref.offset + elements;
    return o;
}

class Reduce {
public:
    Reduce(Writer &w, const dv::Profile &chip, std::vector<int64_t> extents, VecOp op, const Operand &acc, const Operand &source)
        : w_(w), chip_(chip), extents_(std::move(extents)), op_(op), acc_(acc), now_(source) {}

    void put() {
        for (size_t d = 0; d + 1 < extents_.size(); d++)
            if (!acc_.stride[d] && extents_[d] > 1) fold(d);
        if (!acc_.stride.back() && extents_.back() > 1) lanes();
        else add_to(acc_, now_, extents_);
        if (own_) w_.give_back(now_.ref);
    }

private:
    Writer &w_;
    const dv::Profile &chip_;
    std::vector<int64_t> extents_;
    const VecOp op_;
    const Operand acc_;
    Operand now_;  // what is left to reduce
    bool own_ = false;

    // Dimension d becomes 1, by halves: the upper half is combined with the lower one.
    void fold(size_t d) {
        while (extents_[d] > 1) halve(d, (extents_[d] + 1) / 2);
    }

    void halve(size_t d, int64_t low) {
        const int64_t n = extents_[d];
        extents_[d] = low;
        Vectors whole(w_, extents_);
        const Operand from = now_;
        // In place, but for rows that have become short and lie too far apart for one instruction.
        const bool fresh = !own_ || (d > 0 && d + 1 == extents_.size() && from.stride[d - 1] / dv::c0(from.ref.dtype) > most_stride);
        Operand to = now_;
        if (fresh) {
            to = whole.temporary(now_.ref.dtype);
            if (2 * low > n) whole.copy(to, from);
        }
        std::vector<int64_t> upper = extents_;
        upper[d] = n - low;
        Vectors(w_, upper).binary(op_, to, fresh && 2 * low > n ? to : from, at(from, low * from.stride[d]));
        if (fresh && own_) w_.give_back(from.ref);
        now_ = to, own_ = true;
    }

    // The lanes of every row: halves down to one repeat, or to one block, then the unit's own reduction or the scalar unit.
    void lanes() {
        const DType t = now_.ref.dtype;
        const int64_t block = dv::c0(t), repeat = dv::lanes(t);
        const bool adds = op_ == VecOp::add, has = chip_.takes(adds ? "vcadd" : op_ == VecOp::max ? "vcmax" : "vcmin", t);
        const bool by_unit = has && (adds || op_ == VecOp::max || op_ == VecOp::min);
        const size_t last = extents_.size() - 1;
        while (extents_[last] > (by_unit ? repeat : block)) {
            const int64_t half = (extents_[last] + 1) / 2;
            halve(last, (half + block - 1) / block * block);
        }
        const int64_t n = extents_[last];
        std::vector<int64_t> rows(extents_.begin(), extents_.end() - 1);  // now the lanes are those of the results
        std::vector<int64_t> acc_strides(acc_.stride.begin(), acc_.stride.end() - 1);
        while (!rows.empty() && rows.back() == 1 && rows.size() > 1) rows.pop_back(), acc_strides.pop_back();
        if (rows.empty()) rows.push_back(1), acc_strides.push_back(1);
        Vectors results(w_, rows);
        Operand total = results.temporary(t);
        const std::function<void(size_t, const Expr &, const Expr &)> each = [&](size_t d, const Expr &from, const Expr &to) {
            if (d + 1 < rows.size()) return w_.loop("row", rows[d], [&](const Expr &i) { each(d + 1, from + i * now_.stride[d], to + i * total.stride[d]); });
            const int64_t step = rows.back() > 1 ? now_.stride[d] : 0;
            if (by_unit) by_repeats(rows.back(), n, step, at(now_, from), at(total, to));
            else by_elements(rows.back(), n, step, at(now_, from), at(total, to));
        };
        each(0, 0, 0);
        add_to({acc_.ref, acc_strides}, total, rows);
        results.give_back(total);
    }

    void add_to(const Operand &acc, const Operand &total, const std::vector<int64_t> &extents) {
        Vectors space(w_, extents);
        if (acc.ref.dtype == total.ref.dtype) return space.binary(op_, acc, acc, total);
        const Operand same = space.temporary(acc.ref.dtype);
        space.convert(same, total, dv::Round::none);
        space.binary(op_, acc, acc, same);
        space.give_back(same);
    }

    void by_repeats(int64_t rows, int64_t n, int64_t step, const Operand &from, const Operand &to) {
        const dv::ReduceOp op = op_ == VecOp::add ? dv::ReduceOp::add : op_ == VecOp::max ? dv::ReduceOp::max : dv::ReduceOp::min;
        const int64_t blocks = step / dv::c0(from.ref.dtype);
        if (step % dv::c0(from.ref.dtype)) throw NotVector("rows of " + from.ref.buffer + " don't begin at blocks of 32 B");
        const int64_t most = blocks <= most_stride ? 240 : 1;  // results begin at blocks again
        const auto part = [&](const Expr &first, int64_t count) {
            results(op, at(to, first), at(from, first * step), n, count, blocks <= most_stride ? blocks : 0);
        };
        if (rows / most) w_.loop("part", rows / most, [&](const Expr &i) { part(i * most, most); });
        if (rows % most) part(rows / most * most, rows % most);
    }

    // One of every repeat. Where the chip's maxima come with their places, there are two reductions by blocks: that of a repeat leaves its
    // results in a block of its own, and the next is of the elements that hold them, a block's result for each.
    void results(dv::ReduceOp op, const Operand &to, const Operand &from, int64_t n, int64_t count, int64_t src_rep) {
        const DType t = from.ref.dtype;
        if (op == dv::ReduceOp::add || chip_.takes(std::string("vc") + dv::name_of(op) + ".value", t))
            return w_.put(dv::VecReduce{op, false, false, to.ref, from.ref, {n}, count, 1, 1, src_rep});
        const int64_t block = dv::c0(t), per_repeat = 8;
        const dv::Ref parts = w_.temporary(t, count * block);
        w_.put(dv::VecReduce{op, true, false, parts, from.ref, {n}, count, block / per_repeat, 1, src_rep});
        const auto again = [&](int64_t first, int64_t blocks, int64_t repeat) {
            dv::Mask holding{0, true, 0, 0};
            for (int64_t b = 0; b < blocks; b++) (b * block < 64 ? holding.low : holding.high) |= ((1ull << (n + block - 1) / block) - 1) << b * block % 64;
            dv::Ref source = parts;
            source.offset = source.offset + first * block;
            if (repeat) w_.put(dv::VecReduce{op, true, false, at(to, first).ref, source, holding, repeat, 1, 1, 8});
        };
        again(0, per_repeat, count / per_repeat);
        if (count % per_repeat) again(count / per_repeat * per_repeat, count % per_repeat, 1);
        w_.give_back(parts);
    }

    void by_elements(int64_t rows, int64_t n, int64_t step, const Operand &from, const Operand &to) {
        const dv::ScalarOp op = op_ == VecOp::add   ? dv::ScalarOp::add
                                : op_ == VecOp::mul ? dv::ScalarOp::mul
                                : op_ == VecOp::max ? dv::ScalarOp::max
                                                    : dv::ScalarOp::min;
        if (from.ref.dtype != DType::f32 && from.ref.dtype != DType::f16) throw NotVector("integers along the lanes");
        w_.loop("row", rows, [&](const Expr &i) {
            std::string so_far = w_.reg();
            w_.put(dv::ScalarLd{so_far, at(from, i * step).ref});
            for (int64_t k = 1; k < n; k++) {
                const std::string next = w_.reg(), both = w_.reg();
                w_.put(dv::ScalarLd{next, at(from, i * step + k).ref});
                w_.put(dv::ScalarMath{op, both, {so_far}, {next}, from.ref.dtype});
                so_far = both;
            }
            w_.put(dv::ScalarSt{at(to, i).ref, {so_far}});
        });
    }
};

}  // namespace

void reduce(Writer &w, const dv::Profile &chip, const std::vector<int64_t> &extents, VecOp op, const Operand &acc, const Operand &source) {
    Reduce(w, chip, extents, op, acc, source).put();
}

}  // namespace halyard::ascend

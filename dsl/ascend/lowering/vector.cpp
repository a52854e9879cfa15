#include "dsl/ascend/lowering/vector.h"

#include <algorithm>
#include <optional>

namespace halyard::ascend {

using dv::Expr;
using dv::ExprOp;
using dv::Ref;
using dv::VecOp;

namespace {

constexpr int64_t max_repeats = 255, max_stride = 255;

int64_t block(DType t) {
    return dv::block_bytes / int64_t(bytes_of(t));
}

Ref moved(const Ref &r, const Expr &by) {
    Ref m = r;
    m.offset = r.offset + by;
    return m;
}

}  // namespace

bool is_multiple(const Expr &e, int64_t n) {
    if (const auto c = e.constant()) return *c % n == 0;
    switch (e.op()) {
    case ExprOp::add:
    case ExprOp::sub:
    case ExprOp::min:
    case ExprOp::max: return is_multiple(e.left(), n) && is_multiple(e.right(), n);
    case ExprOp::mul: {
        if (is_multiple(e.left(), n) || is_multiple(e.right(), n)) return true;
        const auto a = e.left().constant();
        const auto b = e.right().constant();
        if (b && n % *b == 0) return is_multiple(e.left(), n / *b);
        return a && n % *a == 0 && is_multiple(e.right(), n / *a);
    }
    default: return false;
    }
}

int64_t Vectors::rows() const {
    int64_t n = 1;
    for (size_t d = 0; d + 1 < extents_.size(); d++)
        n *= extents_[d];
    return n;
}

std::vector<int64_t> Vectors::strides(DType t) const {
    std::vector<int64_t> s(extents_.size(), 1);
    const int64_t whole = std::max<int64_t>(block(t), 16);
    int64_t next = (extents_.back() + whole - 1) / whole * whole;
    for (size_t d = extents_.size() - 1; d-- > 0;) {
        s[d] = next;
        next *= extents_[d];
    }
    return s;
}

int64_t Vectors::size(DType t) const {
    return extents_.size() > 1 ? strides(t)[0] * extents_[0] : extents_[0];
}

Operand Vectors::temporary(DType t) {
    return {w_.temporary(t, size(t)), strides(t)};
}

Operand Vectors::loop_ring(const std::string &name, DType t, int slots) {
    return {w_.loop_ring(name, dv::Scope::ub, t, size(t), slots), strides(t)};
}

Operand Vectors::buffer(const std::string &name, DType t) {
    return {w_.buffer(name, dv::Scope::ub, t, size(t)), strides(t)};
}

void Vectors::check(const Operand &o) const {
    const int64_t unit = block(o.ref.dtype);
    if (!is_multiple(o.ref.offset, unit))
        throw NotVectorizable(o.ref.buffer + " isn't read or written at a block of 32 B");
    for (size_t d = 0; d + 1 < extents_.size(); d++) {
        if (extents_[d] > 1 && o.stride[d] % unit)
            throw NotVectorizable("rows of " + o.ref.buffer + " don't begin at blocks of 32 B");
    }
    if (extents_.back() > 1 && o.stride.back() != 1 && o.stride.back() != 0)
        throw NotVectorizable(o.ref.buffer + " is read or written with a stride");
}

// Merges dimensions that all operands traverse as one.
void Vectors::run(const std::vector<const Operand *> &operands,
                  const std::function<void(const Pass &)> &emit) {
    std::vector<int64_t> extents = extents_;
    std::vector<Operand> merged;
    for (auto *o : operands)
        merged.push_back(*o);
    for (size_t d = extents.size(); d-- > 1;) {
        bool as_one = true;
        for (auto &o : merged)
            as_one &= extents[d - 1] == 1 || o.stride[d - 1] == o.stride[d] * extents[d];
        if (!as_one) continue;
        extents[d - 1] *= extents[d];
        extents.erase(extents.begin() + long(d));
        for (auto &o : merged)
            o.stride.erase(o.stride.begin() + long(d) - 1);
    }
    std::vector<const Operand *> all;
    for (auto &o : merged)
        all.push_back(&o);
    Vectors(w_, extents).passes(all, emit);
}

namespace {

// Covers a space of rows of lanes with instructions. A loop runs over each dimension but the lanes;
// one of them may be the instruction's repeats instead, if that takes fewer instructions than
// repeats along the lanes.
class Passes {
public:
    Passes(Writer &w, const std::vector<int64_t> &extents,
           const std::vector<const Operand *> &operands,
           const std::function<void(const Vectors::Pass &)> &emit)
        : w_(w), extents_(extents), operands_(operands), emit_(emit),
          lanes_(dv::repeat_bytes / widest(operands)), full_(extents.back() / lanes_),
          tail_(extents.back() % lanes_), lane_dim_(extents.size() - 1),
          repeat_dim_(best_repeat_dim()), offsets_(operands.size()) {}

    void emit() { dimension(0); }

private:
    using Offsets = std::vector<Expr>;  // one per operand, in elements
    using Steps = std::vector<int64_t>;

    Writer &w_;
    const std::vector<int64_t> &extents_;
    const std::vector<const Operand *> &operands_;
    const std::function<void(const Vectors::Pass &)> &emit_;
    const int64_t lanes_;        // lanes of a repeat
    const int64_t full_, tail_;  // full repeats of a row, lanes of its last one
    const size_t lane_dim_;
    const std::optional<size_t>
        repeat_dim_;   // the dimension that repeats run along; none: the lanes
    Offsets offsets_;  // the offsets of the row

    static int64_t widest(const std::vector<const Operand *> &operands) {
        int64_t bytes = 1;
        for (auto *o : operands)
            bytes = std::max(bytes, int64_t(bytes_of(o->ref.dtype)));
        return bytes;
    }
    static bool is_broadcast(const Operand &o) { return o.stride.back() == 0; }
    static int64_t blocks(const Operand &o, int64_t elements) {
        return elements * int64_t(bytes_of(o.ref.dtype)) / dv::block_bytes;
    }
    static int64_t instructions(int64_t repeats) {
        return (repeats + max_repeats - 1) / max_repeats;
    }

    std::optional<size_t> best_repeat_dim() const {
        int64_t rows = 1;
        for (size_t d = 0; d < lane_dim_; d++)
            rows *= extents_[d];
        int64_t fewest = rows * (instructions(full_) + (tail_ > 0));
        std::optional<size_t> best;
        for (size_t d = 0; d < lane_dim_; d++) {
            const bool fits = extents_[d] > 1 &&
                              std::all_of(operands_.begin(), operands_.end(), [&](auto *o) {
                                  return o->stride[d] >= 0 &&
                                         blocks(*o, o->stride[d]) <= max_stride;
                              });
            const int64_t count = rows / extents_[d] * instructions(extents_[d]) *
                                  (full_ + (tail_ > 0));
            if (fits && count < fewest) {
                fewest = count;
                best = d;
            }
        }
        return best;
    }

    void dimension(size_t d) {
        if (d == lane_dim_) return row();
        if (d == repeat_dim_ || extents_[d] == 1) return dimension(d + 1);
        w_.loop("row", extents_[d], [&](const Expr &i) {
            const Offsets before = offsets_;
            for (size_t k = 0; k < operands_.size(); k++)
                offsets_[k] = offsets_[k] + i * operands_[k]->stride[d];
            dimension(d + 1);
            offsets_ = before;
        });
    }

    void row() {
        const Offsets zero(operands_.size(), 0);
        Steps by_lanes, by_row;
        for (auto *o : operands_) {
            by_lanes.push_back(is_broadcast(*o) ? 0 : lanes_);
            by_row.push_back(repeat_dim_ ? o->stride[*repeat_dim_] : 0);
        }
        if (!repeat_dim_) {
            repeats(lanes_, full_, zero, by_lanes);
            if (tail_) pass(tail_, 1, advanced(zero, by_lanes, full_));
            return;
        }
        const int64_t rows = extents_[*repeat_dim_];
        if (full_) {
            w_.loop("lane", full_, [&](const Expr &i) {
                repeats(lanes_, rows, advanced(zero, by_lanes, i), by_row);
            });
        }
        if (tail_) repeats(tail_, rows, advanced(zero, by_lanes, full_), by_row);
    }

    Offsets advanced(const Offsets &at, const Steps &step, const Expr &i) const {
        Offsets moved_by = at;
        for (size_t k = 0; k < operands_.size(); k++)
            moved_by[k] = at[k] + i * step[k];
        return moved_by;
    }

    // Emits `count` repeats, `step` elements apart, in instructions of 255 at most.
    void repeats(int64_t mask, int64_t count, const Offsets &at, const Steps &step) {
        Steps whole;
        for (int64_t s : step)
            whole.push_back(s * max_repeats);
        if (const int64_t n = count / max_repeats) {
            w_.loop("part", n,
                    [&](const Expr &i) { pass(mask, max_repeats, advanced(at, whole, i)); });
        }
        if (const int64_t rest = count % max_repeats)
            pass(mask, rest, advanced(at, whole, count / max_repeats));
    }

    void pass(int64_t mask, const Expr &repeat, const Offsets &more) {
        Vectors::Pass p;
        p.mask = mask;
        p.repeat = repeat;
        for (size_t k = 0; k < operands_.size(); k++) {
            const Operand &o = *operands_[k];
            p.at.push_back(moved(o.ref, offsets_[k] + more[k]));
            p.blk.push_back(is_broadcast(o) ? 0 : 1);
            p.rep.push_back(repeat_dim_       ? blocks(o, o.stride[*repeat_dim_])
                            : is_broadcast(o) ? 0
                                              : blocks(o, lanes_));
        }
        emit_(p);
    }
};

}  // namespace

void Vectors::passes(const std::vector<const Operand *> &operands,
                     const std::function<void(const Pass &)> &emit) {
    for (auto *o : operands)
        check(*o);
    Passes(w_, extents_, operands, emit).emit();
}

namespace {

dv::Vec instruction(VecOp op, const Vectors::Pass &p, const dv::Number &n = {}) {
    dv::Vec v;
    v.op = op;
    v.number = n;
    v.mask.count = p.mask;
    v.repeat = p.repeat;
    v.dst = p.at[0];
    v.dst_blk = p.blk[0];
    v.dst_rep = p.rep[0];
    for (size_t k = 1; k < p.at.size(); k++) {
        v.src[k - 1] = p.at[k];
        v.src_blk[k - 1] = p.blk[k];
        v.src_rep[k - 1] = p.rep[k];
    }
    return v;
}

}  // namespace

void Vectors::binary(VecOp op, const Operand &dst, const Operand &a, const Operand &b) {
    run({&dst, &a, &b}, [&](const Pass &p) { w_.emit(instruction(op, p)); });
}

void Vectors::bitwise(VecOp op, const Operand &dst, const Operand &a, const Operand &b) {
    const auto halves = [](Operand o) {
        o.ref.offset = o.ref.offset * 2;
        o.ref.dtype = DType::f16;
        for (size_t d = 0; d + 1 < o.stride.size(); d++)
            o.stride[d] *= 2;
        return o;
    };
    std::vector<int64_t> extents = extents_;
    extents.back() *= 2;
    Vectors twice(w_, extents);
    if (op == VecOp::not_)
        twice.unary(op, halves(dst), halves(a));
    else
        twice.binary(op, halves(dst), halves(a), halves(b));
}

void Vectors::unary(VecOp op, const Operand &dst, const Operand &a) {
    run({&dst, &a}, [&](const Pass &p) { w_.emit(instruction(op, p)); });
}

void Vectors::with_number(VecOp op, const Operand &dst, const Operand &a, const dv::Number &n) {
    run({&dst, &a}, [&](const Pass &p) { w_.emit(instruction(op, p, n)); });
}

void Vectors::with_numbers(VecOp op, const Operand &dst, const Operand &a, const Operand &numbers,
                           bool negated) {
    std::vector<size_t> rows, inner;  // dimensions
    for (size_t d = 0; d < extents_.size(); d++)
        (numbers.stride[d] && extents_[d] > 1 ? rows : inner).push_back(d);
    const auto part = [&](const Operand &o, const Expr &at) {
        Operand p{moved(o.ref, at), {}};
        for (size_t d : inner)
            p.stride.push_back(o.stride[d]);
        return p;
    };
    std::vector<int64_t> extents;
    for (size_t d : inner)
        extents.push_back(extents_[d]);
    const std::function<void(size_t, const Expr &, const Expr &, const Expr &)> each =
        [&](size_t k, const Expr &to, const Expr &from, const Expr &number) {
            if (k < rows.size()) {
                const size_t d = rows[k];
                return w_.loop("row", extents_[d], [&](const Expr &i) {
                    each(k + 1, to + i * dst.stride[d], from + i * a.stride[d],
                         number + i * numbers.stride[d]);
                });
            }
            std::string reg = w_.reg();
            w_.emit(dv::ScalarLd{reg, moved(numbers.ref, number)});
            if (negated) {
                const std::string less = w_.reg();
                w_.emit(dv::ScalarMath{dv::ScalarOp::neg, less, {reg}, {}, numbers.ref.dtype});
                reg = less;
            }
            Vectors(w_, extents).with_number(op, part(dst, to), part(a, from), {reg});
        };
    each(0, 0, 0, 0);
}

// Computes integers of 8 bits as f16, which has them all.
template<class F> void Vectors::as_f16(const Operand &dst, const F &compute) {
    const Operand wide = temporary(DType::f16);
    compute(wide);
    convert(dst, wide, dv::Round::none);
    give_back(wide);
}

void Vectors::fill(const Operand &dst, const dv::Number &n) {
    if (bytes_of(dst.ref.dtype) == 1)
        return as_f16(dst, [&](const Operand &wide) { fill(wide, n); });
    run({&dst}, [&](const Pass &p) { w_.emit(instruction(VecOp::dup, p, n)); });
}

// The larger of a number and itself is that number, bit for bit.
void Vectors::copy(const Operand &dst, const Operand &a) {
    if (bytes_of(dst.ref.dtype) == 1)
        return as_f16(dst, [&](const Operand &wide) { convert(wide, a, dv::Round::none); });
    binary(VecOp::max, dst, a, a);
}

void Vectors::convert(const Operand &dst, const Operand &a, dv::Round round) {
    run({&dst, &a}, [&](const Pass &p) {
        dv::VecConv v;
        v.round = round;
        v.dst = p.at[0];
        v.src = p.at[1];
        v.mask.count = p.mask;
        v.repeat = p.repeat;
        v.dst_blk = p.blk[0];
        v.src_blk = p.blk[1];
        v.dst_rep = p.rep[0];
        v.src_rep = p.rep[1];
        w_.emit(v);
    });
}

void Vectors::select(const Operand &dst, dv::CmpOp op, const Operand &a, const Operand &b,
                     const Operand &x, const Operand &y) {
    const Ref bits = w_.temporary(DType::u8, max_repeats * 16);
    const Operand left = whole_repeats(a);
    const Operand right = whole_repeats(b);
    run({&dst, &left, &right, &x, &y}, [&](const Pass &p) {
        dv::VecCmp c;
        dv::VecSel s;
        c.op = op;
        c.dst = s.sel = bits;
        c.repeat = s.repeat = p.repeat;
        s.mask.count = p.mask;
        s.dst = p.at[0];
        s.dst_blk = p.blk[0];
        s.dst_rep = p.rep[0];
        for (size_t k = 0; k < 2; k++) {
            c.src[k] = p.at[k + 1];
            c.src_blk[k] = p.blk[k + 1];
            c.src_rep[k] = p.rep[k + 1];
            s.src[k] = p.at[k + 3];
            s.src_blk[k] = p.blk[k + 3];
            s.src_rep[k] = p.rep[k + 3];
        }
        w_.emit(c);
        w_.emit(s);
    });
    w_.give_back(bits);
    if (left.ref.buffer != a.ref.buffer) give_back(left);
    if (right.ref.buffer != b.ref.buffer) give_back(right);
}

// A comparison has no mask: the last repeat of each row is padded with 0.
Operand Vectors::whole_repeats(const Operand &a) {
    const int64_t lanes = dv::lanes(a.ref.dtype);
    const int64_t length = extents_.back();
    const int64_t padded = (length + lanes - 1) / lanes * lanes;
    if (a.stride.back() == 0 || length == padded) return a;
    std::vector<int64_t> extents = extents_;
    extents.back() = padded;
    Vectors whole(w_, extents);
    const Operand copied = whole.temporary(a.ref.dtype);
    whole.fill(copied, {"", 0});
    copy(copied, a);
    return copied;
}

void Vectors::fill_block(const Ref &to, const dv::Number &n) {
    const Operand one{to, std::vector<int64_t>(1, 1)};
    Vectors(w_, {block(to.dtype)}).fill(one, n);
}

Operand Vectors::broadcast(const dv::Number &n, DType t) {
    dv::Ref r;
    if (!n.is_reg())
        r = w_.constant(n.imm, t, [&](const dv::Ref &to) { fill_block(to, n); });
    else {
        r = w_.temporary(t, block(t));
        fill_block(r, n);
    }
    return {r, std::vector<int64_t>(extents_.size(), 0)};
}

Operand Vectors::broadcast(const Operand &per_row) {
    const DType t = per_row.ref.dtype;
    if (!w_.program.chip().takes("vec_dup", t))
        throw NotVectorizable("numbers of 8 bits of " + per_row.ref.buffer + " for each row");
    Operand o{{}, std::vector<int64_t>(extents_.size(), 0)};
    int64_t size = block(t);
    for (size_t d = extents_.size() - 1; d-- > 0;) {
        if (per_row.stride[d]) {
            o.stride[d] = size;
            size *= extents_[d];
        }
    }
    o.ref = w_.temporary(t, size);
    const std::function<void(size_t, const Expr &, const Expr &)> each =
        [&](size_t d, const Expr &from, const Expr &to) {
            if (d + 1 < extents_.size()) {
                if (!per_row.stride[d]) return each(d + 1, from, to);
                return w_.loop("row", extents_[d], [&](const Expr &i) {
                    each(d + 1, from + i * per_row.stride[d], to + i * o.stride[d]);
                });
            }
            const std::string reg = w_.reg();
            w_.emit(dv::ScalarLd{reg, moved(per_row.ref, from)});
            fill_block(moved(o.ref, to), {reg});
        };
    each(0, 0, 0);
    return o;
}

}  // namespace halyard::ascend

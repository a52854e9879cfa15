#include "dsl/ascend/lowering/vector.h"

#include <algorithm>
#include <optional>

namespace halyard::ascend {

using dv::Expr;
using dv::ExprOp;
using dv::Ref;
using dv::VecOp;

namespace {

constexpr int64_t most_repeats = 255, most_stride = 255;

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

Operand Vectors::beside(const std::string &name, DType t, int slots) {
    return {w_.beside(name, dv::Scope::ub, t, slots, size(t)), strides(t)};
}

Operand Vectors::buffer(const std::string &name, DType t) {
    return {w_.buffer(name, dv::Scope::ub, t, size(t)), strides(t)};
}

void Vectors::check(const Operand &o) const {
    const int64_t unit = block(o.ref.dtype);
    if (!is_multiple(o.ref.offset, unit))
        throw NotVector(o.ref.buffer + " isn't read or written at a block of 32 B");
    for (size_t d = 0; d + 1 < extents_.size(); d++) {
        if (extents_[d] > 1 && o.stride[d] % unit)
            throw NotVector("rows of " + o.ref.buffer + " don't begin at blocks of 32 B");
    }
    if (extents_.back() > 1 && o.stride.back() != 1 && o.stride.back() != 0)
        throw NotVector(o.ref.buffer + " is read or written with a stride");
}

// Dimensions that all operands walk as one are one.
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

void Vectors::passes(const std::vector<const Operand *> &operands,
                     const std::function<void(const Pass &)> &emit) {
    int64_t widest = 1;
    for (auto *o : operands) {
        check(*o);
        widest = std::max(widest, int64_t(bytes_of(o->ref.dtype)));
    }
    const int64_t lanes = dv::repeat_bytes / widest;
    const int64_t length = extents_.back();
    const int64_t full = length / lanes;
    const int64_t tail = length % lanes;
    const size_t outer = extents_.size() - 1;
    const auto is_spread = [&](const Operand &o) { return o.stride.back() == 0; };
    const auto blocks = [&](const Operand &o, int64_t elements) {
        return elements * int64_t(bytes_of(o.ref.dtype)) / dv::block_bytes;
    };

    // Repeats go along the lanes, or along one of the other dimensions, whichever takes fewer
    // instructions.
    const auto pieces = [&](int64_t n) { return (n + most_repeats - 1) / most_repeats; };
    int64_t fewest = rows() * (pieces(full) + (tail > 0));
    std::optional<size_t> along;
    for (size_t d = 0; d < outer; d++) {
        bool fits = extents_[d] > 1;
        for (auto *o : operands)
            fits &= o->stride[d] >= 0 && blocks(*o, o->stride[d]) <= most_stride;
        const int64_t count = rows() / extents_[d] * pieces(extents_[d]) * (full + (tail > 0));
        if (fits && count < fewest) {
            fewest = count;
            along = d;
        }
    }

    std::vector<Expr> offsets(operands.size());
    const auto pass = [&](int64_t mask, const Expr &repeat, const std::vector<Expr> &more,
                          size_t repeated) {
        Pass p;
        p.mask = mask;
        p.repeat = repeat;
        for (size_t k = 0; k < operands.size(); k++) {
            const Operand &o = *operands[k];
            p.at.push_back(moved(o.ref, offsets[k] + more[k]));
            p.blk.push_back(is_spread(o) ? 0 : 1);
            p.rep.push_back(repeated < outer ? blocks(o, o.stride[repeated])
                            : is_spread(o)   ? 0
                                             : blocks(o, lanes));
        }
        emit(p);
    };
    const auto times = [&](const std::vector<Expr> &at, const std::vector<int64_t> &step,
                           const Expr &i) {
        std::vector<Expr> moved_by = at;
        for (size_t k = 0; k < operands.size(); k++)
            moved_by[k] = at[k] + i * step[k];
        return moved_by;
    };
    // `repeat` passes of `step` each, in instructions of 255 at most.
    const auto repeated = [&](int64_t mask, int64_t repeat, const std::vector<Expr> &at,
                              const std::vector<int64_t> &step, size_t dimension) {
        std::vector<int64_t> whole;
        for (int64_t s : step)
            whole.push_back(s * most_repeats);
        if (const int64_t n = repeat / most_repeats) {
            w_.loop("part", n, [&](const Expr &i) {
                pass(mask, most_repeats, times(at, whole, i), dimension);
            });
        }
        if (const int64_t rest = repeat % most_repeats)
            pass(mask, rest, times(at, whole, repeat / most_repeats), dimension);
    };
    const auto innermost = [&] {
        const std::vector<Expr> zero(operands.size(), 0);
        std::vector<int64_t> by_lanes, by_row;
        for (auto *o : operands) {
            by_lanes.push_back(is_spread(*o) ? 0 : lanes);
            by_row.push_back(along ? o->stride[*along] : 0);
        }
        if (!along) {
            repeated(lanes, full, zero, by_lanes, outer);
            if (tail) pass(tail, 1, times(zero, by_lanes, full), outer);
            return;
        }
        if (full) {
            w_.loop("lane", full, [&](const Expr &i) {
                repeated(lanes, extents_[*along], times(zero, by_lanes, i), by_row, *along);
            });
        }
        if (tail) repeated(tail, extents_[*along], times(zero, by_lanes, full), by_row, *along);
    };
    const std::function<void(size_t)> dimension = [&](size_t d) {
        if (d == outer) return innermost();
        if (d == along || extents_[d] == 1) return dimension(d + 1);
        w_.loop("row", extents_[d], [&](const Expr &i) {
            const std::vector<Expr> before = offsets;
            for (size_t k = 0; k < operands.size(); k++)
                offsets[k] = offsets[k] + i * operands[k]->stride[d];
            dimension(d + 1);
            offsets = before;
        });
    };
    dimension(0);
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
    run({&dst, &a, &b}, [&](const Pass &p) { w_.put(instruction(op, p)); });
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
    run({&dst, &a}, [&](const Pass &p) { w_.put(instruction(op, p)); });
}

void Vectors::with_number(VecOp op, const Operand &dst, const Operand &a, const dv::Number &n) {
    run({&dst, &a}, [&](const Pass &p) { w_.put(instruction(op, p, n)); });
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
            w_.put(dv::ScalarLd{reg, moved(numbers.ref, number)});
            if (negated) {
                const std::string less = w_.reg();
                w_.put(dv::ScalarMath{dv::ScalarOp::neg, less, {reg}, {}, numbers.ref.dtype});
                reg = less;
            }
            Vectors(w_, extents).with_number(op, part(dst, to), part(a, from), {reg});
        };
    each(0, 0, 0, 0);
}

// Integers of 8 bits by way of f16, which has them all.
template<class F> void Vectors::as_f16(const Operand &dst, const F &put) {
    const Operand wide = temporary(DType::f16);
    put(wide);
    convert(dst, wide, dv::Round::none);
    give_back(wide);
}

void Vectors::fill(const Operand &dst, const dv::Number &n) {
    if (bytes_of(dst.ref.dtype) == 1)
        return as_f16(dst, [&](const Operand &wide) { fill(wide, n); });
    run({&dst}, [&](const Pass &p) { w_.put(instruction(VecOp::dup, p, n)); });
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
        w_.put(v);
    });
}

void Vectors::select(const Operand &dst, dv::CmpOp op, const Operand &a, const Operand &b,
                     const Operand &x, const Operand &y) {
    const Ref bits = w_.temporary(DType::u8, most_repeats * 16);
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
        w_.put(c);
        w_.put(s);
    });
    w_.give_back(bits);
    if (left.ref.buffer != a.ref.buffer) give_back(left);
    if (right.ref.buffer != b.ref.buffer) give_back(right);
}

// A comparison has no mask: a row's last repeat is filled up.
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

Operand Vectors::spread(const dv::Number &n, DType t) {
    dv::Ref r;
    if (!n.is_reg())
        r = w_.constant(n.imm, t, [&](const dv::Ref &to) { fill_block(to, n); });
    else {
        r = w_.temporary(t, block(t));
        fill_block(r, n);
    }
    return {r, std::vector<int64_t>(extents_.size(), 0)};
}

Operand Vectors::spread(const Operand &per_row) {
    const DType t = per_row.ref.dtype;
    if (!w_.p.chip().takes("vec_dup", t))
        throw NotVector("numbers of 8 bits of " + per_row.ref.buffer + " for each row");
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
            w_.put(dv::ScalarLd{reg, moved(per_row.ref, from)});
            fill_block(moved(o.ref, to), {reg});
        };
    each(0, 0, 0);
    return o;
}

}  // namespace halyard::ascend

// The builder's vector and cube instructions, and TIK's compositions of them.
#include <algorithm>

#include "ascend/program/builder.h"
#include "registry/base/error.h"

namespace halyard::dv {
namespace {

Vec vector(VecOp op, const VecMask &m, const Tensor &d, const Expr &repeat, const Strides &s) {
    Vec v;
    v.op = op;
    v.dst = d.ref();
    v.mask = m;
    v.repeat = repeat;
    v.dst_blk = s.dst_blk;
    v.src_blk[0] = s.src0_blk;
    v.src_blk[1] = s.src1_blk;
    v.dst_rep = s.dst_rep;
    v.src_rep[0] = s.src0_rep;
    v.src_rep[1] = s.src1_rep;
    return v;
}

VecSel selection(const VecMask &m, const Tensor &d, const Tensor &sel, const Tensor &a,
                 const Expr &repeat, const Strides &s) {
    VecSel v;
    v.dst = d.ref();
    v.sel = sel.ref();
    v.src[0] = a.ref();
    v.mask = m;
    v.repeat = repeat;
    v.dst_blk = s.dst_blk;
    v.src_blk[0] = s.src0_blk;
    v.src_blk[1] = s.src1_blk;
    v.dst_rep = s.dst_rep;
    v.src_rep[0] = s.src0_rep;
    v.src_rep[1] = s.src1_rep;
    return v;
}

}  // namespace

void Builder::vec(VecOp op, const VecMask &m, const Tensor &d, const Tensor &a, const Tensor &b,
                  const Expr &repeat, const Strides &s, At at) {
    Vec v = vector(op, m, d, repeat, s);
    v.src[0] = a.ref();
    v.src[1] = b.ref();
    add(v, at);
}
void Builder::vec(VecOp op, const VecMask &m, const Tensor &d, const Tensor &a, const Expr &repeat,
                  const Strides &s, At at) {
    Vec v = vector(op, m, d, repeat, s);
    v.src[0] = a.ref();
    add(v, at);
}
void Builder::vec(VecOp op, const VecMask &m, const Tensor &d, const Tensor &a, const Value &number,
                  const Expr &repeat, const Strides &s, At at) {
    Vec v = vector(op, m, d, repeat, s);
    v.src[0] = a.ref();
    v.number = number;
    add(v, at);
}
void Builder::vec_dup(const VecMask &m, const Tensor &d, const Value &number, const Expr &repeat,
                      const Expr &dst_rep, At at) {
    Vec v = vector(VecOp::dup, m, d, repeat, {dst_rep});
    v.number = number;
    add(v, at);
}
void Builder::vec_conv(const VecMask &m, Round round, const Tensor &d, const Tensor &a,
                       const Expr &repeat, const Expr &dst_rep, const Expr &src_rep,
                       double deqscale, At at) {
    add(VecConv{round, d.ref(), a.ref(), deqscale, m, repeat, 1, 1, dst_rep, src_rep}, at);
}
void Builder::vec_cmpv(CmpOp op, const Tensor &d, const Tensor &a, const Tensor &b,
                       const Expr &repeat, const Strides &s, At at) {
    add(VecCmp{op,
               d.ref(),
               {a.ref(), b.ref()},
               repeat,
               {s.src0_blk, s.src1_blk},
               {s.src0_rep, s.src1_rep}},
        at);
}
void Builder::vec_sel(const VecMask &m, const Tensor &d, const Tensor &sel, const Tensor &a,
                      const Tensor &b, const Expr &repeat, const Strides &s, At at) {
    VecSel v = selection(m, d, sel, a, repeat, s);
    v.src[1] = b.ref();
    add(v, at);
}
void Builder::vec_sel(const VecMask &m, const Tensor &d, const Tensor &sel, const Tensor &a,
                      const Value &b, const Expr &repeat, const Strides &s, At at) {
    VecSel v = selection(m, d, sel, a, repeat, s);
    v.number = b;
    add(v, at);
}
void Builder::vec_trans(const Tensor &d, const Tensor &a, const Expr &repeat, const Expr &dst_rep,
                        const Expr &src_rep, At at) {
    add(VecTrans{d.ref(), a.ref(), repeat, dst_rep, src_rep}, at);
}
void Builder::vec_creduce(ReduceOp op, bool group, bool index, const VecMask &m, const Tensor &d,
                          const Tensor &a, const Expr &repeat, const Expr &dst_rep,
                          const Expr &src_rep, At at) {
    add(VecReduce{op, group, index, d.ref(), a.ref(), m, repeat, dst_rep, 1, src_rep}, at);
}

// Reduces each repeat to a partial result, and these again until one is left. Partial maxima are
// pairs with their indices, so only every second element of them counts.
void Builder::reduce(ReduceOp op, int mask, const Tensor &d, const Tensor &a, const Tensor &work,
                     int repeat, int src_rep, At at) {
    const bool pairs = op != ReduceOp::add;
    const int per_repeat = pairs ? lanes(a.ref().dtype) / 2 : lanes(a.ref().dtype);
    const uint64_t every_second = 0x5555555555555555;
    const auto partial = [&](int count) {
        if (!pairs) return VecMask(count);
        const auto word = [&](int n) {
            return n >= 32 ? every_second : n <= 0 ? 0 : every_second & ((1ull << 2 * n) - 1);
        };
        return VecMask(word(count - 32), word(count));
    };
    vec_creduce(op, false, pairs, mask, repeat == 1 ? d : work, a, repeat, 1, src_rep, at);
    for (int n = repeat; n > 1; n = (n + per_repeat - 1) / per_repeat) {
        const int full = n / per_repeat;
        const int rest = n % per_repeat;
        const Tensor &to = full + (rest > 0) == 1 ? d : work;
        if (full) vec_creduce(op, false, pairs, partial(per_repeat), to, work, full, 1, 8, at);
        if (rest) {
            vec_creduce(op, false, pairs, partial(rest), to[full * (pairs ? 2 : 1)],
                        work[full * lanes(a.ref().dtype)], 1, 1, 8, at);
        }
    }
}
void Builder::vec_reduce_add(int mask, const Tensor &d, const Tensor &a, const Tensor &work,
                             int repeat, int src_rep, At at) {
    reduce(ReduceOp::add, mask, d, a, work, repeat, src_rep, at);
}
void Builder::vec_reduce_max(int mask, const Tensor &d, const Tensor &a, const Tensor &work,
                             int repeat, int src_rep, At at) {
    reduce(ReduceOp::max, mask, d, a, work, repeat, src_rep, at);
}
void Builder::vec_reduce_min(int mask, const Tensor &d, const Tensor &a, const Tensor &work,
                             int repeat, int src_rep, At at) {
    reduce(ReduceOp::min, mask, d, a, work, repeat, src_rep, at);
}

void Builder::load2d(const Tensor &dst, const Tensor &src, const Expr &repeat,
                     const Expr &src_stride, bool transpose, const Expr &dst_gap, At at) {
    add(Load2d{dst.ref(), src.ref(), repeat, src_stride, dst_gap, transpose}, at);
}
void Builder::load3d(const Load3d &fields, const Tensor &dst, const Tensor &src, At at) {
    Load3d l = fields;
    l.dst = dst.ref();
    l.src = src.ref();
    add(l, at);
}
void Builder::mmad(const Tensor &dst, const Tensor &a, const Tensor &b, const Expr &m,
                   const Expr &k, const Expr &n, const Expr &accumulate, At at) {
    add(Mmad{dst.ref(), a.ref(), b.ref(), m, k, n, accumulate}, at);
}
void Builder::l0c_to_ub(const Tensor &dst, const Tensor &src, const Expr &nburst, const Expr &burst,
                        const Expr &src_gap, const Expr &dst_gap, bool relu, At at) {
    add(CcToUb{dst.ref(), src.ref(), nburst, burst, src_gap, dst_gap, relu}, at);
}
void Builder::fixpipe(const Tensor &dst, const Tensor &src, const Expr &m, const Expr &n,
                      const Expr &pitch, bool relu, bool nz, At at) {
    add(Fixpipe{dst.ref(), src.ref(), m, n, pitch, relu, nz}, at);
}

void Builder::matmul(const Tensor &c, const Tensor &a, const Tensor &b, int64_t m, int64_t k,
                     int64_t n, const Expr &init, At at) {
    const DType t = a.ref().dtype;
    const int64_t unit = dv::c0(t);
    const int64_t m1 = m / cube;
    const int64_t n1 = n / cube;
    const int64_t k1 = k / unit;
    if (m % cube || n % cube || k % unit) {
        throw AttrError(program_.name,
                        "matmul of " + std::to_string(m) + " x " + std::to_string(k) + " x " +
                            std::to_string(n) + ": sizes are multiples of " + std::to_string(cube) +
                            ", " + std::to_string(unit) + ", " + std::to_string(cube));
    }
    // The largest part of k whose fractals leave room for a second slot, and whose loads have at
    // most 255 fractals.
    const int64_t room_a = program_.chip().bytes(Scope::l0a) / 2 / fractal_bytes;
    const int64_t room_b = program_.chip().bytes(Scope::l0b) / 2 / fractal_bytes;
    int64_t step = std::min({k1, room_a / m1, room_b / n1, int64_t(255)});
    while (step > 0 && k1 % step != 0)
        step--;
    if (step <= 0) {
        throw AttrError(program_.name, "matmul of " + std::to_string(m) + " x " +
                                           std::to_string(n) +
                                           " doesn't fit l0a and l0b; lower m or n");
    }
    const auto part = [&](const Expr &i) {
        const Tensor left = tensor(t, m * step * unit, Scope::l0a, c.ref().buffer + "_l0a");
        const Tensor right = tensor(t, n * step * unit, Scope::l0b, c.ref().buffer + "_l0b");
        for_range(0, m1, [&](const Expr &r) {
            load2d(left[r * step * cube * unit], a[(i * step * m1 + r) * cube * unit], step, m1,
                   false, 0, at);
        });
        for (int64_t f = 0; f < step * n1; f += 255) {
            load2d(right[f * cube * unit], b[(i * step * n1 + f) * cube * unit],
                   std::min<int64_t>(255, step * n1 - f), 1, false, 0, at);
        }
        mmad(c, left, right, m, step * unit, n, init == 0 || i != 0, at);
    };
    if (step == k1)
        part(0);  // uses the slots of the loop around it
    else
        for_range(0, k1 / step, {.thread_num = 2}, part);
}

}  // namespace halyard::dv

// The vector unit computes element by element in the type of the operands. f16 is computed in f32
// and rounded once, which gives the correctly rounded result of + - * / and sqrt; exp and ln are
// rounded from f64. rec and rsqrt are exact here; the hardware's are approximations (ASSUMED). max
// and min return their second argument if one is NaN (ASSUMED).
#include <algorithm>
#include <cmath>
#include <cstring>

#include "ascend/simulator/memory.h"

namespace halyard::dv {
namespace {

// Calls f(n, dst, src0, src1) for all runs of elements that are contiguous in every operand.
template<class T, class F> void runs(const Step &s, const Vec &v, Memory &m, const F &f) {
    const int sources = sources_of(v.op);
    const int elements = lanes(s.locations[0].dtype);
    const int per_block = block_bytes / int(sizeof(T));
    const StridedAccess d = access_of(s.locations[0], v.dst_blk, v.dst_rep);
    const StridedAccess a = sources > 0 ? access_of(s.locations[1], v.src_blk[0], v.src_rep[0]) : d;
    const StridedAccess b = sources > 1 ? access_of(s.locations[2], v.src_blk[1], v.src_rep[1]) : a;
    uint8_t *const dst = m.base(s.locations[0]);
    uint8_t *const src0 = sources > 0 ? m.base(s.locations[1]) : dst;
    uint8_t *const src1 = sources > 1 ? m.base(s.locations[2]) : src0;
    const auto call = [&](int64_t repeat, int e, int64_t n) {
        f(n, reinterpret_cast<T *>(dst + d.element(repeat, e)),
          reinterpret_cast<const T *>(src0 + a.element(repeat, e)),
          reinterpret_cast<const T *>(src1 + b.element(repeat, e)));
    };
    const int64_t repeat = v.repeat.value();
    const bool dense = d.blk == block_bytes && a.blk == block_bytes && b.blk == block_bytes;
    if (v.mask.bits) {
        for (int64_t r = 0; r < repeat; r++) {
            for (int e = 0; e < elements; e++)
                if (active(v.mask, e)) call(r, e, 1);
        }
        return;
    }
    const int count = int(v.mask.count.value());
    if (dense && count == elements && d.rep == repeat_bytes && a.rep == repeat_bytes &&
        b.rep == repeat_bytes)
        return call(0, 0, repeat * elements);
    for (int64_t r = 0; r < repeat; r++) {
        if (dense)
            call(r, 0, count);
        else {
            for (int e = 0; e < count; e += per_block)
                call(r, e, std::min(per_block, count - e));
        }
    }
}

template<class T> using compute = std::conditional_t<std::is_integral_v<T>, int64_t, float>;
template<class T> T wrap(int64_t v) {
    return (T)uint64_t(v);
}
template<class T> T store(compute<T> v) {
    if constexpr (std::is_integral_v<T>)
        return wrap<T>(v);
    else
        return T(v);
}

template<class T, class F> void map(const Step &s, const Vec &v, Memory &m, const F &f) {
    using C = compute<T>;
    runs<T>(s, v, m, [&](int64_t n, T *d, const T *a, const T *b) {
        for (int64_t i = 0; i < n; i++)
            d[i] = store<T>(f((C)a[i], (C)b[i], (C)d[i]));
    });
}

void bitwise(const Step &s, const Vec &v, Memory &m) {
    runs<uint16_t>(s, v, m, [&](int64_t n, uint16_t *d, const uint16_t *a, const uint16_t *b) {
        for (int64_t i = 0; i < n; i++) {
            d[i] = v.op == VecOp::and_  ? a[i] & b[i]
                   : v.op == VecOp::or_ ? a[i] | b[i]
                                        : uint16_t(~a[i]);
        }
    });
}

template<class T> void arithmetic(const Step &s, const Vec &v, Memory &m) {
    using C = compute<T>;
    const C x = (C)store<T>((C)s.number);  // an operand has the type of the vectors
    switch (v.op) {
    case VecOp::add: return map<T>(s, v, m, [](C a, C b, C) { return a + b; });
    case VecOp::sub: return map<T>(s, v, m, [](C a, C b, C) { return a - b; });
    case VecOp::mul: return map<T>(s, v, m, [](C a, C b, C) { return a * b; });
    case VecOp::max: return map<T>(s, v, m, [](C a, C b, C) { return a > b ? a : b; });
    case VecOp::min: return map<T>(s, v, m, [](C a, C b, C) { return a < b ? a : b; });
    case VecOp::relu: return map<T>(s, v, m, [](C a, C, C) { return a > 0 ? a : 0; });
    case VecOp::abs: return map<T>(s, v, m, [](C a, C, C) { return std::abs(a); });
    case VecOp::adds: return map<T>(s, v, m, [x](C a, C, C) { return a + x; });
    case VecOp::muls: return map<T>(s, v, m, [x](C a, C, C) { return a * x; });
    case VecOp::maxs: return map<T>(s, v, m, [x](C a, C, C) { return a > x ? a : x; });
    case VecOp::mins: return map<T>(s, v, m, [x](C a, C, C) { return a < x ? a : x; });
    case VecOp::lrelu: return map<T>(s, v, m, [x](C a, C, C) { return a >= 0 ? a : a * x; });
    case VecOp::axpy: return map<T>(s, v, m, [x](C a, C, C d) { return d + a * x; });
    case VecOp::mla: return map<T>(s, v, m, [](C a, C b, C d) { return d + a * b; });
    case VecOp::dup: return map<T>(s, v, m, [x](C, C, C) { return x; });
    default: break;
    }
    if constexpr (!std::is_integral_v<T>) {
        switch (v.op) {
        case VecOp::div: return map<T>(s, v, m, [](C a, C b, C) { return a / b; });
        case VecOp::exp: return map<T>(s, v, m, [](C a, C, C) { return (C)std::exp(double(a)); });
        case VecOp::ln: return map<T>(s, v, m, [](C a, C, C) { return (C)std::log(double(a)); });
        case VecOp::rec: return map<T>(s, v, m, [](C a, C, C) { return 1 / a; });
        case VecOp::sqrt: return map<T>(s, v, m, [](C a, C, C) { return std::sqrt(a); });
        case VecOp::rsqrt:
            return map<T>(s, v, m, [](C a, C, C) { return (C)(1 / std::sqrt(double(a))); });
        default: break;
        }
    }
}

// Adds f16 products to f32, the only vector operation of two types.
void widening(const Step &s, const Vec &v, Memory &m) {
    const int elements = lanes(DType::f32);
    const StridedAccess d = access_of(s.locations[0], v.dst_blk, v.dst_rep);
    const StridedAccess a = access_of(s.locations[1], v.src_blk[0], v.src_rep[0]);
    const StridedAccess b = v.op == VecOp::mla
                                ? access_of(s.locations[2], v.src_blk[1], v.src_rep[1])
                                : a;
    for (int64_t r = 0; r < v.repeat.value(); r++) {
        for (int e = 0; e < elements; e++) {
            if (!active(v.mask, e)) continue;
            float16 x, y;
            std::memcpy(&x, m.base(s.locations[1]) + a.element(r, e), 2);
            if (v.op == VecOp::mla)
                std::memcpy(&y, m.base(s.locations[2]) + b.element(r, e), 2);
            else
                y = float16(float(s.number));
            float *to = reinterpret_cast<float *>(m.base(s.locations[0]) + d.element(r, e));
            *to += float(x) * float(y);
        }
    }
}

}  // namespace

void execute(const Vec &v, const Step &s, Memory &m) {
    const DType t = s.locations[0].dtype;
    if (v.op == VecOp::and_ || v.op == VecOp::or_ || v.op == VecOp::not_) return bitwise(s, v, m);
    if (reads_dst(v.op) && s.locations[1].dtype != t) return widening(s, v, m);
    if (t == DType::f16)
        arithmetic<float16>(s, v, m);
    else if (t == DType::bf16)
        arithmetic<bfloat16>(s, v, m);
    else if (t == DType::f32)
        arithmetic<float>(s, v, m);
    else if (t == DType::i32)
        arithmetic<int32_t>(s, v, m);
}

}  // namespace halyard::dv

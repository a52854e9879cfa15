// Reductions within a repeat, comparisons, selections and transposes of the vector unit. A
// reduction adds neighbours pairwise, level by level, and rounds each sum to the operands' type.
// Elements that the mask leaves out count as 0 (ASSUMED if the mask has holes).
#include <algorithm>
#include <cstring>

#include "ascend/simulator/memory.h"

namespace halyard::dv {
namespace {

// Returns the pairwise sum; `count` is a power of two.
template<class T> T pairwise(T *values, int count) {
    for (int n = count; n > 1; n /= 2) {
        for (int i = 0; i < n / 2; i++)
            values[i] = T(float(values[2 * i]) + float(values[2 * i + 1]));
    }
    return values[0];
}

// Stores an index, which is an integer in an element's memory.
template<class T> void store_index(T *to, int index) {
    if constexpr (sizeof(T) == 2)
        *reinterpret_cast<uint16_t *>(to) = uint16_t(index);
    else
        *reinterpret_cast<uint32_t *>(to) = uint32_t(index);
}

// Returns the unit of VecReduce::dst_rep, in elements.
int elements_of_result(const VecReduce &v) {
    if (v.group) return 8;
    return v.index ? 2 : 1;
}

// The elements of a repeat, or of one of its blocks, that the mask selects.
template<class T> struct Selected {
    T values[128] = {};  // 0 for the others
    T best = T(0.0f);    // the maximum or minimum; of equal values the first
    int index = -1;      // the index of `best` in the repeat

    void add(ReduceOp op, int at, int e, T x) {
        values[at] = x;
        const bool better = op == ReduceOp::max ? float(x) > float(best) : float(x) < float(best);
        if (index >= 0 && !better) return;
        best = x;
        index = e;
    }
    bool is_empty() const { return index < 0; }
};

template<class T> void reduce(const VecReduce &v, const Step &s, Memory &m) {
    const int elements = lanes(s.locations[1].dtype);
    const int part = v.group ? block_bytes / int(sizeof(T)) : elements;
    const StridedAccess a = access_of(s.locations[1], v.src_blk, v.src_rep);
    const uint8_t *from = m.base(s.locations[1]);
    T *to = reinterpret_cast<T *>(m.at(s.locations[0]));
    const int64_t stride = v.dst_rep.value() * elements_of_result(v);
    for (int64_t r = 0; r < v.repeat.value(); r++) {
        for (int begin = 0; begin < elements; begin += part) {
            Selected<T> selected;
            for (int e = begin; e < begin + part; e++) {
                if (active(v.mask, e))
                    selected.add(v.op, e - begin, e,
                                 *reinterpret_cast<const T *>(from + a.element(r, e)));
            }
            if (selected.is_empty()) continue;
            T *result = to + r * stride + (v.group ? begin / part : 0);
            *result = v.op == ReduceOp::add ? pairwise(selected.values, part) : selected.best;
            if (v.index) store_index(result + 1, selected.index);
        }
    }
}

template<class T> void compare(const VecCmp &v, const Step &s, Memory &m) {
    const int elements = lanes(s.locations[1].dtype);
    const StridedAccess a = access_of(s.locations[1], v.src_blk[0], v.src_rep[0]);
    const StridedAccess b = access_of(s.locations[2], v.src_blk[1], v.src_rep[1]);
    uint8_t *bits = m.at(s.locations[0]);
    for (int64_t r = 0; r < v.repeat.value(); r++) {
        for (int e = 0; e < elements; e++) {
            const float x = float(
                *reinterpret_cast<const T *>(m.base(s.locations[1]) + a.element(r, e)));
            const float y = float(
                *reinterpret_cast<const T *>(m.base(s.locations[2]) + b.element(r, e)));
            bool is = false;
            switch (v.op) {
            case CmpOp::lt: is = x < y; break;
            case CmpOp::gt: is = x > y; break;
            case CmpOp::ge: is = x >= y; break;
            case CmpOp::eq: is = x == y; break;
            case CmpOp::ne: is = x != y; break;
            case CmpOp::le: is = x <= y; break;
            }
            const int64_t i = r * elements + e;
            bits[i / 8] = uint8_t((bits[i / 8] & ~(1 << i % 8)) | is << i % 8);
        }
    }
}

template<class T> void select(const VecSel &v, const Step &s, Memory &m) {
    const int elements = lanes(s.locations[0].dtype);
    const bool tensor = !v.src[1].buffer.empty();
    const StridedAccess d = access_of(s.locations[0], v.dst_blk, v.dst_rep);
    const StridedAccess a = access_of(s.locations[2], v.src_blk[0], v.src_rep[0]);
    const StridedAccess b = tensor ? access_of(s.locations[3], v.src_blk[1], v.src_rep[1]) : a;
    const uint8_t *bits = m.at(s.locations[1]);
    const T number = T(float(s.number));
    for (int64_t r = 0; r < v.repeat.value(); r++) {
        for (int e = 0; e < elements; e++) {
            if (!active(v.mask, e)) continue;
            const int64_t i = r * elements + e;
            T x = number;
            if (bits[i / 8] >> i % 8 & 1)
                x = *reinterpret_cast<const T *>(m.base(s.locations[2]) + a.element(r, e));
            else if (tensor)
                x = *reinterpret_cast<const T *>(m.base(s.locations[3]) + b.element(r, e));
            *reinterpret_cast<T *>(m.base(s.locations[0]) + d.element(r, e)) = x;
        }
    }
}

}  // namespace

void execute(const VecReduce &v, const Step &s, Memory &m) {
    s.locations[1].dtype == DType::f16 ? reduce<float16>(v, s, m) : reduce<float>(v, s, m);
}
void execute(const VecCmp &v, const Step &s, Memory &m) {
    s.locations[1].dtype == DType::f16 ? compare<float16>(v, s, m) : compare<float>(v, s, m);
}
void execute(const VecSel &v, const Step &s, Memory &m) {
    s.locations[0].dtype == DType::f16 ? select<float16>(v, s, m) : select<float>(v, s, m);
}

void execute(const VecTrans &v, const Step &s, Memory &m) {
    for (int64_t r = 0; r < v.repeat.value(); r++) {
        uint16_t in[cube][cube], out[cube][cube];
        std::memcpy(in, m.at(s.locations[1]) + r * v.src_rep.value() * fractal_bytes, sizeof in);
        for (int i = 0; i < cube; i++) {
            for (int j = 0; j < cube; j++)
                out[j][i] = in[i][j];
        }
        std::memcpy(m.at(s.locations[0]) + r * v.dst_rep.value() * fractal_bytes, out, sizeof out);
    }
}

}  // namespace halyard::dv

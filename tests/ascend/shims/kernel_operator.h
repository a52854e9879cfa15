// A stand-in for Ascend C in tests of emitted kernels: each call becomes an instruction of a .dv
// program, which the test simulates. It is written from the public descriptions of the API and has
// only what the emitter uses. One block runs at a time: haly_connect() sets the block and the
// receiver of the instructions. Values that the scalar unit reads come from the receiver, too.
#pragma once
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>

#define __global__
#define __aicore__
#define __gm__
using GM_ADDR = uint8_t *;  // The upper half holds the tensor's number plus one.

struct half {
    float value = 0;
    half() = default;
    // The value is rounded when it is stored: every tensor of half is f16.
    explicit half(float v) : value(v) {}
    operator float() const { return value; }
};
struct bfloat16_t {
    float value = 0;
    bfloat16_t() = default;
    explicit bfloat16_t(float v) : value(v) {}
    operator float() const { return value; }
};

struct HalyHost {
    int64_t block = 0;
    void (*issue)(const char *line) = nullptr;
    double (*load)(const char *place) = nullptr;
};
inline HalyHost haly_host;
extern "C" __attribute__((used)) inline void haly_connect(HalyHost host) {
    haly_host = host;
}
inline void haly_issue(const std::string &line) {
    haly_host.issue(line.c_str());
}

enum pipe_t { PIPE_S, PIPE_V, PIPE_M, PIPE_MTE1, PIPE_MTE2, PIPE_MTE3, PIPE_FIX, PIPE_ALL };
enum class QuantMode_t { NoQuant, F322F16, F322BF16 };

namespace AscendC {

template<class T> constexpr const char *type_name = "u8";
template<> inline constexpr const char *type_name<half> = "f16";
template<> inline constexpr const char *type_name<uint16_t> = "f16";  // The bits of an f16.
template<> inline constexpr const char *type_name<float> = "f32";
template<> inline constexpr const char *type_name<bfloat16_t> = "bf16";
template<> inline constexpr const char *type_name<int32_t> = "i32";
template<> inline constexpr const char *type_name<int8_t> = "i8";
template<class T> constexpr int64_t bytes_of = int64_t(sizeof(T));
template<> inline constexpr int64_t bytes_of<half> = 2;
template<> inline constexpr int64_t bytes_of<bfloat16_t> = 2;

enum class TPosition { VECCALC, A1, A2, B2, CO1 };
inline constexpr const char *memories[] = {"ub", "l1", "l0a", "l0b", "l0c"};

// An address in a memory of the core, or in a tensor of GM.
template<class T> struct TensorBase {
    std::string memory;
    int64_t at = 0;  // In bytes.
    std::string text() const {
        return memory + ":" + type_name<T> + "[" + std::to_string(at / bytes_of<T>) + "]";
    }
};
template<class T> struct LocalTensor : TensorBase<T> {
    LocalTensor operator[](int64_t element) const {
        LocalTensor t = *this;
        t.at += element * bytes_of<T>;
        return t;
    }
    template<class U> LocalTensor<U> ReinterpretCast() const { return {{this->memory, this->at}}; }
    T GetValue(int64_t element) const {
        const double v = haly_host.load((*this)[element].text().c_str());
        if constexpr (std::is_integral_v<T>)
            return (T)v;
        else
            return T(float(v));
    }
    void SetValue(int64_t element, T v) const;
};
template<class T> struct GlobalTensor : TensorBase<T> {
    void SetGlobalBuffer(T *address) {
        this->memory = "gm" + std::to_string(uint64_t(address) >> 32);
    }
    GlobalTensor operator[](int64_t element) const {
        GlobalTensor t = *this;
        t.at += element * bytes_of<T>;
        return t;
    }
};

struct TPipe {
    template<class B> void InitBuffer(B &, uint32_t) {}
};
template<TPosition position> struct TBuf {
    template<class T> LocalTensor<T> GetWithOffset(uint32_t, uint32_t offset) {
        return {{memories[int(position)], offset}};
    }
};
inline int64_t GetBlockIdx() {
    return haly_host.block;
}

// Fields of an instruction.

inline std::string field(const char *name, int64_t v) {
    return std::string(" ") + name + "=" + std::to_string(v);
}
inline std::string number(double v) {
    char s[40];
    std::snprintf(s, sizeof s, "%.17g", v);
    return s;
}
inline std::string mask_text(uint64_t count) {
    return " mask=" + std::to_string(count);
}
inline std::string mask_text(const uint64_t (&words)[2]) {
    char s[64];
    std::snprintf(s, sizeof s, " mask=bits(0x%llx, 0x%llx)", (unsigned long long)words[1],
                  (unsigned long long)words[0]);
    return s;
}
struct BinaryRepeatParams {
    int dst_blk, src0_blk, src1_blk, dst_rep, src0_rep, src1_rep;
    std::string text() const {
        return " blk=" + std::to_string(dst_blk) + "," + std::to_string(src0_blk) + "," +
               std::to_string(src1_blk) + " rep=" + std::to_string(dst_rep) + "," +
               std::to_string(src0_rep) + "," + std::to_string(src1_rep);
    }
    BinaryRepeatParams(int d, int a, int b, int dr, int ar, int br)
        : dst_blk(d), src0_blk(a), src1_blk(b), dst_rep(dr), src0_rep(ar), src1_rep(br) {}
};
struct UnaryRepeatParams {
    int dst_blk, src_blk, dst_rep, src_rep;
    std::string text() const {
        return " blk=" + std::to_string(dst_blk) + "," + std::to_string(src_blk) +
               " rep=" + std::to_string(dst_rep) + "," + std::to_string(src_rep);
    }
    UnaryRepeatParams(int d, int s, int dr, int sr)
        : dst_blk(d), src_blk(s), dst_rep(dr), src_rep(sr) {}
};

template<class T> void LocalTensor<T>::SetValue(int64_t element, T v) const {
    haly_issue("scalar_store " + (*this)[element].text() + ", " + number(double(v)));
}

// Vector instructions. M is a count, or two words.

#define HALY_BINARY(NAME, TEXT)                                                                    \
    template<class T, class M> void NAME(const LocalTensor<T> &d, const LocalTensor<T> &a,         \
                                         const LocalTensor<T> &b, const M &mask, uint8_t repeat,   \
                                         const BinaryRepeatParams &p) {                            \
        haly_issue("vec_" TEXT " " + d.text() + ", " + a.text() + ", " + b.text() + " " +          \
                   mask_text(mask) + field("repeat", repeat) + p.text());                          \
    }
#define HALY_UNARY(NAME, TEXT)                                                                     \
    template<class T, class M> void NAME(const LocalTensor<T> &d, const LocalTensor<T> &a,         \
                                         const M &mask, uint8_t repeat,                            \
                                         const UnaryRepeatParams &p) {                             \
        haly_issue("vec_" TEXT " " + d.text() + ", " + a.text() + " " + mask_text(mask) +          \
                   field("repeat", repeat) + p.text());                                            \
    }
#define HALY_NUMBER(NAME, TEXT)                                                                    \
    template<class T, class M> void NAME(const LocalTensor<T> &d, const LocalTensor<T> &a, T v,    \
                                         const M &mask, uint8_t repeat,                            \
                                         const UnaryRepeatParams &p) {                             \
        haly_issue("vec_" TEXT " " + d.text() + ", " + a.text() + ", " + number((double)v) + " " + \
                   mask_text(mask) + field("repeat", repeat) + p.text());                          \
    }
HALY_BINARY(Add, "add")
HALY_BINARY(Sub, "sub")
HALY_BINARY(Mul, "mul")
HALY_BINARY(Div, "div")
HALY_BINARY(Max, "max")
HALY_BINARY(Min, "min")
HALY_BINARY(And, "and")
HALY_BINARY(Or, "or")
HALY_BINARY(MulAddDst, "mla")
HALY_UNARY(Relu, "relu")
HALY_UNARY(Exp, "exp")
HALY_UNARY(Ln, "ln")
HALY_UNARY(Abs, "abs")
HALY_UNARY(Reciprocal, "rec")
HALY_UNARY(Sqrt, "sqrt")
HALY_UNARY(Rsqrt, "rsqrt")
HALY_UNARY(Not, "not")
HALY_NUMBER(Adds, "adds")
HALY_NUMBER(Muls, "muls")
HALY_NUMBER(Maxs, "maxs")
HALY_NUMBER(Mins, "mins")
HALY_NUMBER(LeakyRelu, "lrelu")
HALY_NUMBER(Axpy, "axpy")
#undef HALY_BINARY
#undef HALY_UNARY
#undef HALY_NUMBER
template<class T, class M> void Duplicate(const LocalTensor<T> &d, T v, const M &mask,
                                          uint8_t repeat, uint16_t blk, uint8_t rep) {
    haly_issue("vec_dup " + d.text() + ", " + number(double(v)) + " " + mask_text(mask) +
               field("repeat", repeat) + field("blk", blk) + field("rep", rep));
}

enum class RoundMode { CAST_NONE, CAST_RINT, CAST_FLOOR, CAST_CEIL, CAST_ROUND, CAST_TRUNC };
inline double deq_scale = 1;
inline void SetDeqScale(half v) {
    deq_scale = float(v);
}
template<class T, class U, class M> void Cast(const LocalTensor<T> &d, const LocalTensor<U> &a,
                                              RoundMode mode, const M &mask, uint8_t repeat,
                                              const UnaryRepeatParams &p) {
    static constexpr const char *modes[] = {"none", "round",     "floor",
                                            "ceil", "away-zero", "to-zero"};
    const bool scaled = std::is_same_v<U, int32_t> && std::is_same_v<T, half>;
    haly_issue("vec_conv " + d.text() + ", " + a.text() + "  round=" + modes[int(mode)] +
               (scaled ? " scale=" + number(deq_scale) : "") + mask_text(mask) +
               field("repeat", repeat) + p.text());
}

enum class ReduceOrder { ORDER_VALUE_INDEX, ORDER_ONLY_VALUE };
template<class T, class M> void whole_reduce(const char *op, const LocalTensor<T> &d,
                                             const LocalTensor<T> &a, const M &mask, int repeat,
                                             int dst_rep, int src_blk, int src_rep, int index) {
    haly_issue(std::string(op) + " " + d.text() + ", " + a.text() + " " + field("index", index) +
               mask_text(mask) + field("repeat", repeat) + field("dst_rep", dst_rep) +
               field("src_blk", src_blk) + field("src_rep", src_rep));
}
template<class T, class M> void WholeReduceSum(const LocalTensor<T> &d, const LocalTensor<T> &a,
                                               const M &mask, int repeat, int dst_rep, int src_blk,
                                               int src_rep) {
    whole_reduce("vcadd", d, a, mask, repeat, dst_rep, src_blk, src_rep, 0);
}
template<class T, class M> void WholeReduceMax(const LocalTensor<T> &d, const LocalTensor<T> &a,
                                               const M &mask, int repeat, int dst_rep, int src_blk,
                                               int src_rep, ReduceOrder order) {
    whole_reduce("vcmax", d, a, mask, repeat, dst_rep, src_blk, src_rep,
                 order == ReduceOrder::ORDER_VALUE_INDEX);
}
template<class T, class M> void WholeReduceMin(const LocalTensor<T> &d, const LocalTensor<T> &a,
                                               const M &mask, int repeat, int dst_rep, int src_blk,
                                               int src_rep, ReduceOrder order) {
    whole_reduce("vcmin", d, a, mask, repeat, dst_rep, src_blk, src_rep,
                 order == ReduceOrder::ORDER_VALUE_INDEX);
}
template<class T, class M> void BlockReduceSum(const LocalTensor<T> &d, const LocalTensor<T> &a,
                                               int repeat, const M &mask, int dst_rep, int src_blk,
                                               int src_rep) {
    whole_reduce("vcgadd", d, a, mask, repeat, dst_rep, src_blk, src_rep, 0);
}
template<class T, class M> void BlockReduceMax(const LocalTensor<T> &d, const LocalTensor<T> &a,
                                               int repeat, const M &mask, int dst_rep, int src_blk,
                                               int src_rep) {
    whole_reduce("vcgmax", d, a, mask, repeat, dst_rep, src_blk, src_rep, 0);
}
template<class T, class M> void BlockReduceMin(const LocalTensor<T> &d, const LocalTensor<T> &a,
                                               int repeat, const M &mask, int dst_rep, int src_blk,
                                               int src_rep) {
    whole_reduce("vcgmin", d, a, mask, repeat, dst_rep, src_blk, src_rep, 0);
}

enum class CMPMODE { LT, GT, GE, EQ, NE, LE };
template<class T> void Compare(const LocalTensor<uint8_t> &d, const LocalTensor<T> &a,
                               const LocalTensor<T> &b, CMPMODE mode, uint64_t, uint8_t repeat,
                               const BinaryRepeatParams &p) {
    static constexpr const char *modes[] = {"lt", "gt", "ge", "eq", "ne", "le"};
    haly_issue(std::string("vec_cmpv_") + modes[int(mode)] + " " + d.text() + ", " + a.text() +
               ", " + b.text() + " " + field("repeat", repeat) +
               " blk=" + std::to_string(p.src0_blk) + "," + std::to_string(p.src1_blk) +
               " rep=" + std::to_string(p.src0_rep) + "," + std::to_string(p.src1_rep));
}
enum class SELMODE { VSEL_TENSOR_TENSOR_MODE, VSEL_TENSOR_SCALAR_MODE };
template<class T, class M> void Select(const LocalTensor<T> &d, const LocalTensor<uint8_t> &sel,
                                       const LocalTensor<T> &a, const LocalTensor<T> &b, SELMODE,
                                       const M &mask, uint8_t repeat, const BinaryRepeatParams &p) {
    haly_issue("vec_sel " + d.text() + ", " + sel.text() + ", " + a.text() + ", " + b.text() + " " +
               mask_text(mask) + field("repeat", repeat) + p.text());
}
template<class T, class M> void Select(const LocalTensor<T> &d, const LocalTensor<uint8_t> &sel,
                                       const LocalTensor<T> &a, T b, SELMODE, const M &mask,
                                       uint8_t repeat, const BinaryRepeatParams &p) {
    haly_issue("vec_sel " + d.text() + ", " + sel.text() + ", " + a.text() + ", " +
               number(double(b)) + " " + mask_text(mask) + field("repeat", repeat) + p.text());
}
template<class T> void Transpose(const LocalTensor<T> &d, const LocalTensor<T> &a) {
    haly_issue("vec_trans " + d.text() + ", " + a.text());
}

// Moves.

struct DataCopyParams {
    int count, length, src_gap, dst_gap;
    std::string text() const {
        return " " + field("nburst", count) + field("burst", length) + field("src_gap", src_gap) +
               field("dst_gap", dst_gap);
    }
    DataCopyParams(uint16_t n, uint16_t l, uint16_t s, uint16_t d)
        : count(n), length(l), src_gap(s), dst_gap(d) {}
};
inline bool atomic_add = false;
template<class T> void SetAtomicAdd() {
    atomic_add = true;
}
inline void SetAtomicNone() {
    atomic_add = false;
}
template<class T>
void copy(const TensorBase<T> &d, const TensorBase<T> &s, const DataCopyParams &p) {
    haly_issue("data_move " + d.text() + ", " + s.text() + p.text() +
               (atomic_add ? " atomic=1" : ""));
}
template<class T>
void DataCopy(const LocalTensor<T> &d, const GlobalTensor<T> &s, const DataCopyParams &p) {
    copy<T>(d, s, p);
}
template<class T>
void DataCopy(const GlobalTensor<T> &d, const LocalTensor<T> &s, const DataCopyParams &p) {
    copy<T>(d, s, p);
}
template<class T>
void DataCopy(const LocalTensor<T> &d, const LocalTensor<T> &s, const DataCopyParams &p) {
    copy<T>(d, s, p);
}
enum class BlockMode { BLOCK_MODE_NORMAL, BLOCK_MODE_MATRIX };
struct DataCopyEnhancedParams {
    BlockMode blockMode = BlockMode::BLOCK_MODE_NORMAL;
    bool isRelu = false;
};
template<class T, class U> void DataCopy(const LocalTensor<T> &d, const LocalTensor<U> &s,
                                         const DataCopyParams &p, const DataCopyEnhancedParams &e) {
    haly_issue("l0c_to_ub " + d.text() + ", " + s.text() + p.text() + field("relu", e.isRelu));
}
struct DataCopyExtParams {
    int64_t count, bytes, src_gap, dst_gap;
    DataCopyExtParams(uint16_t n, uint32_t l, uint32_t s, uint32_t d, uint32_t)
        : count(n), bytes(l), src_gap(s), dst_gap(d) {}
    std::string text() const {
        return " " + field("nburst", count) + field("bytes", bytes) + field("src_gap", src_gap) +
               field("dst_gap", dst_gap);
    }
};
template<class T> struct DataCopyPadExtParams {};
template<class T> void DataCopyPad(const LocalTensor<T> &d, const GlobalTensor<T> &s,
                                   const DataCopyExtParams &p, const DataCopyPadExtParams<T> &) {
    haly_issue("data_move_pad " + d.text() + ", " + s.text() + p.text());
}
template<class T>
void DataCopyPad(const GlobalTensor<T> &d, const LocalTensor<T> &s, const DataCopyExtParams &p) {
    haly_issue("data_move_pad " + d.text() + ", " + s.text() + p.text());
}
struct Nd2NzParams {
    int rows, columns, pitch, padded;
    Nd2NzParams(uint16_t, uint16_t n, uint16_t d, uint16_t, uint16_t pitch_, uint16_t c0_stride,
                uint16_t, uint16_t)
        : rows(n), columns(d), pitch(pitch_), padded(c0_stride) {}
};
template<class T>
void DataCopy(const LocalTensor<T> &d, const GlobalTensor<T> &s, const Nd2NzParams &p) {
    haly_issue("nd2nz " + d.text() + ", " + s.text() + " " + field("rows", p.rows) +
               field("columns", p.columns) + field("pitch", p.pitch) +
               field("rows_padded", p.padded));
}

// The cube unit.

struct LoadData2dParams {
    int repeat, src_stride, dst_gap;
    bool transpose;
    LoadData2dParams(uint16_t, uint8_t r, uint16_t s, uint8_t, uint16_t g, bool t, uint8_t)
        : repeat(r), src_stride(s), dst_gap(g), transpose(t) {}
};
template<class T>
void load2d(const TensorBase<T> &d, const TensorBase<T> &s, const LoadData2dParams &p) {
    haly_issue("load2d " + d.text() + ", " + s.text() + " " + field("repeat", p.repeat) +
               field("src_stride", p.src_stride) + field("dst_gap", p.dst_gap) +
               field("transpose", p.transpose));
}
template<class T>
void LoadData(const LocalTensor<T> &d, const LocalTensor<T> &s, const LoadData2dParams &p) {
    load2d<T>(d, s, p);
}
template<class T>
void LoadData(const LocalTensor<T> &d, const GlobalTensor<T> &s, const LoadData2dParams &p) {
    load2d<T>(d, s, p);
}
template<class T> struct LoadData3DParamsV2 {
    uint8_t padList[4] = {};
    uint16_t l1H = 0, l1W = 0, channelSize = 0, kExtension = 0, mExtension = 0, kStartPt = 0,
             mStartPt = 0;
    uint8_t strideW = 1, strideH = 1, filterW = 1, filterH = 1, dilationFilterW = 1,
            dilationFilterH = 1;
};
template<class T>
void LoadData(const LocalTensor<T> &d, const LocalTensor<T> &s, const LoadData3DParamsV2<T> &p) {
    const auto pair = [](const char *name, int a, int b) {
        return std::string(" ") + name + "=" + std::to_string(a) + "," + std::to_string(b);
    };
    haly_issue(
        "load3d " + d.text() + ", " + s.text() + " " + field("h", p.l1H) + field("w", p.l1W) +
        field("c1", p.channelSize * bytes_of<T> / 32) + field("left", p.padList[0]) +
        field("right", p.padList[1]) + field("top", p.padList[2]) + field("bottom", p.padList[3]) +
        pair("kernel", p.filterH, p.filterW) + pair("stride", p.strideH, p.strideW) +
        pair("dilation", p.dilationFilterH, p.dilationFilterW) + field("m_start", p.mStartPt) +
        field("k_start", p.kStartPt) + field("m", p.mExtension) + field("k", p.kExtension));
}
struct MmadParams {
    uint16_t m = 0, n = 0, k = 0;
    bool cmatrixInitVal = true;
};
template<class C, class A, class B> void Mmad(const LocalTensor<C> &d, const LocalTensor<A> &a,
                                              const LocalTensor<B> &b, const MmadParams &p) {
    haly_issue("mmad " + d.text() + ", " + a.text() + ", " + b.text() + " " + field("m", p.m) +
               field("k", p.k) + field("n", p.n) + field("accumulate", !p.cmatrixInitVal));
}
struct FixpipeParamsV220 {
    int n, m, pitch;
    bool relu;
    QuantMode_t quantPre = QuantMode_t::NoQuant;
    FixpipeParamsV220(uint16_t n_, uint16_t m_, uint16_t, uint32_t stride, bool r)
        : n(n_), m(m_), pitch(int(stride)), relu(r) {}
};
template<class T, class U>
void Fixpipe(const GlobalTensor<T> &d, const LocalTensor<U> &s, const FixpipeParamsV220 &p) {
    haly_issue("fixpipe " + d.text() + ", " + s.text() + " " + field("m", p.m) + field("n", p.n) +
               field("pitch", p.pitch) + field("relu", p.relu));
}

// Flags.

enum class HardEvent {
    MTE2_V,
    V_MTE2,
    V_MTE3,
    MTE3_V,
    MTE2_MTE1,
    MTE1_MTE2,
    MTE1_M,
    M_MTE1,
    M_V,
    V_M,
    S_V,
    V_S,
    S_MTE2,
    MTE2_S,
    S_MTE3,
    MTE3_S,
    MTE2_MTE3,
    MTE3_MTE2,
    M_FIX,
    FIX_M,
    MTE3_MTE1,
    MTE1_MTE3,
};
inline constexpr const char *events[] = {
    "MTE2, V", "V, MTE2", "V, MTE3",    "MTE3, V",   "MTE2, MTE1", "MTE1, MTE2",
    "MTE1, M", "M, MTE1", "M, V",       "V, M",      "S, V",       "V, S",
    "S, MTE2", "MTE2, S", "S, MTE3",    "MTE3, S",   "MTE2, MTE3", "MTE3, MTE2",
    "M, FIX",  "FIX, M",  "MTE3, MTE1", "MTE1, MTE3"};
template<HardEvent e> void SetFlag(int32_t id) {
    haly_issue(std::string("set_flag ") + events[int(e)] + ", " + std::to_string(id));
}
template<HardEvent e> void WaitFlag(int32_t id) {
    haly_issue(std::string("wait_flag ") + events[int(e)] + ", " + std::to_string(id));
}
template<pipe_t p> void PipeBarrier() {
    static constexpr const char *names[] = {"S", "V", "M", "MTE1", "MTE2", "MTE3", "FIX", "ALL"};
    haly_issue(std::string("pipe_barrier ") + names[p]);
}

}  // namespace AscendC

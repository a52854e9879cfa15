// Programs written by hand, in TIK's names and units: the author moves data and issues
// instructions, the builder places buffers and inserts flags. The unit of strides, gaps and bursts
// is 32 B; a vector instruction's mask is a count of elements, or two 64-bit words.
//
//   dv::Builder b("add", "ascend910");
//   auto x = b.input(DType::f16, 65536, "x"), y = b.input(DType::f16, 65536, "y"), z =
//   b.output(DType::f16, 65536, "z"); b.for_range(0, 8, {.block_num = 8}, [&](dv::Expr blk) {
//       b.for_range(0, 4, {.thread_num = 2}, [&](dv::Expr i) {                       // tensors
//       declared inside have two slots
//           auto ux = b.tensor(DType::f16, 2048, dv::Scope::ub, "ux");               // uy, uz ..
//           b.data_move(ux, x[blk * 8192 + i * 2048], 1, 128, 0, 0);
//           b.vec_add(128, uz, ux, uy, 16, {8, 8, 8});
//           b.data_move(z[blk * 8192 + i * 2048], uz, 1, 128, 0, 0);
//       });
//   });
//   dv::Program p = b.build();
#pragma once
#include <source_location>

#include "ascend/program/ir.h"

namespace halyard::dv {

class Builder;

// A tensor, or a place in one.
class Tensor {
public:
    Tensor operator[](const Expr &element) const;  // `element` further on
    // the same bytes as another type: TIK's reinterpret_cast_to
    Tensor as(DType t) const;
    const Ref &ref() const { return ref_; }

private:
    friend class Builder;
    explicit Tensor(Ref r) : ref_(std::move(r)) {}
    Ref ref_;
};

// A register. An integer one is an expression, too.
class Scalar {
public:
    Number number() const { return {name_, 0}; }
    Expr expr() const { return Expr::var(name_); }

private:
    friend class Builder;
    Scalar(std::string name, DType dtype) : name_(std::move(name)), dtype_(dtype) {}
    std::string name_;
    DType dtype_;
};

// What a vector instruction takes beside tensors: a number, or a register.
struct Value : Number {
    Value(double v) : Number{"", v} {}
    Value(const Scalar &s) : Number(s.number()) {}
};
struct VecMask : Mask {
    VecMask(int count) { this->count = count; }
    VecMask(const Expr &count) { this->count = count; }
    VecMask(uint64_t high_word, uint64_t low_word) {
        bits = true;
        high = high_word;
        low = low_word;
    }
};
struct Strides {  // between repeats, and between the blocks of one: of dst, src0, src1
    Expr dst_rep = 8, src0_rep = 8, src1_rep = 8;
    int dst_blk = 1, src0_blk = 1, src1_blk = 1;
};
struct LoopOptions {
    // instances of the program that share the loop's turns out, evenly; only on the outermost loop
    int64_t block_num = 1;
    int thread_num = 1;  // 2: tensors declared inside have two slots that take turns
};
struct BuilderOptions {
    bool auto_sync = true;  // false: the author sets flags
};

class Builder {
public:
    using At = std::source_location;
    using Options = BuilderOptions;
    Builder(std::string name, const std::string &profile, Options options = {});

    // ---- tensors and scalars
    Tensor input(DType t, const Expr &size, const std::string &name) {
        return gm(t, size, name, GmTensor::in);
    }
    Tensor output(DType t, const Expr &size, const std::string &name) {
        return gm(t, size, name, GmTensor::out);
    }
    Tensor gm(DType t, const Expr &size, const std::string &name, GmTensor::Use use);
    // in the innermost loop, as long as that runs
    Tensor tensor(DType t, int64_t size, Scope scope, const std::string &name);
    Scalar input_scalar(DType t, const std::string &name);
    Scalar scalar(DType t, const std::string &name);
    void set_as(const Scalar &s, const Tensor &from, At at = At::current());
    void set_as(const Scalar &s, const Expr &value, At at = At::current());  // integers
    void set_as(const Scalar &s, const Value &value, At at = At::current());
    void set_value(const Tensor &to, const Value &value, At at = At::current());
    void scalar_math(ScalarOp op, const Scalar &dst, const Value &a, const Value &b,
                     At at = At::current());

    // ---- control
    template<class F>
    void for_range(const Expr &begin, const Expr &end, LoopOptions options, F &&body) {
        body(open(begin, end, options));
        close();
    }
    template<class F> void for_range(const Expr &begin, const Expr &end, F &&body) {
        for_range(begin, end, {}, body);
    }
    template<class F> void if_scope(const Expr &condition, F &&body) {
        open_if(condition);
        body();
        close();
    }
    template<class F> void else_scope(F &&body) {  // right after an if_scope
        open_else();
        body();
        close();
    }

    // ---- moves
    void data_move(const Tensor &dst, const Tensor &src, const Expr &nburst, const Expr &burst,
                   const Expr &src_stride, const Expr &dst_stride, At at = At::current());
    void data_move_pad(const Tensor &dst, const Tensor &src, const Expr &nburst, const Expr &bytes,
                       const Expr &dst_gap, const Expr &src_gap, At at = At::current());
    void atomic_add(const Tensor &dst, const Tensor &src, const Expr &nburst, const Expr &burst,
                    const Expr &src_stride, const Expr &dst_stride, At at = At::current());
    void nd2nz(const Tensor &dst, const Tensor &src, const Expr &rows, const Expr &columns,
               const Expr &pitch, const Expr &rows_padded, At at = At::current());

    // ---- vectors
    void vec(VecOp op, const VecMask &m, const Tensor &d, const Tensor &a, const Tensor &b,
             const Expr &repeat, const Strides &s, At at = At::current());
    void vec(VecOp op, const VecMask &m, const Tensor &d, const Tensor &a, const Expr &repeat,
             const Strides &s, At at = At::current());
    void vec(VecOp op, const VecMask &m, const Tensor &d, const Tensor &a, const Value &v,
             const Expr &repeat, const Strides &s, At at = At::current());
#define HALYARD_VEC_BINARY(NAME, OP)                                                               \
    void NAME(const VecMask &m, const Tensor &d, const Tensor &a, const Tensor &b,                 \
              const Expr &repeat, const Strides &s, At at = At::current()) {                       \
        vec(VecOp::OP, m, d, a, b, repeat, s, at);                                                 \
    }
#define HALYARD_VEC_UNARY(NAME, OP)                                                                \
    void NAME(const VecMask &m, const Tensor &d, const Tensor &a, const Expr &repeat,              \
              const Strides &s, At at = At::current()) {                                           \
        vec(VecOp::OP, m, d, a, repeat, s, at);                                                    \
    }
#define HALYARD_VEC_NUMBER(NAME, OP)                                                               \
    void NAME(const VecMask &m, const Tensor &d, const Tensor &a, const Value &v,                  \
              const Expr &repeat, const Strides &s, At at = At::current()) {                       \
        vec(VecOp::OP, m, d, a, v, repeat, s, at);                                                 \
    }
    HALYARD_VEC_BINARY(vec_add, add)
    HALYARD_VEC_BINARY(vec_sub, sub)
    HALYARD_VEC_BINARY(vec_mul, mul)
    HALYARD_VEC_BINARY(vec_div, div)
    HALYARD_VEC_BINARY(vec_max, max)
    HALYARD_VEC_BINARY(vec_min, min)
    HALYARD_VEC_BINARY(vec_and, and_)
    HALYARD_VEC_BINARY(vec_or, or_)
    HALYARD_VEC_BINARY(vec_mla, mla)
    HALYARD_VEC_UNARY(vec_relu, relu)
    HALYARD_VEC_UNARY(vec_exp, exp)
    HALYARD_VEC_UNARY(vec_ln, ln)
    HALYARD_VEC_UNARY(vec_abs, abs)
    HALYARD_VEC_UNARY(vec_rec, rec)
    HALYARD_VEC_UNARY(vec_sqrt, sqrt)
    HALYARD_VEC_UNARY(vec_rsqrt, rsqrt)
    HALYARD_VEC_UNARY(vec_not, not_)
    HALYARD_VEC_NUMBER(vec_adds, adds)
    HALYARD_VEC_NUMBER(vec_muls, muls)
    HALYARD_VEC_NUMBER(vec_maxs, maxs)
    HALYARD_VEC_NUMBER(vec_mins, mins)
    HALYARD_VEC_NUMBER(vec_lrelu, lrelu)
    HALYARD_VEC_NUMBER(vec_axpy, axpy)
#undef HALYARD_VEC_BINARY
#undef HALYARD_VEC_UNARY
#undef HALYARD_VEC_NUMBER
    void vec_dup(const VecMask &m, const Tensor &d, const Value &v, const Expr &repeat,
                 const Expr &dst_rep, At at = At::current());
    void vec_conv(const VecMask &m, Round round, const Tensor &d, const Tensor &a,
                  const Expr &repeat, const Expr &dst_rep, const Expr &src_rep, double deqscale = 1,
                  At at = At::current());
    // of the sources
    void vec_cmpv(CmpOp op, const Tensor &d, const Tensor &a, const Tensor &b, const Expr &repeat,
                  const Strides &s, At at = At::current());
    void vec_sel(const VecMask &m, const Tensor &d, const Tensor &sel, const Tensor &a,
                 const Tensor &b, const Expr &repeat, const Strides &s, At at = At::current());
    void vec_sel(const VecMask &m, const Tensor &d, const Tensor &sel, const Tensor &a,
                 const Value &b, const Expr &repeat, const Strides &s, At at = At::current());
    void vec_trans(const Tensor &d, const Tensor &a, const Expr &repeat, const Expr &dst_rep,
                   const Expr &src_rep, At at = At::current());
    // One result per repeat (vcadd, vcmax, vcmin), or per block (vcgadd, ..); with `index` pairs of
    // value and place.
    void vec_creduce(ReduceOp op, bool group, bool index, const VecMask &m, const Tensor &d,
                     const Tensor &a, const Expr &repeat, const Expr &dst_rep, const Expr &src_rep,
                     At at = At::current());
    // dst[0] = the sum, the maximum or the minimum of all repeats; `repeat` is a number, work holds
    // 2 * repeat elements, and the maximum's place among the last partial results is left in
    // dst[1].
    void vec_reduce_add(int mask, const Tensor &d, const Tensor &a, const Tensor &work, int repeat,
                        int src_rep, At at = At::current());
    void vec_reduce_max(int mask, const Tensor &d, const Tensor &a, const Tensor &work, int repeat,
                        int src_rep, At at = At::current());
    void vec_reduce_min(int mask, const Tensor &d, const Tensor &a, const Tensor &work, int repeat,
                        int src_rep, At at = At::current());

    // ---- cube
    void load2d(const Tensor &dst, const Tensor &src, const Expr &repeat, const Expr &src_stride,
                bool transpose = false, const Expr &dst_gap = 0, At at = At::current());
    void load3d(const Load3d &fields, const Tensor &dst, const Tensor &src, At at = At::current());
    void mmad(const Tensor &dst, const Tensor &a, const Tensor &b, const Expr &m, const Expr &k,
              const Expr &n, const Expr &accumulate, At at = At::current());
    // c in l0c [n1][m][16] (+)= a in l1 [k1][m][c0] times b in l1 [k1][n][c0], through l0a and l0b
    // in two slots; m, k, n are multiples of a fractal. Where `init` isn't 0 it writes c, otherwise
    // it adds to it. TIK's matmul.
    void matmul(const Tensor &c, const Tensor &a, const Tensor &b, int64_t m, int64_t k, int64_t n,
                const Expr &init = 1, At at = At::current());
    void l0c_to_ub(const Tensor &dst, const Tensor &src, const Expr &nburst, const Expr &burst,
                   const Expr &src_gap = 0, const Expr &dst_gap = 0, bool relu = false,
                   At at = At::current());
    void fixpipe(const Tensor &dst, const Tensor &src, const Expr &m, const Expr &n,
                 const Expr &pitch, bool relu = false, bool nz = false, At at = At::current());

    // ---- flags, for authors without auto_sync
    void set_flag(Pipe src, Pipe dst, const Expr &id, At at = At::current());
    void wait_flag(Pipe src, Pipe dst, const Expr &id, At at = At::current());
    void pipe_barrier(Pipe p, At at = At::current());

    // The program with places and flags. AttrError with all that verify() found, where that isn't
    // empty.
    Program build();
    // As written: no places, no flags.
    const Program &written() const {
        return program_;
    }

private:
    Expr open(const Expr &begin, const Expr &end, const LoopOptions &options);
    void open_if(const Expr &condition);
    void open_else();
    void close();
    std::string fresh(const std::string &name);
    void reduce(ReduceOp op, int mask, const Tensor &d, const Tensor &a, const Tensor &work,
                int repeat, int src_rep, At at);
    void add(Instr::Op op, const At &at);

    Program program_;
    Options options_;
    struct Open {  // a loop or a branch that is being written
        Node node;
        bool otherwise = false;
        Expr slot = 0;  // of tensors declared inside
        int slots = 1;
    };
    std::vector<Open> open_;
    Body &body();
    int names_ = 0;
};

}  // namespace halyard::dv

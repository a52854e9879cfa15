// Builder: writes a program by hand, in TIK's names and units. The author moves data and issues
// instructions; build() gives buffers addresses and inserts flags. The unit of strides, gaps and
// bursts is 32 B. A vector instruction's mask is a number of elements, or two 64-bit words.
//
//   dv::Builder b("add", "ascend910");
//   const dv::Tensor x = b.input(DType::f16, 65536, "x");
//   const dv::Tensor y = b.input(DType::f16, 65536, "y");
//   const dv::Tensor z = b.output(DType::f16, 65536, "z");
//   b.for_range(0, 8, {.block_num = 8}, [&](dv::Expr block) {
//       b.for_range(0, 4, {.thread_num = 2}, [&](dv::Expr i) {  // tensors have two slots
//           const dv::Tensor ux = b.tensor(DType::f16, 2048, dv::Scope::ub, "ux");
//           const dv::Tensor uy = b.tensor(DType::f16, 2048, dv::Scope::ub, "uy");
//           const dv::Tensor uz = b.tensor(DType::f16, 2048, dv::Scope::ub, "uz");
//           const dv::Expr at = block * 8192 + i * 2048;
//           b.data_move(ux, x[at], 1, 128, 0, 0);
//           b.data_move(uy, y[at], 1, 128, 0, 0);
//           b.vec_add(128, uz, ux, uy, 16, {8, 8, 8});
//           b.data_move(z[at], uz, 1, 128, 0, 0);
//       });
//   });
//   const dv::Program p = b.build();
#pragma once
#include <source_location>

#include "ascend/program/ir.h"

namespace halyard::dv {

class Builder;

// A tensor, or a position in one.
class Tensor {
public:
    // Returns the position `element` elements further on.
    Tensor operator[](const Expr &element) const;
    // Returns the same bytes as another type (TIK's reinterpret_cast_to).
    Tensor as(DType t) const;
    const Ref &ref() const { return ref_; }

private:
    friend class Builder;
    explicit Tensor(Ref r) : ref_(std::move(r)) {}
    Ref ref_;
};

// A register. An integer register may be used as an expression.
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

// The scalar operand of a vector instruction: a number or a register.
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
// Strides of dst, src0 and src1, between repeats and between the blocks of a repeat, in units of 32
// B.
struct Strides {
    Expr dst_rep = 8, src0_rep = 8, src1_rep = 8;
    int dst_blk = 1, src0_blk = 1, src1_blk = 1;
};
struct LoopOptions {
    // The number of program instances among which the iterations are divided evenly. Only the
    // outermost loop may have it.
    int64_t block_num = 1;
    int thread_num =
        1;  // 2: tensors declared inside have two slots, which iterations use alternately
};
struct BuilderOptions {
    bool auto_sync = true;  // false if the author sets flags
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
    // Declares a tensor on the chip, which lives until the innermost loop ends.
    Tensor tensor(DType t, int64_t size, Scope scope, const std::string &name);
    Scalar input_scalar(DType t, const std::string &name);
    Scalar scalar(DType t, const std::string &name);
    void set_as(const Scalar &s, const Tensor &from, At at = At::current());
    void set_as(const Scalar &s, const Expr &value, At at = At::current());  // s is an integer
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
    // Must follow an if_scope() immediately.
    template<class F> void else_scope(F &&body) {
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
    // The strides are those of the sources.
    void vec_cmpv(CmpOp op, const Tensor &d, const Tensor &a, const Tensor &b, const Expr &repeat,
                  const Strides &s, At at = At::current());
    void vec_sel(const VecMask &m, const Tensor &d, const Tensor &sel, const Tensor &a,
                 const Tensor &b, const Expr &repeat, const Strides &s, At at = At::current());
    void vec_sel(const VecMask &m, const Tensor &d, const Tensor &sel, const Tensor &a,
                 const Value &b, const Expr &repeat, const Strides &s, At at = At::current());
    void vec_trans(const Tensor &d, const Tensor &a, const Expr &repeat, const Expr &dst_rep,
                   const Expr &src_rep, At at = At::current());
    // Has one result per repeat (vcadd, vcmax, vcmin) or per block (vcgadd, ..). With `index`
    // results are pairs of a value and its index.
    void vec_creduce(ReduceOp op, bool group, bool index, const VecMask &m, const Tensor &d,
                     const Tensor &a, const Expr &repeat, const Expr &dst_rep, const Expr &src_rep,
                     At at = At::current());
    // Reduce all repeats to dst[0]. `work` has 2 * repeat elements. For a maximum or minimum,
    // dst[1] gets its index among the last partial results.
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
    // TIK's matmul: multiplies a in l1 [k1][m][c0] by b in l1 [k1][n][c0], through l0a and l0b in
    // two slots. c is in l0c [n1][m][16]; it is overwritten if `init` isn't 0, otherwise added to.
    // m, k and n are multiples of a fractal; throws AttrError if they aren't, or don't fit l0a and
    // l0b.
    void matmul(const Tensor &c, const Tensor &a, const Tensor &b, int64_t m, int64_t k, int64_t n,
                const Expr &init = 1, At at = At::current());
    void l0c_to_ub(const Tensor &dst, const Tensor &src, const Expr &nburst, const Expr &burst,
                   const Expr &src_gap = 0, const Expr &dst_gap = 0, bool relu = false,
                   At at = At::current());
    void fixpipe(const Tensor &dst, const Tensor &src, const Expr &m, const Expr &n,
                 const Expr &pitch, bool relu = false, bool nz = false, At at = At::current());

    // ---- flags, if auto_sync is false
    void set_flag(Pipe src, Pipe dst, const Expr &id, At at = At::current());
    void wait_flag(Pipe src, Pipe dst, const Expr &id, At at = At::current());
    void pipe_barrier(Pipe p, At at = At::current());

    // Returns the program with addresses and flags. Throws AttrError with all errors that verify()
    // finds.
    Program build();
    // Returns the program without addresses and flags.
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
    // A loop or a branch whose body is being written.
    struct Open {
        Node node;
        bool otherwise = false;
        Expr slot = 0;  // slots of tensors declared inside
        int slots = 1;
    };
    std::vector<Open> open_;
    Body &body();
    int names_ = 0;
};

}  // namespace halyard::dv

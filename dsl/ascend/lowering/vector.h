// Vectors: emits vector instructions over a space of loops, with repeats, masks, tails and strides
// (the pass `shape`).
#pragma once
#include <functional>
#include <stdexcept>
#include <vector>

#include "dsl/ascend/lowering/writer.h"

namespace halyard::ascend {

// Thrown if the vector unit can't compute a nest. The nest is lowered for the scalar unit then.
struct NotVectorizable : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// Returns true if `e` is a multiple of `n` for all values of its variables, as far as its form
// shows.
bool is_multiple(const dv::Expr &e, int64_t n);

// Operands have a stride for every dimension of the space. The last dimension is the lanes, whose
// stride is 1, or 0 if all lanes read one block of equal elements. Every row begins at a block of
// 32 B.
class Vectors {
public:
    Vectors(Writer &writer, std::vector<int64_t> extents)
        : w_(writer), extents_(std::move(extents)) {}

    const std::vector<int64_t> &extents() const { return extents_; }
    int64_t rows() const;  // the product of all extents but the lanes
    // The next functions return buffers of the space's size, with rows that begin at blocks.
    Operand temporary(DType t);
    Operand double_buffer(const std::string &name, DType t) { return loop_ring(name, t, 2); }
    Operand loop_ring(const std::string &name, DType t, int slots);  // Writer::loop_ring
    Operand buffer(const std::string &name, DType t);                // Writer::buffer
    std::vector<int64_t> strides(DType t) const;                     // the strides of these buffers
    void give_back(const Operand &o) { w_.give_back(o.ref); }

    void binary(dv::VecOp op, const Operand &dst, const Operand &a, const Operand &b);
    // and, or, not (of a) of 4-byte integers, which are processed as 2-byte halves
    void bitwise(dv::VecOp op, const Operand &dst, const Operand &a, const Operand &b);
    void unary(dv::VecOp op, const Operand &dst, const Operand &a);
    // adds, muls, maxs, mins
    void with_number(dv::VecOp op, const Operand &dst, const Operand &a, const dv::Number &n);
    // adds and muls with another number for each row. `numbers` has the stride 0 of lanes.
    void with_numbers(dv::VecOp op, const Operand &dst, const Operand &a, const Operand &numbers,
                      bool negated);
    void fill(const Operand &dst, const dv::Number &n);
    void copy(const Operand &dst, const Operand &a);
    void convert(const Operand &dst, const Operand &a, dv::Round round);
    // dst = a op b ? x : y
    void select(const Operand &dst, dv::CmpOp op, const Operand &a, const Operand &b,
                const Operand &x, const Operand &y);

    // Returns one block of a number.
    Operand broadcast(const dv::Number &n, DType t);
    // Returns a block for each row of numbers with the stride 0 of lanes.
    Operand broadcast(const Operand &per_row);

    // The fields of one instruction: where each operand begins, mask, repeats and strides.
    struct Pass {
        std::vector<dv::Ref> at;
        int64_t mask = 0;
        dv::Expr repeat = 1;
        std::vector<int> blk;
        std::vector<dv::Expr> rep;
    };
    // Calls emit(pass) for each instruction that the space needs. Throws NotVectorizable if an
    // operand isn't aligned to blocks.
    void run(const std::vector<const Operand *> &operands,
             const std::function<void(const Pass &)> &emit);

private:
    Writer &w_;
    std::vector<int64_t> extents_;
    int64_t size(DType t) const;
    void passes(const std::vector<const Operand *> &operands,
                const std::function<void(const Pass &)> &emit);
    void check(const Operand &o) const;
    template<class F> void as_f16(const Operand &dst, const F &put);
    Operand whole_repeats(const Operand &a);
    void fill_block(const dv::Ref &to, const dv::Number &n);
};

}  // namespace halyard::ascend

// Vector instructions over a space of loops: repeats, masks, tails and strides (the pass `shape`).
#pragma once
#include <functional>
#include <stdexcept>
#include <vector>

#include "dsl/ascend/lowering/writer.h"

namespace halyard::ascend {

// What the vector unit can't do as it stands; the nest goes to the scalar unit.
struct NotVectorizable : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// Is e a multiple of n, whatever its variables are?
bool is_multiple(const dv::Expr &e, int64_t n);

// Operands have a stride for every dimension of the space, the last of which is the lanes: 1, or 0
// where all lanes read one block of equal elements. Every row begins at a block.
class Vectors {
public:
    Vectors(Writer &writer, std::vector<int64_t> extents)
        : w_(writer), extents_(std::move(extents)) {}

    const std::vector<int64_t> &extents() const { return extents_; }
    int64_t rows() const;  // all but the lanes
    // A buffer of the space's size, rows at blocks.
    Operand temporary(DType t);
    Operand double_buffer(const std::string &name, DType t) { return loop_ring(name, t, 2); }
    Operand loop_ring(const std::string &name, DType t, int slots);  // Writer::beside
    Operand buffer(const std::string &name, DType t);                // Writer::buffer
    std::vector<int64_t> strides(DType t) const;                     // of those
    void give_back(const Operand &o) { w_.give_back(o.ref); }

    void binary(dv::VecOp op, const Operand &dst, const Operand &a, const Operand &b);
    // and, or, not (of a): 4-byte integers, as halves
    void bitwise(dv::VecOp op, const Operand &dst, const Operand &a, const Operand &b);
    void unary(dv::VecOp op, const Operand &dst, const Operand &a);
    // adds, muls, maxs, mins
    void with_number(dv::VecOp op, const Operand &dst, const Operand &a, const dv::Number &n);
    // The same with another number for each row, which lie in `numbers`: strides 0 of the lanes.
    void with_numbers(dv::VecOp op, const Operand &dst, const Operand &a, const Operand &numbers,
                      bool negated);
    void fill(const Operand &dst, const dv::Number &n);
    void copy(const Operand &dst, const Operand &a);
    void convert(const Operand &dst, const Operand &a, dv::Round round);
    // dst = a op b ? x : y
    void select(const Operand &dst, dv::CmpOp op, const Operand &a, const Operand &b,
                const Operand &x, const Operand &y);

    // One block of a number.
    Operand spread(const dv::Number &n, DType t);
    // What lies at strides 0 of the lanes, as a block for each row.
    Operand spread(const Operand &per_row);

    // What one instruction covers: where each operand begins, how many lanes, how often, and the
    // strides.
    struct Pass {
        std::vector<dv::Ref> at;
        int64_t mask = 0;
        dv::Expr repeat = 1;
        std::vector<int> blk;
        std::vector<dv::Expr> rep;
    };
    // Calls emit for as many passes as the space takes. Throws NotVectorizable where an operand
    // isn't at blocks.
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

// LoweringContext: what the lowering of a statement has emitted so far and knows about variables
// and buffers. index.cpp has its functions on indices, nest.cpp the delayed initialisations.
#pragma once
#include "dsl/ascend/lowering/affine.h"
#include "dsl/ascend/lowering/cube.h"
#include "dsl/ascend/lowering/reduce.h"
#include "dsl/ascend/lowering/values.h"

namespace halyard::ascend {

// The state of a traversal of Halide's statement: the program so far, and what is known of the
// variables and buffers in scope.
struct LoweringContext {
    Writer &w;
    const dv::Profile &chip;
    std::map<std::string, dv::Expr> variables;  // values of loop variables and lets
    // Buffers on the chip and in GM, by Halide's name.
    std::map<std::string, dv::Ref> buffers;
    std::map<std::string, Accumulator> accumulators;  // the buffers in l0c
    Values::Scalars scalar;                           // registers of numbers given at the call
    // Minimum and maximum of loop variables whose loops have constant bounds.
    std::map<std::string, std::pair<int64_t, int64_t>> bounds;
    // True if this iteration of the innermost loop has lowered a reduction.
    bool reduced = false;
    // Buffers that are initialised with a constant. The stores are delayed, because a reduction
    // that follows may not need them.
    struct Fill {
        std::vector<Loop> loops;
        Halide::Internal::Stmt store;
    };
    std::map<std::string, Fill> fills = {};
    // Buffers on the chip that stores before this one have written.
    std::set<std::string> initialised = {};
    // The number of stores still to be lowered that read a buffer on the chip, if it is known; and
    // the buffers that the current store reads for the last time.
    std::map<std::string, int64_t> readers = {};
    std::set<std::string> last_use = {};
    // Sums of stores in the same loops, which are delayed in order to be reduced together.
    std::vector<Reduction> *pending_sums = nullptr;
    // Lowers the delayed initialisations.
    void write_fills();

    dv::Scope scope(const dv::Ref &r) const { return w.program.scope(r); }
    // Lowers an integer expression for the scalar unit; elements that it loads become registers.
    // Throws DispatchError for an expression that the scalar unit can't compute.
    dv::Expr index(const Halide::Expr &e);
    // Returns the elements of a buffer at an index that is linear in the loops, with a stride for
    // each of them.
    Operand operand(const std::string &buffer, const Halide::Expr &index,
                    const std::vector<Loop> &loops);

private:
    dv::Expr named(const dv::Expr &value);  // an operation is computed into a register
    dv::Expr quotient(const Halide::Internal::Div *op);
    // Returns the quotient, or the remainder if `rest`.
    dv::Expr divided(const Halide::Expr &a, const Halide::Expr &b, bool rest);
    dv::Expr shifted(const Halide::Internal::Call *c);
    dv::Expr converted(const Halide::Internal::Cast *op);
    dv::Expr call(const Halide::Internal::Call *op);
    dv::Expr load(const Halide::Internal::Load *op);
    dv::Expr let(const Halide::Internal::Let *op);
    dv::Expr choice(const Halide::Internal::Select *op);
    [[noreturn]] void refuse_index(const Halide::Expr &e) const;
};

}  // namespace halyard::ascend

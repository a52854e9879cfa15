// Nest: loops around one store, and what becomes of it.
#pragma once
#include "dsl/ascend/lowering/affine.h"
#include "dsl/ascend/lowering/cube.h"
#include "dsl/ascend/lowering/reduce.h"
#include "dsl/ascend/lowering/values.h"

namespace halyard::ascend {

// What a walk over a statement knows where it stands.
struct Surroundings {
    Writer &w;
    const dv::Profile &chip;
    std::map<std::string, dv::Expr> variables;  // of loops and registers
    // by Halide's name, on the chip and in GM
    std::map<std::string, dv::Ref> buffers;
    std::map<std::string, Accumulator> accumulators;  // those of them in l0c
    Values::Scalars scalar;                           // of numbers given at the call
    // of loop variables: least and greatest, where they are numbers
    std::map<std::string, std::pair<int64_t, int64_t>> bounds;
    // there was a reduction in this turn of the loop around
    bool reduced = false;
    // Buffers that begin with a number, which isn't written while a reduction may follow that
    // doesn't need it.
    struct Fill {
        std::vector<Loop> loops;
        Halide::Internal::Stmt store;
    };
    std::map<std::string, Fill> fills = {};
    // Of stages on the chip: how many stores to come read them, where that is known; and those that
    // the one being written reads as the last.
    std::map<std::string, int64_t> readers = {};
    std::set<std::string> dying = {};
    // sums of stores in the same loops, which wait for each other
    std::vector<Reduction> *together = nullptr;
    void write_fills();

    dv::Scope scope(const dv::Ref &r) const { return w.p.scope(r); }
    // An index as the scalar unit computes it; elements it loads from the chip become registers.
    // Throws DispatchError.
    dv::Expr index(const Halide::Expr &e);
    dv::Expr named(const dv::Expr &value);  // in a register, where it is an operation
    dv::Expr divided(const Halide::Expr &a, const Halide::Expr &b, bool rest);
    dv::Expr shifted(const Halide::Internal::Call *c);
    // The elements of a buffer at an index that is linear in the loops, with a stride for each of
    // them.
    Operand operand(const std::string &buffer, const Halide::Expr &index,
                    const std::vector<Loop> &loops);
};

// Writes the instructions of stores that don't read each other inside of loops, outermost first.
// Throws DispatchError.
void lower_nests(Surroundings &s, const std::vector<Loop> &loops,
                 const std::vector<const Halide::Internal::Store *> &stores);
// Of one store.
void lower_nest(Surroundings &s, const std::vector<Loop> &loops,
                const Halide::Internal::Store &store);

}  // namespace halyard::ascend

// What an Ascend schedule is told, and how it says where Funcs lie on the chip.
//
// An Ascend program is made for one call, so every extent is a number. Its loops are plain: no
// directive vectorises. What lowering (dsl/ascend/lowering/lower.h) finds in the innermost loops
// around a store becomes vector instructions, moves between memories and products of matrices,
// tails included. A schedule says three things:
//   - loops whose name begins with "tile" stay loops; a parallel loop is the cores;
//   - a Func kept on the chip is computed at such a loop, in the buffer named here: npu.ub(peak,
//   at);
//   - what a stage reads from global memory, and an output written to it, passes through the
//   Unified Buffer by itself, in two slots,
//     so that the next tile arrives while this one is computed.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "ascend/program/ir.h"
#include "dsl/backend.h"

namespace halyard {

class Op;

// The call that a program is made for.
struct FixedCall {
    struct Dim {
        int extent = 1, stride = 1;  // of elements
    };
    using Layout = std::vector<Dim>;        // innermost first
    static bool is_dense(const Layout &l);  // no gap, first dimension innermost
    static bool is_empty(const Layout &l);  // no element
    std::vector<Layout> inputs, outputs;    // as the kernel sees them
    // for every scalar of the record, in its order; of real ones anything
    std::vector<int> integers;
    std::map<std::string, int64_t> dims;  // what conditions of variants may name, as Plan::dims
    std::string chip = "ascend910";       // a profile of ascend/profiles
};

// From the first element to the last one, with what lies between.
int64_t elements_spanned(const FixedCall::Layout &layout);

namespace dv {
struct Program;
}

namespace ascend {

class Writer;

struct BufferPlan {
    std::map<std::string, dv::Scope> scope;      // of Funcs kept on the chip, by Halide's name
    std::set<std::string> loaded;                // those that arrive in a double buffer
    std::vector<std::string> handwritten;        // the variants that are programs of their own
    std::shared_ptr<const dv::Program> program;  // the one of them that is built
    // Where an op writes its programs itself, none are made of its loops: those programs, and the
    // tensors between them.
    std::vector<std::function<void(Writer &)>> written;
    std::vector<dv::GmTensor> workspaces;
};

}  // namespace ascend

struct Ascend : Backend {
    // what reaches global memory: each output, or one Func of all where they have one shape
    std::vector<Halide::Func> gm;
    const FixedCall *call;
    ascend::BufferPlan *buffer_plan;
    const dv::Profile &chip() const { return dv::Profile::named(call->chip); }
    int cores() const { return int(chip().at("cores")); }
    // of the call; 0 where the op has none of that name
    int64_t scalar(const Op &op, const std::string &name) const;

    // A loop of another Func.
    struct At {
        Halide::Func f;
        Halide::VarOrRVar loop;
    };
    // Keeps f in that buffer, computed at the loop `at`. Rows begin at a block of 32 B. In l0c:
    // sums of products, f16 in global memory, which pass through l1, l0a and l0b by themselves.
    void ub(Halide::Func f, const At &at) const { keep(f, at, dv::Scope::ub); }
    void l0c(Halide::Func f, const At &at) const { keep(f, at, dv::Scope::l0c); }

    // A Func that is only loaded, kept in two slots: the next tile's arrives while this one's is
    // used.
    void dbuf(const Halide::Func &f) const { buffer_plan->loaded.insert(f.name()); }

    // Another way to the same result: a program written with ascend/program/builder.h, as a variant
    // of that name. bench and check take it beside the scheduled one; where it is asked for, `make`
    // gives the program of the call and what else the schedule says counts for nothing. Its tensors
    // are the op's inputs and outputs in their order, as they lie in the call, then workspaces; a
    // scalar has the name that the op's has.
    void handwritten(const std::string &name, const std::function<dv::Program()> &make) const;

    // A schedule for any graph of pure Funcs and reductions. Tiles of the outputs are as large as
    // the Unified Buffer allows, and shared out over the cores; reductions, and what several stages
    // read, are kept beside them. Two picks steer it: "shrink" takes an eighth off the tiles that
    // often; with "apart" reductions that need more than a tile are computed before, through global
    // memory.
    void automatic() const;

private:
    void keep(Halide::Func f, const At &at, dv::Scope scope) const;
};

}  // namespace halyard

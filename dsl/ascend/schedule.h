// Ascend: the backend that an Ascend schedule is given, and the directives for memories of the
// chip.
//
// An Ascend program is made for one call, so all extents are constants. Its loops are plain: no
// directive vectorises. Lowering (dsl/ascend/lowering/lower.h) turns the innermost loops around a
// store into vector instructions, moves between memories and products of matrices, tails included.
// A schedule decides three things:
//   - Loops whose name begins with "tile" stay loops. The iterations of a parallel loop run on the
//   cores.
//   - A Func on the chip is computed at such a loop, in the given memory: npu.ub(row_max, at).
//   - A stage that reads global memory, and an output written to it, passes through the Unified
//   Buffer in
//     two slots, so that the next tile is loaded while this one is computed. No directive is
//     needed.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "ascend/program/ir.h"
#include "dsl/backend.h"
#include "dsl/fixed_call.h"

namespace halyard {

class Op;

namespace dv {
struct Program;
}

namespace ascend {

class Writer;

// The number of values of the tunable "shrink" (Ascend::automatic()), each of which reduces the
// tiles by an eighth.
inline constexpr int shrink_steps = 48;

// The decisions of a schedule about memory.
struct BufferPlan {
    std::map<std::string, dv::Scope> scope;  // the memory of Funcs on the chip, by Halide's name
    std::set<std::string> loaded;            // Funcs that are loaded into a double buffer
    std::vector<std::string> handwritten;    // names of the handwritten variants
    std::shared_ptr<const dv::Program> program;  // the handwritten program that is built, if any
    // Functions that emit the op's programs, and the tensors between these. If there are any, no
    // program is made of the op's loops.
    std::vector<std::function<void(Writer &)>> emitted;
    std::vector<dv::GmTensor> workspaces;
};

}  // namespace ascend

struct Ascend : Backend {
    // The Funcs that are stored to global memory: each output, or one Func for outputs of one
    // shape.
    std::vector<Halide::Func> gm;
    const FixedCall *call;
    ascend::BufferPlan *buffer_plan;
    const dv::Profile &chip() const { return dv::Profile::named(call->chip); }
    int cores() const { return int(chip().at("cores")); }
    // Returns the call's value of an integer scalar; 0 if the op has none of that name.
    int64_t scalar(const Op &op, const std::string &name) const;

    // A loop of another Func.
    struct At {
        Halide::Func f;
        Halide::VarOrRVar loop;
    };
    // Keep f in the Unified Buffer or in l0c, computed at the loop `at`. Rows begin at a block of
    // 32 B. In l0c there are sums of products of f16 tensors in global memory, whose way through
    // l1, l0a and l0b needs no directive.
    void ub(Halide::Func f, const At &at) const { keep(f, at, dv::Scope::ub); }
    void l0c(Halide::Func f, const At &at) const { keep(f, at, dv::Scope::l0c); }

    // Keeps a Func that only loads in two slots: the next tile is loaded while this one is used.
    void dbuf(const Halide::Func &f) const { buffer_plan->loaded.insert(f.name()); }

    // Adds a variant of that name whose program is written with ascend/program/builder.h. `bench`
    // and `check` run it in addition to the scheduled one. If it is selected, make() returns the
    // program of the call, and other directives have no effect. Its tensors are the op's inputs and
    // outputs in their order and with the call's layouts, then workspaces; its scalars have the
    // names of the op's.
    void handwritten(const std::string &name, const std::function<dv::Program()> &make) const;

    // Schedules any graph of pure Funcs and reductions. Tiles of the outputs are as large as the
    // Unified Buffer allows, and shared by the cores. Reductions, and Funcs that several stages
    // read, are computed on the chip with the tiles. The tunable "shrink" is the number of times
    // that tiles are reduced by an eighth. With "apart" = 1, reductions that need more than a tile
    // are computed before the output, and stored to global memory. With "one_core" = 1, one core
    // computes all tiles.
    void automatic() const;

private:
    void keep(Halide::Func f, const At &at, dv::Scope scope) const;
};

}  // namespace halyard

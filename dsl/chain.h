// Chain: an op that is a sequence of other ops, compiled into one kernel:
// "t = matmul(a, b); u = bias_add(t, bias); y = gelu(u)".
//
// A chain has samples, schedules, exact mode and benchmarks like any other op. Each op that is not
// elementwise is an anchor, which keeps its own schedule. Elementwise ops become the epilogue of
// the anchor before them. At the beginning of the chain they are inlined into the first anchor.
//
// Its arithmetic is that of one op: in f32 for 16-bit floats, whose results within the chain aren't
// rounded. With `has_edges`, which graph mode's kernels have, every result is rounded as if its op
// ran alone (math::edge), so the chain has the bits of its ops, called one after another.
#pragma once
#include <set>

#include "dsl/op.h"

namespace halyard {

class Chain : public Op {
public:
    // Parses `body`; its ops, of one output each, are taken from `ops`. Each call takes results of
    // earlier calls or inputs of the chain. The outputs are results; the last result is one. A
    // scalar that several ops have is named by its result, too: "u_alpha". Throws Error for an
    // unknown op or tensor, a wrong number of arguments, and more than one output unless all ops
    // are elementwise.
    Chain(const OpTable &ops, std::string name, const std::string &signature,
          const std::string &body);
    void algorithm(const Build &build) override;
    void schedule(const Cpu &b) override { schedule_anchors(b); }
    void schedule(const Gpu &b) override { schedule_anchors(b); }
    // Computes the references of its ops, one after another.
    void reference(Problem &p) const override;

private:
    struct Step {
        std::string result;
        std::shared_ptr<Op> op;
        std::vector<std::string> arguments;
        std::map<std::string, std::string> renamed;  // scalars of the op: their names in the chain
    };
    std::vector<Step> steps_;

    Step parse_step(const OpTable &ops, std::string statement) const;
    void check_tensors() const;
    void rename_scalars();
    void inherit(const Step &step);
    const Step &step_of(const std::string &result) const;
    // Returns the step whose result a tensor is; the end if it is an input.
    std::vector<Step>::const_iterator producer_of(const std::string &tensor) const;
    std::vector<Halide::ImageParam> memory_of(const Step &anchor) const;
    template<class B> void schedule_anchors(const B &b);
};

}  // namespace halyard

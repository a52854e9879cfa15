// Chain: several ops as one, "t = matmul(a, b); u = bias_add(t, bias); y = gelu(u)". A chain is an
// op: it has samples, schedules, an exact proof and a benchmark like any other. Elementwise ops
// join the op before them as its epilogue (or the one after, at the head of the chain); every other
// op is an anchor with a schedule of its own.
#pragma once
#include "dsl/op.h"

namespace halyard {

class Chain : public Op {
public:
    // The ops it is made of come from `ops`; each call takes the names of earlier results or of the
    // chain's inputs. Throws Error naming an unknown op or a wrong number of arguments.
    Chain(const OpTable &ops, std::string name, const std::string &signature,
          const std::string &body);
    void algorithm(const Build &build) override;
    void schedule(const Cpu &b) override { delegate(b); }
    void schedule(const Gpu &b) override { delegate(b); }
    void reference(Problem &p) const override;  // the references of its ops, one after the other

private:
    struct Step {
        std::string to;
        std::shared_ptr<Op> op;
        std::vector<std::string> from;
    };
    std::vector<Step> steps_;
    template<class B> void delegate(const B &b);
};

}  // namespace halyard

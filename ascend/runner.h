// Program order: computes, and checks everything that doesn't depend on time.
#pragma once
#include <atomic>
#include <memory>

#include "ascend/check.h"
#include "ascend/cost.h"
#include "ascend/memory.h"
#include "ascend/walker.h"

namespace halyard::dv {

// Which block wrote each element of the tensors that a program writes: E-XCORE where two did.
class Owners {
public:
    Owners(const Program &p, const Walker &w);
    void wrote(const Instr *instr, const Place &p, const Run &r, int64_t block);
    void report(IssueLog &log) const;

private:
    struct Tensor {
        int64_t unit = 1, size = 0;
        std::unique_ptr<std::atomic<uint32_t>[]> by;  // block + 1, by element
        std::atomic<int64_t> clash{-1}, clashes{0};   // the first byte of two blocks
        std::atomic<const Instr *> instr{nullptr};
    };
    const Program &program_;
    std::vector<std::unique_ptr<Tensor>> tensors_;
};

class Runner : public Sink {
public:
    // Without a memory nothing is computed, and scalar loads give 0.
    Runner(const Program &p, const Walker &w, Memory *memory, Owners &owners, IssueLog &log);
    // Leaves the block's moves from and to GM and the values of its scalar loads.
    void run(Walker &walker, int64_t block, std::vector<Traffic> &traffic, std::vector<double> &loads);

    void step(Step &s) override;
    double load(Step &s) override;
    void alloc(const Buffer &b) override;

private:
    void check(const Step &s);
    void bounds(const Step &s, int k);

    const Program &program_;
    const Profile &chip_;
    Memory *memory_;
    Owners &owners_;
    IssueLog &log_;
    int64_t block_ = 0;
    std::vector<Traffic> *traffic_ = nullptr;
    std::vector<double> *loads_ = nullptr;
    std::vector<Run> runs_;
};

}  // namespace halyard::dv

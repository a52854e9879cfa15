// Runner: executes a program in program order, and checks all that doesn't depend on time.
#pragma once
#include <unordered_set>

#include "ascend/simulator/check.h"
#include "ascend/simulator/cost.h"
#include "ascend/simulator/memory.h"
#include "ascend/simulator/walker.h"

namespace halyard::dv {

// A run of bytes of a tensor that a block wrote.
struct Written {
    int tensor;
    int64_t begin, end;  // bytes
    int64_t block;
    const Instr *instr;
};
// Logs E-XCORE for each tensor of which two blocks write the same bytes. Sorts the list.
void check_owners(const Program &p, std::vector<Written> &all, IssueLog &log);

class Runner : public Sink {
public:
    // Without a memory nothing is computed, and scalar loads return 0.
    Runner(const Program &p, Memory *memory, IssueLog &log)
        : program_(p), chip_(p.chip()), memory_(memory), log_(log) {}
    struct Trace {                     // the record of a block
        std::vector<Traffic> traffic;  // its moves from and to GM
        std::vector<double> loads;     // the values of its scalar loads
        std::vector<Written> written;
    };
    void run(Walker &walker, int64_t block, Trace &trace);

    void step(Step &s) override;
    double load(Step &s) override;
    void alloc(const Buffer &b) override;

private:
    void check(const Step &s);
    void check_fields(const Step &s);
    void check_bounds(const Step &s, int k);  // alignment and extent of operand k
    void check_initialised(const Step &s, int k);
    [[noreturn]] void fail(const char *id, const Step &s, const std::string &what);
    std::string memory_name(const Location &p) const;

    const Program &program_;
    const Profile &chip_;
    Memory *memory_;
    IssueLog &log_;
    int64_t block_ = 0;
    Trace *trace_ = nullptr;
    std::array<std::vector<Run>, 4> runs_;       // the bytes of the step's operands
    std::unordered_set<const Instr *> checked_;  // instructions whose constant fields are correct
};

}  // namespace halyard::dv

// The scalar unit's view of a program: walks the loops of one block, evaluates expressions, and
// hands out one instruction after another.
#pragma once
#include <unordered_map>

#include "ascend/simulator/step.h"

namespace halyard::dv {

// The numbers a program is called with, in the order of Program::scalars.
using Scalars = std::vector<double>;

// An instruction with every expression replaced by its value.
Instr::Op evaluated(const Instr::Op &op, const std::function<int64_t(const std::string &)> &lookup);

// Who gets the instructions of a block. Registers are the walker's; what they are loaded from is
// the sink's.
class Sink {
public:
    virtual ~Sink() = default;
    virtual void step(Step &s) = 0;
    virtual double load(Step &s) = 0;  // of a ScalarLd: the value
    // one turn of a loop (no instruction), a Set or a ScalarMath
    virtual void scalar_work(const Instr *) {}
    virtual void alloc(const Buffer &) {}
};

class Walker {
public:
    Walker(const Program &p, const Scalars &scalars);
    int64_t blocks() const;
    int64_t size(size_t tensor) const { return sizes_[tensor]; }  // in elements
    void run(int64_t block, Sink &sink);

private:
    struct Target {  // of a Ref: where its name leads
        const Buffer *buffer = nullptr;
        int tensor = -1;
    };
    struct Known {  // of an instruction
        Pipe pipe = Pipe::s;
        bool settled = true;  // Step::settled
        std::vector<Target> targets;
    };
    void body(const Body &nodes, Sink &sink);
    void instr(const Instr &i, Sink &sink);
    template<class T> static void assign(std::vector<std::pair<std::string, T>> &registers,
                                         const std::string &name, T v);
    void set(const std::string &name, int64_t v);
    void set_float(const std::string &name, double v);
    double number(const Number &n) const;
    int64_t value(const Expr &e) const { return e.constant() ? e.value() : evaluate(e, lookup_); }
    const Known &known(const Instr &i);
    Location place(const Ref &r, const Target &t) const;

    const Program &program_;
    std::vector<int64_t> sizes_;
    std::vector<std::pair<std::string, int64_t>> ints_;  // the innermost is the last
    std::vector<std::pair<std::string, double>> floats_;
    std::function<int64_t(const std::string &)> lookup_;
    std::unordered_map<const Instr *, Known> known_;
};

}  // namespace halyard::dv

// Walker: runs the loops of one block, evaluates expressions, and passes each instruction to a
// sink, as the scalar unit issues them.
#pragma once
#include <unordered_map>

#include "ascend/simulator/step.h"

namespace halyard::dv {

// The arguments of a program, in the order of Program::scalars.
using Scalars = std::vector<double>;

// Returns an instruction with each expression replaced by its value.
Instr::Op evaluated(const Instr::Op &op, const std::function<int64_t(const std::string &)> &lookup);

// Receives the instructions of a block. The walker holds the registers; the sink loads their values
// from memory.
class Sink {
public:
    virtual ~Sink() = default;
    virtual void step(Step &s) = 0;
    virtual double load(Step &s) = 0;  // returns the value of a ScalarLd
    // Is called for each iteration of a loop and each branch (nullptr), each Set and each
    // ScalarMath.
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
    struct Target {  // the buffer or tensor of a Ref
        const Buffer *buffer = nullptr;
        int tensor = -1;
    };
    struct Known {  // properties of an instruction that are constant
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
    std::vector<std::pair<std::string, int64_t>> ints_;  // the innermost last
    std::vector<std::pair<std::string, double>> floats_;
    std::function<int64_t(const std::string &)> lookup_;
    std::unordered_map<const Instr *, Known> known_;
};

}  // namespace halyard::dv

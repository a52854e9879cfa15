// Runs one instruction on memories that a test fills.
#pragma once
#include <random>

#include "ascend/simulator/check.h"
#include "ascend/simulator/memory.h"
#include "ascend/simulator/walker.h"

namespace halyard::dv::test {

class InstructionRunner : public Sink {
public:
    explicit InstructionRunner(const std::string &profile) : memory_(Profile::named(profile), {}) {
        program_.name = "one";
        program_.profile = profile;
    }

    // Appends a buffer to its scope and returns its elements.
    template<class T> T *add(const std::string &name, Scope scope, int64_t size) {
        Buffer b;
        b.name = name;
        b.scope = scope;
        b.dtype = dtype_for<T>::value;
        b.size = size;
        b.align = 512;
        b.address = top_[int(scope)];
        top_[int(scope)] += b.slot_bytes();
        program_.buffers.push_back(b);
        program_.body.insert(program_.body.begin(), Node(Alloc{name}));
        Location p;
        p.scope = scope;
        p.at = b.address;
        return (T *)memory_.at(p);
    }
    Ref ref(const std::string &name) const { return {name, 0, 0, program_.buffer(name)->dtype}; }
    // Runs the instruction if its fields are valid; otherwise returns the issues.
    std::vector<Issue> run(Instr::Op op) {
        program_.body.emplace_back(Instr{std::move(op), ""});
        const std::vector<Issue> issues = verify(program_);
        if (issues.empty()) Walker(program_, {}).run(0, *this);
        program_.body.pop_back();
        return issues;
    }

private:
    void step(Step &s) override { execute(s, memory_); }
    double load(Step &s) override { return scalar_load(s, memory_); }

    Program program_;
    Memory memory_;
    int64_t top_[scope_count] = {};
};

// Fills with values whose sums and products are neither all exact nor all out of range.
template<class T> void fill(T *to, int64_t n, std::mt19937 &random) {
    for (int64_t i = 0; i < n; i++) {
        if constexpr (std::is_integral_v<T>)
            to[i] = (T)(random() % 251 - 120);
        else
            to[i] = T(float(double(random()) / 4294967296.0 * 8 - 4));
    }
}

}  // namespace halyard::dv::test

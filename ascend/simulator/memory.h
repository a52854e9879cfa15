// The memories of one core and the caller's tensors, with a shadow that knows which bytes were
// written.
#pragma once
#include <cstdlib>
#include <memory>
#include <vector>

#include "ascend/passes/footprint.h"

namespace halyard::dv {

// A caller's tensor: its memory and size in bytes.
struct Binding {
    void *data = nullptr;
    int64_t bytes = 0;
};

class Memory {
public:
    // `again`: what a memory of before left may come back, zeroed where it was written; only
    // wrote() says so.
    Memory(const Profile &chip, std::vector<Binding> gm, bool again = false);
    ~Memory();
    Memory(Memory &&) = default;
    uint8_t *at(const Location &p) { return base(p) + p.at; }
    uint8_t *base(const Location &p) {
        return p.scope == Scope::gm ? (uint8_t *)gm_[size_t(p.tensor)].data
                                    : banks_.bytes[int(p.scope)].get();
    }
    // The first of the run's bytes that nobody wrote, or -1. GM is always written.
    int64_t unwritten(Scope s, const Run &r) const;
    void wrote(Scope s, const Run &r);
    void forget(Scope s, int64_t begin, int64_t bytes);
    void forget_all();

private:
    // Zeros, which cost nothing where nobody writes: most programs use little of a core's memories.
    struct Free {
        void operator()(uint8_t *p) const { std::free(p); }
    };
    using Zeros = std::unique_ptr<uint8_t[], Free>;
    struct Banks {
        Zeros bytes[scope_count], shadow[scope_count];
    };
    // Those that wait for the next core. A fresh one is megabytes, of which the system makes zeros
    // again.
    struct Waiting;
    static Waiting &waiting();

    const Profile &chip_;
    const bool again_;
    std::vector<Binding> gm_;
    Banks banks_;
    int64_t written_[scope_count] = {};  // where the bytes end that somebody wrote, of this block
    int64_t ever_[scope_count] = {};     // and of all blocks
};

// Runs one instruction: reads and writes its operands at once. Arithmetic is documented with each
// unit, in execute_*.cpp.
void execute(const Step &s, Memory &m);
double scalar_load(const Step &s, Memory &m);

// The parts of execute(), by unit.
void execute(const Vec &v, const Step &s, Memory &m);
void execute(const VecReduce &v, const Step &s, Memory &m);
void execute(const VecConv &v, const Step &s, Memory &m);
void execute(const VecCmp &v, const Step &s, Memory &m);
void execute(const VecSel &v, const Step &s, Memory &m);
void execute(const VecTrans &v, const Step &s, Memory &m);
void execute(const Dma &d, const Step &s, Memory &m);
void execute(const DmaPad &d, const Step &s, Memory &m);
void execute(const Nd2Nz &d, const Step &s, Memory &m);
void execute(const Load2d &l, const Step &s, Memory &m);
void execute(const Load3d &l, const Step &s, Memory &m);
void execute(const Mmad &i, const Step &s, Memory &m);
void execute(const CcToUb &c, const Step &s, Memory &m);
void execute(const Fixpipe &f, const Step &s, Memory &m);
void execute(const ScalarSt &i, const Step &s, Memory &m);

}  // namespace halyard::dv

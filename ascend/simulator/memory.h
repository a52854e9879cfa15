// Memory: the memories of one core and the caller's tensors, with shadow memory for the bytes that
// have been written.
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
    // With `reuse`, takes the memories of a destroyed Memory if there are any, and leaves its own
    // to the next one. They are zeroed as far as wrote() was called.
    Memory(const Profile &chip, std::vector<Binding> gm, bool reuse = false);
    ~Memory();
    Memory(Memory &&) = default;
    uint8_t *at(const Location &p) { return base(p) + p.at; }
    uint8_t *base(const Location &p) {
        return p.scope == Scope::gm ? static_cast<uint8_t *>(gm_[size_t(p.tensor)].data)
                                    : banks_.bytes[int(p.scope)].get();
    }
    // Returns the first byte of the run that hasn't been written, or -1. All of GM counts as
    // written.
    int64_t unwritten(Scope s, const Run &r) const;
    void wrote(Scope s, const Run &r);                   // marks bytes as written
    void forget(Scope s, int64_t begin, int64_t bytes);  // marks bytes as not written
    void forget_all();

private:
    // Zeroed memory, whose pages exist only once they are written: most programs use little of a
    // core's memories.
    struct Free {
        void operator()(uint8_t *p) const { std::free(p); }
    };
    using Zeros = std::unique_ptr<uint8_t[], Free>;
    struct Banks {
        Zeros bytes[scope_count], shadow[scope_count];
    };
    // Memories for reuse: allocating and zeroing megabytes takes time.
    struct Pool;
    static Pool &pool();

    const Profile &chip_;
    const bool reuse_;
    std::vector<Binding> gm_;
    Banks banks_;
    int64_t written_[scope_count] = {};  // the end of the bytes written since forget_all()
    int64_t ever_[scope_count] = {};     // the end of the bytes ever written
};

// Executes one instruction. Its arithmetic is documented with each unit, in execute_*.cpp.
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

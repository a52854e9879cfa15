// The bytes that an instruction reads and writes. Checks of bounds, initialisation and races use
// them.
#pragma once
#include "ascend/simulator/step.h"
#include "registry/base/integer.h"

namespace halyard::dv {

// The accesses of one vector operand within an instruction.
struct StridedAccess {
    int64_t at;        // byte of the first element
    int64_t blk, rep;  // bytes from block to block, from repeat to repeat
    int bytes;         // bytes of an element
    // Returns the byte at which element `e` of a repeat begins.
    int64_t element(int64_t repeat, int e) const {
        const int per_block = block_bytes / bytes;
        return at + repeat * rep + e / per_block * blk + int64_t(e % per_block) * bytes;
    }
};
StridedAccess access_of(const Location &p, int blk, const Expr &rep);
// Returns true if the mask selects element `e` of a repeat.
inline bool active(const Mask &m, int e) {
    return m.bits ? ((e < 64 ? m.low >> e : m.high >> (e - 64)) & 1) != 0 : e < m.count.value();
}
// Returns as many elements as fit 256 B of the wider type.
int repeat_elements(const VecConv &v);

// A run of bytes.
struct Run {
    int64_t begin, bytes;
};
// Sets `runs` to the bytes of operand `k` of a step, in order; adjacent runs are merged.
void footprint(const Step &s, int k, std::vector<Run> &runs);

}  // namespace halyard::dv

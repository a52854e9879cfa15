// The cycle model of instructions. Constants and their sources are in the chip's profile. Moves
// from and to GM share a port with the other direction and with the other cores: for them there is
// only their traffic (gm_traffic()), from which the timer computes the time.
#pragma once
#include <unordered_map>

#include "ascend/passes/footprint.h"

namespace halyard::dv {

struct Cost {
    double cycles = 0;       // during which the pipe is busy
    double group_clash = 0;  // part of them: two reads from one bank group of ubuf
    double bank_clash = 0;   // part of them: reads that waited for a write to their bank
};

class CostModel {
public:
    explicit CostModel(const Profile &chip) : chip_(chip) {}
    // Returns the cost of an instruction that isn't a move from or to GM.
    Cost of(const Step &s);

private:
    struct Visitor;
    struct Beats;
    Cost vector(const Step &s, const std::string &key, int repeat,
                const std::array<StridedAccess, 3> &operands, int sources);
    // Returns the cycles of the repeats of a vector instruction, with conflicts of ubuf's banks.
    Cost banks(const std::array<StridedAccess, 3> &operands, int sources, int repeat,
               int per_repeat) const;
    static int64_t block_of(const StridedAccess &a, int repeat, int block);
    uint64_t bank_bit(int64_t block) const;

    const Profile &chip_;
    const int head_ = int(chip_.at("vec.head"));
    const int delay_ = int(chip_.at("vec.write_delay"));
    const int bank_bytes_ = int(chip_.at("vec.bank_bytes"));
    std::unordered_map<std::string, int> per_repeat_;  // cycles of a repeat, by key
    // Costs of vector instructions, by a hash of their addresses and strides: loops repeat them.
    std::unordered_map<uint64_t, Cost> seen_;
};

// The rows of bytes in GM that a move reads or writes.
struct Traffic {
    int tensor = -1;
    bool write = false;
    int64_t begin = 0, count = 1, bytes = 0, pitch = 0;
    double effective = 0;  // bytes, of which short and unaligned bursts have more
    bool unaligned = false;
};
// Returns the traffic of a step; bytes is 0 if it doesn't access GM.
Traffic gm_traffic(const Profile &chip, const Step &s);

}  // namespace halyard::dv

// The cycle model: what an instruction costs its pipe. Constants and where they come from are the
// profile's. Moves from and to GM share a port with the other direction and with the other cores;
// their time is the timer's to add up (gm_traffic).
#pragma once
#include <unordered_map>

#include "ascend/passes/footprint.h"

namespace halyard::dv {

struct Cost {
    double cycles = 0;       // that the pipe is busy
    double group_clash = 0;  // of which: two rows of one group of ubuf's banks
    double bank_clash = 0;   // of which: a read that waited for a write to its bank
};

class CostModel {
public:
    explicit CostModel(const Profile &chip) : chip_(chip) {}
    Cost of(const Step &s);  // not of moves from or to GM

private:
    Cost vector(const Step &s, const std::string &key, int repeat, const std::array<StridedAccess, 3> &walks,
                int sources);
    Cost banks(const std::array<StridedAccess, 3> &walks, int sources, int repeat, int per_repeat) const;

    const Profile &chip_;
    const int head_ = int(chip_.at("vec.head"));
    const int delay_ = int(chip_.at("vec.write_delay"));
    const int bank_bytes_ = int(chip_.at("vec.bank_bytes"));
    std::unordered_map<std::string, int> per_repeat_;  // cycles of a repeat, by key
    // of vector instructions, by their addresses and strides: loops repeat them
    std::unordered_map<uint64_t, Cost> seen_;
};

// A move's side in GM, as rows of bytes.
struct Traffic {
    int tensor = -1;
    bool write = false;
    int64_t begin = 0, count = 1, bytes = 0, pitch = 0;
    double effective = 0;  // bytes as time: short and unaligned bursts count for more
    bool unaligned = false;
};
// Nothing (bytes 0) for a step that doesn't touch GM.
Traffic gm_traffic(const Profile &chip, const Step &s);

}  // namespace halyard::dv

// Decision: what records say about a problem, and why the others among them say nothing.
#pragma once
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tools/tune/record.h"

namespace halyard::tune {

struct Question {
    std::string op, dtypes, isa, bucket;
    int threads = 1;
    std::map<std::string, std::string> algorithms;  // variant -> what it computes now
    std::string against = {};                       // the code of the default now; "" = any
};

// "" where the record may decide; else why it may not: another bucket's aren't asked.
std::string unusable(const Record &r, const Question &q);

struct Decision {
    const Record *best = nullptr;  // of the kernel to take; null = the default stands
    std::vector<const Record *> asked;
    std::vector<std::pair<const Record *, std::string>> refused;  // of this bucket, with the reason
};
// What a measurement of candidates came to, in lines. `fastest_first`: all of them. `unproved`:
// keys of those whose schedule can't be proved; they never win. `left_a_core`: others did while the
// fastest was to be confirmed; where they didn't, nothing is told.
std::vector<std::string> conclusions(const std::vector<Record> &fastest_first,
                                     const std::set<std::string> &unproved, bool left_a_core);
std::string kernel_text(const Record &r);  // "[adams2019] wide rows:4"

// The kernel with the op's own schedule that is fastest beyond doubt, and proved. `records` outlive
// it.
Decision decide(const std::vector<Record> &records, const Question &q);

}  // namespace halyard::tune

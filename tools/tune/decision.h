// Decision: which kernel the records select for a problem, and why other records weren't used.
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
    std::map<std::string, std::string> algorithms;  // variant -> hash of its algorithm now
    std::string against = {};                       // the code of the default now; "" is any
};

// Returns why the record must not decide; "" if it may. Records of other buckets aren't passed.
std::string unusable(const Record &r, const Question &q);

struct Decision {
    const Record *best = nullptr;  // of the selected kernel; null: the default
    std::vector<const Record *> usable;
    std::vector<std::pair<const Record *, std::string>> refused;  // of this bucket, with the reason
};
// Returns the conclusions of a measurement as lines. `fastest_first` are all candidates. `unproved`
// are the keys of those whose schedule can't be proved; they never win. Without `left_a_core`,
// because other processes used all cores while the fastest was confirmed, there is no conclusion.
std::vector<std::string> conclusions(const std::vector<Record> &fastest_first,
                                     const std::set<std::string> &unproved, bool left_a_core);
std::string kernel_text(const Record &r);  // "[adams2019] wide rows:4"

// Selects the fastest kernel with the op's own schedule that is proved and faster with confidence.
// `records` must outlive the result.
Decision decide(const std::vector<Record> &records, const Question &q);

}  // namespace halyard::tune

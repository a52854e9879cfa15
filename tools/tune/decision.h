// Decision: what records say about a problem, and why the others among them say nothing.
#pragma once
#include <map>
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
// The kernel with the op's own schedule that is fastest beyond doubt. `records` outlive it.
Decision decide(const std::vector<Record> &records, const Question &q);

}  // namespace halyard::tune

#include "tools/tune/decision.h"

namespace halyard::tune {

std::string unusable(const Record &r, const Question &q) {
    if (std::string why = foreign(r); !why.empty()) return why;
    const auto algorithm = q.algorithms.find(r.variant);
    if (algorithm == q.algorithms.end()) return "the op has no variant '" + r.variant + "' for " + q.isa;
    if (algorithm->second != r.algorithm) return "stale: of algorithm " + r.algorithm + ", it is " + algorithm->second + " now";
    if (!r.timed()) return r.verdict;
    return !q.against.empty() && r.against != q.against ? "was timed beside another default: code " + r.against + ", it is " + q.against + " now" : "";
}

Decision decide(const std::vector<Record> &records, const Question &q) {
    Decision d;
    for (const Record &r : records) {
        if (r.op != q.op || r.dtypes != q.dtypes || r.isa != q.isa || r.bucket != q.bucket || r.threads != q.threads) continue;
        if (const std::string why = unusable(r, q); !why.empty()) {
            d.refused.emplace_back(&r, why);
            continue;
        }
        d.asked.push_back(&r);
        if (r.schedule == "own" && r.decides() && (!d.best || r.ratio < d.best->ratio)) d.best = &r;
    }
    return d;
}

}  // namespace halyard::tune

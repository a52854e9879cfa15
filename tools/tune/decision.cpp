#include "tools/tune/decision.h"

#include <cstdio>

namespace halyard::tune {

std::string unusable(const Record &r, const Question &q) {
    if (std::string why = foreign_reason(r); !why.empty()) return why;
    const auto algorithm = q.algorithms.find(r.variant);
    if (algorithm == q.algorithms.end())
        return "the op has no variant '" + r.variant + "' for " + q.isa;
    if (algorithm->second != r.algorithm)
        return "stale: of algorithm " + r.algorithm + ", it is " + algorithm->second + " now";
    if (!r.timed()) return r.verdict;
    return !q.against.empty() && r.against != q.against
               ? "was timed against another default: code " + r.against + ", it is " + q.against +
                     " now"
               : "";
}

std::string kernel_text(const Record &r) {
    return (r.schedule == "own" ? "" : "[" + r.schedule + "] ") + r.variant +
           (r.variant.empty() ? "" : " ") + tunables_text(r.tunables);
}

std::vector<std::string> conclusions(const std::vector<Record> &fastest_first,
                                     const std::set<std::string> &unproved, bool left_a_core) {
    std::vector<std::string> lines;
    for (const Record &r : fastest_first) {
        if (!r.faster()) continue;
        char share[32];
        std::snprintf(share, sizeof share, "%.3f", r.ratio);
        const std::string times = std::string(share) + " of the default's time";
        if (unproved.count(key_of(r))) {
            lines.push_back(kernel_text(r) + " took " + times +
                            ", but is not proved: it can't win");
            continue;
        }
        if (!left_a_core) {
            lines.push_back("cannot tell whether " + kernel_text(r) + " is faster, at " + times +
                            ": no idle core");
        } else if (r.decides())
            lines.push_back(kernel_text(r) + " takes " + times + ", beyond doubt");
        else {
            lines.push_back("cannot tell whether " + kernel_text(r) + " is faster, at " + times +
                            ": it was not measured again");
        }
        return lines;
    }
    lines.push_back("nothing is faster than the default beyond doubt");
    return lines;
}

Decision decide(const std::vector<Record> &records, const Question &q) {
    Decision d;
    for (const Record &r : records) {
        if (r.op != q.op || r.dtypes != q.dtypes || r.isa != q.isa || r.bucket != q.bucket ||
            r.threads != q.threads)
            continue;
        if (const std::string why = unusable(r, q); !why.empty()) {
            d.refused.emplace_back(&r, why);
            continue;
        }
        d.usable.push_back(&r);
        if (r.schedule == "own" && r.decides() && (!d.best || r.ratio < d.best->ratio)) d.best = &r;
    }
    return d;
}

}  // namespace halyard::tune

#include "dsl/ascend/lowering/prove.h"

#include <unordered_map>

#include "registry/base/error.h"

namespace halyard::ascend {

void prove(const Halide::Expr &index, const std::vector<Loop> &loops, const Affine &a,
           const std::map<std::string, std::pair<int64_t, int64_t>> &bounds) {
    int64_t points = 1;
    for (auto &l : loops)
        points *= l.extent;
    const int64_t step = points <= max_points ? 1 : points / max_points * 2 + 1;
    std::map<std::string, int64_t> at;
    // A cache of the variables' addresses, because each is looked up many thousand times.
    std::unordered_map<const std::string *, const int64_t *> known;
    const Lookup lookup = [&](const std::string &name) {
        const auto [it, fresh] = known.try_emplace(&name, nullptr);
        if (fresh) it->second = &at[name];
        return *it->second;
    };
    for (const bool greatest : {false, true}) {
        for (auto &[name, range] : bounds)
            at[name] = greatest ? range.second : range.first;
        for (auto &l : loops)
            at[l.var] = 0;
        const int64_t base = evaluate(a.base, lookup);
        for (int64_t p = 0; p < points; p += step) {
            int64_t rest = p;
            int64_t expected = base;
            for (size_t k = loops.size(); k-- > 0;) {
                const int64_t i = rest % loops[k].extent;
                rest /= loops[k].extent;
                at[loops[k].var] = i;
                expected += i * a.stride[k];
            }
            if (const int64_t got = evaluate(index, lookup); got != expected) {
                std::ostringstream text;
                text << index;
                throw Error("ascend", "an index map was taken for another: " + text.str() + " is " +
                                          std::to_string(got) + ", not " +
                                          std::to_string(expected));
            }
        }
    }
}

}  // namespace halyard::ascend

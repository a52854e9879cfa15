#include "tools/tune/history.h"

#include <filesystem>

namespace halyard::tune {

History::History(const std::string &path) : writer_(path) {
    RecordFile file = read_records(path);
    refused_ = file.refused;
    for (const Record &r : merged({file}))
        records_.emplace(key_of(r), r);
    for (auto &[key, r] : records_)
        if (!halyard::tune::foreign(r).empty()) foreign_.emplace(key, &r);
}

const Record *History::find(const Record &like) const {
    const auto at = records_.find(key_of(like));
    return at == records_.end() ? nullptr : &at->second;
}

void History::put(const Record &r) {
    writer_.append(r);
    records_[key_of(r)] = r;
}

std::vector<const Record *> History::known(const Record &like,
                                           const std::map<std::string, std::string> &algorithms) {
    std::vector<const Record *> all;
    for (auto &[key, r] : records_) {
        if (foreign_.count(key) || r.op != like.op || r.dtypes != like.dtypes || r.isa != like.isa)
            continue;
        const auto algorithm = algorithms.find(r.variant);
        if (algorithm == algorithms.end() || algorithm->second != r.algorithm)
            stale_.insert(key);
        else if (r.threads == like.threads && r.problem == like.problem &&
                 r.against == like.against)
            all.push_back(&r);
    }
    return all;
}

}  // namespace halyard::tune

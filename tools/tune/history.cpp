#include "tools/tune/history.h"

namespace halyard::tune {
namespace {

bool has_kernels_of(const Record &r, const Record &like) {
    return r.op == like.op && r.dtypes == like.dtypes && r.isa == like.isa;
}

}  // namespace

History::History(const std::string &path) : writer_(path) {
    const RecordFile file = read_records(path);
    refused_ = file.refused;
    // A file may hold several measurements of a key. merged() keeps the newest.
    for (const Record &r : merged({file}))
        add(r);
}

void History::add(const Record &r) {
    const std::string key = key_of(r);
    records_[key] = r;
    stale_.erase(key);
    const std::string reason = foreign_reason(r);
    if (reason.empty())
        foreign_reasons_.erase(key);
    else
        foreign_reasons_[key] = reason;
}

const Record *History::find(const Record &like) const {
    const auto at = records_.find(key_of(like));
    return at == records_.end() ? nullptr : &at->second;
}

void History::put(const Record &r) {
    writer_.append(r);
    add(r);
}

std::vector<const Record *> History::known(const Record &like, const Algorithms &algorithms) const {
    std::vector<const Record *> all;
    for (auto &[key, r] : records_) {
        if (is_foreign(key) || !has_kernels_of(r, like)) continue;
        const auto algorithm = algorithms.find(r.variant);
        const bool is_current = algorithm != algorithms.end() && algorithm->second == r.algorithm;
        if (is_current && r.threads == like.threads && r.problem == like.problem &&
            r.against == like.against)
            all.push_back(&r);
    }
    return all;
}

void History::note_stale(const Record &like, const Algorithms &algorithms) {
    for (auto &[key, r] : records_) {
        if (is_foreign(key) || !has_kernels_of(r, like)) continue;
        const auto algorithm = algorithms.find(r.variant);
        if (algorithm != algorithms.end() && algorithm->second != r.algorithm) stale_.insert(key);
    }
}

}  // namespace halyard::tune

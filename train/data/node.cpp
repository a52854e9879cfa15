#include "train/data/node.h"

#include <algorithm>

#include "registry/base/error.h"
#include "registry/base/log.h"

namespace halyard::dataset {

const Tensor &Row::operator[](const std::string &column) const {
    return tensors_[find_column("row", columns_, column)];
}

size_t find_column(const std::string &op, const Columns &columns, const std::string &name) {
    const auto at = std::find(columns->begin(), columns->end(), name);
    if (at != columns->end()) return size_t(at - columns->begin());
    std::string names;
    for (const std::string &c : *columns)
        names += (names.empty() ? "" : ", ") + c;
    throw AttrError(op, "column is " + name + ", expected one of " + names);
}

Opening Opening::branch(uint64_t depth, size_t input) const {
    Opening other = *this;
    // The first input has the random numbers of a single input. No stream has an offset of all
    // ones.
    if (input) {
        const Words words = Random(seed, ~0ull).block(depth << 16 | input);
        other.seed = uint64_t(words[1]) << 32 | words[0];
    }
    return other;
}

int64_t Source::skip(int64_t n) {
    int64_t skipped = 0;
    for (Row row; skipped < n && next(row);)
        skipped++;
    return skipped;
}

void SkippedRows::add(const std::string &message) {
    constexpr size_t written = 10;
    const std::scoped_lock lock(mutex_);
    if (times_[message]++ || times_.size() > written) return;
    log(LogLevel::warning, "dataset",
        "left out: " + message +
            (times_.size() == written ? " (what follows is counted and not written)" : ""));
}

void SkippedRows::add_to(std::map<std::string, int64_t> &all) const {
    const std::scoped_lock lock(mutex_);
    for (const auto &[message, times] : times_)
        all[message] += times;
}

std::shared_ptr<const Node> Node::part(std::vector<int64_t>, uint64_t) const {
    return nullptr;
}

Node::Node(std::vector<std::shared_ptr<const Node>> from)
    : inputs(std::move(from)), columns(inputs.at(0)->columns) {
    for (const auto &input : inputs) {
        depth = std::max(depth, input->depth + 1);
        exact = exact && input->exact;
    }
}

}  // namespace halyard::dataset

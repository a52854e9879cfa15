#include "train/data/dataset.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "registry/base/error.h"
#include "train/data/sampler.h"
#include "train/data/steps.h"

namespace halyard::dataset {
namespace {

void check_count(const char *op, const char *what, int64_t v, int64_t least) {
    // A shuffle indexes its buffer with 32 bits.
    if (v < least || v > INT32_MAX) {
        throw AttrError(op, std::string(what) + " is " + std::to_string(v) + ", expected " +
                                std::to_string(least) + " to " + std::to_string(INT32_MAX));
    }
}

std::vector<NodePtr> nodes_of(const std::vector<Dataset> &datasets) {
    std::vector<NodePtr> nodes;
    for (const Dataset &d : datasets)
        nodes.push_back(d.node());
    return nodes;
}

// Returns the numbers of rows of split()'s parts. Fractions are rounded; the first part that can
// gets the difference.
std::vector<int64_t> rows_of_parts(const std::vector<double> &sizes, int64_t rows) {
    const double sum = std::accumulate(sizes.begin(), sizes.end(), 0.0);
    const bool shares = std::fabs(sum - 1) < 1e-9;
    std::vector<int64_t> counts;
    for (const double size : sizes) {
        const double count = std::nearbyint(shares ? size * double(rows) : size);
        if (!(count >= 1) || (!shares && count != size)) {
            throw AttrError("split", "a size is " + std::to_string(size) + " of " +
                                         std::to_string(rows) +
                                         " rows, expected at least one row, or shares of 1");
        }
        counts.push_back(int64_t(count));
    }
    const int64_t over = rows - std::accumulate(counts.begin(), counts.end(), int64_t(0));
    if (over && !shares) {
        throw AttrError("split", "sizes add up to " + std::to_string(rows - over) +
                                     " rows, the dataset has " + std::to_string(rows));
    }
    const auto first = std::find_if(counts.begin(), counts.end(),
                                    [&](int64_t n) { return n + over >= 1; });
    if (first != counts.end()) *first += over;
    return counts;
}

std::vector<int64_t> part_order(int64_t rows, bool randomize, const Random &random) {
    if (randomize) return random_order(rows, random);
    std::vector<int64_t> numbers(static_cast<size_t>(rows));
    std::iota(numbers.begin(), numbers.end(), int64_t(0));
    return numbers;
}

}  // namespace

void check_unique(const std::string &op, const std::vector<std::string> &names) {
    std::set<std::string> seen;
    for (const std::string &name : names) {
        if (!seen.insert(name).second)
            throw AttrError(op, "column " + name + " stands there twice");
    }
}

namespace transforms {
RandomApply::RandomApply(Transform transform, double prob)
    : transform_(std::move(transform)), prob_(prob) {
    if (!(prob >= 0 && prob <= 1))
        throw AttrError("RandomApply", "prob is " + std::to_string(prob) + ", expected 0 to 1");
}
}  // namespace transforms

Dataset Dataset::map(Transform operation, const Names &inputs, const Names &outputs,
                     const MapOptions &options) const {
    return map(std::vector<Transform>{std::move(operation)}, inputs, outputs, options);
}

Dataset Dataset::map(std::vector<Transform> operations, const Names &inputs, const Names &outputs,
                     const MapOptions &options) const {
    return Dataset(map_step(node_, std::move(operations), inputs, outputs, options));
}

Dataset Dataset::filter(std::function<bool(const Tensors &)> predicate, const Names &inputs) const {
    return Dataset(filter_step(node_, std::move(predicate), inputs));
}

Dataset Dataset::shuffle(int64_t buffer_size) const {
    check_count("shuffle", "buffer_size", buffer_size, 1);
    return Dataset(shuffle_step(node_, buffer_size));
}

Dataset Dataset::batch(int64_t batch_size, bool drop_remainder) const {
    return padded_batch(batch_size, drop_remainder, {});
}

Dataset Dataset::padded_batch(int64_t batch_size, bool drop_remainder,
                              const std::map<std::string, PadInfo> &pad_info) const {
    check_count("batch", "batch_size", batch_size, 1);
    return Dataset(batch_step(node_, batch_size, drop_remainder, pad_info));
}

Dataset Dataset::repeat(int64_t count) const {
    if (count != -1) check_count("repeat", "count", count, 1);
    return Dataset(repeat_step(node_, count));
}

Dataset Dataset::take(int64_t count) const {
    if (count != -1) check_count("take", "count", count, 1);
    return Dataset(range_step(node_, 0, count));
}

Dataset Dataset::skip(int64_t count) const {
    check_count("skip", "count", count, 0);
    return Dataset(range_step(node_, count, -1));
}

Dataset Dataset::project(const Names &columns) const {
    return Dataset(project_step(node_, columns, columns.all()));
}

Dataset Dataset::rename(const Names &inputs, const Names &outputs) const {
    if (inputs.all().size() != outputs.all().size()) {
        throw AttrError("rename", "input_columns has " + std::to_string(inputs.all().size()) +
                                      " names and output_columns " +
                                      std::to_string(outputs.all().size()));
    }
    std::vector<std::string> names = get_col_names();
    for (size_t i = 0; i < inputs.all().size(); i++)
        names[find_column("rename", node_->columns, inputs.all()[i])] = outputs.all()[i];
    return Dataset(project_step(node_, get_col_names(), names));
}

Dataset Dataset::zip(const std::vector<Dataset> &datasets) {
    if (datasets.empty()) throw AttrError("zip", "there are no datasets");
    return Dataset(zip_step(nodes_of(datasets)));
}

Dataset Dataset::concat(const std::vector<Dataset> &datasets) {
    if (datasets.empty()) throw AttrError("concat", "there are no datasets");
    return Dataset(concat_step(nodes_of(datasets)));
}

std::vector<Dataset> Dataset::split(const std::vector<double> &sizes, bool randomize) const {
    const int64_t rows = get_dataset_size();
    // If rows can be addressed their numbers are split, so that a part computes no row of another
    // one.
    const uint64_t seed = get_seed();
    const std::vector<int64_t> counts = rows_of_parts(sizes, rows);
    const std::vector<int64_t> numbers = part_order(rows, randomize,
                                                    Opening{seed}.stream(node_->depth + 1));
    const NodePtr whole = fixed_step(randomize ? shuffle_step(node_, rows) : node_, seed);
    std::vector<Dataset> parts;
    for (int64_t begin = 0; const int64_t count : counts) {
        const NodePtr part = node_->part({numbers.begin() + begin, numbers.begin() + begin + count},
                                         seed);
        parts.emplace_back(part ? part : range_step(whole, begin, count));
        begin += count;
    }
    return parts;
}

int64_t Dataset::get_dataset_size() const {
    const int64_t n = node_->size();
    if (n == unknown_size) return node_->open(Opening{})->skip(INT64_MAX);
    return n == endless ? -1 : n;
}

RowIterator Dataset::create_dict_iterator(uint64_t epoch, size_t ahead, int64_t start) const {
    if (start < 0) {
        throw AttrError("create_dict_iterator",
                        "start is " + std::to_string(start) + ", expected at least 0");
    }
    Opening opening;
    opening.pass = epoch;
    return {node_, opening, ahead, start};
}

std::map<std::string, int64_t> Dataset::skipped() const {
    std::map<std::string, int64_t> all;
    std::set<const Node *> seen;
    std::vector<const Node *> open = {node_.get()};
    while (!open.empty()) {
        const Node *node = open.back();
        open.pop_back();
        if (!seen.insert(node).second) continue;
        node->skipped.add_to(all);
        for (const NodePtr &input : node->inputs)
            open.push_back(input.get());
    }
    return all;
}

}  // namespace halyard::dataset

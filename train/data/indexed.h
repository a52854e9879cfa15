// IndexedNode: a source whose rows can be addressed by number.
#pragma once
#include <optional>

#include "train/data/sampler.h"

namespace halyard::dataset {

struct IndexedNode : Node {
    IndexedNode(std::vector<std::string> names, AnySampler order, size_t at_once = 1)
        : Node(std::move(names)), sampler(std::move(order)), chunk(at_once) {}
    virtual int64_t rows() const = 0;
    // Returns row `i`, or an empty value to skip it. Several threads call it at once if chunk > 1.
    virtual std::optional<Row> row(int64_t i) const = 0;
    int64_t size() const final { return sampler->size(rows()); }
    std::unique_ptr<Source> open(const Opening &opening) const override;
    // The part has the order of this source if that has all rows, else the order of `numbers`.
    std::shared_ptr<const Node> part(std::vector<int64_t> numbers, uint64_t seed) const override;

    AnySampler sampler;
    size_t chunk;        // the number of rows that the pool makes at once
    size_t workers = 0;  // the number of threads for them; 0 means all
};

// Returns the sampler of a source's options.
template<class Options> AnySampler sampler_of(const std::string &op, const Options &o) {
    return choose_sampler(op, {o.shuffle, o.sampler, o.num_samples, o.num_shards, o.shard_id});
}

}  // namespace halyard::dataset

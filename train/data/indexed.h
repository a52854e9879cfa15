// Indexed: a dataset whose rows can be made in any order, from their number.
#pragma once
#include <optional>

#include "train/data/sampler.h"

namespace halyard::dataset {

struct IndexedNode : Node {
    IndexedNode(std::vector<std::string> names, AnySampler order, size_t at_once = 1)
        : Node(std::move(names)), sampler(std::move(order)), chunk(at_once) {}
    virtual int64_t rows() const = 0;
    // Row number `i`, called from several threads at once where chunk > 1; empty: it is left out.
    virtual std::optional<Row> row(int64_t i) const = 0;
    int64_t size() const final { return sampler->size(rows()); }
    std::unique_ptr<Source> open(const Opening &opening) const override;
    // With the order of this one if that is all rows, shuffled or not; else as they are given.
    std::shared_ptr<const Node> part(std::vector<int64_t> numbers, uint64_t seed) const override;

    AnySampler sampler;
    size_t chunk;        // rows that are made together, on the pool
    size_t workers = 0;  // threads that may make them at once; 0: all
};

// What the options of sources have in common.
template<class Options> AnySampler sampler_of(const std::string &op, const Options &o) {
    return choose_sampler(op, {o.shuffle, o.sampler, o.num_samples, o.num_shards, o.shard_id});
}

}  // namespace halyard::dataset

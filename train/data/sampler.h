// Samplers: which rows of a source come, and in which order.
#pragma once
#include <memory>
#include <vector>

#include "train/data/node.h"

namespace halyard::dataset {

class Sampler {
public:
    virtual ~Sampler() = default;
    // of a source with that many rows
    virtual int64_t size(int64_t rows) const = 0;
    // numbers below `rows`, size() of them
    virtual std::vector<int64_t> order(int64_t rows, const Random &random) const = 0;
};

using AnySampler = std::shared_ptr<const Sampler>;

// Everywhere: num_samples 0 means as many as there are. Constructors throw AttrError; order() does
// for indices past the last row.

class SequentialSampler : public Sampler {
public:
    explicit SequentialSampler(int64_t start_index = 0, int64_t num_samples = 0);
    int64_t size(int64_t rows) const override;
    std::vector<int64_t> order(int64_t rows, const Random &random) const override;

private:
    int64_t start_, samples_;
};

// Another order in each pass; with replacement a row may come several times.
class RandomSampler : public Sampler {
public:
    explicit RandomSampler(bool replacement = false, int64_t num_samples = 0);
    int64_t size(int64_t rows) const override;
    std::vector<int64_t> order(int64_t rows, const Random &random) const override;

private:
    bool replacement_;
    int64_t samples_;
};

class SubsetSampler : public Sampler {
public:
    explicit SubsetSampler(std::vector<int64_t> indices, int64_t num_samples = 0);
    int64_t size(int64_t rows) const override;
    std::vector<int64_t> order(int64_t rows, const Random &random) const override;

private:
    std::vector<int64_t> indices_;
};

class SubsetRandomSampler : public Sampler {
public:
    explicit SubsetRandomSampler(std::vector<int64_t> indices, int64_t num_samples = 0);
    int64_t size(int64_t rows) const override;
    std::vector<int64_t> order(int64_t rows, const Random &random) const override;

private:
    std::vector<int64_t> indices_;
    int64_t samples_;
};

// Row i with probability weights[i] / sum. Without replacement a drawn row's weight becomes 0.
class WeightedRandomSampler : public Sampler {
public:
    explicit WeightedRandomSampler(std::vector<double> weights, int64_t num_samples = 0,
                                   bool replacement = true);
    int64_t size(int64_t rows) const override;
    std::vector<int64_t> order(int64_t rows, const Random &random) const override;

private:
    std::vector<double> weights_;
    int64_t samples_;
    bool replacement_;
};

// Shard number shard_id of num_shards: rows shard_id, shard_id + num_shards, ... of the order,
// begun anew behind the last row, so that all shards get ceil(rows / num_shards). The order is the
// same in all shards that have the same set_seed().
class DistributedSampler : public Sampler {
public:
    DistributedSampler(int64_t num_shards, int64_t shard_id, bool shuffle = true,
                       int64_t num_samples = 0);
    int64_t size(int64_t rows) const override;
    std::vector<int64_t> order(int64_t rows, const Random &random) const override;

private:
    int64_t shards_, shard_, samples_;
    bool shuffle_;
};

// How a source is read, from the arguments that all sources have: the sampler, if there is one,
// else all rows or a shard of them, shuffled or not, at most num_samples. Throws AttrError for a
// sampler beside shards, and for a shard_id that isn't below num_shards.
struct Sampling {
    bool shuffle = true;
    AnySampler sampler = {};
    int64_t num_samples = 0, num_shards = 1, shard_id = 0;
};
AnySampler choose_sampler(const std::string &op, const Sampling &s);

std::vector<int64_t> random_order(int64_t n, const Random &random);  // Fisher and Yates

}  // namespace halyard::dataset

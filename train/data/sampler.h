// Samplers choose the rows of a source and their order.
#pragma once
#include <memory>
#include <vector>

#include "train/data/node.h"

namespace halyard::dataset {

class Sampler {
public:
    virtual ~Sampler() = default;
    // Returns the number of samples from a source with that many rows.
    virtual int64_t size(int64_t rows) const = 0;
    // Returns size() row numbers below `rows`.
    virtual std::vector<int64_t> order(int64_t rows, const Random &random) const = 0;
};

using AnySampler = std::shared_ptr<const Sampler>;

// In all samplers num_samples 0 means all rows. Constructors throw AttrError for arguments out of
// range; order() throws it for indices past the last row.

class SequentialSampler : public Sampler {
public:
    explicit SequentialSampler(int64_t start_index = 0, int64_t num_samples = 0);
    int64_t size(int64_t rows) const override;
    std::vector<int64_t> order(int64_t rows, const Random &random) const override;

private:
    int64_t start_, samples_;
};

// Draws another order in each pass. With replacement a row may come several times.
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

// Draws row i with probability weights[i] / sum. Without replacement the weight of a drawn row
// becomes 0.
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

// Takes the rows shard_id, shard_id + num_shards, ... of one order. The order wraps around after
// the last row, so that every shard gets ceil(rows / num_shards) rows. Shards with the same
// set_seed() have the same order.
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

// The arguments about rows that all sources have.
struct Sampling {
    bool shuffle = true;
    AnySampler sampler = {};
    int64_t num_samples = 0, num_shards = 1, shard_id = 0;
};
// Returns the sampler given, or one for all rows or a shard of them, shuffled or not, with at most
// num_samples rows. Throws AttrError for a sampler together with shards and for a shard_id that is
// not below num_shards.
AnySampler choose_sampler(const std::string &op, const Sampling &s);

// Returns a random permutation of 0 to n - 1 (Fisher and Yates).
std::vector<int64_t> random_order(int64_t n, const Random &random);

}  // namespace halyard::dataset

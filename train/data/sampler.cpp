#include "train/data/sampler.h"

#include <algorithm>
#include <numeric>

#include "registry/base/error.h"

namespace halyard::dataset {
namespace {

void check_samples(const char *op, int64_t num_samples) {
    if (num_samples < 0) {
        throw AttrError(op,
                        "num_samples is " + std::to_string(num_samples) + ", expected at least 0");
    }
}

void check_indices(const char *op, const std::vector<int64_t> &indices, int64_t rows) {
    for (const int64_t i : indices) {
        if (i < 0 || i >= rows) {
            throw AttrError(op, "index is " + std::to_string(i) + ", expected 0 to " +
                                    std::to_string(rows - 1));
        }
    }
}

int64_t at_most(int64_t n, int64_t samples) {
    return samples ? std::min(n, samples) : n;
}

std::vector<int64_t> first(std::vector<int64_t> order, int64_t n) {
    order.resize(size_t(n));
    return order;
}

}  // namespace

std::vector<int64_t> random_order(int64_t n, const Random &random) {
    std::vector<int64_t> order(static_cast<size_t>(n));
    std::iota(order.begin(), order.end(), int64_t(0));
    for (size_t i = order.size(); i > 1; i--)
        std::swap(order[i - 1], order[random.below(i, uint32_t(i))]);
    return order;
}

SequentialSampler::SequentialSampler(int64_t start_index, int64_t num_samples)
    : start_(start_index), samples_(num_samples) {
    check_samples("SequentialSampler", num_samples);
    if (start_index < 0) {
        throw AttrError("SequentialSampler",
                        "start_index is " + std::to_string(start_index) + ", expected at least 0");
    }
}
int64_t SequentialSampler::size(int64_t rows) const {
    return at_most(std::max<int64_t>(rows - start_, 0), samples_);
}
std::vector<int64_t> SequentialSampler::order(int64_t rows, const Random &) const {
    std::vector<int64_t> all(static_cast<size_t>(size(rows)));
    std::iota(all.begin(), all.end(), start_);
    return all;
}

RandomSampler::RandomSampler(bool replacement, int64_t num_samples)
    : replacement_(replacement), samples_(num_samples) {
    check_samples("RandomSampler", num_samples);
}
int64_t RandomSampler::size(int64_t rows) const {
    return replacement_ && samples_ && rows ? samples_ : at_most(rows, samples_);
}
std::vector<int64_t> RandomSampler::order(int64_t rows, const Random &random) const {
    if (!replacement_) return first(random_order(rows, random), size(rows));
    std::vector<int64_t> all(static_cast<size_t>(size(rows)));
    for (size_t i = 0; i < all.size(); i++)
        all[i] = random.below(i, uint32_t(rows));
    return all;
}

SubsetSampler::SubsetSampler(std::vector<int64_t> indices, int64_t num_samples)
    : indices_(std::move(indices)) {
    check_samples("SubsetSampler", num_samples);
    indices_.resize(size_t(at_most(int64_t(indices_.size()), num_samples)));
}
int64_t SubsetSampler::size(int64_t) const {
    return int64_t(indices_.size());
}
std::vector<int64_t> SubsetSampler::order(int64_t rows, const Random &) const {
    check_indices("SubsetSampler", indices_, rows);
    return indices_;
}

SubsetRandomSampler::SubsetRandomSampler(std::vector<int64_t> indices, int64_t num_samples)
    : indices_(std::move(indices)), samples_(num_samples) {
    check_samples("SubsetRandomSampler", num_samples);
}
int64_t SubsetRandomSampler::size(int64_t) const {
    return at_most(int64_t(indices_.size()), samples_);
}
std::vector<int64_t> SubsetRandomSampler::order(int64_t rows, const Random &random) const {
    check_indices("SubsetRandomSampler", indices_, rows);
    std::vector<int64_t> all;
    for (const int64_t i : first(random_order(int64_t(indices_.size()), random), size(rows)))
        all.push_back(indices_[size_t(i)]);
    return all;
}

WeightedRandomSampler::WeightedRandomSampler(std::vector<double> weights, int64_t num_samples,
                                             bool replacement)
    : weights_(std::move(weights)), samples_(num_samples), replacement_(replacement) {
    constexpr const char *op = "WeightedRandomSampler";
    check_samples(op, num_samples);
    const auto positive = std::count_if(weights_.begin(), weights_.end(),
                                        [](double w) { return w > 0; });
    for (const double w : weights_) {
        if (!(w >= 0 && w < 1e300)) {
            throw AttrError(op, "a weight is " + std::to_string(w) +
                                    ", expected at least 0 and finite");
        }
    }
    if (positive == 0) throw AttrError(op, "no weight is above 0");
    if (!replacement && samples_ == 0) samples_ = positive;
    if (!replacement && num_samples > positive) {
        throw AttrError(op, "num_samples is " + std::to_string(num_samples) + ", but only " +
                                std::to_string(positive) + " weights are above 0");
    }
}
int64_t WeightedRandomSampler::size(int64_t) const {
    return samples_ ? samples_ : int64_t(weights_.size());
}

// Draws by position in the sum of all weights. A binary tree of sums finds a row and removes it in
// log n steps.
std::vector<int64_t> WeightedRandomSampler::order(int64_t rows, const Random &random) const {
    if (int64_t(weights_.size()) != rows) {
        throw AttrError("WeightedRandomSampler", "there are " + std::to_string(weights_.size()) +
                                                     " weights for " + std::to_string(rows) +
                                                     " rows");
    }
    size_t leaves = 1;
    while (leaves < weights_.size())
        leaves *= 2;
    std::vector<double> sum(2 * leaves);
    std::copy(weights_.begin(), weights_.end(), sum.begin() + (std::ptrdiff_t)leaves);
    for (size_t i = leaves; --i > 0;)
        sum[i] = sum[2 * i] + sum[2 * i + 1];
    std::vector<int64_t> all;
    for (uint64_t k = 0; int64_t(all.size()) < size(rows); k++) {
        const Words words = random.block(k);
        double place = double((uint64_t(words[0]) << 32 | words[1]) >> 11) * 0x1p-53 * sum[1];
        size_t at = 1;
        while (at < leaves) {
            at *= 2;
            // Rounding may lead beyond the last weight, so an empty half is never taken.
            if (sum[at + 1] > 0 && (place >= sum[at] || sum[at] == 0)) place -= sum[at++];
        }
        all.push_back(int64_t(at - leaves));
        if (replacement_) continue;
        for (sum[at] = 0; at /= 2;)
            sum[at] = sum[2 * at] + sum[2 * at + 1];
    }
    return all;
}

DistributedSampler::DistributedSampler(int64_t num_shards, int64_t shard_id, bool shuffle,
                                       int64_t num_samples)
    : shards_(num_shards), shard_(shard_id), samples_(num_samples), shuffle_(shuffle) {
    constexpr const char *op = "DistributedSampler";
    check_samples(op, num_samples);
    if (num_shards < 1) {
        throw AttrError(op,
                        "num_shards is " + std::to_string(num_shards) + ", expected at least 1");
    }
    if (shard_id < 0 || shard_id >= num_shards) {
        throw AttrError(op, "shard_id is " + std::to_string(shard_id) + ", expected 0 to " +
                                std::to_string(num_shards - 1));
    }
}
int64_t DistributedSampler::size(int64_t rows) const {
    return at_most((rows + shards_ - 1) / shards_, samples_);
}
std::vector<int64_t> DistributedSampler::order(int64_t rows, const Random &random) const {
    std::vector<int64_t> whole;
    std::vector<int64_t> mine(static_cast<size_t>(size(rows)));
    if (shuffle_) whole = random_order(rows, random);
    for (size_t i = 0; i < mine.size(); i++) {
        const int64_t place = (int64_t(i) * shards_ + shard_) % rows;
        mine[i] = shuffle_ ? whole[size_t(place)] : place;
    }
    return mine;
}

AnySampler choose_sampler(const std::string &op, const Sampling &s) {
    if (s.sampler && (s.num_shards != 1 || s.shard_id != 0))
        throw AttrError(op, "there is a sampler beside num_shards and shard_id");
    if (s.num_shards < 1 || s.shard_id < 0 || s.shard_id >= s.num_shards) {
        throw AttrError(op, "shard_id is " + std::to_string(s.shard_id) + " of " +
                                std::to_string(s.num_shards) + " shards");
    }
    if (s.sampler) return s.sampler;
    if (s.num_shards > 1) {
        return std::make_shared<DistributedSampler>(s.num_shards, s.shard_id, s.shuffle,
                                                    s.num_samples);
    }
    if (s.shuffle) return std::make_shared<RandomSampler>(false, s.num_samples);
    return std::make_shared<SequentialSampler>(0, s.num_samples);
}

}  // namespace halyard::dataset

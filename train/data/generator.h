// GeneratorDataset: rows that a program computes.
#pragma once
#include <functional>

#include "train/data/dataset.h"
#include "train/data/sampler.h"

namespace halyard::dataset {

// An object whose rows can be addressed.
template<class T>
concept RandomAccess = requires(const T &t, int64_t i) {
    { t.size() } -> std::convertible_to<int64_t>;
    { t[i] } -> std::convertible_to<Tensors>;
};

// A function that is called once for each pass and returns a function that sets the next row, or
// returns false at the end.
using Passes = std::function<std::function<bool(Tensors &)>()>;

struct GeneratorOptions {
    bool shuffle = true;
    AnySampler sampler = {};
    int64_t num_samples = 0, num_shards = 1, shard_id = 0;
    int num_parallel_workers = 1;  // above 1, several threads call the object's operator[]
};

// Iterating throws ShapeError for a row without a tensor for each column.
class GeneratorDataset : public Dataset {
public:
    template<RandomAccess T>
    GeneratorDataset(T source, const Names &column_names, const GeneratorOptions &options = {})
        : GeneratorDataset([source]() { return int64_t(source.size()); },
                           [source](int64_t i) -> Tensors { return source[i]; }, column_names,
                           options) {}
    GeneratorDataset(Passes passes, const Names &column_names);

private:
    GeneratorDataset(std::function<int64_t()> size, std::function<Tensors(int64_t)> row,
                     const Names &column_names, const GeneratorOptions &options);
};

}  // namespace halyard::dataset

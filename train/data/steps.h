// The steps between a source and an iterator. Dataset's functions create them; each checks its
// arguments and throws AttrError.
#pragma once
#include <functional>
#include <map>
#include <memory>

#include "train/data/options.h"
#include "train/data/transform.h"

namespace halyard::dataset {

using NodePtr = std::shared_ptr<const Node>;

NodePtr map_step(NodePtr from, std::vector<Transform> operations, const Names &inputs,
                 const Names &outputs, const MapOptions &options);
NodePtr filter_step(NodePtr from, std::function<bool(const Tensors &)> predicate,
                    const Names &inputs);
NodePtr shuffle_step(NodePtr from, int64_t buffer_size);
NodePtr batch_step(NodePtr from, int64_t batch_size, bool drop_remainder,
                   const std::map<std::string, PadInfo> &pad_info);
NodePtr repeat_step(NodePtr from, int64_t count);
// A count of -1 means all rows from `begin` on.
NodePtr range_step(NodePtr from, int64_t begin, int64_t count);
NodePtr project_step(NodePtr from, const Names &inputs, const std::vector<std::string> &outputs);
NodePtr zip_step(std::vector<NodePtr> from);
NodePtr concat_step(std::vector<NodePtr> from);
// Repeats pass 0 of `seed` in every pass.
NodePtr fixed_step(NodePtr from, uint64_t seed);

// Throws AttrError if a name occurs twice.
void check_unique(const std::string &op, const std::vector<std::string> &names);

}  // namespace halyard::dataset

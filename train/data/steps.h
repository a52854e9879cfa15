// The steps between a source and an iterator: what Dataset's functions make, their arguments
// checked.
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
NodePtr range_step(NodePtr from, int64_t begin, int64_t count);  // count -1: to the end
NodePtr project_step(NodePtr from, const Names &inputs, const std::vector<std::string> &outputs);
NodePtr zip_step(std::vector<NodePtr> from);
NodePtr concat_step(std::vector<NodePtr> from);
NodePtr fixed_step(NodePtr from, uint64_t seed);  // pass 0 under that seed, always

// Throws AttrError for one that stands there twice.
void check_unique(const std::string &op, const std::vector<std::string> &names);

}  // namespace halyard::dataset

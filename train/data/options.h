// Arguments of a Dataset's functions.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "train/data/node.h"

namespace halyard::dataset {

// The name of one column or of several: "image" or {"image", "label"}.
class Names {
public:
    Names() = default;
    Names(const char *name) : all_{name} {}
    Names(std::string name) : all_{std::move(name)} {}
    Names(std::initializer_list<std::string> names) : all_(names) {}
    Names(std::vector<std::string> names) : all_(std::move(names)) {}
    const std::vector<std::string> &all() const { return all_; }

private:
    std::vector<std::string> all_;
};

struct MapOptions {
    // The number of pool threads that the step may use at once; 0 means all.
    int num_parallel_workers = 0;
    // Decides about rows for which an operation throws IoError: damaged images and records.
    OnError on_error = OnError::RAISE;
};

// The padding of a column by padded_batch(): the extents of the result, where -1 means the largest
// in the batch, and the value that fills it.
struct PadInfo {
    Shape shape;
    double value = 0;
};

}  // namespace halyard::dataset

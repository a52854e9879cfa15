// Arguments of a Dataset's functions.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "train/data/node.h"

namespace halyard::dataset {

// One column or several: "image" or {"image", "label"}.
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
    // threads of the pool that this step may use at once; 0: all
    int num_parallel_workers = 0;
    // of rows on which an operation throws IoError: images and records that are damaged
    OnError on_error = OnError::RAISE;
};

// What padded_batch() makes of a column: extents (-1: the largest of the batch) and the value
// behind a row's own.
struct PadInfo {
    Shape shape;
    double value = 0;
};

}  // namespace halyard::dataset

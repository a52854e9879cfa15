// Indexed: a dataset whose rows can be made in any order, from their number.
#pragma once
#include <optional>

#include "train/dataset.h"

namespace halyard::dataset {

struct IndexedNode : Node {
    IndexedNode(std::vector<std::string> names, bool random_order, size_t at_once = 1) : shuffle(random_order), chunk(at_once) {
        columns = std::make_shared<const std::vector<std::string>>(std::move(names));
    }
    // Row number `i`, called from several threads at once where chunk > 1; empty: it is left out.
    virtual std::optional<Row> row(int64_t i) const = 0;
    std::unique_ptr<Source> open(uint64_t pass) const override;

    bool shuffle;  // another order in each pass
    size_t chunk;  // rows that are made together, on the pool
};

}  // namespace halyard::dataset

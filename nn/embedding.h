// Lookup of vectors.
#pragma once
#include <optional>

#include "nn/cell.h"
#include "nn/initializer.h"

namespace halyard::nn {

// x:i32[...] -> [..., embedding_size], the rows of the parameter embedding_table[vocab_size,
// embedding_size] that x names, which is drawn by `embedding_table`. Row padding_idx starts as
// zeros. Throws AttrError, and ShapeError for a row that isn't there.
class Embedding : public Cell {
public:
    Embedding(int64_t vocab_size, int64_t embedding_size,
              const Initializer &embedding_table = "normal",
              std::optional<int64_t> padding_idx = {});
    Tensor construct(const Tensor &x) const override;
    std::string extend_repr() const override;

    Parameter embedding_table;
};

}  // namespace halyard::nn

// Lookup of vectors by index.
#pragma once
#include <optional>

#include "nn/cell.h"
#include "nn/initializer.h"

namespace halyard::nn {

// Returns the rows of the parameter embedding_table[vocab_size, embedding_size] that x:i32[...]
// indexes, as [...,embedding_size]. The initialiser `embedding_table` draws the table; row
// padding_idx starts as zeros. Throws AttrError for wrong options, ShapeError for an index outside
// [0, vocab_size).
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

#include "nn/embedding.h"

#include "nn/sizes.h"
#include "primitives/ops/indexing.h"

namespace halyard::nn {

Embedding::Embedding(int64_t vocab_size, int64_t embedding_size, const Initializer &table,
                     std::optional<int64_t> padding_idx) {
    check_min("Embedding", "vocab_size", vocab_size, 1);
    check_min("Embedding", "embedding_size", embedding_size, 1);
    if (padding_idx && (*padding_idx < 0 || *padding_idx >= vocab_size)) {
        throw AttrError("Embedding", "padding_idx is " + std::to_string(*padding_idx) +
                                         ", expected 0 to vocab_size - 1, " +
                                         std::to_string(vocab_size - 1));
    }
    embedding_table = parameter("embedding_table",
                                initializer(table, {vocab_size, embedding_size}));
    if (padding_idx) {
        embedding_table.data()
            .slice(0, *padding_idx, *padding_idx + 1)
            .assign(Tensor::zeros({1, embedding_size}));
    }
}

Tensor Embedding::construct(const Tensor &x) const {
    return F::embedding(x, computed(embedding_table));
}

std::string Embedding::extend_repr() const {
    const Shape &s = embedding_table.shape();
    return "vocab_size=" + std::to_string(s[0]) + ", embedding_size=" + std::to_string(s[1]);
}

}  // namespace halyard::nn

// A language model of causal transformer layers.
#pragma once
#include "nn/cell.h"
#include "nn/dense.h"
#include "nn/embedding.h"
#include "nn/transformer.h"

namespace halyard::examples {

struct TransformerOptions {
    int64_t length = 64;  // the maximum length of a sequence
    int64_t width = 64, heads = 4, num_layers = 2;
    double dropout = 0.1;
};

// Maps x:i32[n,t] of class numbers to logits[n,t,classes] of the class that follows each position.
// Throws ShapeError if t exceeds `length`.
class TransformerModel : public nn::Cell {
public:
    explicit TransformerModel(int64_t classes, const TransformerOptions &options = {});
    Tensor construct(const Tensor &x) const override;

private:
    nn::Embedding embedding_, position_;
    nn::TransformerEncoder encoder_;
    nn::Dense head_;
    // The positions, i32[length], and the mask, bool[length,length], true for keys after the query.
    Tensor places_, hidden_;
};

}  // namespace halyard::examples

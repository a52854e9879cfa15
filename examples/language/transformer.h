// A language model of Transformer layers that see what came before them only.
#pragma once
#include "nn/cell.h"
#include "nn/dense.h"
#include "nn/embedding.h"
#include "nn/transformer.h"

namespace halyard::examples {

struct TransformerOptions {
    int64_t length = 64;  // pieces are at most that long
    int64_t width = 64, heads = 4, num_layers = 2;
    double dropout = 0.1;
};

// x:i32[n,t], classes, t at most length -> logits[n,t,classes]: at each place, of the class that
// comes next. Throws ShapeError.
class TransformerModel : public nn::Cell {
public:
    explicit TransformerModel(int64_t classes, const TransformerOptions &options = {});
    Tensor construct(const Tensor &x) const override;

private:
    nn::Embedding embedding_, position_;
    nn::TransformerEncoder encoder_;
    nn::Dense head_;
    // i32[length]; bool[length,length], true where a place would look ahead
    Tensor places_, hidden_;
};

}  // namespace halyard::examples

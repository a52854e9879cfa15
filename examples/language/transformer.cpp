#include "examples/language/transformer.h"

#include "primitives/operators.h"
#include "primitives/ops/binary.h"
#include "primitives/ops/creation.h"
#include "primitives/ops/triangle.h"
#include "registry/base/error.h"

namespace halyard::examples {
namespace {

nn::TransformerEncoder encoder(const TransformerOptions &o) {
    const nn::TransformerEncoderLayer layer(o.width, o.heads,
                                            {.dim_feedforward = 4 * o.width,
                                             .dropout = o.dropout,
                                             .activation = "gelu",
                                             .batch_first = true,
                                             .norm_first = true});
    return nn::TransformerEncoder(layer, o.num_layers, nn::LayerNorm({o.width}));
}

}  // namespace

TransformerModel::TransformerModel(int64_t classes, const TransformerOptions &o)
    : embedding_(child("embedding", nn::Embedding(classes, o.width, nn::Normal(0.02)))),
      position_(child("position", nn::Embedding(o.length, o.width, nn::Normal(0.02)))),
      encoder_(child("encoder", encoder(o))), head_(child("head", nn::Dense(o.width, classes))),
      places_(F::arange(0, double(o.length), 1, DType::i32)),
      hidden_(F::triu(Tensor::ones({o.length, o.length}), 1).to(DType::boolean)) {}

Tensor TransformerModel::construct(const Tensor &x) const {
    const int64_t t = x.size(1);
    const int64_t length = places_.size(0);
    if (t > length) {
        throw ShapeError("TransformerModel", "x's extent 1 is " + std::to_string(t) +
                                                 ", expected at most length " +
                                                 std::to_string(length));
    }
    const Tensor y = embedding_(x) + position_(places_.slice(0, 0, t));
    return head_(encoder_(y, hidden_.slice(0, 0, t).slice(1, 0, t)));
}

}  // namespace halyard::examples

// Draws new initial weights for all convolutions and all dense layers of a network.
#pragma once
#include "nn/conv.h"
#include "nn/dense.h"

namespace halyard::examples {

inline void initialize_weights(const nn::Cell &net, const nn::Initializer &of_convolutions,
                               const nn::Initializer &of_dense_layers) {
    const auto draw = [](const Parameter &weight, const nn::Initializer &init) {
        weight.set_data(nn::initializer(init, weight.shape(), weight.data().dtype()));
    };
    for (const auto &[name, cell] : net.cells_and_names()) {
        if (const auto *conv = cell.as<nn::Conv2d>()) draw(conv->weight, of_convolutions);
        if (const auto *dense = cell.as<nn::Dense>()) draw(dense->weight, of_dense_layers);
    }
}

}  // namespace halyard::examples

// A language model: a stack of LSTM layers.
#pragma once
#include "nn/cell.h"
#include "nn/dense.h"
#include "nn/embedding.h"
#include "nn/recurrent.h"

namespace halyard::examples {

// Maps x:i32[n,t] of class numbers to logits[n,t,classes] of the class that follows each position.
class LstmModel : public nn::Cell {
public:
    explicit LstmModel(int64_t classes, int64_t width = 64, int64_t hidden = 128,
                       int64_t num_layers = 1)
        : embedding(child("embedding", nn::Embedding(classes, width))),
          lstm(child("lstm",
                     nn::LSTM(width, hidden, {.num_layers = num_layers, .batch_first = true}))),
          head(child("head", nn::Dense(hidden, classes))) {}

    nn::Embedding embedding;
    nn::LSTM lstm;
    nn::Dense head;

    Tensor construct(const Tensor &x) const override { return head(lstm(embedding(x)).output); }
};

}  // namespace halyard::examples

// Pooling layers. x[n,c,h,w] -> [n,c,h',w'] in NCHW.
#pragma once
#include "nn/cell.h"
#include "nn/size2.h"

namespace halyard::nn {

struct Pool2dOptions {
    Size2 kernel_size = 1;
    Size2 stride = 1;
    std::string pad_mode = "valid";  // "same", "valid", or "pad": `padding` at top, bottom, left, right
    Padding2 padding = 0;
    std::string data_format = "NCHW";
};

// The padding never wins; of equal maxima the first gets the gradient.
class MaxPool2d : public Cell {
public:
    explicit MaxPool2d(const Pool2dOptions &options = {});
    Tensor construct(const Tensor &x) const override;

private:
    Pool2dOptions options_;
};

// "same" divides by the number of elements that exist, "pad" by the window's size unless count_include_pad is false.
class AvgPool2d : public Cell {
public:
    explicit AvgPool2d(const Pool2dOptions &options = {}, bool count_include_pad = true);
    Tensor construct(const Tensor &x) const override;

private:
    Pool2dOptions options_;
    bool count_include_pad_;
};

}  // namespace halyard::nn

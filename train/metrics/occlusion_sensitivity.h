// Which parts of an image a network's answer depends on. Names and values are MindSpore's.
#pragma once
#include <vector>

#include "nn/cell.h"

namespace halyard {

// How much the output for a class falls when a part of an image is hidden, for each element of the
// image:
//
//   OcclusionSensitivity metric;
//   metric.update(net, image, 3);
//   const Tensor map = metric.eval();
class OcclusionSensitivity {
public:
    // Hidden elements are `pad_val`. The part around element i is [i - margin, i + margin) in each
    // dimension; a single margin is that of all. The network gets `n_batch` images at once.
    // `b_box` = first, last, first, last, ... limits the elements in each dimension but the batch;
    // a last of -1 is the end. Throws AttrError for a margin or a batch below 1.
    explicit OcclusionSensitivity(double pad_val = 0, std::vector<int64_t> margin = {2},
                                  int64_t n_batch = 128, std::vector<int64_t> b_box = {});
    void clear() { differences_ = {}; }
    // Takes one image, f32[1,...], and a class of the network's outputs [N,C]. Replaces the results
    // of an earlier update. Throws ShapeError for other shapes, and for margins or a box that
    // don't fit the image.
    void update(const nn::AnyCell &network, const Tensor &image, int64_t label);
    // Returns f32 of the image's or the box's extents, without those of 1: the output for the whole
    // image, less the output with the part around the element hidden. Throws AttrError before any
    // update().
    Tensor eval() const;

private:
    struct Box {
        Shape first, extents;
    };
    Box box_of(const Shape &image) const;
    Tensor hidden_around(const Tensor &image, const Shape &at) const;

    double pad_val_;
    std::vector<int64_t> margin_;
    int64_t n_batch_;
    std::vector<int64_t> b_box_;
    Tensor differences_;
};

}  // namespace halyard

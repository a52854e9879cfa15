// Operations for Dataset::map after batch() that mix the images of a batch and their labels:
//
//   d.map(transforms::OneHot(10), "label")
//       .batch(32)
//       .map(vision::MixUpBatch(0.2), {"image", "label"})
//
// Images are u8 or f32. Labels are [n,classes] and become f32. Constructors throw AttrError, calls
// ShapeError and DTypeError.
#pragma once
#include "train/data/row.h"
#include "train/vision/draw.h"

namespace halyard::dataset::vision {

// Computes image * v + other * (1 - v) for images and labels, where `other` is the batch in random
// order and v is drawn once per batch from Beta(alpha, alpha) (Zhang et al., "mixup", ICLR 2018).
class MixUpBatch {
public:
    explicit MixUpBatch(double alpha = 1);
    Tensors operator()(const Tensors &columns, Draw &draw) const;

private:
    double alpha_;
};

enum class ImageBatchFormat { NHWC, NCHW };

// With probability `prob`, replaces a box of each image by that of another image and mixes the
// labels by the box's share (Yun et al., "CutMix", ICCV 2019). As in MindSpore the box's sides are
// (1 - v) times the image's, with v drawn from Beta(alpha, alpha); the paper has sqrt(1 - v).
class CutMixBatch {
public:
    explicit CutMixBatch(ImageBatchFormat image_batch_format, double alpha = 1, double prob = 1);
    Tensors operator()(const Tensors &columns, Draw &draw) const;

private:
    ImageBatchFormat format_;
    double alpha_, prob_;
};

}  // namespace halyard::dataset::vision

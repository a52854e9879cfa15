// Mixtures of the images of a batch and of their labels, for Dataset::map behind batch(), of the
// columns {"image", "label"}:
//   d.map(transforms::OneHot(10), "label").batch(32).map(vision::MixUpBatch(0.2), {"image",
//   "label"})
// Images u8 or f32; labels [n,classes], which become f32. Errors: ShapeError, DTypeError,
// AttrError.
#pragma once
#include "train/data/row.h"
#include "train/vision/draw.h"

namespace halyard::dataset::vision {

// image * v + another image of the batch * (1 - v), labels as well, with one v of Beta(alpha,
// alpha) for the batch (Zhang et al., "mixup", ICLR 2018). The others are the batch in random
// order.
class MixUpBatch {
public:
    explicit MixUpBatch(double alpha = 1);
    Tensors operator()(const Tensors &columns, Draw &draw) const;

private:
    double alpha_;
};

enum class ImageBatchFormat { NHWC, NCHW };

// A box of each image, with probability prob, from another one, and the labels by the box's share
// (Yun et al., "CutMix", ICCV 2019). As in MindSpore the box's sides are 1 - v of the image's, v of
// Beta(alpha, alpha), where the paper has the root of that.
class CutMixBatch {
public:
    explicit CutMixBatch(ImageBatchFormat image_batch_format, double alpha = 1, double prob = 1);
    Tensors operator()(const Tensors &columns, Draw &draw) const;

private:
    ImageBatchFormat format_;
    double alpha_, prob_;
};

}  // namespace halyard::dataset::vision

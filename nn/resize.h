// Layers that resize the planes of x[n,c,h,w], and lines and volumes. Constructors throw AttrError
// for wrong options, calls ShapeError for an input that does not fit.
#pragma once
#include "nn/cell.h"
#include "nn/sizes.h"
#include "primitives/ops/resize.h"

namespace halyard::nn {

struct UpsampleOptions {
    // Either the extents of the result after the channels, or a factor: floor(extent *
    // scale_factor).
    Ints size = {};
    double scale_factor = 0;
    // linear is for x[n,c,w], trilinear for x[n,c,d,h,w].
    F::Interpolation mode = F::Interpolation::nearest;
    bool align_corners = false;
    bool recompute_scale_factor = false;
};

// Calls F::interpolate.
class Upsample : public Cell {
public:
    explicit Upsample(const UpsampleOptions &options);
    Tensor construct(const Tensor &x) const override;

private:
    UpsampleOptions options_;
};

struct ResizeBilinearOptions {
    // Either the extents {h, w} of the result, or a factor.
    Ints size = {};
    int64_t scale_factor = 0;
    bool align_corners = false;
    bool half_pixel_centers = false;
};

// Calls F::resize_bilinear.
class ResizeBilinear : public Cell {
public:
    explicit ResizeBilinear(const ResizeBilinearOptions &options);
    Tensor construct(const Tensor &x) const override;

private:
    ResizeBilinearOptions options_;
};

}  // namespace halyard::nn

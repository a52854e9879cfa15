// Layers that resize the planes of x[n,c,h,w], or lines, or volumes. Each throws AttrError,
// ShapeError.
#pragma once
#include "nn/cell.h"
#include "nn/sizes.h"

namespace halyard::nn {

struct UpsampleOptions {
    Ints size = {};           // of the result, one number per dimension after the channels; or
    double scale_factor = 0;  // size = floor(x's * scale_factor)
    // or "nearest_exact", "bilinear", "bicubic", "linear" of x[n,c,w], "trilinear" of x[n,c,d,h,w]
    std::string mode = "nearest";
    bool align_corners = false;
    bool recompute_scale_factor = false;
};

// F::interpolate.
class Upsample : public Cell {
public:
    explicit Upsample(const UpsampleOptions &options);
    Tensor construct(const Tensor &x) const override;

private:
    UpsampleOptions options_;
};

struct ResizeBilinearOptions {
    Ints size = {};            // {h, w} of the result; or
    int64_t scale_factor = 0;  // how many times x's
    bool align_corners = false;
    bool half_pixel_centers = false;
};

// Bilinear, by default with the corners' pixels at 0, as F::resize_bilinear.
class ResizeBilinear : public Cell {
public:
    explicit ResizeBilinear(const ResizeBilinearOptions &options);
    Tensor construct(const Tensor &x) const override;

private:
    ResizeBilinearOptions options_;
};

}  // namespace halyard::nn

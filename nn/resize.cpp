#include "nn/resize.h"

namespace halyard::nn {
namespace {

void check_one(const char *layer, bool size, bool scale_factor) {
    if (size == scale_factor) {
        throw AttrError(layer, std::string(size ? "both" : "neither") +
                                   " of size and scale_factor given, expected one");
    }
}

}  // namespace

Upsample::Upsample(const UpsampleOptions &o) : options_(o) {
    check_one("Upsample", !o.size.empty(), o.scale_factor != 0);
}

Tensor Upsample::construct(const Tensor &x) const {
    const UpsampleOptions &o = options_;
    return F::interpolate(x, o.size, o.scale_factor, o.mode, o.align_corners,
                          o.recompute_scale_factor);
}

ResizeBilinear::ResizeBilinear(const ResizeBilinearOptions &o) : options_(o) {
    check_one("ResizeBilinear", !o.size.empty(), o.scale_factor != 0);
}

Tensor ResizeBilinear::construct(const Tensor &x) const {
    const ResizeBilinearOptions &o = options_;
    if (x.rank() != 4) {
        throw ShapeError("ResizeBilinear",
                         "x's rank is " + std::to_string(x.rank()) + ", expected 4");
    }
    const Ints size = o.size.empty() ? Ints{x.size(2) * o.scale_factor, x.size(3) * o.scale_factor}
                                     : o.size;
    return F::resize_bilinear(x, size, o.align_corners, o.half_pixel_centers);
}

}  // namespace halyard::nn

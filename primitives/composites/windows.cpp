// Compositions that lay windows of an image side by side, or add them up again (records:
// kernels/convolution/unfold.cpp).
#include "primitives/autograd/recorded.h"
#include "primitives/composites/composite.h"
#include "primitives/composites/composition.h"

namespace halyard {
namespace {

// Windows over an image: rows, then columns.
struct Windows {
    int64_t kernel[2], dilation[2], padding[2], stride[2];
    int64_t count[2];  // of windows
    Shape image;       // h, w
};

Windows windows_of(const Attrs &a, const Shape &image) {
    Windows s{};
    s.image = image;
    const char *const names[] = {"kernel_size", "dilation", "padding", "stride"};
    int64_t(*const parts[])[2] = {&s.kernel, &s.dilation, &s.padding, &s.stride};
    for (size_t k = 0; k < 4; k++) {
        const Ints &v = ints(a, names[k]);
        for (size_t d = 0; d < 2; d++) {
            const int64_t least = k == 2 ? 0 : 1;
            const int64_t most = 1 << 20;
            if (v[d] < least || v[d] > most) {
                throw AttrError(a.op().name, std::string(names[k]) + " is " + std::to_string(v[d]) +
                                                 ", expected " + std::to_string(least) + " to " +
                                                 std::to_string(most));
            }
            (*parts[k])[d] = v[d];
        }
    }
    for (int d = 0; d < 2; d++) {
        const int64_t reach = s.dilation[d] * (s.kernel[d] - 1) + 1;
        const int64_t padded = image[d] + 2 * s.padding[d];
        if (padded < reach) {
            throw ShapeError(a.op().name, std::string(d ? "w" : "h") + " is " +
                                              std::to_string(image[d]) + ", " +
                                              std::to_string(padded) +
                                              " with padding, expected at least the windows' " +
                                              std::to_string(reach));
        }
        s.count[d] = (padded - reach) / s.stride[d] + 1;
    }
    return s;
}

Tensor folded(const Tensor &x, const Windows &s);

Tensor unfolded(const Tensor &x, const Windows &s) {
    const int64_t n = x.shape()[0];
    const int64_t c = x.shape()[1];
    Tensor padded = x;
    if (s.padding[0] || s.padding[1]) {
        padded = Tensor::zeros({n, c, s.image[0] + 2 * s.padding[0], s.image[1] + 2 * s.padding[1]},
                               x.dtype());
        padded.slice(2, s.padding[0], s.padding[0] + s.image[0])
            .slice(3, s.padding[1], s.padding[1] + s.image[1])
            .assign(x);
    }
    const Shape step = padded.strides();
    const Tensor view = padded.with_view({n, c, s.kernel[0], s.kernel[1], s.count[0], s.count[1]},
                                         {step[0], step[1], s.dilation[0] * step[2],
                                          s.dilation[1] * step[3], s.stride[0] * step[2],
                                          s.stride[1] * step[3]},
                                         0);
    const Tensor y = view.copy().reshape(
        {n, c * s.kernel[0] * s.kernel[1], s.count[0] * s.count[1]});
    return recorded(x, y, [s](const Tensor &dy) { return folded(dy, s); });
}

Tensor folded(const Tensor &x, const Windows &s) {
    const int64_t n = x.shape()[0];
    const int64_t c = x.shape()[1] / (s.kernel[0] * s.kernel[1]);
    const auto pair = [](const int64_t(&v)[2]) { return Ints{v[0], v[1]}; };
    const auto kernel = [&] {
        const StopTape stop;
        return run1("fold_kernel",
                    {reshaped(x, {n * c, s.kernel[0], s.kernel[1], s.count[0], s.count[1]})},
                    {{"output_size", Ints{s.image[0], s.image[1]}},
                     {"dilation", pair(s.dilation)},
                     {"padding", pair(s.padding)},
                     {"stride", pair(s.stride)}});
    };
    return recorded(x, kernel().reshape({n, c, s.image[0], s.image[1]}),
                    [s](const Tensor &dy) { return unfolded(dy, s); });
}

Result unfold(Tensors in, const Attrs &a) {
    if (in[0].rank() != 4) {
        throw ShapeError("unfold",
                         "x has rank " + std::to_string(in[0].rank()) + ", expected 4 (n,c,h,w)");
    }
    return {unfolded(in[0], windows_of(a, {in[0].shape()[2], in[0].shape()[3]}))};
}

Result fold(Tensors in, const Attrs &a) {
    const Tensor &x = in[0];
    const Ints &size = ints(a, "output_size");
    if (x.rank() != 3)
        throw ShapeError("fold", "x has rank " + std::to_string(x.rank()) + ", expected 3 (n,k,l)");
    for (int64_t v : size) {
        if (v < 1 || v > INT32_MAX)
            throw AttrError("fold", "output_size is " + std::to_string(v) + ", expected 1 or more");
    }
    const Windows s = windows_of(a, {size[0], size[1]});
    const int64_t area = s.kernel[0] * s.kernel[1];
    const int64_t count = s.count[0] * s.count[1];
    if (x.shape()[1] % area) {
        throw ShapeError("fold", "x.k is " + std::to_string(x.shape()[1]) +
                                     ", expected a multiple of kernel_size's " +
                                     std::to_string(area));
    }
    if (x.shape()[2] != count) {
        throw ShapeError("fold", "x.l is " + std::to_string(x.shape()[2]) + ", expected " +
                                     std::to_string(count) + " windows");
    }
    return {folded(x, s)};
}

}  // namespace

Family windows_family() {
    static const Family::value_type all[] = {{"unfold", unfold}, {"fold", fold}};
    return all;
}

}  // namespace halyard

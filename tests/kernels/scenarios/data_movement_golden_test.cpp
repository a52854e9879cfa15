// Compares ops that move data with PyTorch: tests/goldens/movement_pytorch.py computed the numbers.
#include "primitives/autograd/tape.h"
#include "primitives/ops/indexing.h"
#include "primitives/ops/resize.h"
#include "primitives/ops/scatter.h"
#include "primitives/ops/triangle.h"
#include "primitives/ops/unfold.h"
#include "primitives/ops/views.h"
#include "tests/kernels/golden.h"

namespace halyard {
namespace {

// Compares f(x, x1) of case `name`, and its gradients in x and x1, with PyTorch's.
struct Goldens {
    const std::map<std::string, Tensor> all = golden("movement_pytorch");
    using Function = std::function<Tensor(const Tensor &x, const Tensor &x1)>;

    Tensor at(const std::string &name, const char *key) const { return all.at(name + "." + key); }
    void expect(const std::string &name, double tolerance, const Function &f) const {
        const bool two = all.count(name + ".x1") > 0;
        std::vector<Tensor> x = {at(name, "x")};
        if (two) x.push_back(at(name, "x1"));
        Tape tape;
        for (const Tensor &t : x)
            tape.watch(t);
        const Tensor y = f(x[0], x.back());
        expect_close(y, at(name, "y"), tolerance, name);
        const std::vector<Tensor> dx = tape.gradient(y, x, at(name, "dy"));
        expect_close(dx[0], at(name, "dx"), tolerance, name + " dx");
        if (two) expect_close(dx[1], at(name, "dx1"), tolerance, name + " dx1");
    }
};

// PyTorch computes positions and weights in f32, ours are double; its rounding is the difference.
constexpr double of_f32_weights = 4e-6, sums = 5e-7;

TEST(DataMovement, ResizesMatchPyTorch) {
    const Goldens g;
    for (const Ints &size : {Ints{13, 20}, Ints{4, 5}}) {
        const std::string tag = std::to_string(size[0]) + "x" + std::to_string(size[1]);
        g.expect("nearest_" + tag, sums,
                 [&](const Tensor &x, const Tensor &) { return F::interpolate(x, size); });
        g.expect("nearest_exact_" + tag, sums, [&](const Tensor &x, const Tensor &) {
            return F::interpolate(x, size, 0, "nearest_exact");
        });
        for (const char *mode : {"bilinear", "bicubic"}) {
            for (const bool corners : {false, true}) {
                g.expect(std::string(mode) + (corners ? "_1_" : "_0_") + tag, of_f32_weights,
                         [&](const Tensor &x, const Tensor &) {
                             return F::interpolate(x, size, 0, mode, corners);
                         });
            }
        }
    }
    g.expect("bilinear_scale", of_f32_weights, [](const Tensor &x, const Tensor &) {
        return F::interpolate(x, {}, 1.7, "bilinear");
    });
    g.expect("linear", of_f32_weights,
             [](const Tensor &x, const Tensor &) { return F::interpolate(x, {17}, 0, "linear"); });
}

TEST(DataMovement, GathersAndScattersMatchPyTorch) {
    const Goldens g;
    g.expect("gather", sums, [&](const Tensor &x, const Tensor &) {
        return F::gather_elements(x, g.at("gather", "index"), 1);
    });
    for (auto [theirs, ours] : {std::pair{"sum", "add"}, {"amax", "max"}, {"amin", "min"}}) {
        const std::string name = std::string("scatter_") + theirs;
        g.expect(name, sums, [&, reduction = ours](const Tensor &x, const Tensor &u) {
            return F::scatter(x, g.at(name, "index"), u, 1, reduction);
        });
    }
    g.expect("scatter_ties", sums, [&](const Tensor &x, const Tensor &u) {
        return F::tensor_scatter_elements(x, g.at("scatter_ties", "index"), u, 1, "max");
    });
    g.expect("index_add", sums, [](const Tensor &x, const Tensor &u) {
        return F::index_add(x, Tensor::from<int32_t>({3, 0, 3}), u, 1);
    });
}

TEST(DataMovement, PadsFoldsAndRotationsMatchPyTorch) {
    const Goldens g;
    for (const char *mode : {"reflect", "replicate", "circular", "constant"}) {
        g.expect(std::string("pad_") + mode, sums, [&](const Tensor &x, const Tensor &) {
            return F::pad(x, {2, 3, 1, 4}, mode);
        });
    }
    const Ints kernel{3, 2}, dilation{2, 1}, padding{1, 0}, stride{2, 3};
    g.expect("unfold", sums, [&](const Tensor &x, const Tensor &) {
        return F::unfold(x, kernel, dilation, padding, stride);
    });
    g.expect("fold", sums, [&](const Tensor &x, const Tensor &) {
        return F::fold(x, {7, 9}, kernel, dilation, padding, stride);
    });
    g.expect("pixel_shuffle", 0,
             [](const Tensor &x, const Tensor &) { return F::pixel_shuffle(x, 2); });
    g.expect("pixel_unshuffle", 0,
             [](const Tensor &x, const Tensor &) { return F::pixel_unshuffle(x, 3); });
    g.expect("diagonal", 0,
             [](const Tensor &x, const Tensor &) { return F::diagonal(x, 1, 2, 0); });
    g.expect("rot90", 0, [](const Tensor &x, const Tensor &) { return F::rot90(x, -1, {2, 0}); });
    g.expect("tril", 0, [](const Tensor &x, const Tensor &) { return F::tril(x, 1); });
    g.expect("triu", 0, [](const Tensor &x, const Tensor &) { return F::triu(x, -1); });
}

}  // namespace
}  // namespace halyard

// Compares losses and norms, and their gradients, with the numbers of MindSpore and PyTorch
// (tests/goldens).
#include <functional>

#include "primitives/autograd/tape.h"
#include "primitives/autograd/views.h"
#include "primitives/ops/binary.h"
#include "primitives/ops/ctc_loss.h"
#include "primitives/ops/label_losses.h"
#include "primitives/ops/losses.h"
#include "primitives/ops/norms.h"
#include "primitives/ops/softmax.h"
#include "primitives/ops/unary.h"
#include "tests/kernels/golden.h"

namespace halyard {
namespace {

using In = std::vector<Tensor>;
using Golden = std::map<std::string, Tensor>;
using Losses = std::function<Tensor(const In &)>;

constexpr double tolerance = 2e-6;  // Both libraries compute in f32.

// Compares y and the gradients of sum(dy y) in `inputs` with the file's `y` and `gradients`.
void expect_golden(const Golden &g, const std::string &what, const In &x, const std::string &y,
                   const Tensor &dy, const std::vector<std::string> &gradients, const Losses &f) {
    Tape tape;
    for (const Tensor &t : x)
        tape.watch(t);
    const Tensor value = f(x);
    expect_close(value, g.at(y), tolerance, what);
    const In d = tape.gradient(value, x, dy);
    for (size_t k = 0; k < gradients.size(); k++)
        expect_close(d[k], g.at(gradients[k]), tolerance, what + " " + gradients[k]);
}

TEST(MindSpore, Norms) {
    for (const std::string name :
         {"layernorm_last", "layernorm_eps1e-5", "layernorm_ax1_3d", "groupnorm_g2",
          "batchnorm1d_eval", "batchnorm1d_train", "batchnorm2d_train_default",
          "batchnorm2d_train_eps1e-3_mom0.5"}) {
        const Golden g = golden(name);
        const bool training = name.find("train") != std::string::npos;
        const bool other = name.find("mom0.5") != std::string::npos;
        const Tensor mean = training || g.count("p_mean") ? g.at("p_mean").copy() : Tensor();
        const Tensor variance = mean.defined() ? g.at("p_variance").copy() : Tensor();
        expect_golden(g, name, {g.at("x0"), g.at("p_gamma"), g.at("p_beta")}, "y0", g.at("dy0"),
                      {"dx0", "dp_gamma", "dp_beta"}, [&](const In &x) {
                          if (mean.defined()) {
                              return F::batch_norm(x[0], x[1], x[2], mean, variance, training,
                                                   other ? 1e-3 : 1e-5, other ? 0.5 : 0.1);
                          }
                          if (name == "groupnorm_g2") return F::group_norm(x[0], x[1], x[2], 2);
                          return F::layer_norm(x[0], x[1], x[2], 1, 1,
                                               name == "layernorm_eps1e-5" ? 1e-5 : 1e-7);
                      });
        if (!training) continue;
        expect_close(mean, g.at("ap_mean"), tolerance, name + " mean");
        expect_close(variance, g.at("ap_variance"), tolerance, name + " variance");
    }
}

TEST(MindSpore, Losses) {
    const auto of_two = [](const std::string &name, const Losses &f) {
        const Golden g = golden(name);
        expect_golden(g, name, {g.at("x0"), g.at("x1")}, "y0", g.at("dy0"),
                      g.count("dx1") ? std::vector<std::string>{"dx0", "dx1"}
                                     : std::vector<std::string>{"dx0"},
                      f);
    };
    of_two("mse_mean", [](const In &x) { return F::mse_loss(x[0], x[1]); });
    of_two("l1_mean", [](const In &x) { return F::l1_loss(x[0], x[1]); });
    of_two("smoothl1_none", [](const In &x) { return F::smooth_l1_loss(x[0], x[1], 1, "none"); });
    of_two("bce_logits_mean",
           [](const In &x) { return F::binary_cross_entropy_with_logits(x[0], x[1], {}, {}); });
    const Golden g = golden("cross_entropy_loss_ls0.1");
    expect_golden(g, "cross_entropy", {g.at("x0")}, "y0", g.at("dy0"), {"dx0"}, [&](const In &x) {
        return F::cross_entropy(x[0], g.at("x1").to(DType::i32), {}, -100, "mean", 0.1);
    });
}

Tensor gen(const Shape &shape, int64_t s, double scale = 1, double shift = 0) {
    const Tensor t = Tensor::empty(shape);
    for (int64_t i = 0; i < t.elements(); i++)
        t.data<float>()[i] = float(double((i * 389 + s * 97) % 997 - 498) / 512 * scale + shift);
    return t;
}

TEST(PyTorch, LossesAndNorms) {
    const Golden g = golden("pytorch_losses");
    const Tensor x = gen({5, 7}, 1), y = gen({5, 7}, 2), p = gen({5, 7}, 3, 0.4, 0.5),
                 weight = gen({7}, 4, 0.4, 1), pos = gen({7}, 5, 0.4, 1);
    const Tensor labels = Tensor::from<int32_t>({0, 6, 2, -100, 2}),
                 spoken = Tensor::from<int32_t>({1, 2, 2, 3, 1, 4}, {2, 3});
    const Tensor lengths = Tensor::from<int32_t>({9, 7}),
                 target_lengths = Tensor::from<int32_t>({3, 2});
    const Tensor first = weight.with_view({2}, {1}, 0);
    const Tensor second = pos.with_view({2}, {1}, 0);
    const auto number = [](double v) { return Tensor::scalar(v); };
    const std::map<std::string, Losses> all = {
        {"cross_entropy", [&](const In &in) { return F::cross_entropy(in[0], labels, weight); }},
        {"cross_entropy_smooth",
         [&](const In &in) { return F::cross_entropy(in[0], labels, weight, -100, "mean", 0.2); }},
        {"cross_entropy_dense",
         [&](const In &in) { return F::cross_entropy(in[0], p, weight, -100, "mean", 0.2); }},
        {"nll", [&](const In &in) { return F::nll_loss(in[0], labels, weight, -100, "none"); }},
        {"bce",
         [&](const In &in) {
             return F::binary_cross_entropy(F::add(F::mul(in[0], number(0.4)), number(0.5)), p, {});
         }},
        {"bce_logits",
         [&](const In &in) { return F::binary_cross_entropy_with_logits(in[0], p, weight, pos); }},
        {"kl", [&](const In &in) { return F::kl_div(in[0], p, "batchmean"); }},
        {"kl_log", [&](const In &in) { return F::kl_div(in[0], y, "none", true); }},
        {"huber", [&](const In &in) { return F::huber_loss(in[0], y, 0.6); }},
        {"smooth_l1", [&](const In &in) { return F::smooth_l1_loss(in[0], y, 0.6, "none"); }},
        {"soft_margin", [&](const In &in) { return F::soft_margin_loss(in[0], y); }},
        {"margin_ranking",
         [&](const In &in) { return F::margin_ranking_loss(in[0], y, F::sign(p), 0.2); }},
        {"hinge_embedding",
         [&](const In &in) { return F::hinge_embedding_loss(in[0], F::sign(y)); }},
        {"gaussian_nll",
         [&](const In &in) {
             return F::gaussian_nll_loss(in[0], y, F::add(F::abs(p), number(0.1)), 1e-6, true);
         }},
        {"poisson_nll", [&](const In &in) { return F::poisson_nll_loss(in[0], p); }},
        {"cosine", [&](const In &in) { return F::cosine_similarity(in[0], y); }},
        {"triplet",
         [&](const In &in) { return F::triplet_margin_loss(in[0], y, p, 1, 1e-6, true); }},
        {"ctc",
         [&](const In &in) {
             return F::ctc_loss(F::log_softmax(in[0]), spoken, lengths, target_lengths);
         }},
        {"rms_norm", [&](const In &in) { return F::rms_norm(in[0], weight); }},
        {"instance_norm", [&](const In &in) { return F::instance_norm(in[0], first, second); }},
    };
    for (const auto &[name, f] : all) {
        const Tensor &input = name == "ctc"             ? gen({9, 2, 5}, 6)
                              : name == "instance_norm" ? gen({2, 2, 9}, 7)
                                                        : x;
        const Shape &shape = g.at(name + "_y").shape();
        expect_golden(g, name, {input}, name + "_y",
                      shape.rank() ? gen(shape, 8) : Tensor::ones(shape), {name + "_dx"}, f);
    }
}

}  // namespace
}  // namespace halyard

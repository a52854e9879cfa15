// Compares recurrent cells with PyTorch (tests/goldens/cells_pytorch.py): values and all gradients,
// in f64.
#include "primitives/ops/recurrent.h"
#include "tests/kernels/golden.h"
#include "tests/primitives/gradient_check.h"
#include "tests/registry/expect_error.h"

namespace halyard {
namespace {

TEST(Cells, MatchPyTorch) {
    const auto arrays = golden("cells_pytorch");
    for (const std::string name : {"rnn_tanh", "rnn_relu", "lstm", "gru"}) {
        const auto all = [&](const std::string &kind) {
            std::vector<Tensor> found;
            for (auto at = arrays.begin();
                 (at = arrays.find(name + "_" + kind + std::to_string(found.size()))) !=
                 arrays.end();)
                found.push_back(at->second);
            return found;
        };
        const std::vector<Tensor> x = all("x"), want = all("y"), dwant = all("dx");
        ASSERT_EQ(x.size(), name == "lstm" ? 7 : 6);
        Tape tape;
        for (const Tensor &t : x)
            tape.watch(t);
        const std::vector<Tensor> y = Primitive((name + "_cell").c_str()).run(x);
        ASSERT_EQ(y.size(), want.size());
        for (size_t i = 0; i < y.size(); i++)
            expect_close(y[i], want[i], 1e-14, name + " y" + std::to_string(i));
        const std::vector<Tensor> dx = tape.gradient(y, x, all("dy"));
        for (size_t i = 0; i < dx.size(); i++)
            expect_close(dx[i], dwant[i], 1e-14, name + " dx" + std::to_string(i));
    }
}

TEST(Cells, RejectInvalidArguments) {
    const Tensor x = Tensor::ones({2, 3}), h = Tensor::ones({2, 4}), w = Tensor::ones({4, 3}),
                 u = Tensor::ones({4, 4}), b = Tensor::ones({4});
    expect_error<ShapeError>("[rnn_tanh_cell] w_ih.k is 4, expected 3 as x.k",
                             [&] { F::rnn_tanh_cell(x, h, u, u, b, b); });
    expect_error<ShapeError>("[gru_cell] w_ih's rows is 4, expected 12 as 3 gates of hx.h",
                             [&] { F::gru_cell(x, h, w, u, b, b); });
    expect_error<ShapeError>("[rnn_relu_cell] b_ih has rank 2, expected 1",
                             [&] { F::rnn_relu_cell(x, h, w, u, u, b); });
    const Tensor w4 = Tensor::ones({16, 3}), u4 = Tensor::ones({16, 4}), b4 = Tensor::ones({16});
    expect_error<ShapeError>("[lstm_cell] cx has shape [2,3], expected [2,4] as hx",
                             [&] { F::lstm_cell(x, h, x, w4, u4, b4, b4); });
}

}  // namespace
}  // namespace halyard

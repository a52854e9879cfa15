// Prints a line with a hash of each op's results of its first samples, and of LeNet-5's weights
// after three steps.
#include <cstdio>

#include "bench/harness/case.h"
#include "dsl/all_ops.h"
#include "examples/lenet5/lenet5.h"
#include "nn/loss.h"
#include "nn/wrap.h"
#include "primitives/primitive.h"
#include "primitives/random.h"

namespace halyard {
namespace {

class Hash {  // Computes FNV-1a.
public:
    void add(const Tensor &t) {
        const Tensor dense = t.contiguous();
        for (size_t i = 0; i < dense.bytes(); i++)
            h_ = (h_ ^ ((const unsigned char *)dense.raw())[i]) * 0x100000001B3u;
    }
    void print(const std::string &name) const {
        std::printf("%s %016llx\n", name.c_str(), (unsigned long long)h_);
    }

private:
    uint64_t h_ = 0xCBF29CE484222325u;
};

void op_bits(const std::string &name) {
    const OpPtr op = op_table().make(name);
    Hash h;
    for (size_t s = 0; s < op->samples.size() && s < 3; s++) {
        const check::Case c(*op, op->samples[s], op->dtypes[0], 1);
        for (const Tensor &t : op->internal ? dispatch(c.registered, c.in, c.attrs)
                                            : Primitive(c.registered, c.attrs).run(c.in))
            h.add(t);
    }
    h.print(name);
}

void lenet5_bits() {
    set_seed(1);
    const examples::LeNet5 network(10);
    const nn::SoftmaxCrossEntropyWithLogits loss(true, "mean");
    const nn::TrainOneStepCell step(nn::WithLossCell(network, loss),
                                    nn::Momentum(network.trainable_params(), 0.01, 0.9));
    const Tensor images = Tensor::empty({16, 1, 32, 32});
    const Tensor labels = Tensor::empty({16}, DType::i32);
    for (int64_t i = 0; i < images.elements(); i++)
        images.data<float>()[i] = float(i * 7919 % 251) / 251;
    for (int i = 0; i < 16; i++)
        labels.data<int32_t>()[i] = i * 3 % 10;
    Hash h;
    for (int i = 0; i < 3; i++)
        h.add(step(images, labels));
    for (auto &p : network.trainable_params())
        h.add(p.data());
    h.print("LeNet-5");
}

}  // namespace
}  // namespace halyard

int main() try {
    halyard::list_kit_ops();
    for (auto &name : halyard::op_table().names())
        halyard::op_bits(name);
    halyard::lenet5_bits();
    return 0;
} catch (const std::exception &e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
}

// An op whose schedule has a directive without effect, for `halyard ablate`.
#include <cmath>

#include "dsl/op.h"

namespace halyard {
namespace {

struct Planted : Op {
    Planted() : Op("planted", "x[n,c] -> y[n,c]") {
        dtypes = {"f32"};
        samples = {"n=16 c=1024"};
        contract = {Contract::elementwise, 64};
    }
    Var c{"c"}, n{"n"}, vec{"vec"}, lane{"lane"};
    Func x = input("x");
    Func y = output("y");

    void algorithm() override { y(c, n) = math::sigmoid(math::sigmoid(math::sigmoid(x(c, n)))); }
    void schedule(const Cpu &cpu) override {
        y.reorder(c, n);
        y.split(c, vec, lane, cpu.lanes, Tail::GuardWithIf);
        y.vectorize(lane);
    }
    void reference(Problem &p) const override {
        auto sigmoid = [](double v) { return 1 / (1 + std::exp(-v)); };
        for (int64_t i = 0; i < p["n"]; i++) {
            for (int64_t j = 0; j < p["c"]; j++)
                p("y")(i, j) = sigmoid(sigmoid(sigmoid(p("x")(i, j))));
        }
    }
};

}  // namespace

HALYARD_OPS {
    ops.add<Planted>();
}

}  // namespace halyard

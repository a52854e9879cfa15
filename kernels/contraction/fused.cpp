// Chains: ops that are compositions of other ops, each compiled into one kernel (dsl/chain.h).
#include "dsl/chain.h"
#include "kernels/elementwise/elementwise.h"

namespace halyard {

void halyard_list_binary(OpTable &ops);
void halyard_list_softmax(OpTable &ops);
void halyard_list_unary(OpTable &ops);

namespace {

const OpTable &parts() {
    static const OpTable table = [] {
        OpTable t;
        halyard_list_binary(t);
        halyard_list_softmax(t);
        halyard_list_unary(t);
        return t;
    }();
    return table;
}

struct AddRelu : Chain {
    AddRelu() : Chain(parts(), "add_relu", "x[*] z[*] -> y[*]", "s = add(x, z); y = relu(s)") {
        doc = "y = max(x + z, 0)";
        samples = {"d0=1 d1=1 d2=1", "d0=2 d1=3 d2=37", "d0=1 d1=1 d2=40009"};
        bench = {"d0=1 d1=1 d2=4194304"};
    }
};

}  // namespace

HALYARD_OPS {
    ops.add<AddRelu>();
}

}  // namespace halyard

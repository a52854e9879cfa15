#include "tests/onnx/node.h"

#include "primitives/library.h"
#include "primitives/primitive.h"

namespace halyard::onnx {

const Tensor &Node::operator[](size_t k) const {
    if (!has(k)) throw NotCovered(op + " without input " + std::to_string(k));
    return in[k];
}

void Node::require_covered(bool covered, const std::string &what) const {
    if (!covered) throw NotCovered(op + ": " + what);
}

const Operators &operators() {
    static const Operators all = [] {
        Operators a;
        add_elementwise(a);
        add_reductions(a);
        add_movement(a);
        add_networks(a);
        return a;
    }();
    return all;
}

bool has_primitive(const std::string &op) {
    try {
        return !library().at(op).record.internal;
    } catch (const DispatchError &) {
        return false;
    }
}

Results call(const std::string &op, std::initializer_list<Tensor> in, const Given &attrs) {
    if (!has_primitive(op)) throw NotCovered("no primitive " + op);
    return Primitive(op.c_str(), attrs).run(in);
}

Tensor call1(const std::string &op, std::initializer_list<Tensor> in, const Given &attrs) {
    return call(op, in, attrs).at(0);
}

Tensor number(double v, const Tensor &like) {
    return Tensor::scalar(v, like.dtype());
}

Tensor cast(const Tensor &x, DType to) {
    return x.dtype() == to ? x : call1("cast", {x}, {{"dtype", to}});
}

}  // namespace halyard::onnx

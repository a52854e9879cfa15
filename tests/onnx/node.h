// One node of an ONNX graph, and what operators of ONNX are in terms of the primitives.
#pragma once
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "registry/op/attrs.h"
#include "registry/tensor/tensor.h"

namespace halyard::onnx {

// The primitives can't say this: the op isn't there, or has no such attribute.
struct NotCovered : std::runtime_error {
    using std::runtime_error::runtime_error;
};

struct Node {
    std::string op;
    std::vector<Tensor> in;  // undefined where left out
    nlohmann::json attributes;
    std::map<std::string, Tensor> constants;  // attributes that are tensors
    size_t results = 1;

    bool has(size_t k) const { return k < in.size() && in[k].defined(); }
    const Tensor &operator[](size_t k) const;  // throws NotCovered where it was left out
    int64_t integer(const char *name, int64_t otherwise) const {
        return attributes.value(name, otherwise);
    }
    double real(const char *name, double otherwise) const {
        return attributes.value(name, otherwise);
    }
    std::string text(const char *name, const char *otherwise) const {
        return attributes.value(name, std::string(otherwise));
    }
    Ints ints(const char *name, const Ints &otherwise = {}) const {
        return attributes.value(name, otherwise);
    }
    Ints ints_of(size_t k) const { return in[k].to_vector<int64_t>(); }  // input k's values
    void refuse_unless(bool covered, const std::string &what) const;     // throws NotCovered
};

using Results = std::vector<Tensor>;
using Operator = std::function<Results(const Node &)>;
using Operators = std::map<std::string, Operator>;

// By ONNX's name. Each file adds its own; an operator whose primitives aren't there throws
// NotCovered when it runs.
const Operators &operators();
void add_elementwise(Operators &all);
void add_reductions(Operators &all);
void add_movement(Operators &all);
void add_networks(Operators &all);

// A primitive by name: what is missing in this build is no error of the compiler's.
using Given = std::vector<std::pair<std::string, AttrValue>>;
Results call(const std::string &op, std::initializer_list<Tensor> in, const Given &attrs = {});
Tensor call1(const std::string &op, std::initializer_list<Tensor> in, const Given &attrs = {});
bool has_primitive(const std::string &op);

Tensor number(double v, const Tensor &like);  // of its dtype
Tensor cast(const Tensor &x, DType to);

}  // namespace halyard::onnx

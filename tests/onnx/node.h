// One node of an ONNX graph, and ONNX's operators in terms of the primitives.
#pragma once
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "registry/op/attrs.h"
#include "registry/tensor/tensor.h"

namespace halyard::onnx {

// The primitives can't express this: the op is missing, or has no such attribute.
struct NotCovered : std::runtime_error {
    using std::runtime_error::runtime_error;
};

struct Node {
    std::string op;
    std::vector<Tensor> in;  // An omitted input is undefined.
    nlohmann::json attributes;
    std::map<std::string, Tensor> constants;  // The attributes that are tensors.
    size_t results = 1;

    bool has(size_t k) const { return k < in.size() && in[k].defined(); }
    const Tensor &operator[](size_t k) const;  // Throws NotCovered if it was omitted.
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
    Ints ints_of(size_t k) const { return in[k].to_vector<int64_t>(); }  // The values of input k.
    void require_covered(bool covered, const std::string &what) const;   // Throws NotCovered.
};

using Results = std::vector<Tensor>;
using Operator = std::function<Results(const Node &)>;
using Operators = std::map<std::string, Operator>;

// Returns the operators by ONNX's name. Each file adds its own; an operator whose primitives are
// missing throws NotCovered when it runs.
const Operators &operators();
void add_elementwise(Operators &all);
void add_reductions(Operators &all);
void add_movement(Operators &all);
void add_networks(Operators &all);

// Calls a primitive by name, so that a primitive missing from this build is no compiler error.
using Given = std::vector<std::pair<std::string, AttrValue>>;
Results call(const std::string &op, std::initializer_list<Tensor> in, const Given &attrs = {});
Tensor call1(const std::string &op, std::initializer_list<Tensor> in, const Given &attrs = {});
bool has_primitive(const std::string &op);

Tensor number(double v, const Tensor &like);  // It has the dtype of `like`.
Tensor cast(const Tensor &x, DType to);

}  // namespace halyard::onnx

// ONNX's elementwise operators.
#include "tests/onnx/node.h"

namespace halyard::onnx {
namespace {

// A primitive with ONNX's attributes under the primitive's names, and ONNX's defaults.
struct Renamed {
    const char *theirs, *ours;
    double otherwise;
};

Operator unary(const std::string &primitive, std::vector<Renamed> attributes = {}) {
    return [=](const Node &n) -> Results {
        Given given;
        for (auto &a : attributes)
            given.emplace_back(a.ours, n.real(a.theirs, a.otherwise));
        return call(primitive, {n[0]}, given);
    };
}

Operator binary(const std::string &primitive) {
    return [=](const Node &n) -> Results { return call(primitive, {n[0], n[1]}); };
}

// Applies a binary primitive to any number of inputs, two at a time.
Tensor folded(const std::string &primitive, const Node &n) {
    Tensor y = n[0];
    for (size_t k = 1; k < n.in.size(); k++)
        y = call1(primitive, {y, n[k]});
    return n.in.size() == 1 ? call1("copy", {y}) : y;
}
Operator fold(const std::string &primitive) {
    return [=](const Node &n) -> Results { return {folded(primitive, n)}; };
}

Tensor add(const Tensor &a, const Tensor &b) {
    return call1("add", {a, b});
}
Tensor sub(const Tensor &a, const Tensor &b) {
    return call1("sub", {a, b});
}
Tensor mul(const Tensor &a, const Tensor &b) {
    return call1("mul", {a, b});
}

// ONNX divides integers towards zero, as C does. The primitive rounds down, so one is added if the
// signs differ and there is a remainder.
Results divide(const Node &n) {
    const Tensor &a = n[0];
    const Tensor &b = n[1];
    if (is_float(a.dtype())) return call("div", {a, b});
    const Tensor down = call1("floor_div", {a, b});
    const Tensor rest = sub(a, mul(down, b));
    if (a.dtype() == DType::u8) return {down};
    const Tensor left = call1("not_equal", {rest, number(0, a)});
    const Tensor below = call1("less", {down, number(0, a)});
    return {add(down, cast(call1("logical_and", {left, below}), a.dtype()))};
}

Results modulo(const Node &n) {
    const Tensor &a = n[0];
    const Tensor &b = n[1];
    const Tensor y = call1("floor_mod", {a, b});
    if (!n.integer("fmod", 0) || a.dtype() == DType::u8) return {y};
    // fmod has a's sign, floor_mod b's.
    const Tensor sign = call1("less", {mul(call1("sign", {a}), call1("sign", {y})), number(0, a)});
    return {call1("select", {sign, sub(y, b), y})};
}

Results clip(const Node &n) {
    Tensor y = n[0];
    if (n.has(1)) y = call1("maximum", {y, n[1]});
    if (n.has(2)) y = call1("minimum", {y, n[2]});
    return {n.has(1) || n.has(2) ? y : call1("copy", {y})};
}

Results hard_sigmoid(const Node &n) {
    const Tensor &x = n[0];
    const Tensor line = add(mul(x, number(n.real("alpha", 0.2), x)),
                            number(n.real("beta", 0.5), x));
    return call("clip_by_value", {line, number(0, x), number(1, x)});
}

Results is_inf(const Node &n) {
    const Tensor inf = call1("is_inf", {n[0]});
    const bool up = n.integer("detect_positive", 1), down = n.integer("detect_negative", 1);
    if (up && down) return {inf};
    return call("logical_and",
                {inf, call1(up     ? "greater"
                            : down ? "less"
                                   : "is_nan",
                            up || down ? std::initializer_list<Tensor>{n[0], number(0, n[0])}
                                       : std::initializer_list<Tensor>{n[0]})});
}

Results prelu(const Node &n) {
    const Tensor &x = n[0];
    const Tensor zero = number(0, x);
    return call("select", {call1("less", {x, zero}), mul(x, n[1]), x});
}

Results selu(const Node &n) {
    const Tensor &x = n[0];
    if (!n.attributes.contains("alpha") && !n.attributes.contains("gamma"))
        return call("selu", {x});
    return {mul(call1("elu", {x}, {{"alpha", n.real("alpha", 1.67326319217681884765625)}}),
                number(n.real("gamma", 1.05070102214813232421875), x))};
}

Results shrink(const Node &n) {
    const Tensor &x = n[0];
    const double lambd = n.real("lambd", 0.5), bias = n.real("bias", 0);
    if (bias == 0) return call("hard_shrink", {x}, {{"lambd", lambd}});
    if (bias == lambd) return call("soft_shrink", {x}, {{"lambd", lambd}});
    const Tensor zero = number(0, x);
    const Tensor low = call1("less", {x, number(-lambd, x)});
    const Tensor high = call1("greater", {x, number(lambd, x)});
    return call("select", {low, add(x, number(bias, x)),
                           call1("select", {high, sub(x, number(bias, x)), zero})});
}

Results power(const Node &n) {
    return call("pow", {n[0], cast(n[1], n[0].dtype())});
}

DType dtype_of_onnx(const Node &n, int64_t code) {  // `code` is a TensorProto.DataType.
    static const std::map<int64_t, DType> all = {
        {1, DType::f32},     {2, DType::u8},   {3, DType::i8},   {6, DType::i32},  {7, DType::i64},
        {9, DType::boolean}, {10, DType::f16}, {11, DType::f64}, {16, DType::bf16}};
    n.require_covered(all.count(code) > 0, "data type " + std::to_string(code));
    return all.at(code);
}

// ONNX's names of unary operators, and the primitives'.
constexpr const char *unary_names[][2] = {{"Abs", "abs"},
                                          {"Acos", "acos"},
                                          {"Acosh", "acosh"},
                                          {"Asin", "asin"},
                                          {"Asinh", "asinh"},
                                          {"Atan", "atan"},
                                          {"Atanh", "atanh"},
                                          {"BitwiseNot", "bitwise_not"},
                                          {"Ceil", "ceil"},
                                          {"Cos", "cos"},
                                          {"Cosh", "cosh"},
                                          {"Erf", "erf"},
                                          {"Exp", "exp"},
                                          {"Floor", "floor"},
                                          {"HardSwish", "hard_swish"},
                                          {"IsNaN", "is_nan"},
                                          {"Log", "log"},
                                          {"Mish", "mish"},
                                          {"Neg", "neg"},
                                          {"Not", "logical_not"},
                                          {"Relu", "relu"},
                                          {"Round", "round"},
                                          {"Reciprocal", "reciprocal"},
                                          {"Sigmoid", "sigmoid"},
                                          {"Sign", "sign"},
                                          {"Sin", "sin"},
                                          {"Sinh", "sinh"},
                                          {"Softplus", "softplus"},
                                          {"Softsign", "softsign"},
                                          {"Sqrt", "sqrt"},
                                          {"Tan", "tan"},
                                          {"Tanh", "tanh"}};

constexpr const char *binary_names[][2] = {{"Add", "add"},
                                           {"And", "logical_and"},
                                           {"BitwiseAnd", "bitwise_and"},
                                           {"BitwiseOr", "bitwise_or"},
                                           {"BitwiseXor", "bitwise_xor"},
                                           {"Equal", "equal"},
                                           {"Greater", "greater"},
                                           {"GreaterOrEqual", "greater_equal"},
                                           {"Less", "less"},
                                           {"LessOrEqual", "less_equal"},
                                           {"Mul", "mul"},
                                           {"Or", "logical_or"},
                                           {"Sub", "sub"},
                                           {"Xor", "logical_xor"}};

}  // namespace

void add_elementwise(Operators &all) {
    for (auto &[theirs, ours] : unary_names)
        all[theirs] = unary(ours);
    for (auto &[theirs, ours] : binary_names)
        all[theirs] = binary(ours);
    all["Celu"] = unary("celu", {{"alpha", "alpha", 1}});
    all["Elu"] = unary("elu", {{"alpha", "alpha", 1}});
    all["LeakyRelu"] = unary("leaky_relu", {{"alpha", "alpha", 0.01}});
    all["ThresholdedRelu"] = unary("threshold", {{"alpha", "thr", 1}});
    all["Max"] = fold("maximum");
    all["Min"] = fold("minimum");
    all["Sum"] = fold("add");
    all["Mean"] = [](const Node &n) -> Results {
        return call("div", {folded("add", n), number(double(n.in.size()), n[0])});
    };
    all["BitShift"] = [](const Node &n) -> Results {
        return call(n.text("direction", "LEFT") == "LEFT" ? "left_shift" : "right_shift",
                    {n[0], n[1]});
    };
    all["Cast"] = [](const Node &n) -> Results {
        return {cast(n[0], dtype_of_onnx(n, n.integer("to", 0)))};
    };
    all["CastLike"] = [](const Node &n) -> Results { return {cast(n[0], n[1].dtype())}; };
    all["Clip"] = clip;
    all["Div"] = divide;
    all["Mod"] = modulo;
    all["HardSigmoid"] = hard_sigmoid;
    all["IsInf"] = is_inf;
    all["Gelu"] = [](const Node &n) -> Results {
        return call(n.text("approximate", "none") == "tanh" ? "gelu_tanh" : "gelu", {n[0]});
    };
    all["Identity"] = [](const Node &n) -> Results { return {n[0]}; };
    all["PRelu"] = prelu;
    all["Pow"] = power;
    all["Selu"] = selu;
    all["Shrink"] = shrink;
    all["Swish"] = [](const Node &n) -> Results {
        return {mul(n[0], call1("sigmoid", {mul(n[0], number(n.real("alpha", 1), n[0]))}))};
    };
    all["Where"] = [](const Node &n) -> Results { return call("select", {n[0], n[1], n[2]}); };
}

}  // namespace halyard::onnx

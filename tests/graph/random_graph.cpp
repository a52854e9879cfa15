#include "tests/graph/random_graph.h"

#include <algorithm>
#include <map>
#include <random>

#include "primitives/autograd/tape.h"
#include "primitives/composites/concat.h"
#include "primitives/operators.h"
#include "primitives/ops.h"
#include "registry/base/error.h"

namespace halyard::fuzz {
namespace {

constexpr int64_t most_elements = 4096;  // of a step's result

// The operands of a step, and its numbers.
class Operands {
public:
    Operands(std::vector<Tensor> tensors, const RandomStep &step)
        : tensors_(std::move(tensors)), step_(step) {}
    const Tensor &operator[](size_t k) const { return tensors_[k]; }
    int64_t number(size_t k, int64_t below) const {
        return below > 0 ? int64_t(step_.numbers[k]) % below : 0;
    }
    double real(size_t k) const { return double(number(k, 33)) / 8 - 2; }
    int axis(size_t k = 0) const { return int(number(k, tensors_[0].rank())); }

private:
    std::vector<Tensor> tensors_;
    const RandomStep &step_;
};

bool is_small(const Shape &shape) {
    return shape.elements() <= most_elements;
}

// Returns true if the two broadcast to a small shape.
bool broadcasts(const Tensor &a, const Tensor &b) {
    try {
        return is_small(broadcast("fuzz", a.shape(), b.shape()));
    } catch (const ShapeError &) {
        return false;
    }
}

// Returns b, or one of its elements if it doesn't broadcast with a.
Tensor fitting(const Tensor &a, const Tensor &b) {
    if (broadcasts(a, b)) return b;
    return b.elements() ? b.reshape({-1}).slice(0, 0, 1) : Tensor::ones({1}, b.dtype());
}

// Returns b as a tensor of a's shape and dtype.
Tensor alike(const Tensor &a, const Tensor &b) {
    const Tensor wide = b.shape() == a.shape() ? b
                        : broadcasts(a, b) && broadcast("fuzz", a.shape(), b.shape()) == a.shape()
                            ? b.expand(a.shape())
                            : fitting(a, b).reshape({1}).expand(a.shape());
    return F::cast(wide, a.dtype());
}

Tensor as_float(const Tensor &t) {
    return is_float(t.dtype()) ? t : F::cast(t, DType::f32);
}

Ints axes_of(const Operands &o) {
    Ints axes;
    for (int d = 0; d < o[0].rank(); d++)
        if (o.number(1, 256) >> d & 1) axes.push_back(d);
    return axes;
}

// Returns t as a matrix.
Tensor matrix(const Tensor &t) {
    return t.rank() == 0 ? t.reshape({1, 1}) : t.reshape({-1, t.shape()[t.rank() - 1]});
}

Tensor product(const Operands &o) {
    const Tensor a = matrix(as_float(o[0]));
    const Tensor b = matrix(alike(Tensor::empty(o[1].shape(), a.dtype()), o[1]));
    const bool fits = a.shape()[1] == b.shape()[0] && a.shape()[0] * b.shape()[1] <= most_elements;
    if (fits) return F::matmul(a, b);
    return a.shape()[0] * a.shape()[0] <= most_elements ? F::matmul(a, a, false, true) : a;
}

Tensor dense(const Operands &o) {
    const Tensor x = matrix(as_float(o[0]));
    const int64_t n = 1 + o.number(0, 7);
    const Tensor w = F::cast(fitting(x, o[1]), x.dtype()).reshape({-1}).slice(0, 0, 1);
    return F::dense(x, w.expand({n, x.shape()[1]}), w.expand({n}));
}

// Returns the tensor of this shape that is there for all graphs, as a parameter would be.
const Tensor &parameter(const Shape &shape) {
    static std::map<std::string, Tensor> all;
    Tensor &t = all[shape.text()];
    if (!t.defined()) {
        std::vector<double> v;
        for (int64_t k = 0; k < shape.elements(); k++)
            v.push_back(double(k * 7919 % 61 - 30) / 32);
        t = Tensor::from(v, shape).to(DType::f32);
    }
    return t;
}

// Returns a tensor of this shape that depends on the operand.
Tensor with_shape(const Tensor &from, const Shape &shape) {
    const Tensor &scale = parameter(shape);
    return scale * fitting(scale, F::cast(from, DType::f32));
}

// A product and a convolution whose weights programs pack (graph/pack_weights.h).
Tensor weighted_product(const Operands &o) {
    const int64_t terms = 1 + o.number(1, 5);
    return F::matmul(with_shape(o[0], {8 + o.number(0, 8), terms}), parameter({192, terms}), false,
                     true);
}

Tensor weighted_convolution(const Operands &o) {
    const int64_t rows = 5 + o.number(0, 2);
    return F::conv2d(with_shape(o[0], {1, 96, rows, 7}), parameter({32, 96, 1, 1}));
}

Tensor joined(const Operands &o) {
    if (2 * o[0].elements() > most_elements) return o[0];
    const Tensor second = alike(o[0], o[1]);
    return o.number(1, 2) ? F::stack({o[0], second}, int(o.number(2, o[0].rank() + 1)))
                          : F::concat({o[0], second, o[0]}, o.axis());
}

Tensor part(const Operands &o) {
    if (o[0].rank() == 0) return o[0];
    const int64_t n = o[0].shape()[o.axis()];
    if (o.number(1, 2)) return F::unstack(o[0], o.axis())[size_t(o.number(2, n))];
    const int64_t parts = n % 2 == 0 ? 2 : n;
    return F::split(o[0], o.axis(), int(parts))[size_t(o.number(2, parts))];
}

Tensor padded(const Operands &o) {
    using Mode = ops::Pad::BorderMode;
    static const Mode modes[] = {Mode::constant, Mode::reflect, Mode::replicate};
    if (4 * o[0].elements() > most_elements) return o[0];
    return F::pad(o[0], {o.number(1, 3), o.number(2, 3)}, modes[o.number(0, 3)], o.real(3));
}

Tensor sliced(const Operands &o) {
    if (o[0].rank() == 0) return o[0];
    const int64_t n = o[0].shape()[o.axis()];
    const int64_t from = o.number(1, n);
    return o[0].slice(o.axis(), from, from + 1 + o.number(2, n - from), 1 + o.number(3, 2));
}

Tensor reshaped(const Operands &o) {
    const int64_t n = o[0].elements();
    const int64_t rows = n % 6 == 0 ? 6 : n % 4 == 0 ? 4 : n % 3 == 0 ? 3 : 1;
    const bool is_view = o.number(0, 2) && o[0].can_reshape({rows, n / rows});
    return is_view ? o[0].reshape({rows, n / rows}) : F::reshape(o[0], {rows, -1});
}

Tensor gathered(const Operands &o) {
    if (o[0].rank() == 0 || o[0].elements() == 0) return o[0];
    const int64_t n = o[0].shape()[o.axis()];
    if (o[0].elements() / n * o[1].elements() > most_elements) return o[0];
    const Tensor places = F::clip_by_value(F::cast(o[1], DType::i32), 0, int(n) - 1);
    return F::gather(o[0], places.reshape({-1}), o.axis());
}

// Writes into a part of the first operand, and returns it.
Tensor assigned(const Operands &o) {
    const Tensor to = sliced(o);
    to.assign(alike(to, o[1]));
    return o[0];
}

Tensor updated(const Operands &o) {
    const Tensor &p = o[0];
    if (p.dtype() != DType::f32 || !p.dense()) return p;
    const Tensor v = Tensor::full(p.shape(), o.real(0));
    F::momentum_(p, v, alike(p, o[1]).contiguous(), 0.125, 0.5, 0.25);
    return o.number(1, 2) ? v : p;
}

// A tensor whose elements the host sets.
Tensor constant(const Operands &o) {
    Tensor t = Tensor::full(o[0].shape(), o.real(0), o[0].dtype());
    if (t.elements() > 0) t.reshape({-1}).set({o.number(1, t.elements())}, o.real(2));
    return t;
}

Tensor filled(const Operands &o) {
    Tensor t = Tensor::full(o[0].shape(), o.real(0), o[0].dtype());
    const Tensor some = t.rank() > 0 ? t.slice(0, 0, (t.shape()[0] + 1) / 2) : t;
    if (o.number(1, 2))
        some.assign(some * o.real(2));
    else
        some.fill(o.real(2));
    return t;
}

// Returns the gradient of an expression, by a tape of its own.
Tensor gradient(const Operands &o) {
    const Tensor x = stop_gradient(as_float(o[0]));
    Tape tape;
    tape.watch(x);
    const Tensor y = F::tanh(x * fitting(x, as_float(o[1])).to(x.dtype())) + x;
    return tape.gradient(y, {x}, {}, o.number(0, 2) == 1)[0];
}

// Runs an op op by op that reads an element, so that the graph can't be captured.
Tensor branched(const Operands &o) {
    if (o.number(0, 8) || o[0].elements() == 0) return o[0];
    return o[0].reshape({-1}).at({0}) > 0 ? o[0] : F::neg(o[0]);
}

struct Rule {
    const char *name;
    size_t operands;
    Tensor (*run)(const Operands &o);
};

using O = const Operands &;

std::vector<Rule> unary_rules() {
    return {
        {"abs", 1, [](O o) { return F::abs(o[0]); }},
        {"neg", 1, [](O o) { return F::neg(o[0]); }},
        {"square", 1, [](O o) { return F::square(o[0]); }},
        {"relu", 1, [](O o) { return F::relu(o[0]); }},
        {"tanh", 1, [](O o) { return F::tanh(o[0]); }},
        {"sigmoid", 1, [](O o) { return F::sigmoid(o[0]); }},
        {"gelu", 1, [](O o) { return F::gelu(o[0]); }},
        {"exp", 1, [](O o) { return F::exp(o[0]); }},
        {"floor", 1, [](O o) { return F::floor(o[0]); }},
        {"is_finite", 1, [](O o) { return F::is_finite(as_float(o[0])); }},
        {"logical_not", 1, [](O o) { return F::logical_not(o[0]); }},
    };
}

std::vector<Rule> binary_rules() {
    return {
        {"add", 2, [](O o) { return F::add(o[0], fitting(o[0], o[1])); }},
        {"sub", 2, [](O o) { return F::sub(o[0], fitting(o[0], o[1])); }},
        {"mul", 2, [](O o) { return F::mul(o[0], fitting(o[0], o[1])); }},
        {"div", 2, [](O o) { return F::div(o[0], fitting(o[0], o[1])); }},
        {"maximum", 2, [](O o) { return F::maximum(o[0], fitting(o[0], o[1])); }},
        {"less", 2, [](O o) { return F::less(o[0], fitting(o[0], o[1])); }},
        {"add_number", 1, [](O o) { return o[0] + o.real(0); }},
        {"mul_number", 1, [](O o) { return o[0] * o.real(0); }},
        {"select", 3,
         [](O o) {
             const Tensor b = fitting(o[0], o[1]);
             const Tensor c = F::cast(fitting(o[0], o[2]), DType::boolean);
             return broadcasts(b, c) ? F::select(c, o[0], b) : o[0];
         }},
        {"clip", 1, [](O o) { return F::clip_by_value(o[0], -1, 1.5); }},
    };
}

std::vector<Rule> conversion_rules() {
    return {
        {"cast", 1,
         [](O o) {
             static constexpr DType dtypes[] = {DType::f32, DType::f16, DType::bf16,
                                                DType::f64, DType::i32, DType::f32};
             return F::cast(o[0], dtypes[o.number(0, 6)]);
         }},
        {"to", 1, [](O o) { return o[0].to(o.number(0, 2) ? DType::f32 : DType::i64); }},
        {"copy", 1, [](O o) { return o[0].copy(); }},
        {"contiguous", 1, [](O o) { return F::contiguous(o[0]); }},
    };
}

std::vector<Rule> view_rules() {
    return {
        {"reshape", 1, reshaped},
        {"slice", 1, sliced},
        {"swap_axes", 1,
         [](O o) { return o[0].rank() < 2 ? o[0] : o[0].swap_axes(o.axis(0), o.axis(1)); }},
        {"unsqueeze", 1,
         [](O o) { return o[0].rank() > 3 ? o[0] : o[0].unsqueeze(int(o.number(0, 2))); }},
        {"expand", 1,
         [](O o) {
             Shape s = o[0].shape();
             if (s.rank() > 3) return o[0];
             s.insert(0, 1 + o.number(0, 3));
             return is_small(s) ? o[0].expand(s) : o[0];
         }},
        {"part", 1, part},
    };
}

std::vector<Rule> reduction_rules() {
    return {
        {"reduce_sum", 1, [](O o) { return F::reduce_sum(o[0], axes_of(o), o.number(0, 2) == 1); }},
        {"reduce_mean", 1,
         [](O o) { return F::reduce_mean(as_float(o[0]), axes_of(o), o.number(0, 2) == 1); }},
        {"reduce_max", 1, [](O o) { return F::reduce_max(o[0], axes_of(o), o.number(0, 2) == 1); }},
        {"softmax", 1, [](O o) { return F::softmax(as_float(o[0]), o.axis()); }},
        {"log_softmax", 1, [](O o) { return F::log_softmax(as_float(o[0]), o.axis()); }},
        {"cumsum", 1, [](O o) { return F::cumsum(o[0], o.axis()); }},
        {"argmax", 1, [](O o) { return F::argmax(o[0], o.axis()); }},
        {"layer_norm", 1,
         [](O o) {
             const Tensor x = matrix(as_float(o[0]));
             const Shape c{x.shape()[1]};
             return F::layer_norm(x, Tensor::ones(c, x.dtype()), Tensor::zeros(c, x.dtype()));
         }},
    };
}

std::vector<Rule> product_rules() {
    return {{"matmul", 2, product},
            {"dense", 2, dense},
            {"weighted_product", 1, weighted_product},
            {"weighted_convolution", 1, weighted_convolution}};
}

std::vector<Rule> movement_rules() {
    return {
        {"concat", 2, joined},
        {"pad", 1, padded},
        {"roll", 1, [](O o) { return F::roll(o[0], {o.number(1, 5)}, {o.axis()}); }},
        {"flip", 1, [](O o) { return F::flip(o[0], {o.axis()}); }},
        {"tile", 1,
         [](O o) {
             return 2 * o[0].elements() > most_elements
                        ? o[0]
                        : F::tile(o[0],
                                  Ints(size_t(std::max(1, o[0].rank())), 1 + (o[0].rank() < 2)));
         }},
        {"gather", 2, gathered},
        {"sort", 1, [](O o) { return F::sort(o[0], o.axis())[size_t(o.number(1, 2))]; }},
        {"topk", 1, [](O o) { return F::topk(o[0], 1, o.axis())[size_t(o.number(1, 2))]; }},
        {"triu", 1, [](O o) { return F::triu(o[0]); }},
    };
}

std::vector<Rule> effect_rules() {
    return {
        {"assign", 2, assigned},
        {"assign", 2, assigned},
        {"update", 2, updated},
        {"constant", 1, constant},
        {"fill", 1, filled},
        {"dropout", 1, [](O o) { return F::dropout(as_float(o[0]), 0.25)[0]; }},
        {"gradient", 2, gradient},
        {"branch", 1, branched},
    };
}

// By group, of which each is as frequent as the others.
const std::vector<std::vector<Rule>> &rules() {
    static const std::vector<std::vector<Rule>> all = {
        unary_rules(),     binary_rules(),  conversion_rules(), view_rules(),
        reduction_rules(), product_rules(), movement_rules(),   effect_rules()};
    return all;
}

// The rules of all groups, one after the other.
const std::vector<Rule> &table() {
    static const std::vector<Rule> all = [] {
        std::vector<Rule> flat;
        for (const auto &group : rules())
            flat.insert(flat.end(), group.begin(), group.end());
        return flat;
    }();
    return all;
}

class Draw {
public:
    Draw(uint64_t seed, uint64_t number) : rng_(seed * 0x9E3779B97F4A7C15u + number) {}
    size_t below(size_t n) { return size_t(rng_() % n); }
    uint32_t bits() { return uint32_t(rng_()); }

private:
    std::mt19937_64 rng_;
};

size_t random_rule(Draw &draw) {
    const size_t group = draw.below(rules().size());
    size_t first = 0;
    for (size_t k = 0; k < group; k++)
        first += rules()[k].size();
    return first + draw.below(rules()[group].size());
}

RandomTensor random_tensor(Draw &draw) {
    static constexpr DType dtypes[] = {DType::f32,  DType::f32, DType::f32, DType::f32,
                                       DType::f16,  DType::f64, DType::i32, DType::boolean,
                                       DType::bf16, DType::f32};
    static constexpr int64_t extents[] = {1, 2, 3, 4, 5, 6, 8, 17, 33};
    RandomTensor t;
    t.dtype = dtypes[draw.below(std::size(dtypes))];
    const size_t rank = draw.below(4);
    for (size_t d = 0; d < rank; d++)
        t.shape.push_back(extents[draw.below(std::size(extents) - rank)]);
    t.is_transposed = draw.below(5) == 0;
    return t;
}

Tensor run_step(const RandomStep &step, std::vector<Tensor> operands) {
    const Operands o(std::move(operands), step);
    try {
        const Tensor y = table()[step.rule].run(o);
        return is_small(y.shape()) ? y : o[0];
    } catch (const Error &) {
        return o[0];
    }
}

std::vector<Tensor> values_of(const RandomGraph &graph, std::span<const Tensor> arguments,
                              std::span<const Tensor> states) {
    std::vector<Tensor> values(arguments.begin(), arguments.end());
    values.insert(values.end(), states.begin(), states.end());
    for (size_t k = 0; k < graph.steps.size(); k++) {
        const RandomStep &step = graph.steps[k];
        if (!graph.kept[k]) {
            values.emplace_back();
            continue;
        }
        std::vector<Tensor> operands;
        for (const size_t v : step.operands)
            operands.push_back(values[graph.standing_for(v)]);
        values.push_back(run_step(step, std::move(operands)));
    }
    std::vector<Tensor> out;
    for (const size_t v : graph.outputs)
        out.push_back(values[graph.standing_for(v)]);
    return out;
}

// Appends the gradients of the outputs' sum in the states.
void append_gradients(Tape &tape, std::vector<Tensor> &out, const std::vector<Tensor> &watched) {
    Tensor loss;
    for (const Tensor &t : out) {
        if (!is_float(t.dtype()) || t.elements() == 0) continue;
        const Tensor mean = F::reduce_mean(F::cast(t, DType::f32));
        loss = loss.defined() ? loss + mean : mean;
    }
    if (!loss.defined()) return;
    try {
        for (const Tensor &g : tape.gradient(loss, watched))
            out.push_back(g);
    } catch (const Error &) {
        out.emplace_back();
    }
}

}  // namespace

size_t RandomGraph::standing_for(size_t value) const {
    while (value >= inputs() && !kept[value - inputs()])
        value = steps[value - inputs()].operands[0];
    return value;
}

RandomGraph random_graph(uint64_t seed, uint64_t number) {
    Draw draw(seed, number);
    RandomGraph graph;
    const size_t arguments = 1 + draw.below(3);
    for (size_t k = 0; k < arguments; k++)
        graph.arguments.push_back(random_tensor(draw));
    const size_t states = 1 + draw.below(2);
    for (size_t k = 0; k < states; k++)
        graph.states.push_back(random_tensor(draw));
    const size_t steps = 1 + draw.below(16);
    for (size_t k = 0; k < steps; k++) {
        RandomStep step;
        step.rule = random_rule(draw);
        const size_t values = graph.inputs() + k;
        for (size_t i = 0; i < table()[step.rule].operands; i++) {
            // Half of the operands are among the last three values, so that graphs become deep.
            const size_t recent = std::min<size_t>(values, 3);
            step.operands.push_back(draw.below(2) ? draw.below(values)
                                                  : values - 1 - draw.below(recent));
        }
        for (uint32_t &n : step.numbers)
            n = draw.bits() >> 4;
        graph.steps.push_back(std::move(step));
    }
    graph.kept.assign(steps, 1);
    graph.outputs.push_back(graph.inputs() + steps - 1);
    for (size_t k = draw.below(3); k-- > 0;)
        graph.outputs.push_back(draw.below(graph.inputs() + steps));
    graph.has_gradient = draw.below(2) == 1;
    return graph;
}

std::string text_of(const RandomGraph &graph) {
    std::string text;
    const auto name = [](size_t value) { return "v" + std::to_string(value); };
    const auto declare = [&](const RandomTensor &t, size_t value, const char *what) {
        text += "  " + name(value) + " = " + what + " " + name_of(t.dtype) + t.shape.text() +
                (t.is_transposed ? " transposed" : "") + "\n";
    };
    for (size_t k = 0; k < graph.arguments.size(); k++)
        declare(graph.arguments[k], k, "argument");
    for (size_t k = 0; k < graph.states.size(); k++)
        declare(graph.states[k], graph.arguments.size() + k, "state");
    for (size_t k = 0; k < graph.steps.size(); k++) {
        if (!graph.kept[k]) continue;
        const RandomStep &step = graph.steps[k];
        std::string operands;
        for (const size_t v : step.operands)
            operands += (operands.empty() ? "" : ", ") + name(graph.standing_for(v));
        text += "  " + name(graph.inputs() + k) + " = " + table()[step.rule].name + "(" + operands +
                ")";
        for (const uint32_t n : step.numbers)
            text += " " + std::to_string(n);
        text += "    # step " + std::to_string(k) + "\n";
    }
    text += "  return";
    for (const size_t v : graph.outputs)
        text += " " + name(graph.standing_for(v));
    return text + (graph.has_gradient ? " and gradients in the states\n" : "\n");
}

std::vector<Tensor> random_tensors(const std::vector<RandomTensor> &like, uint64_t seed) {
    std::vector<Tensor> made;
    std::mt19937_64 rng(seed);
    for (const RandomTensor &spec : like) {
        Shape shape = spec.shape;
        if (spec.is_transposed) std::reverse(shape.begin(), shape.end());
        std::vector<double> v;
        for (int64_t k = 0; k < shape.elements(); k++)
            v.push_back(double(int64_t(rng() % 65) - 32) / 16);
        Tensor t = Tensor::from(v, shape).to(spec.dtype);
        if (spec.is_transposed) {
            std::vector<int> order;
            for (int d = t.rank(); d-- > 0;)
                order.push_back(d);
            t = t.transpose(order);
        }
        made.push_back(t);
    }
    return made;
}

std::vector<Tensor> evaluate(const RandomGraph &graph, std::span<const Tensor> arguments,
                             std::span<const Tensor> states) {
    if (!graph.has_gradient) return values_of(graph, arguments, states);
    Tape tape;
    std::vector<Tensor> watched;
    for (const Tensor &t : states) {
        if (!is_float(t.dtype())) continue;
        tape.watch(t);
        watched.push_back(t);
    }
    std::vector<Tensor> out = values_of(graph, arguments, states);
    if (!watched.empty()) append_gradients(tape, out, watched);
    return out;
}

}  // namespace halyard::fuzz

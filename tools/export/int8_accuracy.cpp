#include "tools/export/int8_accuracy.h"

#include <algorithm>
#include <cmath>

#include "registry/base/error.h"
#include "registry/base/parallel.h"
#include "tools/export/int8_reference.h"
#include "tools/export/op_by_op.h"

namespace halyard::exporting {
namespace {

constexpr size_t inputs_at_a_time = 64;
// What the reference computes in minutes, and in seconds.
constexpr int64_t most_products_of_accuracy = 100'000'000'000;
constexpr int64_t most_products_of_error = 5'000'000'000;

// Returns how many inputs a number of products is for.
int64_t inputs_of(const Int8Network &network, int64_t most_products) {
    int64_t products = 1;
    for (const Int8Step &s : network.steps) {
        const Convolution &c = s.convolution;
        if (s.kind != Int8Step::Kind::convolution) continue;
        products += c.n * c.y_rows * c.y_columns * c.pool.rows * c.pool.columns *
                    int64_t(c.weight.size());
    }
    return std::max<int64_t>(most_products / products, 1);
}

// Returns how many of the labelled rows have the largest output at their label.
template<class T>
int64_t right_rows(const T *y, int64_t classes, const std::vector<int32_t> &labels) {
    int64_t right = 0;
    for (size_t k = 0; k < labels.size(); k++) {
        const T *row = y + int64_t(k) * classes;
        right += std::max_element(row, row + classes) - row == labels[k];
    }
    return right;
}

void check_labels(const std::string &network, const std::vector<int32_t> &labels, int64_t classes) {
    for (const int32_t label : labels) {
        if (label >= 0 && label < classes) continue;
        throw AttrError(network, "a label of the data is " + std::to_string(label) +
                                     ", expected one below its " + std::to_string(classes) +
                                     " classes (--int8)");
    }
}

std::vector<int8_t> output_in_i8(const Int8Network &network, const Tensor &input) {
    const Int8Tensor &x = network.tensors.at(network.input);
    return reference_of(network, quantized(x, static_cast<const float *>(input.raw())));
}

Tensor output_in_f32(const OpByOp &steps, const Tensor &input) {
    return steps.run(input, [](const graph::Node &, const Tensor &) {})[0];
}

}  // namespace

Accuracy accuracy_of(const graph::Graph &graph, const Int8Network &network, const NextInput &next) {
    const Shape &y = network.tensors.at(network.output).shape;
    if (y.rank() != 2)
        throw ShapeError(network.name, "output is " + y.text() + ", expected [n,classes]");
    const OpByOp in_f32(graph);
    Accuracy a;
    std::vector<LabelledInput> inputs;
    const auto run = [&] {
        std::vector<int64_t> right(inputs.size());
        parallel_for(0, int64_t(inputs.size()), [&](int64_t k) {
            const LabelledInput &in = inputs[size_t(k)];
            const std::vector<int8_t> q = output_in_i8(network, in.x);
            right[size_t(k)] = right_rows(q.data(), y[1], in.labels);
        });
        for (size_t k = 0; k < inputs.size(); k++) {
            const Tensor result = output_in_f32(in_f32, inputs[k].x);
            a.rows += int64_t(inputs[k].labels.size());
            a.right_in_i8 += right[k];
            a.right_in_f32 += right_rows(static_cast<const float *>(result.raw()), y[1],
                                         inputs[k].labels);
        }
        inputs.clear();
    };
    int64_t left = inputs_of(network, most_products_of_accuracy);
    for (LabelledInput in; left > 0 && next(in); left--) {
        check_labels(network.name, in.labels, y[1]);
        inputs.push_back(in);
        if (inputs.size() == inputs_at_a_time) run();
    }
    run();
    return a;
}

double relative_error(const graph::Graph &graph, const Int8Network &network,
                      const std::vector<Tensor> &inputs) {
    const OpByOp in_f32(graph);
    const int64_t most = inputs_of(network, most_products_of_error);
    std::vector<std::vector<int8_t>> integers(size_t(std::min(most, int64_t(inputs.size()))));
    parallel_for(0, int64_t(integers.size()), [&](int64_t k) {
        integers[size_t(k)] = output_in_i8(network, inputs[size_t(k)]);
    });
    double of_errors = 0, of_outputs = 0;
    for (size_t k = 0; k < integers.size(); k++) {
        const Tensor exact = output_in_f32(in_f32, inputs[k]);
        const std::vector<float> y = dequantized(network.tensors.at(network.output), integers[k]);
        for (size_t i = 0; i < y.size(); i++) {
            const double value = static_cast<const float *>(exact.raw())[i];
            of_outputs += value * value;
            of_errors += (y[i] - value) * (y[i] - value);
        }
    }
    return of_outputs > 0 ? std::sqrt(of_errors / of_outputs) : 0;
}

}  // namespace halyard::exporting

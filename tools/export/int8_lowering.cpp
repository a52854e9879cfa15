#include "tools/export/int8_lowering.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "registry/base/error.h"
#include "tools/c99/constants.h"
#include "tools/export/int8_geometry.h"
#include "tools/export/int8_weights.h"

namespace halyard::exporting {
namespace {

using graph::Buffer;
using graph::Graph;
using graph::Node;
using graph::Role;
using graph::View;
using Kind = Int8Step::Kind;

[[noreturn]] void refuse(const Node &n, const std::string &why) {
    const std::string cell = n.part.empty() ? "" : ", in " + n.part;
    throw DispatchError(n.name, "has no integer form (--int8): " + why + cell);
}

// A step whose numbers are still reals.
struct Draft {
    Int8Step step;
    Tensor weight;             // a convolution's, f32[o,c/group,u,v]
    std::vector<double> bias;  // a convolution's, by channel
    double low = -HUGE_VAL, high = HUGE_VAL;
    bool is_clamped = false, is_pooled = false;
};

class Lowering {
public:
    Lowering(const Graph &graph, const std::map<int, Range> &ranges)
        : graph_(graph), ranges_(ranges), reads_(c99::reads_of(graph)) {}

    Int8Network run() {
        network_.name = graph_.name;
        add_input();
        for (const Node &n : graph_.nodes)
            lower(n);
        set_output();
        for (Draft &d : drafts_)
            finish(d);
        return std::move(network_);
    }

private:
    const Graph &graph_;
    const std::map<int, Range> &ranges_;
    const std::vector<int> reads_;  // by buffer
    std::vector<Draft> drafts_;
    std::map<int, Shape> shapes_;  // of activations, by buffer
    Int8Network network_;

    void add_input() {
        for (size_t k = 0; k < graph_.buffers.size(); k++) {
            const Buffer &b = graph_.buffers[k];
            if (b.role != Role::input) continue;
            if (b.dtype != DType::f32)
                throw DTypeError(graph_.name, "input is " + std::string(name_of(b.dtype)) +
                                                  ", expected f32 (--int8)");
            network_.input = int(k);
            shapes_[int(k)] = b.shape;
            network_.tensors[int(k)] = int8_tensor(b.shape, ranges_.at(int(k)));
        }
    }

    void set_output() {
        if (graph_.outputs.size() != 1)
            throw DispatchError(graph_.name, "has " + std::to_string(graph_.outputs.size()) +
                                                 " outputs, expected 1 (--int8)");
        const View &v = graph_.outputs[0];
        const bool is_computed = shapes_.count(v.buffer) > 0 && v.buffer != network_.input;
        if (!is_computed || !is_whole(v))
            throw DispatchError(graph_.name, "has no integer form (--int8): its output is no "
                                             "whole result of a step");
        network_.output = v.buffer;
        shapes_[v.buffer] = v.shape;
    }

    // Returns true if the view has all elements of an activation, in their order.
    bool is_whole(const View &v) const {
        return v.offset == 0 && v.strides == dense_strides(v.shape) &&
               v.shape.elements() == shapes_.at(v.buffer).elements();
    }

    bool is_constant(const View &v) const {
        if (v.buffer < 0) return false;
        const Role role = graph_.buffers[size_t(v.buffer)].role;
        return role == Role::constant || role == Role::captured;
    }

    // Returns the buffer of an activation that the node reads as a whole.
    int activation(const Node &n, const View &v) const {
        const auto known = shapes_.find(v.buffer);
        if (known == shapes_.end()) refuse(n, "an operand is no activation");
        if (!is_whole(v)) refuse(n, "it reads a part of " + known->second.text());
        return v.buffer;
    }

    // Returns the step that alone computes the node's operand, if nothing else reads that.
    Draft *producer(const View &v) {
        const bool is_its_own = reads_[size_t(v.buffer)] == 1 &&
                                graph_.buffers[size_t(v.buffer)].role == Role::temporary;
        if (!is_its_own) return nullptr;
        const auto at = std::ranges::find_if(drafts_,
                                             [&](const Draft &d) { return d.step.y == v.buffer; });
        return at == drafts_.end() ? nullptr : &*at;
    }

    void lower(const Node &n) {
        if (n.kind != Node::Kind::call || n.out.size() != 1 || n.out[0].dtype != DType::f32)
            refuse(n, "it is no call with one result in f32");
        const View &y = n.out[0];
        if (shapes_.count(y.buffer) || y.offset != 0 || y.strides != dense_strides(y.shape))
            refuse(n, "it writes a part of a tensor");
        if (n.name == "conv2d" || n.name == "matmul")
            add_convolution(n);
        else if (n.name == "add")
            add_sum(n);
        else if (n.name == "relu" || n.name == "relu6")
            add_clamp(n);
        else if (n.name == "max_pool2d")
            add_max_pool(n);
        else if (n.name == "reduce_mean" || n.name == "avg_pool2d")
            add_average(n);
        else
            refuse(n, "there is none of this op");
        shapes_[y.buffer] = y.shape;
    }

    Draft &append(const Node &n, Kind kind, int x) {
        Draft d;
        d.step.kind = kind;
        d.step.name = n.name;
        d.step.part = n.part;
        d.step.x = x;
        d.step.y = n.out[0].buffer;
        drafts_.push_back(std::move(d));
        return drafts_.back();
    }

    static void join(Draft &d, const Node &n) {
        d.step.name += "_" + n.name;
        d.step.y = n.out[0].buffer;
    }

    void add_convolution(const Node &n) {
        if (!is_constant(n.in[1])) refuse(n, "its second operand isn't constant");
        const Tensor weight = c99::constant_of(graph_, n.in[1]);
        const auto convolution = n.name == "conv2d" ? convolution_of(n) : matmul_of(n);
        if (!convolution) refuse(n, n.attrs->text() + " isn't among the forms of it");
        Draft &d = append(n, Kind::convolution, activation(n, n.in[0]));
        d.step.convolution = *convolution;
        d.step.convolution.name = graph_.buffers[size_t(n.in[1].buffer)].name;
        // matmul's b[k,o] becomes a weight [o,k].
        d.weight = n.name == "matmul" && is_row_major(n) ? transposed(weight) : weight;
        d.bias.assign(size_t(convolution->o), 0.0);
    }

    void add_sum(const Node &n) {
        const size_t constant = is_constant(n.in[0]) ? 0 : 1;
        if (is_constant(n.in[constant])) return add_bias(n, n.in[constant], n.in[1 - constant]);
        if (n.in[0].shape != n.in[1].shape) refuse(n, "it broadcasts");
        const int a = activation(n, n.in[0]), b = activation(n, n.in[1]);
        for (const size_t k : {0, 1}) {
            Draft *d = producer(n.in[k]);
            const bool can = d && d->step.kind == Kind::convolution && !d->is_clamped &&
                             !d->is_pooled && d->step.z < 0;
            if (!can) continue;
            join(*d, n);
            d->step.z = k == 0 ? b : a;
            // The shortcut may be computed by a later step.
            std::rotate(drafts_.begin() + (d - drafts_.data()),
                        drafts_.begin() + (d - drafts_.data()) + 1, drafts_.end());
            return;
        }
        append(n, Kind::add, a).step.z = b;
    }

    void add_bias(const Node &n, const View &constant, const View &x) {
        Draft *d = producer(x);
        const bool can = d && d->step.kind == Kind::convolution && !d->is_clamped && d->step.z < 0;
        if (!can) refuse(n, "a constant is added to something else than a convolution or matmul");
        const std::optional<std::vector<double>> bias = bias_of(c99::constant_of(graph_, constant),
                                                                x.shape);
        if (!bias) refuse(n, "the constant " + constant.shape.text() + " isn't one by channel");
        for (size_t o = 0; o < bias->size(); o++)
            d->bias[o] += (*bias)[o];
        join(*d, n);
    }

    void add_clamp(const Node &n) {
        Draft *d = producer(n.in[0]);
        if (d && d->step.kind != Kind::largest) {
            join(*d, n);
        } else {
            d = &append(n, Kind::rescale, activation(n, n.in[0]));
        }
        d->is_clamped = true;
        d->low = std::max(d->low, 0.0);
        if (n.name == "relu6") d->high = std::min(d->high, 6.0);
    }

    void add_max_pool(const Node &n) {
        const std::optional<Pool> pool = pool_of(n);
        if (!pool) refuse(n, n.attrs->text() + " isn't among the forms of it");
        Draft *d = producer(n.in[0]);
        const bool can = d && d->step.kind == Kind::convolution && !d->is_pooled && d->step.z < 0 &&
                         is_partition(*pool);
        if (can) {
            join(*d, n);
            d->step.convolution.pool = pool->window;
            d->step.convolution.y_rows = pool->y_rows;
            d->step.convolution.y_columns = pool->y_columns;
            d->is_pooled = true;
            return;
        }
        append(n, Kind::largest, activation(n, n.in[0])).step.pool = *pool;
    }

    void add_average(const Node &n) {
        const std::optional<Pool> pool = n.name == "reduce_mean" ? mean_of(n) : pool_of(n);
        if (!pool || (n.name == "avg_pool2d" && !is_plain_average(n, *pool)))
            refuse(n, n.attrs->text() + " isn't among the forms of it");
        append(n, Kind::sum, activation(n, n.in[0])).step.pool = *pool;
    }

    // Turns the step's numbers into integers.
    void finish(Draft &d) {
        Int8Step &s = d.step;
        const Int8Tensor &x = network_.tensors.at(s.x);
        // The largest of some numbers is one of them.
        Int8Tensor y = s.kind == Kind::largest ? x : int8_tensor({}, ranges_.at(s.y));
        y.shape = shapes_.at(s.y);
        Factors factors{{double(x.scale) / double(y.scale)}};
        if (s.kind == Kind::convolution) factors = quantize_weights(s, d.weight, d.bias, x, y);
        if (s.kind == Kind::sum)
            factors.of_sum[0] /= double(s.pool.window.rows * s.pool.window.columns);
        if (s.z >= 0) factors.of_z = double(network_.tensors.at(s.z).scale) / double(y.scale);
        s.to_y = requantize(s.name, factors, y, d.low, d.high);
        network_.tensors[s.y] = y;
        network_.steps.push_back(std::move(s));
    }
};

}  // namespace

Int8Network lowered(const Graph &graph, const std::map<int, Range> &ranges) {
    return Lowering(graph, ranges).run();
}

}  // namespace halyard::exporting

// What the ops of Form::composite are made of, by name. Their records stand in
// kernels/layout/composites.cpp.
#include "primitives/composites/composite.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "primitives/composites/composition.h"

namespace halyard {
namespace {

// A list with one value per axis of x.
const Ints &per_axis(const Attrs &a, const char *name, const Tensor &x) {
    const Ints &v = ints(a, name);
    if (int(v.size()) != x.rank()) {
        throw ShapeError(a.op().name, std::string(name) + " has " + std::to_string(v.size()) +
                                          " values, expected " + std::to_string(x.rank()) +
                                          " for x" + x.shape().text());
    }
    return v;
}

Result reshape(Tensors in, const Attrs &a) {
    return {reshaped(in[0], Shape(ints(a, "shape")))};
}

Result transpose(Tensors in, const Attrs &a) {
    const Ints &p = ints(a, "perm");
    return {transposed(in[0], std::vector<int>(p.begin(), p.end()))};
}

Result flatten(Tensors in, const Attrs &a) {
    const Tensor &x = in[0];
    if (x.rank() == 0) return {reshaped(x, {1})};
    // A vector is flat already; start_dim 1 is beyond it.
    const int to = normal_axis("flatten", integer(a, "end_dim"), x.rank());
    const int from = x.rank() == 1 ? 0 : normal_axis("flatten", integer(a, "start_dim"), x.rank());
    if (from > to) {
        throw AttrError("flatten", "start_dim is " + std::to_string(from) +
                                       ", expected at most end_dim " + std::to_string(to));
    }
    Shape s;
    int64_t n = 1;
    for (int d = 0; d < x.rank(); d++) {
        if (d < from || d > to)
            s.push_back(x.shape()[d]);
        else if (n *= x.shape()[d]; d == to)
            s.push_back(n);
    }
    return {reshaped(x, s)};
}

Result expand_dims(Tensors in, const Attrs &a) {
    Shape s = in[0].shape();
    s.insert(normal_axis("expand_dims", integer(a, "axis"), s.rank() + 1), 1);
    return {reshaped(in[0], s)};
}

Result squeeze(Tensors in, const Attrs &a) {
    const Tensor &x = in[0];
    const Ints &axes = ints(a, "axis");
    unsigned drop = 0;
    for (int64_t axis : axes) {
        const int d = normal_axis("squeeze", axis, x.rank());
        if (x.shape()[d] != 1) {
            throw ShapeError("squeeze", "dimension " + std::to_string(d) + " is " +
                                            std::to_string(x.shape()[d]) + ", expected 1");
        }
        drop |= 1u << d;
    }
    Shape s;
    for (int d = 0; d < x.rank(); d++)
        if (axes.empty() ? x.shape()[d] != 1 : !(drop >> d & 1)) s.push_back(x.shape()[d]);
    return {reshaped(x, s)};
}

Result broadcast_to(Tensors in, const Attrs &a) {
    Shape s(ints(a, "shape"));
    const int lead = s.rank() - in[0].rank();
    for (int d = 0; d < s.rank(); d++) {  // -1 keeps the extent
        if (s[d] != -1) continue;
        if (d < lead) {
            throw ShapeError(a.op().name, "dimension " + std::to_string(d) + " is -1, but x" +
                                              in[0].shape().text() + " has no extent there");
        }
        s[d] = in[0].shape()[d - lead];
    }
    return {broadcast_view(in[0], s)};
}

Result slice(Tensors in, const Attrs &a) {
    const Tensor &x = in[0];
    const Ints &begin = per_axis(a, "begin", x);
    const Ints &size = per_axis(a, "size", x);
    Window w{Shape(begin), x.shape(), x.shape()};
    for (int d = 0; d < x.rank(); d++) {
        const int64_t extent = x.shape()[d];
        const int64_t n = size[size_t(d)] == -1 ? extent - std::max<int64_t>(w.begin[d], 0)
                                                : size[size_t(d)];
        if (w.begin[d] < 0 || n < 0 || w.begin[d] > extent || n > extent - w.begin[d]) {
            throw ShapeError("slice", "dimension " + std::to_string(d) + " begins at " +
                                          std::to_string(w.begin[d]) + " with size " +
                                          std::to_string(n) + ", expected within 0 to " +
                                          std::to_string(extent));
        }
        w.end[d] = w.begin[d] + n;
        w.step[d] = 1;
    }
    return {window_of(x, w)};
}

// Begins and ends count from the end when negative and are clipped to the tensor, as in NumPy.
Result strided_slice(Tensors in, const Attrs &a) {
    const Tensor &x = in[0];
    const Ints &begin = per_axis(a, "begin", x);
    const Ints &end = per_axis(a, "end", x);
    const Ints &given = ints(a, "strides");
    const Ints strides = given.empty() ? Ints(size_t(x.rank()), 1) : per_axis(a, "strides", x);
    Window w{x.shape(), x.shape(), Shape(strides)};
    for (int d = 0; d < x.rank(); d++) {
        const int64_t extent = x.shape()[d];
        if (w.step[d] < 1) {
            throw AttrError("strided_slice", "stride " + std::to_string(d) + " is " +
                                                 std::to_string(w.step[d]) +
                                                 ", expected 1 or more");
        }
        auto place = [&](int64_t v) {
            return std::clamp<int64_t>(v < 0 ? v + extent : v, 0, extent);
        };
        w.begin[d] = place(begin[size_t(d)]);
        w.end[d] = std::max(w.begin[d], place(end[size_t(d)]));
    }
    return {window_of(x, w)};
}

Result bias_add(Tensors in, const Attrs &a) {
    const Tensor &x = in[0];
    const Tensor &bias = in[1];
    if (x.rank() < 2) {
        throw ShapeError("bias_add",
                         "x has rank " + std::to_string(x.rank()) + ", expected at least 2");
    }
    if (bias.rank() != 1) {
        throw ShapeError("bias_add",
                         "bias has rank " + std::to_string(bias.rank()) + ", expected 1");
    }
    const bool channels_last = integer(a, "data_format") == 1;
    const int c = channels_last ? x.rank() - 1 : 1;
    if (bias.shape()[0] != x.shape()[c]) {
        throw ShapeError("bias_add", "bias.c is " + std::to_string(bias.shape()[0]) +
                                         ", expected " + std::to_string(x.shape()[c]) + " from x" +
                                         x.shape().text());
    }
    Shape s{bias.shape()[0]};
    for (int d = c + 1; d < x.rank(); d++)
        s.push_back(1);
    return {run1("add", {x, reshaped(bias, s)})};
}

Result prelu(Tensors in, const Attrs &) {
    const Tensor &x = in[0];
    const Tensor &weight = in[1];
    if (weight.rank() != 1) {
        throw ShapeError("prelu",
                         "weight has rank " + std::to_string(weight.rank()) + ", expected 1");
    }
    const int64_t channels = x.rank() < 2 ? 1 : x.shape()[1];
    const int64_t c = weight.shape()[0];
    if (c != 1 && c != channels) {
        throw ShapeError("prelu", "weight.c is " + std::to_string(c) + ", expected 1 or " +
                                      std::to_string(channels) + " from x" + x.shape().text());
    }
    Shape s;
    if (x.rank() > 0) s.push_back(c);
    for (int d = 2; d < x.rank(); d++)
        s.push_back(1);
    return {run1("prelu_kernel", {x, reshaped(weight, s)})};
}

Result zeros_like(Tensors in, const Attrs &) {
    return {Tensor::zeros(in[0].shape(), in[0].dtype())};
}
Result ones_like(Tensors in, const Attrs &) {
    return {Tensor::ones(in[0].shape(), in[0].dtype())};
}

Result fill(Tensors, const Attrs &a) {
    return {Tensor::full(Shape(ints(a, "shape")), real(a, "value"), (DType)integer(a, "dtype"))};
}

Family own_family() {
    static const Family::value_type all[] = {{"reshape", reshape},
                                             {"transpose", transpose},
                                             {"flatten", flatten},
                                             {"expand_dims", expand_dims},
                                             {"squeeze", squeeze},
                                             {"broadcast_to", broadcast_to},
                                             {"slice", slice},
                                             {"strided_slice", strided_slice},
                                             {"bias_add", bias_add},
                                             {"prelu", prelu},
                                             {"zeros_like", zeros_like},
                                             {"ones_like", ones_like},
                                             {"fill", fill}};
    return all;
}

}  // namespace

Composition composition_of(const std::string &op) {
    // Never destroyed: threads that main() didn't wait for still call ops.
    static const auto &all = *new const std::unordered_map<std::string_view, Composition>([] {
        std::unordered_map<std::string_view, Composition> map;
        for (const Family &family :
             {own_family(),         attention_family(),     contraction_family(),
              convolution_family(), creation_family(),      indexing_family(),
              loss_family(),        low_precision_family(), norm_family(),
              pool_family(),        random_family(),        recurrent_family(),
              resize_family(),      scatter_family(),       sorting_family(),
              statistics_family(),  tensor_format_family(), update_family(),
              views_family(),       windows_family()})
            map.insert(family.begin(), family.end());
        return map;
    }());
    const auto it = all.find(op);
    return it == all.end() ? nullptr : it->second;
}

}  // namespace halyard

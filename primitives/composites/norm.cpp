// What norms are made of: kernels/normalization/norms.cpp has their records.
#include "primitives/autograd/tape.h"
#include "primitives/composites/composite.h"
#include "primitives/composites/composition.h"

namespace halyard {
namespace {

// 16-bit floats are computed in f32.
DType arithmetic_of(const Tensor &x) {
    return bytes_of(x.dtype()) == 2 ? DType::f32 : x.dtype();
}

// Throws ShapeError unless t, which `op` calls `name`, has `shape`.
void expect_shape(const Attrs &a, const char *name, const Tensor &t, const Shape &shape,
                  const Tensor &x) {
    if (!(t.shape() == shape)) {
        throw ShapeError(a.op().name, std::string(name) + " has shape " + t.shape().text() +
                                          ", expected " + shape.text() + " from x" +
                                          x.shape().text());
    }
}

Shape last_dimensions(const Tensor &x, int from) {
    return Shape(x.shape().begin() + from, x.shape().end());
}

Result layer_norm(Tensors in, const Attrs &a) {
    const Tensor &x = in[0];
    const int norm = normal_axis("layer_norm", integer(a, "begin_norm_axis"), x.rank());
    const int params = normal_axis("layer_norm", integer(a, "begin_params_axis"), x.rank());
    expect_shape(a, "gamma", in[1], last_dimensions(x, params), x);
    expect_shape(a, "beta", in[2], last_dimensions(x, params), x);
    const int64_t c = last_dimensions(x, norm).elements();
    if (x.elements() == 0) return {x};
    const Tensor rows = reshaped(x, {x.elements() / c, c});
    const auto run = [&](const Tensor &gamma, const Tensor &beta) {
        return reshaped(run1("layer_norm_kernel", {rows, reshaped(gamma, {c}), reshaped(beta, {c})},
                             {{"epsilon", real(a, "epsilon")}}),
                        x.shape());
    };
    if (norm == params) return {run(in[1], in[2])};
    return {run1("addcmul",
                 {in[2], run(Tensor::ones({c}, x.dtype()), Tensor::zeros({c}, x.dtype())), in[1]})};
}

Result rms_norm(Tensors in, const Attrs &a) {
    const Tensor &x = in[0];
    const Tensor &gamma = in[1];
    if (gamma.rank() == 0 || gamma.rank() > x.rank()) {
        throw ShapeError("rms_norm", "gamma has rank " + std::to_string(gamma.rank()) +
                                         ", expected 1 to " + std::to_string(x.rank()));
    }
    expect_shape(a, "gamma", gamma, last_dimensions(x, x.rank() - gamma.rank()), x);
    const int64_t c = gamma.elements();
    if (x.elements() == 0) return {x};
    return {
        reshaped(run1("rms_norm_kernel", {reshaped(x, {x.elements() / c, c}), reshaped(gamma, {c})},
                      {{"epsilon", real(a, "epsilon")}}),
                 x.shape())};
}

// Of planes[n,c,s], or of [r,c] where channels are last: y, mean, rest, variance.
Result by_batch(const Tensor &x, const Tensor &gamma, const Tensor &beta, double epsilon) {
    return Primitive(x.rank() == 3 ? "batch_norm_planes" : "batch_norm_channels",
                     {{"epsilon", epsilon}})
        .run({x, gamma, beta});
}

// What follows in batch_norm_relu and batch_norm_add_relu, whose last input is z.
Tensor followed(const Tensor &y, Tensors in, const Attrs &a) {
    if (a.op().name == "batch_norm") return y;
    return run1("relu", {in.size() == 6 ? run1("add", {y, cast_to(in[5], y.dtype())}) : y});
}

// The batch's statistics enter the running ones, in place; nothing of it is recorded.
void move_running(const Attrs &a, const Tensor &running, const Tensor &batch, double unbiased) {
    const StopTape stop;
    const double momentum = real(a, "momentum");
    const auto times = [](const Tensor &t, double by) {
        return run1("mul", {t, Tensor::scalar(by, t.dtype())});
    };
    running.assign(run1("add", {times(running, 1 - momentum),
                                times(cast_to(batch, running.dtype()), momentum * unbiased)}));
}

Result batch_norm(Tensors in, const Attrs &a) {
    const Tensor &x = in[0];
    const bool channels_last = integer(a, "data_format") == 1;
    if (x.rank() < 2) {
        throw ShapeError("batch_norm",
                         "x has rank " + std::to_string(x.rank()) + ", expected at least 2");
    }
    const int64_t c = x.shape()[channels_last ? x.rank() - 1 : 1];
    const char *names[] = {"x", "gamma", "beta", "mean", "variance"};
    for (size_t k = 1; k < 5; k++)
        expect_shape(a, names[k], in[k], {c}, x);
    if (in.size() == 6) expect_shape(a, "z", in[5], x.shape(), x);
    if (x.elements() == 0) return {x};
    const DType d = arithmetic_of(x);
    const double epsilon = real(a, "epsilon");
    if (!integer(a, "is_training")) {
        Shape s{c};
        for (int k = 2; k < x.rank() && !channels_last; k++)
            s.push_back(1);
        const auto of_channels = [&](const Tensor &t) { return reshaped(cast_to(t, d), s); };
        const Tensor scale = run1(
            "mul",
            {of_channels(in[1]),
             run1("rsqrt", {run1("add", {of_channels(in[4]), Tensor::scalar(epsilon, d)})})});
        const Tensor y = run1("normalize_kernel",
                              {cast_to(x, d), of_channels(in[3]), scale, of_channels(in[2])});
        return {cast_to(followed(y, in, a), x.dtype())};
    }
    const int64_t n = x.elements() / c;
    const Shape planes{x.shape()[0], c, n / x.shape()[0]};
    const bool alone = a.op().name == "batch_norm";
    const bool fused = !alone && !channels_last && d == DType::f32;
    const Tensor view = reshaped(alone ? x : cast_to(x, d), channels_last ? Shape{n, c} : planes);
    const Tensor gamma = cast_to(in[1], d);
    const Tensor beta = cast_to(in[2], d);
    Result out;
    if (!fused)
        out = by_batch(view, gamma, beta, epsilon);
    else if (in.size() == 5)
        out = Primitive("batch_norm_relu_planes", {{"epsilon", epsilon}}).run({view, gamma, beta});
    else {
        out = Primitive("batch_norm_add_relu_planes", {{"epsilon", epsilon}})
                  .run({view, gamma, beta, reshaped(cast_to(in[5], d), planes)});
    }
    move_running(a, in[3], out[1], 1);
    move_running(a, in[4], out[3], n > 1 ? double(n) / double(n - 1) : 1);
    const Tensor y = reshaped(out[0], x.shape());
    return {cast_to(fused ? y : followed(y, in, a), x.dtype())};
}

// Groups of channels of an image are channels of one image.
Tensor by_groups(const Tensor &x, int64_t groups, const Tensor &gamma, const Tensor &beta,
                 double epsilon) {
    return reshaped(
        by_batch(reshaped(x, {1, groups, x.elements() / groups}), gamma, beta, epsilon)[0],
        x.shape());
}

int64_t channels_of(Tensors in, const Attrs &a) {
    const Tensor &x = in[0];
    if (x.rank() < 2) {
        throw ShapeError(a.op().name,
                         "x has rank " + std::to_string(x.rank()) + ", expected at least 2");
    }
    expect_shape(a, "gamma", in[1], {x.shape()[1]}, x);
    expect_shape(a, "beta", in[2], {x.shape()[1]}, x);
    return x.shape()[1];
}

Result instance_norm(Tensors in, const Attrs &a) {
    const Tensor &x = in[0];
    const int64_t n = x.shape().rank() ? x.shape()[0] : 1;
    const int64_t c = channels_of(in, a);
    if (x.elements() == 0) return {x};
    const auto of_images = [&](const Tensor &t) {
        return reshaped(broadcast_view(cast_to(t, arithmetic_of(x)), {n, c}), {n * c});
    };
    return {by_groups(x, n * c, of_images(in[1]), of_images(in[2]), real(a, "epsilon"))};
}

Result group_norm(Tensors in, const Attrs &a) {
    const int64_t c = channels_of(in, a);
    const int64_t groups = integer(a, "num_groups");
    if (groups < 1 || c % groups) {
        throw AttrError("group_norm", "num_groups is " + std::to_string(groups) +
                                          ", expected a divisor of c, " + std::to_string(c));
    }
    if (in[0].elements() == 0) return {in[0]};
    const DType d = arithmetic_of(in[0]);
    const Tensor x = cast_to(in[0], d);
    const int64_t all = x.shape()[0] * groups;
    Shape s{c};
    for (int k = 2; k < x.rank(); k++)
        s.push_back(1);
    const Tensor normal = by_groups(x, all, Tensor::ones({all}, d), Tensor::zeros({all}, d),
                                    real(a, "epsilon"));
    return {cast_to(
        run1("addcmul", {reshaped(cast_to(in[2], d), s), normal, reshaped(cast_to(in[1], d), s)}),
        in[0].dtype())};
}

Result l2_normalize(Tensors in, const Attrs &a) {
    const DType d = arithmetic_of(in[0]);
    const Tensor x = cast_to(in[0], d);
    const Tensor squares = run1(
        "reduce_sum", {run1("square", {x})},
        {{"axis", Ints{normal_axis("l2_normalize", integer(a, "axis"), x.rank())}},
         {"keep_dims", true}});
    return {cast_to(
        run1("mul", {x, run1("rsqrt",
                             {run1("maximum", {squares, Tensor::scalar(real(a, "epsilon"), d)})})}),
        in[0].dtype())};
}

}  // namespace

Family norm_family() {
    static const Family::value_type all[] = {
        {"batch_norm", batch_norm},          {"batch_norm_relu", batch_norm},
        {"batch_norm_add_relu", batch_norm}, {"group_norm", group_norm},
        {"instance_norm", instance_norm},    {"l2_normalize", l2_normalize},
        {"layer_norm", layer_norm},          {"rms_norm", rms_norm}};
    return all;
}

}  // namespace halyard

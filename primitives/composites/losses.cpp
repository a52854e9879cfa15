// What losses are made of: kernels/loss/losses.cpp has their records.
#include <algorithm>
#include <cmath>

#include "primitives/composites/composite.h"
#include "primitives/composites/composition.h"
#include "primitives/composites/places.h"

namespace halyard {
namespace {

Tensor add(const Tensor &a, const Tensor &b) {
    return run1("add", {a, b});
}
Tensor sub(const Tensor &a, const Tensor &b) {
    return run1("sub", {a, b});
}
Tensor mul(const Tensor &a, const Tensor &b) {
    return run1("mul", {a, b});
}
Tensor like(const Tensor &x, double v) {
    return Tensor::scalar(v, x.dtype());
}
Tensor relu(const Tensor &x) {
    return run1("maximum", {x, like(x, 0)});
}
Tensor sum(const Tensor &x) {
    return run1("reduce_sum", {x});
}
Tensor sum_along(const Tensor &x, int axis) {
    return run1("reduce_sum", {x}, {{"axis", Ints{axis}}});
}

// One call: floats in the arithmetic of the loss, and its attributes.
struct Call {
    Call(Tensors in, const Attrs &given_attrs) : attrs(given_attrs), given(in[0].dtype()) {
        const DType d = bytes_of(given) == 2 ? DType::f32 : given;
        for (const Tensor &t : in)
            x.push_back(t.defined() && is_float(t.dtype()) ? cast_to(t, d) : t);
    }
    const Tensor &operator[](size_t k) const { return x[k]; }
    Tensor weighted(const Tensor &loss, size_t weight) const {
        return x[weight].defined() ? mul(loss, x[weight]) : loss;
    }
    // `over`: what the mean divides by, undefined: the number of terms
    Result reduced(const Tensor &loss, const Tensor &over = {}) const {
        const int64_t how = integer(attrs, "reduction");
        if (how == 1) return {cast_to(loss, given)};
        if (how == 2) return {cast_to(sum(loss), given)};
        return {cast_to(
            over.defined() ? run1("div", {sum(loss), over}) : run1("reduce_mean", {loss}), given)};
    }
    const Attrs &attrs;
    const DType given;
    std::vector<Tensor> x;
};

Result mse_loss(Tensors in, const Attrs &a) {
    const Call c(in, a);
    return c.reduced(run1("squared_difference", {c[0], c[1]}));
}
Result l1_loss(Tensors in, const Attrs &a) {
    const Call c(in, a);
    return c.reduced(run1("abs", {sub(c[0], c[1])}));
}

// Attribute `name`. Throws AttrError unless it is a positive number.
double positive(const Call &c, const char *name) {
    const double v = real(c.attrs, name);
    if (!(v > 0)) {
        throw AttrError(c.attrs.op().name,
                        std::string(name) + " is " + std::to_string(v) + ", expected more than 0");
    }
    return v;
}
Result smooth_l1_loss(Tensors in, const Attrs &a) {
    const Call c(in, a);
    return c.reduced(run1("smooth_l1_kernel", {c[0], c[1]}, {{"beta", positive(c, "beta")}}));
}
Result huber_loss(Tensors in, const Attrs &a) {
    const Call c(in, a);
    const double delta = positive(c, "delta");
    const Tensor loss = run1("smooth_l1_kernel", {c[0], c[1]}, {{"beta", delta}});
    return c.reduced(delta == 1 ? loss : mul(loss, like(loss, delta)));
}

Result binary_cross_entropy(Tensors in, const Attrs &a) {
    const Call c(in, a);
    return c.reduced(c.weighted(run1("bce_kernel", {c[0], c[1]}), 2));
}
Result binary_cross_entropy_with_logits(Tensors in, const Attrs &a) {
    const Call c(in, a);
    return c.reduced(c.weighted(
        run1("bce_logits_kernel", {c[0], c[1], c[3].defined() ? c[3] : like(c[0], 1)}), 2));
}

Result kl_div(Tensors in, const Attrs &a) {
    const Call c(in, a);
    const Tensor loss = integer(c.attrs, "log_target")
                            ? mul(run1("exp", {c[1]}), sub(c[1], c[0]))
                            : sub(run1("xlogy", {c[1], c[1]}), mul(c[1], c[0]));
    const bool batch_mean = integer(c.attrs, "reduction") == 3;
    return c.reduced(loss, batch_mean ? like(loss, double(loss.shape()[0])) : Tensor());
}

Result hinge_embedding_loss(Tensors in, const Attrs &a) {
    const Call c(in, a);
    return c.reduced(run1("select", {run1("equal", {c[1], like(c[1], 1)}), c[0],
                                     relu(sub(like(c[0], real(c.attrs, "margin")), c[0]))}));
}
Result soft_margin_loss(Tensors in, const Attrs &a) {
    const Call c(in, a);
    return c.reduced(run1("softplus", {run1("neg", {mul(c[0], c[1])})}));
}
Result margin_ranking_loss(Tensors in, const Attrs &a) {
    const Call c(in, a);
    return c.reduced(relu(add(mul(c[2], sub(c[1], c[0])), like(c[0], real(c.attrs, "margin")))));
}
Result gaussian_nll_loss(Tensors in, const Attrs &a) {
    const Call c(in, a);
    const Tensor v = run1("maximum", {c[2], like(c[2], real(c.attrs, "eps"))});
    const Tensor loss = mul(
        add(run1("log", {v}), run1("div", {run1("squared_difference", {c[0], c[1]}), v})),
        like(v, 0.5));
    return c.reduced(integer(c.attrs, "full") ? add(loss, like(loss, 0.5 * std::log(2 * M_PI)))
                                              : loss);
}
Result poisson_nll_loss(Tensors in, const Attrs &a) {
    const Call c(in, a);
    return c.reduced(sub(run1("exp", {c[0]}), mul(c[1], c[0])));
}

Tensor cosine(const Tensor &a, const Tensor &b, int axis, double eps) {
    const auto length = [&](const Tensor &t) {
        return run1("maximum", {run1("reduce_l2", {t}, {{"axis", Ints{axis}}}), like(t, eps)});
    };
    return run1("div", {sum_along(mul(a, b), axis), mul(length(a), length(b))});
}
Result cosine_similarity(Tensors in, const Attrs &a) {
    const Call c(in, a);
    return {cast_to(cosine(c[0], c[1],
                           normal_axis("cosine_similarity", integer(c.attrs, "dim"), c[0].rank()),
                           real(c.attrs, "eps")),
                    c.given)};
}
Result cosine_embedding_loss(Tensors in, const Attrs &a) {
    const Call c(in, a);
    if (c[0].rank() == 0)
        throw ShapeError("cosine_embedding_loss", "input1 has rank 0, expected at least 1");
    const Tensor similarity = cosine(c[0], c[1], c[0].rank() - 1, 1e-12);
    const Tensor target = cast_to(c[2], similarity.dtype());
    return c.reduced(run1(
        "select", {run1("equal", {target, like(target, 1)}), sub(like(similarity, 1), similarity),
                   relu(sub(similarity, like(similarity, real(c.attrs, "margin"))))}));
}
Result triplet_margin_loss(Tensors in, const Attrs &a) {
    const Call c(in, a);
    if (c[0].rank() == 0)
        throw ShapeError("triplet_margin_loss", "anchor has rank 0, expected at least 1");
    const auto distance = [&](const Tensor &x, const Tensor &y) {
        return run1("reduce_l2", {add(sub(x, y), like(x, real(c.attrs, "eps")))},
                    {{"axis", Ints{x.rank() - 1}}});
    };
    Tensor far = distance(c[0], c[2]);
    if (integer(c.attrs, "swap")) far = run1("minimum", {far, distance(c[1], c[2])});
    return c.reduced(relu(add(sub(distance(c[0], c[1]), far), like(far, real(c.attrs, "margin")))));
}

// The sequences of a call of ctc_loss, whose shapes fit: labels and lengths within their bounds.
struct Sequences {
    Tensor targets, input_lengths, target_lengths;

    explicit Sequences(const Call &c) {
        const char *op = "ctc_loss";
        const int64_t steps = c[0].shape()[0];
        const int64_t images = c[1].shape()[0];
        const int64_t places = c[1].shape()[1];
        input_lengths = labels_of(op, "input_lengths", c[2], steps + 1);
        target_lengths = labels_of(op, "target_lengths", c[3], places + 1);
        const auto *length = target_lengths.data<int32_t>();
        const int64_t longest = images ? *std::max_element(length, length + images) : 0;
        // A target of more labels than there are steps has no path, however many more they are;
        // what lies behind the longest isn't read.
        const int64_t most = std::min(longest, steps + 1);
        const Tensor given = c[1].dtype() == DType::i64 ? c[1].contiguous()
                                                        : cast_to(c[1], DType::i64).contiguous();
        targets = Tensor::zeros({images, std::max<int64_t>(1, most)}, DType::i32);
        for (int64_t i = 0; i < images; i++)
            check_labels(op, given, i, length[i], c[0].shape()[2], most);
        if (longest == most) return;
        target_lengths = target_lengths.copy();
        for (int64_t i = 0; i < images; i++)
            target_lengths.data<int32_t>()[i] = int32_t(std::min<int64_t>(length[i], most));
    }

private:
    // Target i has `length` labels, of which the first `most` count.
    void check_labels(const char *op, const Tensor &given, int64_t i, int64_t length,
                      int64_t classes, int64_t most) const {
        const int64_t *label = given.data<int64_t>() + i * given.shape()[1];
        int32_t *to = targets.data<int32_t>() + i * targets.shape()[1];
        for (int64_t k = 0; k < length; k++) {
            if (label[k] < 0 || label[k] >= classes) {
                throw ShapeError(op, "targets " + std::to_string(i) + "," + std::to_string(k) +
                                         " is " + std::to_string(label[k]) + ", expected 0 to " +
                                         std::to_string(classes - 1));
            }
            if (k < most) to[k] = int32_t(label[k]);
        }
    }
};

Result ctc_loss(Tensors in, const Attrs &a) {
    const Call c(in, a);
    const auto integers = [&](size_t k, const char *name) {
        if (!is_integer(c[k].dtype())) {
            throw DTypeError("ctc_loss", std::string(name) + " are " + name_of(c[k].dtype()) +
                                             ", expected i32 or i64");
        }
    };
    integers(1, "targets");
    integers(2, "input_lengths");
    integers(3, "target_lengths");
    const auto loss_of = [&](const Tensor &targets, const Tensor &input_lengths,
                             const Tensor &target_lengths) {
        return run1("ctc_kernel", {c[0], targets, input_lengths, target_lengths},
                    {{"blank", integer(c.attrs, "blank")}});
    };
    const Shape lengths = {c[0].rank() == 3 ? c[0].shape()[1] : -1};
    const bool fits = c[1].rank() == 2 && c[1].shape()[0] == lengths[0] &&
                      c[2].shape() == lengths && c[3].shape() == lengths;
    Tensor loss;
    if (fits) {
        const Sequences s(c);
        loss = loss_of(s.targets, s.input_lengths, s.target_lengths);
    } else {  // the kernel says what doesn't
        loss = loss_of(cast_to(c[1], DType::i32), cast_to(c[2], DType::i32),
                       cast_to(c[3], DType::i32));
    }
    if (integer(c.attrs, "zero_infinity"))
        loss = run1("select", {run1("is_inf", {loss}), like(loss, 0), loss});
    if (integer(c.attrs, "reduction") == 0)
        loss = run1("div", {loss, run1("maximum", {cast_to(c[3], loss.dtype()), like(loss, 1)})});
    return c.reduced(loss);
}

// The class dimension, 1 or the only one, goes last.
Tensor classes_last(const char *op, const Tensor &x) {
    if (x.rank() == 0) throw ShapeError(op, "input has rank 0, expected at least 1 (n,c)");
    std::vector<int> order{0};
    for (int d = 2; d < x.rank(); d++)
        order.push_back(d);
    if (x.rank() > 1) order.push_back(1);
    return x.rank() <= 2 ? x : transposed(x, order);
}

// What a row costs with a probability for every class, which needn't sum to 1.
Tensor dense_cross_entropy(const Tensor &x, const Tensor &p) {
    return run1("softmax_cross_entropy", {x, p});
}
Tensor dense_nll(const Tensor &x, const Tensor &p) {
    return run1("neg", {sum_along(mul(x, p), x.rank() - 1)});
}

struct LabelLoss {
    const char *op, *picked;                                    // with a label
    Tensor (*probabilities)(const Tensor &x, const Tensor &p);  // with probabilities
};

// Smoothing, weights and the mean over those that count, of x whose classes are last.
Result of_labels(const Call &c, const LabelLoss &loss, const Tensor &x) {
    const int64_t classes = x.shape()[x.rank() - 1];
    Shape rows = x.shape();
    rows.erase(rows.rank() - 1);
    if (!(c[1].shape() == rows)) {
        throw ShapeError(loss.op, "target has shape " + c[1].shape().text() + ", expected " +
                                      rows.text() + " from input" + c[0].shape().text());
    }
    const double smooth = real(c.attrs, "label_smoothing");
    const int64_t ignore_index = integer(c.attrs, "ignore_index");
    const Tensor given = labels_of(loss.op, "target", c[1], classes, ignore_index);
    const Tensor ignored = Tensor::scalar(
        double(std::clamp<int64_t>(ignore_index, INT32_MIN, INT32_MAX)), DType::i32);
    const Tensor labels = run1(
        "select", {run1("equal", {given, ignored}), Tensor::scalar(-1, DType::i32), given});
    const Tensor ones = Tensor::ones({classes}, x.dtype());
    const auto of_label = [&](const Tensor &t) {  // its element of t; 0 for one that doesn't count
        return reshaped(run1("gather_kernel", {reshaped(t, {1, classes, 1}),
                                               reshaped(labels, {labels.elements()}), like(x, 0)}),
                        rows);
    };
    const Tensor weights = of_label(c[2].defined() ? c[2] : ones);
    if (smooth == 0) {
        const Tensor cost = run1(loss.picked, {x, labels});
        return c.reduced(c[2].defined() ? mul(cost, weights) : cost, sum(weights));
    }
    Shape column = rows;
    column.push_back(1);
    const Tensor own = run1("one_hot", {labels, like(x, 1 - smooth), like(x, 0)},
                            {{"depth", classes}});
    const Tensor share = mul(reshaped(of_label(ones), column), like(x, smooth / double(classes)));
    return c.reduced(loss.probabilities(x, c.weighted(add(own, share), 2)), sum(weights));
}

Result label_loss(Tensors in, const Attrs &a, const LabelLoss &loss) {
    const Call c(in, a);
    const Tensor x = classes_last(loss.op, c[0]);
    const int64_t classes = x.shape()[x.rank() - 1];
    const double smooth = real(c.attrs, "label_smoothing");
    if (!(smooth >= 0 && smooth <= 1)) {
        throw AttrError(loss.op,
                        "label_smoothing is " + std::to_string(smooth) + ", expected 0 to 1");
    }
    if (classes == 0) {
        throw ShapeError(loss.op,
                         "input" + c[0].shape().text() + " has no classes, expected 1 or more");
    }
    if (c[2].defined() && !(c[2].shape() == Shape{classes})) {
        throw ShapeError(loss.op, "weight has shape " + c[2].shape().text() + ", expected [" +
                                      std::to_string(classes) + "] from input" +
                                      c[0].shape().text());
    }
    if (!is_float(c[1].dtype())) return of_labels(c, loss, x);
    if (!(c[1].shape() == c[0].shape())) {
        throw ShapeError(loss.op, "target has shape " + c[1].shape().text() + ", expected " +
                                      c[0].shape().text() + " of probabilities");
    }
    Tensor p = classes_last(loss.op, c[1]);
    if (smooth != 0) p = add(mul(p, like(p, 1 - smooth)), like(p, smooth / double(classes)));
    return c.reduced(loss.probabilities(x, c.weighted(p, 2)));
}

Result cross_entropy(Tensors in, const Attrs &a) {
    return label_loss(in, a,
                      {"cross_entropy", "sparse_softmax_cross_entropy", dense_cross_entropy});
}
Result nll_loss(Tensors in, const Attrs &a) {
    return label_loss(in, a, {"nll_loss", "nll_kernel", dense_nll});
}

}  // namespace

Family loss_family() {
    static const Family::value_type all[] = {
        {"binary_cross_entropy", binary_cross_entropy},
        {"binary_cross_entropy_with_logits", binary_cross_entropy_with_logits},
        {"cosine_embedding_loss", cosine_embedding_loss},
        {"cosine_similarity", cosine_similarity},
        {"cross_entropy", cross_entropy},
        {"ctc_loss", ctc_loss},
        {"gaussian_nll_loss", gaussian_nll_loss},
        {"hinge_embedding_loss", hinge_embedding_loss},
        {"huber_loss", huber_loss},
        {"kl_div", kl_div},
        {"l1_loss", l1_loss},
        {"margin_ranking_loss", margin_ranking_loss},
        {"mse_loss", mse_loss},
        {"nll_loss", nll_loss},
        {"poisson_nll_loss", poisson_nll_loss},
        {"smooth_l1_loss", smooth_l1_loss},
        {"soft_margin_loss", soft_margin_loss},
        {"triplet_margin_loss", triplet_margin_loss},
    };
    return all;
}

}  // namespace halyard

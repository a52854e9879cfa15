#include "nn/initializer.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>

namespace halyard::nn {
namespace {

constexpr const char *op = "initializer";

struct Fans {
    double in, out;
};

Fans fans_of(const Shape &shape) {
    if (shape.rank() < 2) {
        throw ShapeError(op, "rank is " + std::to_string(shape.rank()) +
                                 ", a fan needs at least 2: " + shape.text());
    }
    double kernel = 1;
    for (int i = 2; i < shape.rank(); i++)
        kernel *= double(shape[i]);
    return {double(shape[1]) * kernel, double(shape[0]) * kernel};
}

double gain_of(const He &he) {
    const std::string &f = he.nonlinearity;
    if (f == "leaky_relu") return std::sqrt(2 / (1 + he.negative_slope * he.negative_slope));
    if (f == "relu") return std::sqrt(2.0);
    if (f == "tanh") return 5.0 / 3;
    if (f == "sigmoid" || f == "linear") return 1;
    throw AttrError(op, "nonlinearity is " + f +
                            ", expected leaky_relu, relu, tanh, sigmoid or linear");
}

double fan_of(const He &he, const Shape &shape) {
    if (he.mode != "fan_in" && he.mode != "fan_out")
        throw AttrError(op, "mode is " + he.mode + ", expected fan_in or fan_out");
    return he.mode == "fan_in" ? fans_of(shape).in : fans_of(shape).out;
}

// Fills `t` with value(words). Four random words give four values.
template<class F> Tensor draw(const Shape &shape, const F &four_values) {
    const Tensor t = Tensor::empty(shape, DType::f32);
    const Random random = Random::next();
    float *p = t.data<float>();
    for (int64_t i = 0, n = t.elements(); i < n; i += 4) {
        const std::array<double, 4> v = four_values(random.block(uint64_t(i) / 4));
        for (int64_t k = 0; k < 4 && i + k < n; k++)
            p[i + k] = float(v[size_t(k)]);
    }
    return t;
}

Tensor draw_uniform(const Shape &shape, double scale) {
    const auto value = [&](uint32_t w) { return (2 * uniform(w) - 1) * scale; };
    return draw(shape, [&](const Words &w) {
        return std::array{value(w[0]), value(w[1]), value(w[2]), value(w[3])};
    });
}

Tensor draw_normal(const Shape &shape, double sigma, double mean) {
    return draw(shape, [&](const Words &w) {
        const auto a = normal_pair(w[0], w[1]);
        const auto b = normal_pair(w[2], w[3]);
        return std::array{mean + sigma * a[0], mean + sigma * a[1], mean + sigma * b[0],
                          mean + sigma * b[1]};
    });
}

Tensor draw_truncated(const Shape &shape, const TruncatedNormal &t) {
    const auto below = [&](double v) {
        return 0.5 * std::erfc((t.mean - v) / (t.sigma * std::sqrt(2.0)));
    };
    if (!(t.sigma > 0))
        throw AttrError(op, "sigma is " + std::to_string(t.sigma) + ", expected more than 0");
    // Drawing again takes long if the bounds contain little of the distribution. At 1 % it takes a
    // hundred draws on average, which is still fine.
    if (!(below(t.b) - below(t.a) > 0.01)) {
        throw AttrError(op, "bounds are " + std::to_string(t.a) + " and " + std::to_string(t.b) +
                                ", expected at least 1 % of N(" + std::to_string(t.mean) + ", " +
                                std::to_string(t.sigma) + ") between them");
    }
    const Tensor out = Tensor::empty(shape, DType::f32);
    const Random random = Random::next();
    float *p = out.data<float>();
    for (int64_t i = 0, n = out.elements(); i < n; i++) {
        bool found = false;
        for (uint32_t attempt = 0; !found; attempt++) {
            const Words w = random.block(uint64_t(i), attempt);
            const auto x = normal_pair(w[0], w[1]);
            const auto y = normal_pair(w[2], w[3]);
            for (const double z : {x[0], x[1], y[0], y[1]}) {
                const double v = t.mean + t.sigma * z;
                if (found || v < t.a || v > t.b) continue;
                p[i] = float(v);
                found = true;
            }
        }
    }
    return out;
}

// Orthogonalises by Gram-Schmidt in double, twice, so that only rounding errors remain. Its R has a
// positive diagonal, so no sign is preferred.
Tensor draw_orthogonal(const Shape &shape, double gain) {
    if (shape.rank() < 2) {
        throw ShapeError(op, "rank is " + std::to_string(shape.rank()) +
                                 ", orthogonal needs at least 2: " + shape.text());
    }
    const int64_t rows = shape[0];
    const int64_t columns = shape.elements() / std::max<int64_t>(1, rows);
    const int64_t count = std::min(rows, columns);
    const int64_t length = std::max(rows, columns);
    std::vector<double> v = draw_normal({count, length}, 1, 0).to_vector<double>();
    for (int64_t i = 0; i < count; i++) {
        double *const own = v.data() + i * length;
        for (int pass = 0; pass < 2; pass++) {
            for (int64_t j = 0; j < i; j++) {
                const double *const other = v.data() + j * length;
                const double dot = std::inner_product(own, own + length, other, 0.0);
                for (int64_t k = 0; k < length; k++)
                    own[k] -= dot * other[k];
            }
        }
        const double norm = std::sqrt(std::inner_product(own, own + length, own, 0.0));
        for (int64_t k = 0; k < length; k++)
            own[k] /= norm;
    }
    const Tensor t = Tensor::empty(shape, DType::f32);
    float *p = t.data<float>();
    for (int64_t r = 0; r < rows; r++) {
        for (int64_t c = 0; c < columns; c++) {
            p[r * columns + c] = float(
                gain * v[size_t(rows <= columns ? r * length + c : c * length + r)]);
        }
    }
    return t;
}

void require_matrix(const char *name, const Shape &shape) {
    if (shape.rank() != 2) {
        throw ShapeError(op, "rank is " + std::to_string(shape.rank()) + ", " + name +
                                 " needs 2: " + shape.text());
    }
}

Tensor draw_scaled(const Shape &shape, const VarianceScaling &v) {
    const Fans fans = fans_of(shape);
    const bool is_in = v.mode == "fan_in", is_out = v.mode == "fan_out";
    if (!is_in && !is_out && v.mode != "fan_avg")
        throw AttrError(op, "mode is " + v.mode + ", expected fan_in, fan_out or fan_avg");
    if (!(v.scale > 0))
        throw AttrError(op, "scale is " + std::to_string(v.scale) + ", expected more than 0");
    const double fan = is_in ? fans.in : is_out ? fans.out : (fans.in + fans.out) / 2;
    const double deviation = std::sqrt(v.scale / std::max(1.0, fan));
    if (v.distribution == "uniform") return draw_uniform(shape, std::sqrt(3.0) * deviation);
    if (v.distribution == "untruncated_normal") return draw_normal(shape, deviation, 0);
    if (v.distribution != "truncated_normal") {
        throw AttrError(op, "distribution is " + v.distribution +
                                ", expected uniform, truncated_normal or untruncated_normal");
    }
    // The standard deviation of N(0, 1) between -2 and 2.
    constexpr double of_the_cut_normal = 0.87962566103423978;
    const double uncut = deviation / of_the_cut_normal;
    return draw_truncated(shape, TruncatedNormal(uncut, 0, -2 * uncut, 2 * uncut));
}

Tensor dirac(const Shape &shape, int64_t groups) {
    if (shape.rank() < 3 || shape.rank() > 5) {
        throw ShapeError(op, "rank is " + std::to_string(shape.rank()) +
                                 ", dirac needs 3 to 5: " + shape.text());
    }
    if (groups < 1 || shape[0] % groups != 0) {
        throw AttrError(op, "groups is " + std::to_string(groups) + ", expected a divisor of " +
                                std::to_string(shape[0]) + " outputs");
    }
    const Tensor t = Tensor::zeros(shape);
    const int64_t outputs = shape[0] / groups;
    for (int64_t o = 0; o < shape[0]; o++) {
        if (o % outputs >= shape[1]) continue;
        int64_t at = o * shape[1] + o % outputs;
        for (int d = 2; d < shape.rank(); d++)
            at = at * shape[d] + shape[d] / 2;
        t.data<float>()[at] = 1;
    }
    return t;
}

Tensor identity_matrix(const Shape &shape) {
    require_matrix("identity", shape);
    const Tensor t = Tensor::zeros(shape);
    for (int64_t i = 0; i < std::min(shape[0], shape[1]); i++)
        t.data<float>()[i * shape[1] + i] = 1;
    return t;
}

// Each column's zeros are the rows of the smallest of its random words.
Tensor draw_sparse(const Shape &shape, const Sparse &s) {
    require_matrix("sparse", shape);
    if (!(s.sparsity >= 0 && s.sparsity <= 1))
        throw AttrError(op, "sparsity is " + std::to_string(s.sparsity) + ", expected 0 to 1");
    const Tensor t = draw_normal(shape, s.sigma, 0);
    const Random random = Random::next();
    const int64_t rows = shape[0];
    const int64_t zeros = int64_t(std::ceil(s.sparsity * double(rows)));
    std::vector<std::pair<uint32_t, int64_t>> order(static_cast<size_t>(rows));
    for (int64_t c = 0; c < shape[1]; c++) {
        for (int64_t r = 0; r < rows; r++)
            order[size_t(r)] = {random.block(uint64_t(c * rows + r))[0], r};
        std::sort(order.begin(), order.end());
        for (int64_t k = 0; k < zeros; k++)
            t.data<float>()[order[size_t(k)].second * shape[1] + c] = 0;
    }
    return t;
}

struct Make {
    const Shape &shape;
    Tensor operator()(std::monostate) const { throw AttrError(op, "there is no initialiser"); }
    Tensor operator()(const Constant &c) const { return Tensor::full(shape, c.value); }
    Tensor operator()(const Uniform &u) const { return draw_uniform(shape, u.scale); }
    Tensor operator()(const Normal &n) const { return draw_normal(shape, n.sigma, n.mean); }
    Tensor operator()(const TruncatedNormal &t) const { return draw_truncated(shape, t); }
    Tensor operator()(const XavierUniform &x) const {
        const Fans f = fans_of(shape);
        return draw_uniform(shape, x.gain * std::sqrt(6 / (f.in + f.out)));
    }
    Tensor operator()(const XavierNormal &x) const {
        const Fans f = fans_of(shape);
        return draw_normal(shape, x.gain * std::sqrt(2 / (f.in + f.out)), 0);
    }
    Tensor operator()(const HeUniform &h) const {
        return draw_uniform(shape, gain_of(h) * std::sqrt(3 / fan_of(h, shape)));
    }
    Tensor operator()(const HeNormal &h) const {
        return draw_normal(shape, gain_of(h) / std::sqrt(fan_of(h, shape)), 0);
    }
    Tensor operator()(const Orthogonal &o) const { return draw_orthogonal(shape, o.gain); }
    Tensor operator()(const VarianceScaling &v) const { return draw_scaled(shape, v); }
    Tensor operator()(const Dirac &d) const { return dirac(shape, d.groups); }
    Tensor operator()(const IdentityMatrix &) const { return identity_matrix(shape); }
    Tensor operator()(const Sparse &s) const { return draw_sparse(shape, s); }
    Tensor operator()(const Tensor &t) const {
        if (!(t.shape() == shape)) {
            throw ShapeError(op, "the tensor's shape is " + t.shape().text() + ", expected " +
                                     shape.text());
        }
        return t.copy();
    }
};

// Normalises MindSpore's spellings: "he_normal" and the class name "HeNormal" in any case, "zero"
// and "one" for "zeros" and "ones".
bool same_name(const std::string &known, const std::string &asked) {
    const auto plain = [](const std::string &name) {
        std::string letters;
        for (const char c : name) {
            if (c != '_') letters += char(std::tolower((unsigned char)c));
        }
        return letters;
    };
    const std::string a = plain(known);
    const std::string b = plain(asked);
    return a == b || (a == b + "s" && (b == "zero" || b == "one"));
}

}  // namespace

Initializer::Initializer(const std::string &name) {
    static const std::map<std::string, Any> known = {
        {"dirac", Dirac()},
        {"he_normal", HeNormal()},
        {"he_uniform", HeUniform()},
        {"identity", IdentityMatrix()},
        {"normal", Normal()},
        {"ones", Ones()},
        {"orthogonal", Orthogonal()},
        {"truncated_normal", TruncatedNormal()},
        {"uniform", Uniform()},
        {"variance_scaling", VarianceScaling()},
        {"xavier_normal", XavierNormal()},
        {"xavier_uniform", XavierUniform()},
        {"zeros", Zeros()},
    };
    const auto at = std::find_if(known.begin(), known.end(),
                                 [&](const auto &entry) { return same_name(entry.first, name); });
    if (at == known.end()) {
        std::string names;
        for (const auto &[n, any] : known)
            names += (names.empty() ? "" : ", ") + n;
        throw AttrError(op, "initialiser is " + name + ", expected one of " + names);
    }
    any_ = at->second;
}

Tensor initializer(const Initializer &init, const Shape &shape, DType dtype) {
    const Tensor t = std::visit(Make{shape}, init.any());
    t.forget_addresses();  // it is in new memory, and only Make had them
    return t.dtype() == dtype ? t : t.to(dtype);
}

}  // namespace halyard::nn

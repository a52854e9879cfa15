// gradient_check(f, inputs) compares the tape's gradients of sum(sens * f(inputs)) with central
// differences, in f64.
#pragma once
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <vector>

#include "primitives/autograd/tape.h"

namespace halyard {

// Returns values in [-1, 1] that are the same in every run and never near 0, where several
// functions have a kink.
inline Tensor numbers(const Shape &shape, unsigned seed = 1) {
    const Tensor t = Tensor::empty(shape, DType::f64);
    uint64_t s = seed * 0x9E3779B97F4A7C15u;
    for (int64_t i = 0; i < t.elements(); i++) {
        s = s * 6364136223846793005u + 1442695040888963407u;
        const double v = double(s >> 40) / (1 << 24);
        t.data<double>()[i] = s >> 20 & 1 ? 0.1 + 0.9 * v : -0.1 - 0.9 * v;
    }
    return t;
}

inline double dot(const Tensor &a, const Tensor &b) {
    const auto u = a.to_vector<double>();
    const auto v = b.to_vector<double>();
    double sum = 0;
    for (size_t i = 0; i < u.size(); i++)
        sum += u[i] * v[i];
    return sum;
}

using Several = std::function<Tensor(const std::vector<Tensor> &)>;

inline void gradient_check(const Several &f, const std::vector<Tensor> &x) {
    Tensor sens;
    std::vector<Tensor> dx;
    {
        Tape tape;
        for (const Tensor &t : x)
            tape.watch(t);
        const Tensor y = f(x);
        sens = numbers(y.shape(), 99);
        dx = tape.gradient(y, x, sens);
    }
    const double step = 1e-6;
    for (size_t k = 0; k < x.size(); k++) {
        ASSERT_EQ(dx[k].shape().text(), x[k].shape().text()) << "of input " << k;
        const std::vector<double> got = dx[k].to_vector<double>();
        for (int64_t i = 0; i < x[k].elements(); i++) {
            std::vector<Tensor> moved = x;
            moved[k] = x[k].copy();
            double &v = moved[k].data<double>()[i];
            const double at = v;
            v = at + step;
            const double above = dot(f(moved), sens);
            v = at - step;
            const double below = dot(f(moved), sens);
            const double expected = (above - below) / (2 * step);
            EXPECT_NEAR(got[size_t(i)], expected, 1e-6 + 1e-6 * std::fabs(expected))
                << "input " << k << ", element " << i;
        }
    }
}

}  // namespace halyard

#include "tools/export/int8_reference.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>

namespace halyard::exporting {
namespace {

using Kind = Int8Step::Kind;
using Numbers = std::vector<int8_t>;

// Returns numerator / 2^shift, rounded to the nearest integer, of two to the one away from zero.
int64_t rounded_quotient(int64_t numerator, int shift) {
    const int64_t denominator = int64_t(1) << shift;
    const int64_t quotient = numerator / denominator, remainder = numerator % denominator;
    if (std::abs(remainder) < denominator / 2) return quotient;
    return quotient + (numerator < 0 ? -1 : 1);
}

// One step's operands.
struct Operands {
    const Int8Step &step;
    const Numbers &x;
    int32_t zero_of_x = 0;
    const Numbers *z = nullptr;
    int32_t zero_of_z = 0;

    // Returns y's element `i` of a sum.
    int8_t result(int64_t sum, size_t channel, int64_t i) const {
        const Requantize &to = step.to_y;
        int64_t product = sum * to.multiplier[channel];
        if (z) product += int64_t((*z)[size_t(i)] - zero_of_z) * to.multiplier_of_z;
        const int64_t q = rounded_quotient(product, to.shift) + to.zero;
        return int8_t(std::clamp<int64_t>(q, to.low, to.high));
    }
};

// Returns the sum of a convolution at image b, channel o, row i and column j.
int64_t sum_at(const Operands &in, int64_t b, int64_t o, int64_t i, int64_t j) {
    const Convolution &c = in.step.convolution;
    const int64_t per_group = c.c / c.group;
    const int64_t first = o / (c.o / c.group) * per_group;
    int64_t sum = c.bias[size_t(o)];
    for (int64_t k = 0; k < per_group; k++) {
        for (int64_t r = 0; r < c.u; r++) {
            const int64_t row = i * c.stride.rows - c.top + r * c.dilation.rows;
            if (row < 0 || row >= c.h) continue;
            for (int64_t s = 0; s < c.v; s++) {
                const int64_t column = j * c.stride.columns - c.left + s * c.dilation.columns;
                if (column < 0 || column >= c.w) continue;
                const int64_t at = ((b * c.c + first + k) * c.h + row) * c.w + column;
                const int64_t tap = ((o * per_group + k) * c.u + r) * c.v + s;
                sum += (in.x[size_t(at)] - in.zero_of_x) * c.weight[size_t(tap)];
            }
        }
    }
    return sum;
}

// A fused pool takes the largest of results.
Numbers convolved(const Operands &in) {
    const Convolution &c = in.step.convolution;
    Numbers y;
    for (int64_t b = 0; b < c.n; b++)
        for (int64_t o = 0; o < c.o; o++)
            for (int64_t i = 0; i < c.y_rows; i++)
                for (int64_t j = 0; j < c.y_columns; j++) {
                    int8_t largest = -128;
                    for (int64_t p = 0; p < c.pool.rows; p++)
                        for (int64_t q = 0; q < c.pool.columns; q++) {
                            const int64_t sum = sum_at(in, b, o, i * c.pool.rows + p,
                                                       j * c.pool.columns + q);
                            largest = std::max(largest,
                                               in.result(sum, size_t(o), int64_t(y.size())));
                        }
                    y.push_back(largest);
                }
    return y;
}

// Calls `use` with each element of a window.
void each_in_window(const Pool &p, const Numbers &x, int64_t map, int64_t i, int64_t j,
                    const std::function<void(int8_t)> &use) {
    for (int64_t r = 0; r < p.window.rows; r++) {
        const int64_t row = i * p.stride.rows - p.top + r * p.dilation.rows;
        if (row < 0 || row >= p.h) continue;
        for (int64_t s = 0; s < p.window.columns; s++) {
            const int64_t column = j * p.stride.columns - p.left + s * p.dilation.columns;
            if (column >= 0 && column < p.w) use(x[size_t((map * p.h + row) * p.w + column)]);
        }
    }
}

Numbers pooled(const Operands &in) {
    const Pool &p = in.step.pool;
    Numbers y;
    for (int64_t map = 0; map < p.n * p.c; map++)
        for (int64_t i = 0; i < p.y_rows; i++)
            for (int64_t j = 0; j < p.y_columns; j++) {
                int8_t largest = -128;
                int64_t sum = 0;
                each_in_window(p, in.x, map, i, j, [&](int8_t v) {
                    largest = std::max(largest, v);
                    sum += v - in.zero_of_x;
                });
                const bool is_sum = in.step.kind == Kind::sum;
                y.push_back(is_sum ? in.result(sum, 0, int64_t(y.size())) : largest);
            }
    return y;
}

Numbers elementwise(const Operands &in) {
    Numbers y;
    for (const int8_t q : in.x)
        y.push_back(in.result(q - in.zero_of_x, 0, int64_t(y.size())));
    return y;
}

Numbers result_of(const Operands &in) {
    switch (in.step.kind) {
    case Kind::convolution: return convolved(in);
    case Kind::sum:
    case Kind::largest: return pooled(in);
    case Kind::add:
    case Kind::rescale: break;
    }
    return elementwise(in);
}

}  // namespace

Numbers quantized(const Int8Tensor &to, const float *x) {
    const auto reciprocal = float(1 / double(to.scale));
    const auto low = float(-128 - to.zero), high = float(127 - to.zero);
    Numbers q;
    for (int64_t i = 0; i < to.shape.elements(); i++) {
        // Doubles hold the product exactly, so the conversion is its one rounding.
        const auto v = float(double(x[i]) * double(reciprocal));
        const float bounded = v > low ? std::min(v, high) : low;
        q.push_back(int8_t(std::clamp(int32_t(std::round(bounded)) + to.zero, -128, 127)));
    }
    return q;
}

Numbers reference_of(const Int8Network &network, const Numbers &input) {
    std::map<int, Numbers> values{{network.input, input}};
    for (const Int8Step &s : network.steps) {
        Operands in{s, values.at(s.x), network.tensors.at(s.x).zero};
        if (s.z >= 0) {
            in.z = &values.at(s.z);
            in.zero_of_z = network.tensors.at(s.z).zero;
        }
        values[s.y] = result_of(in);
    }
    return values.at(network.output);
}

std::vector<float> dequantized(const Int8Tensor &from, const Numbers &q) {
    std::vector<float> y;
    for (const int8_t v : q)
        y.push_back(float(v - from.zero) * from.scale);
    return y;
}

}  // namespace halyard::exporting

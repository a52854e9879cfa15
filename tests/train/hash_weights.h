// The inputs and weights of the network goldens, by formula (tests/goldens/README.md).
#pragma once
#include <cmath>

#include "nn/cell.h"
#include "registry/tensor/tensor.h"

namespace halyard::testing_inputs {

// Returns uniform values in [-bound, bound): splitmix64 of a counter, the 24 top bits.
inline Tensor hash_uniform(const Shape &shape, uint64_t seed, float bound = 1) {
    const Tensor t = Tensor::empty(shape);
    for (int64_t i = 0; i < t.elements(); i++) {
        uint64_t z = (uint64_t(i) + 1) * 0x9E3779B97F4A7C15ull + seed * 0xD1B54A32D192ED03ull;
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9ull;
        z = (z ^ z >> 27) * 0x94D049BB133111EBull;
        z ^= z >> 31;
        t.data<float>()[i] = float(2 * (double(z >> 40) * 0x1p-24) - 1) * bound;
    }
    return t;
}

// Sets parameter k: weights of rank 2 and more to U(+-sqrt(6 / fan_in)) from seed k + 1, biases to
// U(+-0.05).
inline void set_hash_weights(const nn::Cell &net) {
    uint64_t seed = 0;
    for (const Parameter &p : net.get_parameters()) {
        const Shape &s = p.shape();
        seed++;
        if (s.rank() >= 2)
            p.set_data(hash_uniform(s, seed, float(std::sqrt(6.0 / double(s.elements() / s[0])))));
        else if (p.name().ends_with("bias"))
            p.set_data(hash_uniform(s, seed, 0.05f));
    }
}

}  // namespace halyard::testing_inputs

#include "examples/motion/motion.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <numbers>

#include "primitives/random.h"
#include "registry/base/error.h"
#include "registry/tensor/npy.h"
#include "train/data/sources.h"

namespace halyard::examples {
namespace fs = std::filesystem;
namespace {

using Vector = std::array<double, 3>;
constexpr double readings_a_second = 50;
constexpr Vector hanging = {-1, 0, 0}, readable = {0, 0, 1};  // where gravity shows

// Draws numbers of one movement.
class Draws {
public:
    Draws(uint64_t seed, int64_t movement) : random_(seed, uint64_t(movement)) {}

    double uniform(double low, double high) {
        return low + (high - low) * double(next()[0]) * 0x1p-32;
    }
    double normal() {
        const Words words = next();
        return normal_pair(words[0], words[1])[0];
    }

private:
    Words next() { return random_.block(count_++); }

    Random random_;
    uint64_t count_ = 0;
};

double length_of(const Vector &v) {
    return std::hypot(v[0], v[1], v[2]);
}

Vector between(const Vector &a, const Vector &b, double part) {
    Vector v;
    for (size_t k = 0; k < 3; k++)
        v[k] = a[k] + (b[k] - a[k]) * part;
    return v;
}

Vector direction(const Vector &v) {
    const double length = std::max(length_of(v), 1e-6);
    return {v[0] / length, v[1] / length, v[2] / length};
}

Vector near(const Vector &v, double spread, Draws &draws) {
    return direction({v[0] + draws.normal() * spread, v[1] + draws.normal() * spread,
                      v[2] + draws.normal() * spread});
}

// Returns a direction at least 60 degrees from where the watch can be read.
Vector elsewhere(Draws &draws) {
    while (true) {
        const Vector v = near({0, 0, 0}, 1, draws);
        if (v[2] < 0.5) return v;
    }
}

// An arm that turns from one direction to another, and swings on the way.
struct Movement {
    Vector from, to;
    double begin = 0, seconds = 1;  // of the turn
    double swing = 0, swings_a_second = 0, phase = 0;

    Vector at(double second) const {
        const double part = std::clamp((second - begin) / seconds, 0.0, 1.0);
        Vector v = direction(between(from, to, part * part * (3 - 2 * part)));
        const double angle = 2 * std::numbers::pi * swings_a_second * second + phase;
        v[0] += swing * std::sin(angle);
        v[1] += swing * std::cos(2 * angle) / 2;
        return v;
    }
};

Movement turn(const Vector &from, const Vector &to, double seconds, Draws &draws) {
    const double duration = draws.uniform(0.3, 0.6) * seconds;
    return {from, to, draws.uniform(0, seconds - duration), duration};
}

Movement raised(double seconds, Draws &draws) {
    const Vector from = near(hanging, 0.25, draws);
    return turn(from, near(readable, 0.2, draws), seconds, draws);
}

Movement other(double seconds, Draws &draws) {
    const double kind = draws.uniform(0, 4);
    if (kind < 1) {
        const Vector still = near({0, 0, 0}, 1, draws);
        return {still, still};
    }
    if (kind < 2) {
        const Vector arm = near(hanging, 0.2, draws);
        return {arm,
                arm,
                0,
                1,
                draws.uniform(0.2, 0.6),
                draws.uniform(1.5, 2.5),
                draws.uniform(0, 2 * std::numbers::pi)};
    }
    const Vector from = near(readable, 0.2, draws);
    if (kind < 3) return turn(from, near(hanging, 0.25, draws), seconds, draws);
    const Vector start = near({0, 0, 0}, 1, draws);
    return turn(start, elsewhere(draws), seconds, draws);
}

void write_part(const fs::path &folder, int64_t rows, int64_t length, uint64_t seed) {
    const double noise = 0.03, seconds = double(length) / readings_a_second;
    const Tensor readings = Tensor::empty({rows, 3, length}, DType::f32);
    const Tensor labels = Tensor::empty({rows}, DType::i32);
    for (int64_t i = 0; i < rows; i++) {
        Draws draws(seed, i);
        labels.data<int32_t>()[i] = int32_t(i % 2);
        const Movement movement = i % 2 ? raised(seconds, draws) : other(seconds, draws);
        float *row = readings.data<float>() + i * 3 * length;
        for (int64_t k = 0; k < length; k++) {
            const Vector v = movement.at(double(k) / readings_a_second);
            for (int64_t axis = 0; axis < 3; axis++)
                row[axis * length + k] = float(v[size_t(axis)] + noise * draws.normal());
        }
    }
    std::error_code failed;
    fs::create_directories(folder, failed);
    if (failed) throw IoError(folder, "can't be created: " + failed.message());
    save_npy(folder / "readings.npy", readings);
    save_npy(folder / "labels.npy", labels);
}

}  // namespace

void write_motions(const std::string &out, int64_t rows, int64_t length, uint64_t seed) {
    write_part(fs::path(out) / "train", rows, length, seed);
    write_part(fs::path(out) / "test", rows / 4, length, seed + 1);
}

dataset::Dataset create_motion_dataset(const std::string &folder, int64_t length,
                                       int64_t batch_size, bool shuffle) {
    const Tensor readings = load_npy(fs::path(folder) / "readings.npy", DType::f32);
    const Tensor labels = load_npy(fs::path(folder) / "labels.npy", DType::i32);
    const Shape expected = {readings.shape()[0], 3, length};
    if (readings.shape() != expected)
        throw ShapeError("motion", folder + "/readings.npy is " + readings.shape().text() +
                                       ", expected [n,3," + std::to_string(length) + "]");
    const bool drop_remainder = shuffle;  // an evaluation must use every row
    return dataset::TensorDataset({{"readings", readings}, {"label", labels}}, shuffle)
        .batch(batch_size, drop_remainder);
}

}  // namespace halyard::examples

// Draws problems for `halyard bench --sample`: layers of published networks (bench/shapes) with a
// batch, and random problems around them, of ops and their gradients. Nothing is allocated.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "bench/harness/shape_set.h"

namespace halyard::bench {

// A reproducible source of random numbers. The standard's distributions differ between libraries.
class Random {
public:
    explicit Random(uint64_t seed) : state_(seed) {}
    uint64_t next();
    int64_t below(int64_t end);  // in [0, end)
    int64_t between(int64_t least, int64_t most);
    bool chance(double probability);
    int64_t log_uniform(int64_t least, int64_t most);
    template<class List> auto pick(const List &list) {
        return *(std::begin(list) + below(int64_t(std::size(list))));
    }

private:
    uint64_t state_;
};

// What a drawn problem may take.
struct SampleLimits {
    double bytes = 96e6;      // of all tensors of the call
    double operations = 5e8;  // counted from the op's definitions (dsl/work.h)
};

struct DrawnProblem {
    // The row of the distribution that it belongs to: "conv2d", "matmul, gradients", ...
    std::string kind;
    std::string op, problem, dtypes;
    std::string origin;     // "resnet/resnet18 layer1.0.conv1", "around ..." for a random one
    bool is_layer = false;  // a layer of a network as it is, but for the batch
};

struct SampleRequest {
    uint64_t seed = 1;
    std::string op;     // only this op; "" is every kind
    std::string dtype;  // only the sets that begin with it; "" draws among f32, bf16 and f16
    SampleLimits limits;
};

// Draws from the networks. The same networks and the same request give the same problems, and
// fewer problems are a prefix of more. Every problem is a legal call with a kernel, within the
// limits.
class ProblemSampler {
public:
    // Throws AttrError if no network gives problems of the requested op, and DTypeError if the op
    // has no such dtype.
    ProblemSampler(const std::vector<Network> &networks, const SampleRequest &request);
    ProblemSampler(const ProblemSampler &) = delete;
    ProblemSampler &operator=(const ProblemSampler &) = delete;

    // Throws AttrError if the limits leave nothing to draw.
    DrawnProblem draw();

    // The names of the kinds, in the order of the tables.
    static std::vector<std::string> kinds();

private:
    struct Source {
        const Network *network;
        std::vector<const ShapeLine *> layers;
    };
    struct Deck {
        size_t kind;
        double share;
        int64_t drawn = 0;
        std::vector<Source> sources;  // networks with such layers
    };
    Deck &next_deck();

    std::vector<Network> networks_;
    SampleRequest request_;
    Random random_;
    std::vector<Deck> decks_;
    int64_t drawn_ = 0;
};

}  // namespace halyard::bench

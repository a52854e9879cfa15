#include "bench/harness/problem_sampler.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <sstream>

#include "bench/harness/case.h"
#include "dsl/work.h"
#include "primitives/library.h"
#include "registry/base/error.h"
#include "registry/base/text.h"
#include "registry/dispatch/planner.h"
#include "registry/op/names.h"
#include "registry/op/signature.h"

namespace halyard::bench {

uint64_t Random::next() {  // SplitMix64
    uint64_t z = state_ += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

int64_t Random::below(int64_t end) {
    return int64_t(next() % uint64_t(end));
}

int64_t Random::between(int64_t least, int64_t most) {
    return least + below(most - least + 1);
}

bool Random::chance(double probability) {
    return double(next() >> 11) * 0x1p-53 < probability;
}

int64_t Random::log_uniform(int64_t least, int64_t most) {
    const double share = double(next() >> 11) * 0x1p-53;
    const double x = double(least) * std::pow(double(most + 1) / double(least), share);
    return std::clamp(int64_t(x), least, most);
}

namespace {

using check::Sample;

// A problem while it is drawn.
struct Drawing {
    std::string op;
    Sample sample;

    int64_t &dim(const std::string &name) { return sample.dims[name]; }
    // Returns the numbers of an attribute such as stride=2,2, or two of `otherwise`.
    std::vector<int64_t> numbers(const std::string &name, int64_t otherwise) const {
        const auto found = sample.attrs.find(name);
        if (found == sample.attrs.end()) return {otherwise, otherwise};
        std::vector<int64_t> all;
        std::istringstream text(found->second);
        for (std::string number; std::getline(text, number, ',');)
            all.push_back(std::stoll(number));
        return all;
    }
    void set(const std::string &name, const std::string &value) { sample.attrs[name] = value; }
};

// How a problem of a kind follows from a layer.
enum class Derived : uint8_t {
    same,               // the layer itself, or another op of the same dimensions
    dense_convolution,  // the same, of convolutions with one group
    grouped_convolution,
    elementwise,
    elementwise_gradient,
    matmul_gradient,
    normalized_convolution,  // batch norm of a convolution's result
    bias_gradient,           // the sum of a matmul's rows
};

struct Kind {
    const char *name;
    const char *source;  // op of the layers
    const char *op;      // of the problem; "" depends on the layer
    Derived derived;
    int weight;
};

constexpr std::array<Kind, 33> all_kinds = {{
    {"matmul", "matmul", "matmul", Derived::same, 12},
    {"matmul, gradients", "matmul", "matmul", Derived::matmul_gradient, 6},
    {"conv2d", "conv2d", "conv2d", Derived::dense_convolution, 10},
    {"conv2d_dx", "conv2d", "conv2d_dx", Derived::dense_convolution, 6},
    {"conv2d_dweight", "conv2d", "conv2d_dweight", Derived::dense_convolution, 6},
    {"conv2d, groups", "conv2d", "conv2d", Derived::grouped_convolution, 5},
    {"conv2d_dx, groups", "conv2d", "conv2d_dx", Derived::grouped_convolution, 2},
    {"conv2d_dweight, groups", "conv2d", "conv2d_dweight", Derived::grouped_convolution, 2},
    {"conv2d, transposed", "conv2d_dx", "conv2d_dx", Derived::same, 1},
    {"attention_kernel", "attention_kernel", "attention_kernel", Derived::same, 4},
    {"softmax", "softmax", "softmax", Derived::same, 8},
    {"softmax_dx", "softmax", "softmax_dx", Derived::same, 2},
    {"log_softmax", "softmax", "log_softmax", Derived::same, 1},
    {"log_softmax_dx", "softmax", "log_softmax_dx", Derived::same, 1},
    {"cross entropy", "softmax", "sparse_softmax_cross_entropy", Derived::same, 1},
    {"cross entropy, gradient", "softmax", "sparse_softmax_cross_entropy_dlogits", Derived::same,
     1},
    {"layer_norm_kernel", "layer_norm_kernel", "layer_norm_kernel", Derived::same, 3},
    {"layer_norm_kernel_dx", "layer_norm_kernel", "layer_norm_kernel_dx", Derived::same, 2},
    {"rms_norm_kernel", "rms_norm_kernel", "rms_norm_kernel", Derived::same, 1},
    {"rms_norm_kernel_dx", "rms_norm_kernel", "rms_norm_kernel_dx", Derived::same, 1},
    {"batch_norm_planes", "conv2d", "batch_norm_planes", Derived::normalized_convolution, 2},
    {"batch_norm_planes_dx", "conv2d", "batch_norm_planes_dx", Derived::normalized_convolution, 1},
    {"max_pool2d", "max_pool2d", "max_pool2d", Derived::same, 2},
    {"max_pool2d_dx", "max_pool2d", "max_pool2d_dx", Derived::same, 1},
    {"avg_pool2d", "avg_pool2d", "avg_pool2d", Derived::same, 2},
    {"avg_pool2d_dx", "avg_pool2d", "avg_pool2d_dx", Derived::same, 1},
    {"elementwise", "", "", Derived::elementwise, 6},
    {"elementwise, gradients", "", "", Derived::elementwise_gradient, 3},
    {"reduce_mean", "reduce_mean", "reduce_mean", Derived::same, 2},
    {"reduce_max", "reduce_mean", "reduce_max", Derived::same, 1},
    {"reduce_sum", "matmul", "reduce_sum", Derived::bias_gradient, 2},
    {"gather_kernel", "gather_kernel", "gather_kernel", Derived::same, 2},
    {"lstm_gates", "lstm_gates", "lstm_gates", Derived::same, 1},
}};

bool is_elementwise(const std::string &op) {
    const RegisteredOp *found = library().find(op);
    return found && found->record.form == Form::elementwise && !found->kernels.empty();
}

int64_t groups_of(const ShapeLine &layer) {
    const size_t at = layer.problem.find(" group=");
    return at == std::string::npos ? 1 : std::stoll(layer.problem.substr(at + 7));
}

// Returns the op of the problems that a kind derives from a layer; "" if it derives none.
std::string derived_op(const Kind &kind, const ShapeLine &layer) {
    if (kind.derived == Derived::elementwise) return is_elementwise(layer.op) ? layer.op : "";
    if (kind.derived == Derived::elementwise_gradient) {
        const std::string gradient = layer.op + "_dx";
        return is_elementwise(layer.op) && is_elementwise(gradient) ? gradient : "";
    }
    if (layer.op != kind.source) return "";
    const bool one_group = groups_of(layer) == 1;
    if (kind.derived == Derived::dense_convolution && !one_group) return "";
    if (kind.derived == Derived::grouped_convolution && one_group) return "";
    return kind.op;
}

// Returns the gradient of a product in one of its operands, which is a product too.
void derive_matmul_gradient(Drawing &p, Random &random) {
    const bool transposed = p.sample.attrs.count("transpose_b") != 0;
    const int64_t m = p.dim("m");
    const int64_t k = p.dim("k");
    const int64_t n = p.dim("n");
    p.sample.attrs.clear();
    const auto set = [&](int64_t rows, int64_t inner, int64_t columns) {
        p.dim("m") = rows;
        p.dim("k") = inner;
        p.dim("n") = columns;
    };
    if (random.chance(0.5)) {
        set(m, n, k);
        if (!transposed) p.set("transpose_b", "1");
        return;
    }
    p.set("transpose_a", "1");
    if (transposed)
        set(n, m, k);
    else
        set(k, m, n);
}

// Returns the values of all dimensions of a call: those of the sample, attributes and lets.
Dims bound_dims(const Drawing &p) {
    const OpRecord &record = library().at(p.op).record;
    Dims dims = p.sample.dims;
    bind_attributes(Attrs(record, p.sample.attrs), dims);
    bind_derived(record, dims);
    return dims;
}

Drawing derive(const Kind &kind, const ShapeLine &layer, Random &random) {
    Drawing p{layer.op, check::parse_sample(library().at(layer.op).record, layer.problem)};
    switch (kind.derived) {
    case Derived::matmul_gradient: derive_matmul_gradient(p, random); break;
    case Derived::normalized_convolution: {
        const Dims dims = bound_dims(p);
        p.sample = {{}, {{"n", 1}, {"c", dims.at("o")}, {"s", dims.at("oh") * dims.at("ow")}}};
        break;
    }
    case Derived::bias_gradient:
        p.sample = {{{"axis", "1,3"}}, {{"o", 1}, {"r", p.dim("m")}, {"i", p.dim("n")}, {"s", 1}}};
        break;
    default: break;
    }
    p.op = derived_op(kind, layer);
    return p;
}

// Returns the dimension that grows with the number of images or sequences.
std::string batch_dimension(const Drawing &p) {
    const auto &dims = p.sample.dims;
    if (p.op == "matmul") {
        if (dims.at("g") > 1) return "g";
        return p.sample.attrs.count("transpose_a") ? "k" : "m";
    }
    if (p.op == "attention_kernel") return "g";
    if (p.op == "gather_kernel") return "m";
    if (p.op == "reduce_sum") return "r";
    if (p.op.starts_with("reduce")) return "o";
    return dims.count("d2") ? "d2" : "n";
}

// Returns an extent near x: odd ones, ones beside it, others of its magnitude.
int64_t around(int64_t x, Random &random) {
    switch (random.below(5)) {
    case 0: return std::max<int64_t>(1, x - 1);
    case 1: return x + 1;
    case 2: return std::max<int64_t>(1, x + random.between(-16, 16));
    case 3: return (x / 2 + random.below(x + 1)) | 1;
    default: return random.log_uniform(1, std::max<int64_t>(2, 2 * x));
    }
}

void vary(Drawing &p, const std::vector<std::string> &names, Random &random) {
    for (auto &name : names)
        if (random.chance(0.5)) p.dim(name) = around(p.dim(name), random);
}

std::string pair_text(int64_t a, int64_t b) {
    return std::to_string(a) + "," + std::to_string(b);
}

// Sets the padding: none, `same`, or up to one less than the window's extent, on each side.
void vary_padding(Drawing &p, int64_t window_h, int64_t window_w, Random &random) {
    p.sample.attrs.erase("padding");
    const int64_t mode = random.below(3);
    p.set("pad_mode", mode == 0 ? "valid" : mode == 1 ? "same" : "pad");
    if (mode < 2) return;
    const int64_t h = random.below(window_h);
    const int64_t w = random.below(window_w);
    p.set("padding", pair_text(h, random.chance(0.8) ? h : random.below(window_h)) + "," +
                         pair_text(w, random.chance(0.8) ? w : random.below(window_w)));
}

void vary_convolution(Drawing &p, Random &random) {
    int64_t groups = p.numbers("group", 1)[0];
    int64_t of_group = std::max<int64_t>(1, p.dim("c") / groups);
    int64_t out_of_group = std::max<int64_t>(1, p.dim("o") / groups);
    if (random.chance(0.5)) of_group = groups == p.dim("c") ? 1 : around(of_group, random);
    if (random.chance(0.5)) out_of_group = groups == p.dim("o") ? 1 : around(out_of_group, random);
    if (groups > 1 && random.chance(0.4)) groups = around(groups, random);
    p.dim("c") = groups * of_group;
    p.dim("o") = groups * out_of_group;
    if (groups > 1)
        p.set("group", std::to_string(groups));
    else
        p.sample.attrs.erase("group");
    vary(p, {"h", "w"}, random);
    constexpr std::array<int64_t, 7> taps = {1, 2, 3, 3, 4, 5, 7};
    if (random.chance(0.3)) p.dim("u") = random.pick(taps);
    if (random.chance(0.3)) p.dim("v") = random.chance(0.7) ? p.dim("u") : random.pick(taps);
    if (random.chance(0.3)) {
        const int64_t stride = random.between(1, 3);
        p.set("stride", pair_text(stride, random.chance(0.8) ? stride : random.between(1, 3)));
    }
    if (random.chance(0.2)) {
        const int64_t dilation = random.between(1, 4);
        p.set("dilation", pair_text(dilation, dilation));
    }
    if (random.chance(0.4)) {
        const int64_t dilation = p.numbers("dilation", 1)[0];
        vary_padding(p, (p.dim("u") - 1) * dilation + 1, (p.dim("v") - 1) * dilation + 1, random);
    }
}

void vary_pool(Drawing &p, Random &random) {
    vary(p, {"c", "h", "w"}, random);
    if (random.chance(0.4)) {
        const int64_t kernel = random.between(2, 5);
        p.set("kernel_size", pair_text(kernel, random.chance(0.8) ? kernel : random.between(1, 5)));
    }
    if (random.chance(0.4)) {
        const int64_t stride = random.between(1, 3);
        p.set("stride", pair_text(stride, stride));
    }
    if (random.chance(0.4)) {
        const auto kernel = p.numbers("kernel_size", 1);
        vary_padding(p, kernel[0], kernel[1], random);
    }
    if (random.chance(0.2)) p.set("ceil_mode", "1");
}

// Changes a layer's problem into a random one around it.
void vary_problem(Drawing &p, Random &random) {
    if (p.op.starts_with("conv2d")) {
        vary_convolution(p, random);
        return;
    }
    if (p.op.find("_pool2d") != std::string::npos) {
        vary_pool(p, random);
        return;
    }
    std::vector<std::string> names;
    for (auto &[name, extent] : p.sample.dims)
        names.push_back(name);
    vary(p, names, random);
    if (p.op == "matmul") {
        for (const char *flag : {"transpose_a", "transpose_b"})
            if (random.chance(0.3)) p.set(flag, random.chance(0.5) ? "1" : "0");
    }
    if (p.op == "attention_kernel" && random.chance(0.3)) p.set("causal", "1");
}

// Writes the dimensions in the signature's order, then the attributes in the record's.
std::string problem_text(const Drawing &p) {
    const OpRecord &record = library().at(p.op).record;
    std::vector<std::string> words;
    for (auto &name : check::dimensions_of(Signature(record.name, record.signature))) {
        const auto found = p.sample.dims.find(name);
        if (found != p.sample.dims.end())
            words.push_back(name + "=" + std::to_string(found->second));
    }
    for (auto &attribute : record.attrs) {
        const auto found = p.sample.attrs.find(attribute.name);
        if (found != p.sample.attrs.end()) words.push_back(attribute.name + "=" + found->second);
    }
    return join(words, " ");
}

struct Cost {
    double bytes = 0, operations = 0;
    bool within(const SampleLimits &limits) const {
        return bytes <= limits.bytes && operations <= limits.operations;
    }
};

// Returns what the call takes; nothing if the op refuses it.
std::optional<Cost> cost_of(const Drawing &p, const std::string &dtypes) {
    Cost cost;
    try {
        const auto [attrs, metas] = check::call_of(*op_table().make(p.op), p.sample, dtypes);
        const Plan plan = make_plan(library().at(p.op), metas, attrs);
        if (!plan.kernel) return std::nullopt;
        double elements = 0;
        for (auto &meta : metas) {
            cost.bytes += double(meta.shape.elements()) * double(bytes_of(meta.dtype));
            elements = std::max(elements, double(meta.shape.elements()));
        }
        for (auto &output : plan.outputs)
            cost.bytes += double(output.shape.elements()) * double(bytes_of(output.dtype));
        cost.operations = elements;
        cost.operations = std::max(elements,
                                   double(work_of(op_table(), p.op, bound_dims(p)).operations()));
    } catch (const Error &) {
        if (cost.operations == 0) return std::nullopt;  // else the work can't be counted
    }
    return cost;
}

// Halves the largest extent that no attribute depends on. Returns false if all are 1.
bool shrink(Drawing &p) {
    int64_t *largest = nullptr;
    for (auto &[name, extent] : p.sample.dims) {
        const bool fixed = name == "u" || name == "v" ||
                           ((name == "c" || name == "o") && p.sample.attrs.count("group"));
        if (!fixed && extent > 1 && (!largest || extent > *largest)) largest = &extent;
    }
    if (!largest) return false;
    *largest /= 2;
    return true;
}

// Returns a set of the op's dtypes: `wanted`, or one that is drawn; "" if there is none.
std::string draw_dtypes(const OpRecord &op, const std::string &wanted, Random &random) {
    constexpr std::array<const char *, 5> usual = {"f32", "f32", "f32", "bf16", "f16"};
    const std::string dtype = wanted.empty() ? random.pick(usual) : wanted;
    for (auto &set : op.dtypes)
        if (set == dtype || set.starts_with(dtype + ",")) return set;
    return "";
}

// Draws a batch until the call is within the limits. Returns false if the op refuses it, or if it
// is too large with a batch of 1.
bool draw_batch(Drawing &p, const std::string &dtypes, bool is_layer, const SampleLimits &limits,
                Random &random) {
    constexpr std::array<int64_t, 10> usual = {1, 1, 1, 2, 4, 8, 8, 16, 32, 64};
    const std::string dimension = batch_dimension(p);
    const int64_t one = p.dim(dimension);
    for (int64_t batch = is_layer ? random.pick(usual) : random.log_uniform(1, 64);;
         batch = (batch + 1) / 2) {
        p.dim(dimension) = one * batch;
        const auto cost = cost_of(p, dtypes);
        if (!cost) return false;
        if (cost->within(limits)) return true;
        if (batch == 1) return false;
    }
}

}  // namespace

std::vector<std::string> ProblemSampler::kinds() {
    std::vector<std::string> names;
    for (const Kind &kind : all_kinds)
        names.emplace_back(kind.name);
    return names;
}

ProblemSampler::ProblemSampler(const std::vector<Network> &networks, const SampleRequest &request)
    : networks_(networks), request_(request), random_(request.seed) {
    double weights = 0;
    for (size_t k = 0; k < all_kinds.size(); k++) {
        Deck deck{k, double(all_kinds[k].weight), 0, {}};
        for (const Network &network : networks_) {
            Source source{&network, {}};
            for (const ShapeLine &layer : network.layers) {
                const std::string op = derived_op(all_kinds[k], layer);
                if (!op.empty() && (request.op.empty() || op == request.op))
                    source.layers.push_back(&layer);
            }
            if (!source.layers.empty()) deck.sources.push_back(std::move(source));
        }
        if (deck.sources.empty()) continue;
        weights += deck.share;
        decks_.push_back(std::move(deck));
    }
    if (decks_.empty())
        throw AttrError("bench", "--sample: no network has a layer of " + request.op);
    if (!request.op.empty() && !request.dtype.empty()) {
        Random unused(0);
        if (draw_dtypes(library().at(request.op).record, request.dtype, unused).empty())
            throw DTypeError(request.op, "no kernels for " + request.dtype);
    }
    for (Deck &deck : decks_)
        deck.share /= weights;
}

// Takes the kind that is farthest behind its share, so that a short sample has the common kinds.
ProblemSampler::Deck &ProblemSampler::next_deck() {
    drawn_++;
    const auto behind = [&](const Deck &d) { return d.share * double(drawn_) - double(d.drawn); };
    Deck &next = *std::max_element(decks_.begin(), decks_.end(), [&](const Deck &a, const Deck &b) {
        return behind(a) < behind(b);
    });
    next.drawn++;
    return next;
}

DrawnProblem ProblemSampler::draw() {
    const Deck &deck = next_deck();
    const Kind &kind = all_kinds[deck.kind];
    constexpr int most_tries = 1000;
    for (int i = 0; i < most_tries; i++) {
        const Source &source = deck.sources[size_t(random_.below(int64_t(deck.sources.size())))];
        const ShapeLine &layer = *random_.pick(source.layers);
        bool is_layer = random_.chance(0.5);
        Drawing p = derive(kind, layer, random_);
        const std::string dtypes = draw_dtypes(library().at(p.op).record, request_.dtype, random_);
        if (dtypes.empty()) continue;
        if (!is_layer) vary_problem(p, random_);
        if (!draw_batch(p, dtypes, is_layer, request_.limits, random_)) {
            // A layer that is too large by itself is cut.
            is_layer = false;
            auto cost = cost_of(p, dtypes);
            while (cost && !cost->within(request_.limits) && shrink(p))
                cost = cost_of(p, dtypes);
            if (!cost || !cost->within(request_.limits)) continue;
        }
        const std::string place = source.network->set + "/" + source.network->name + " " +
                                  layer.note;
        return {kind.name, p.op, problem_text(p), dtypes, is_layer ? place : "around " + place,
                is_layer};
    }
    throw AttrError("bench", std::string("--sample: the limits leave no problem of ") + kind.name);
}

}  // namespace halyard::bench

#include "tools/halyard/commands/export_network.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "examples/language/text.h"
#include "examples/lenet5/lenet5.h"
#include "examples/recipes.h"
#include "graph/capture.h"
#include "graph/passes.h"
#include "primitives/random.h"
#include "registry/base/error.h"
#include "tools/export/network_project.h"
#include "train/checkpoint/checkpoint.h"
#include "train/checkpoint/model_checkpoint.h"
#include "train/checkpoint/training_state.h"

namespace halyard::command {
namespace {
namespace fs = std::filesystem;

constexpr int64_t default_classes = 10;

// Returns the file of the weights; "" for initial weights.
std::string checkpoint_of(const NetworkRequest &r) {
    if (r.weights.empty() || !fs::is_directory(r.weights)) return r.weights;
    const std::optional<std::string> last = latest_checkpoint(r.weights, r.network);
    if (!last) throw IoError(r.weights, "has no checkpoint of " + r.network);
    return *last;
}

// Returns the settings that the network's shape depends on: by default the size that it was trained
// with, and a batch of one.
examples::Settings settings_of(const NetworkRequest &r, const examples::Recipe &recipe,
                               const std::string &checkpoint) {
    examples::Settings s = recipe.defaults;
    s.batch_size = r.batch_size.value_or(1);
    if (!checkpoint.empty() && !r.size) {
        const std::optional<double> saved = saved_note(checkpoint, load_metadata(checkpoint),
                                                       "train.size");
        s.size = saved ? int64_t(*saved) : s.size;
    }
    s.size = r.size.value_or(s.size);
    return s;
}

// Returns the number of classes that a checkpoint's last layer has.
int64_t classes_in(const nn::AnyCell &net, const NamedTensors &saved) {
    const std::string last = net.parameters_and_names().back().first;
    const auto found = std::ranges::find_if(saved.tensors,
                                            [&](const auto &t) { return t.first == last; });
    const bool has = found != saved.tensors.end() && found->second.shape().rank() > 0;
    return has ? found->second.shape()[0] : default_classes;
}

void load(const nn::AnyCell &net, const std::string &checkpoint, const NamedTensors &saved) {
    LoadReport report = load_param_into_net(net, saved);
    report.ckpt_not_load.clear();  // the optimiser's
    if (!report.complete()) throw AttrError("export", checkpoint + ": " + report.text());
}

nn::AnyCell network_of(const NetworkRequest &r, const examples::Recipe &recipe,
                       const examples::Settings &settings, const std::string &checkpoint) {
    set_seed(r.seed.value_or(examples::LeNet5Options().seed));
    if (checkpoint.empty()) return recipe.network(settings, r.classes.value_or(default_classes));
    const NamedTensors saved = load_checkpoint(checkpoint);
    const nn::AnyCell any = recipe.network(settings, default_classes);
    nn::AnyCell net = recipe.network(settings, classes_in(any, saved));
    load(net, checkpoint, saved);
    return net;
}

void check_options(const NetworkRequest &r, const examples::Recipe &recipe) {
    if (!r.dtype.empty() && r.dtype != "f32")
        throw DTypeError(r.network, "networks are exported in f32, --dtype is " + r.dtype);
    if (r.classes && !r.weights.empty())
        throw AttrError("export", "--classes has no effect with --weights, which have classes");
    if (r.seed && !r.weights.empty())
        throw AttrError("export", "--seed has no effect with --weights: it is for initial weights");
    const bool reads_texts = recipe.input == examples::Input::texts;
    if (r.classes && reads_texts)
        throw AttrError("export",
                        "--classes has no effect on " + r.network + ", which reads texts");
}

exporting::Network captured(const NetworkRequest &r, const examples::Recipe &recipe,
                            const examples::Settings &settings, const std::string &checkpoint) {
    const DType dtype = recipe.input == examples::Input::texts ? DType::i32 : DType::f32;
    const Tensor x = Tensor::zeros(examples::input_shape(recipe, settings), dtype);
    const nn::AnyCell net = network_of(r, recipe, settings, checkpoint);
    graph::Capture capture(r.network, {x});
    capture.run([&](std::span<const Tensor> arguments) { return net.call(arguments); });
    if (!capture.reason().empty())
        throw DispatchError(r.network, "no C99 function: " + capture.reason());
    exporting::Network network{r.network, capture.take(), x, examples::vocabulary};
    std::vector<std::pair<std::string, Tensor>> named;
    for (const auto &[name, parameter] : net.parameters_and_names())
        named.emplace_back(name, parameter.data());
    graph::name_captured(network.graph, named);
    graph::run_passes(network.graph);
    return network;
}

void print_sizes(const char *how, const exporting::NetworkSizes &s) {
    std::printf("  %-10s %10zu %15lld %15lld\n", how, s.steps, (long long)s.arena_bytes,
                (long long)s.constant_bytes);
}

}  // namespace

int export_network(const NetworkRequest &request, const exporting::Project &project) {
    const examples::Recipe &recipe = examples::recipe(request.network);
    check_options(request, recipe);
    const std::string checkpoint = checkpoint_of(request);
    const examples::Settings settings = settings_of(request, recipe, checkpoint);
    const exporting::Network network = captured(request, recipe, settings, checkpoint);
    if (!request.int8.data.empty()) {
        Int8Request int8 = request.int8;
        int8.is_trained = !checkpoint.empty();
        export_int8(int8, recipe, settings, network, project);
        return 0;
    }
    const exporting::NetworkOptions options{!request.unfused, request.folds_norms};
    const exporting::WrittenNetwork written = exporting::write_network_project(project, network,
                                                                               options);
    std::printf("wrote %s: %s\n", project.folder.c_str(), request.network.c_str());
    std::printf("  %s;\n  %-10s %10s %15s %15s\n", written.function.c_str(), "", "steps",
                "bytes of arena", "of weights");
    print_sizes("op by op", written.plain);
    const bool differs = !request.unfused || request.folds_norms;
    if (differs) print_sizes(request.unfused ? "folded" : "fused", written.written);
    std::printf("the test allows an element an error of %.3g\n", written.allowed);
    return 0;
}

}  // namespace halyard::command

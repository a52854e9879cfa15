#include "tools/export/network_project.h"

#include <algorithm>
#include <map>

#include "primitives/random.h"
#include "registry/base/error.h"
#include "registry/base/program.h"
#include "registry/base/text.h"
#include "registry/base/version.h"
#include "tools/c99/constants.h"
#include "tools/c99/elements.h"
#include "tools/c99/graph_source.h"
#include "tools/export/network_bound.h"
#include "tools/export/network_header.h"
#include "tools/export/reproducible_scope.h"
#include "tools/export/target.h"
#include "tools/templates.h"

namespace halyard::exporting {
namespace {
namespace fs = std::filesystem;

using c99::CallSource;
using c99::Parameter;

constexpr int64_t max_elements_of_two_tests = 50'000;  // of an input: tests have it as text

// Returns a text like "x[x_0,x_1] -> y[y_0]": names, and ranks.
std::string signature_text(const Network &n) {
    const auto tensor = [](const std::string &name, int rank) {
        std::string extents;
        for (int d = 0; d < rank; d++)
            extents += (d ? "," : "") + name + "_" + std::to_string(d);
        return name + "[" + extents + "]";
    };
    std::string text = tensor("x", n.input.shape().rank()) + " ->";
    for (size_t k = 0; k < n.graph.outputs.size(); k++) {
        const std::string name = n.graph.outputs.size() == 1 ? "y" : "y" + std::to_string(k + 1);
        text += " " + tensor(name, n.graph.outputs[k].shape.rank());
    }
    return text;
}

struct Source {
    CallSource call;
    size_t steps = 0;
};

Source source_of(const Network &n, const c99::FusedGraph &graph, const Project &project) {
    // A microcontroller keeps one sum in a register; others have vectors.
    const int lanes = project.target == Target::arm32m ? 1 : 16;
    const Signature signature(n.name, signature_text(n));
    const std::vector<graph::View> inputs = {
        {-1, 0, n.input.shape(), n.input.strides(), n.input.dtype()}};
    return {c99::source_of(graph, signature, inputs, project.name, lanes),
            graph.graph.nodes.size()};
}

NetworkSizes sizes_of(const Source &s) {
    return {s.steps, s.call.arena_bytes, s.call.constant_bytes};
}

// One input with what the kit computes of it.
struct Sample {
    Tensor x;
    std::vector<Tensor> expected;
    std::vector<double> allowed;  // by output
};

Tensor input_of(const Network &n, uint64_t number) {
    const Tensor x = Tensor::empty(n.input.shape(), n.input.dtype());
    const Random random(20, number);
    for (int64_t i = 0; i < x.elements(); i++) {
        if (x.dtype() == DType::i32) {
            static_cast<int32_t *>(x.raw())[i] = int32_t(
                random.below(uint64_t(i), uint32_t(n.vocabulary)));
            continue;
        }
        const Words words = random.block(uint64_t(i));
        static_cast<float *>(x.raw())[i] = float(normal_pair(words[0], words[1])[0]);
    }
    return x;
}

std::vector<Sample> samples_of(const Network &n) {
    const ReproducibleScope reproducible;
    const uint64_t count = n.input.elements() <= max_elements_of_two_tests ? 2 : 1;
    std::vector<Sample> all;
    for (uint64_t k = 0; k < count; k++) {
        const Tensor x = input_of(n, k);
        all.push_back({x, results_of(n.graph, x), allowed_errors(n.graph, x)});
    }
    return all;
}

// Returns the test of one sample: its tensors, and a function that runs the network on them.
std::string test_of(const CallSource &call, const Sample &sample, size_t number) {
    const std::string prefix = "sample" + std::to_string(number);
    std::string arrays, arguments, comparisons;
    size_t output = 0;
    for (const Parameter &p : call.parameters) {
        const std::string type = c99::c_type_of(p.dtype);
        arguments += (arguments.empty() ? "" : ", ");
        if (!p.is_output) {
            arrays += c99::array_text("static const " + type + " " + prefix + "_" + p.name,
                                      sample.x.raw(), sample.x.elements(), p.dtype);
            arguments += prefix + "_" + p.name;
            continue;
        }
        const Tensor &expected = sample.expected[output];
        arrays += c99::array_text("static const " + type + " " + prefix + "_" + p.name,
                                  expected.raw(), expected.elements(), p.dtype);
        arguments += p.name;
        comparisons += "    compare(\"" + p.name + " of " + prefix + "\", " + p.name + ", " +
                       prefix + "_" + p.name + ", " + std::to_string(expected.elements()) + ", " +
                       c99::number_of(sample.allowed[output], DType::f64) + ");\n";
        output++;
    }
    return arrays + "\nstatic void test_" + prefix + "(void) {\n    " + call.name + "(" +
           arguments + ");\n" + comparisons + "}\n\n";
}

// Returns the bytes of a call's tensors.
int64_t bytes_of_tensors(const CallSource &call) {
    int64_t bytes = 0;
    for (const Parameter &p : call.parameters)
        bytes += p.shape.elements() * int64_t(bytes_of(p.dtype));
    return bytes;
}

std::string test_source(const Project &project, const CallSource &call,
                        const std::vector<Sample> &samples) {
    std::string tests, calls, results;
    for (const Parameter &p : call.parameters) {
        if (p.is_output) {
            results += "static " + std::string(c99::c_type_of(p.dtype)) + " " + p.name + "[" +
                       std::to_string(p.shape.elements()) + "];\n";
        }
    }
    for (size_t k = 0; k < samples.size(); k++) {
        tests += test_of(call, samples[k], k + 1);
        calls += "    test_sample" + std::to_string(k + 1) + "();\n";
    }
    const std::map<std::string, std::string> words = {
        {"@name@", project.name}, {"@tests@", results + "\n" + tests}, {"@calls@", calls}};
    return filled(text_of(installed("share/halyard/export") / "project/c99/network_test.c"), words);
}

void require_f32(const Network &n) {
    for (const graph::View &v : n.graph.outputs) {
        if (v.buffer >= 0 && v.dtype == DType::f32) continue;
        throw DTypeError(n.name, "can't be exported as C99: an output isn't f32");
    }
}

}  // namespace

graph::Graph folded(const Network &n, bool folds_norms) {
    graph::Graph g = n.graph;
    c99::fold_constants(g);
    if (folds_norms) c99::fold_norms(g);
    graph::remove_dead_nodes(g);
    graph::find_lifetimes(g);
    return g;
}

NetworkSizes sizes_in_f32(const Project &project, const Network &network, bool fuses) {
    const graph::Graph graph = folded(network, false);
    return sizes_of(source_of(network, fuses ? c99::fused(graph) : c99::not_fused(graph), project));
}

WrittenNetwork write_network_project(const Project &project, const Network &network,
                                     const NetworkOptions &options) {
    require_f32(network);
    const graph::Graph graph = folded(network, options.folds_norms);
    const Source source = source_of(
        network, options.fuses ? c99::fused(graph) : c99::not_fused(graph), project);
    const std::vector<Sample> samples = samples_of(network);

    WrittenNetwork written{c99::prototype_of(source.call), sizes_in_f32(project, network, false),
                           sizes_of(source)};
    for (const Sample &s : samples)
        written.allowed = std::max(written.allowed, *std::ranges::max_element(s.allowed));
    const std::string weights = project.name + "_weights.h";
    CallSource code = source.call;
    code.constants.clear();
    const std::map<std::string, std::string> words = {
        {"@name@", project.name},
        {"@network@", network.name},
        {"@version@", version()},
        {"@tensors@", tensors_of(source.call)},
        {"@function@", written.function},
        {"@arena@", std::to_string(written.written.arena_bytes)},
        {"@constants@", std::to_string(written.written.constant_bytes)}};
    const fs::path parts = installed("share/halyard/export");
    const fs::path &folder = project.folder;
    const std::string test = test_source(project, source.call, samples);
    fs::create_directories(folder);
    fs::copy_file(parts / "LICENSE", folder / "LICENSE");
    write_build_files(project, words,
                      written.written.arena_bytes + written.written.constant_bytes +
                          int64_t(samples.size()) * bytes_of_tensors(source.call));
    write_text(folder / "README.md",
               filled(text_of(parts / "project/c99/network_README.md"), words));
    write_text(folder / "include" / (project.name + ".h"),
               header_of(project, network.name, source.call));
    write_text(folder / "src" / weights,
               "/* The weights of " + network.name + ". */\n\n" + source.call.constants);
    write_text(folder / "src" / (project.name + ".c"),
               c99::unit_of({code}, "#include \"" + project.name + ".h\"\n\n",
                            "#include \"" + weights + "\"\n"));
    write_text(folder / "test/test.c", test);
    return written;
}

}  // namespace halyard::exporting

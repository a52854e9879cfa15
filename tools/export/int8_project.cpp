#include "tools/export/int8_project.h"

#include <algorithm>
#include <map>

#include "registry/base/error.h"
#include "registry/base/program.h"
#include "registry/base/version.h"
#include "tools/c99/elements.h"
#include "tools/export/int8_lowering.h"
#include "tools/export/int8_reference.h"
#include "tools/export/int8_source.h"
#include "tools/export/network_header.h"
#include "tools/export/reproducible_scope.h"
#include "tools/export/target.h"
#include "tools/templates.h"

namespace halyard::exporting {
namespace {
namespace fs = std::filesystem;

using c99::CallSource;
using c99::Parameter;

constexpr int64_t most_elements_of_tests = 8192;  // of all inputs: tests have them as text
constexpr size_t most_tests = 8;

// One input with what the reference computes of it. Integers of the same input.
struct Int8Sample {
    std::vector<float> x, y;
    std::vector<int8_t> x_q, y_q;
};

std::vector<Int8Sample> samples_of(const Int8Network &network, const std::vector<Tensor> &inputs) {
    const Int8Tensor &x = network.tensors.at(network.input);
    const Int8Tensor &y = network.tensors.at(network.output);
    const int64_t fitting = std::max<int64_t>(most_elements_of_tests / x.shape.elements(), 1);
    const size_t count = std::min({most_tests, inputs.size(), size_t(fitting)});
    std::vector<Int8Sample> samples;
    for (size_t k = 0; k < count; k++) {
        const auto *values = static_cast<const float *>(inputs[k].raw());
        Int8Sample s{{values, values + inputs[k].elements()}, {}, quantized(x, values), {}};
        s.y_q = reference_of(network, s.x_q);
        s.y = dequantized(y, s.y_q);
        samples.push_back(std::move(s));
    }
    return samples;
}

// Returns the test of one sample: its tensors, and a function that runs the network on them.
std::string test_of(const CallSource &call, const Int8Sample &sample, size_t number) {
    const std::string prefix = "sample" + std::to_string(number);
    std::string arrays;
    for (const Parameter &p : call.parameters) {
        const bool is_f32 = p.dtype == DType::f32;
        const void *floats = p.is_output ? sample.y.data() : sample.x.data();
        const void *integers = p.is_output ? sample.y_q.data() : sample.x_q.data();
        arrays += c99::array_text("static const " + std::string(c99::c_type_of(p.dtype)) + " " +
                                      prefix + "_" + p.name,
                                  is_f32 ? floats : integers, p.shape.elements(), p.dtype);
    }
    return arrays + "\nstatic void test_" + prefix + "(void) {\n    " + call.name + "(" + prefix +
           "_x, y);\n    compare(\"" + prefix + "\", y, " + prefix + "_y);\n}\n\n";
}

std::string test_source(const Project &project, const CallSource &call,
                        const std::vector<Int8Sample> &samples) {
    std::string tests, calls;
    for (size_t k = 0; k < samples.size(); k++) {
        tests += test_of(call, samples[k], k + 1);
        calls += "    test_sample" + std::to_string(k + 1) + "();\n";
    }
    const Parameter &y = call.parameters.back();
    const std::map<std::string, std::string> words = {
        {"@name@", project.name},
        {"@type@", c99::c_type_of(y.dtype)},
        {"@elements@", std::to_string(y.shape.elements())},
        {"@tests@", tests},
        {"@calls@", calls}};
    return filled(text_of(installed("share/halyard/export") / "project/c99/int8_test.c"), words);
}

// Returns macros by which a program converts to and from the integers.
std::vector<Define> defines_of(const Int8Network &network) {
    std::vector<Define> all;
    for (const auto &[name, buffer] : {std::pair{"X", network.input}, {"Y", network.output}}) {
        const Int8Tensor &t = network.tensors.at(buffer);
        all.push_back({std::string(name) + "_SCALE", c99::number_of(t.scale, DType::f32)});
        all.push_back({std::string(name) + "_ZERO", std::to_string(t.zero)});
    }
    return all;
}

void require_data(const Network &network, const Int8Data &data) {
    if (data.calibration.empty())
        throw IoError(network.name, "the data of --int8 has no rows, expected at least 1");
    for (const Tensor &t : data.calibration) {
        if (t.shape() == network.input.shape()) continue;
        throw ShapeError(network.name, "the data of --int8 is x" + t.shape().text() +
                                           ", expected x" + network.input.shape().text());
    }
}

// Returns the network in integers.
Int8Network quantized_network(const Network &network, const Int8Data &data) {
    const ReproducibleScope reproducible;
    graph::Graph graph = folded(network, true);
    graph.name = network.name;
    return lowered(graph, calibrated(graph, data.calibration));
}

void write_files(const Project &project, const Network &network, const Int8Network &integers,
                 const CallSource &call, const std::string &test) {
    const std::string weights = project.name + "_weights.h";
    CallSource code = call;
    code.constants.clear();
    const std::map<std::string, std::string> words = {
        {"@name@", project.name},
        {"@network@", network.name},
        {"@version@", version()},
        {"@tensors@", tensors_of(call)},
        {"@function@", c99::prototype_of(call)},
        {"@arena@", std::to_string(call.arena_bytes)},
        {"@constants@", std::to_string(call.constant_bytes)}};
    const fs::path parts = installed("share/halyard/export");
    const fs::path &folder = project.folder;
    fs::create_directories(folder);
    fs::copy_file(parts / "LICENSE", folder / "LICENSE");
    // The test's text is longer than the tensors in it.
    write_build_files(project, words,
                      call.arena_bytes + call.constant_bytes + int64_t(test.size()));
    write_text(folder / "README.md", filled(text_of(parts / "project/c99/int8_README.md"), words));
    write_text(folder / "include" / (project.name + ".h"),
               header_of(project, network.name, call, defines_of(integers)));
    write_text(folder / "src" / weights,
               "/* The weights of " + network.name + " in integers. */\n\n" + call.constants);
    write_text(folder / "src" / (project.name + ".c"),
               c99::unit_of({code}, "#include \"" + project.name + ".h\"\n\n",
                            "#include \"" + weights + "\"\n"));
    write_text(folder / "test/test.c", test);
}

}  // namespace

WrittenInt8 write_int8_project(const Project &project, const Network &network, const Int8Data &data,
                               bool is_i8) {
    require_data(network, data);
    const Int8Network integers = quantized_network(network, data);
    const CallSource call = source_of(integers, project.name, is_i8);
    const std::vector<Int8Sample> samples = samples_of(integers, data.calibration);
    WrittenInt8 written;
    written.function = c99::prototype_of(call);
    written.in_f32 = sizes_in_f32(project, network, true);
    written.written = {integers.steps.size(), call.arena_bytes, call.constant_bytes};
    written.tested = samples.size();
    written.error = relative_error(network.graph, integers, data.calibration);
    if (data.test) written.accuracy = accuracy_of(network.graph, integers, data.test);
    write_files(project, network, integers, call, test_source(project, call, samples));
    written.code = code_size(project, call.constant_bytes);
    return written;
}

}  // namespace halyard::exporting

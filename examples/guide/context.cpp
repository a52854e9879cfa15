// The examples of "Running management": a convolution in both modes, the device, and the folders of
// output.
#include <cstdio>
#include <filesystem>

#include "nn/conv.h"
#include "primitives/context.h"
#include "primitives/print.h"
#include "registry/base/error.h"

using namespace halyard;

int main() {
    // Set and change the mode.
    set_context({.mode = GRAPH_MODE, .device_target = "CPU"});
    const nn::Conv2d conv(3, 4, 3, {.bias_init = "zeros"});
    const Tensor input_data = Tensor::ones({1, 3, 5, 5});
    const Tensor in_graph_mode = conv(input_data);
    set_context({.mode = PYNATIVE_MODE});
    const Tensor in_pynative_mode = conv(input_data);
    std::printf("%s\n", in_pynative_mode.text(100).c_str());
    std::printf("the same in both modes: %s\n",
                in_graph_mode.to_vector<float>() == in_pynative_mode.to_vector<float>() ? "yes"
                                                                                        : "no");

    // Set the device. If it does not exist, the error lists those that do.
    try {
        set_context({.device_target = "Ascend", .device_id = 6});
    } catch (const Error &e) {
        std::printf("%s\n", e.what());
    }

    // Write profiles and graphs into an existing folder, and the output of Print into a file.
    std::filesystem::create_directory("profile");
    set_context({.enable_profiling = true, .profiling_options = R"({"result_path": "profile"})"});
    // The guide also requests a trace of a training's phases, which does not exist here. Such an
    // option is refused by name.
    try {
        set_context({.profiling_options = R"({"result_path": "profile", "training_trace": "on"})"});
    } catch (const Error &e) {
        std::printf("%s\n", e.what());
    }
    set_context({.save_graphs = true, .save_graphs_path = "graphs"});
    set_context({.print_file_path = "print.pb"});
    ops::Print()("of a convolution:", conv(input_data));
}

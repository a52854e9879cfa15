// halyard devices: what can be given to --device here, and why not.
#include <cstdio>
#include <string>

#include "bench/roofs/roofs.h"
#include "registry/base/error.h"
#include "registry/dispatch/registry.h"
#include "registry/gpu/gpu.h"
#include "tools/halyard/command.h"
#include "tools/halyard/option.h"

namespace halyard::command {
namespace {

// Returns the name of the backend's GPU, or the reason why there is none.
std::string gpu_text(const std::string &backend) {
    try {
        set_device(backend);
        std::string name = gpu::gpu(backend).name();
        set_device("cpu");
        return name;
    } catch (const DeviceError &e) {
        const std::string text = e.what();
        return "none: " + text.substr(text.find("] ") + 2);
    }
}

int list_devices() {
    std::printf("%-8s %s\n", "cpu", roofs::machine_key().c_str());
    for (const char *backend : {"opencl", "cuda"})
        std::printf("%-8s %s\n", backend, gpu_text(backend).c_str());
    std::printf("%-8s simulated: %s\n", "ascend", ascend_names().c_str());
    return 0;
}

}  // namespace

void add_devices(CLI::App &app, Run &selected) {
    CLI::App *sub = app.add_subcommand("devices",
                                       "List the devices that answer, and why others do not");
    sub->callback([&selected] { selected = list_devices; });
}

}  // namespace halyard::command

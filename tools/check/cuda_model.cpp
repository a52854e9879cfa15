#include "tools/check/cuda_model.h"

#include <sstream>

#include "registry/dispatch/cuda_driver.h"
#include "registry/gpu/gpu.h"

namespace halyard::check {
namespace {

using Findings = const char *(*)();

// Returns the driver's function that lists findings; null of a driver without one.
Findings opened() {
    use_model_cuda_driver();
    // Kept blocks would hide accesses beyond a buffer, and reads of what nobody wrote.
    gpu::keep_released_blocks(false);
    return reinterpret_cast<Findings>(cuda_symbol("halyard_cuda_model_findings"));
}

Findings findings_function() {
    static const Findings one = opened();
    return one;
}

}  // namespace

void open_cuda_model() {
    findings_function();
}

std::vector<std::string> cuda_findings() {
    std::vector<std::string> lines;
    const Findings findings = findings_function();
    std::istringstream text(findings ? findings() : "");
    for (std::string line; std::getline(text, line);)
        lines.push_back(line);
    return lines;
}

}  // namespace halyard::check

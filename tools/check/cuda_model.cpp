#include "tools/check/cuda_model.h"

#include <sstream>

#include "gpu/machine/counts.h"
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

double cuda_bytes_moved() {
    open_cuda_model();
    const auto counts = reinterpret_cast<const char *(*)()>(
        cuda_symbol("halyard_cuda_model_counts"));
    std::istringstream text(counts ? counts() : "");
    double sectors = 0, value = 0;
    std::string name;
    for (std::string line; std::getline(text, line);) {
        std::istringstream words(line);
        words >> name >> value;
        if (name == "load_sectors" || name == "store_sectors") sectors += value;
    }
    return sectors * ptx::sector_bytes;
}

}  // namespace halyard::check

#include "tools/halyard/machine.h"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <thread>

#include "registry/op_record.h"

namespace halyard::command {

std::string processor() {
    std::ifstream info("/proc/cpuinfo");
    for (std::string line; std::getline(info, line);)
        if (line.starts_with("model name")) return line.substr(line.find(": ") + 2);
    return "unknown processor";
}

void print_machine() {
    double load[1] = {0};
    const unsigned cores = std::thread::hardware_concurrency();
    std::printf("%s, %u cores, up to %s\n", processor().c_str(), cores, name_of(host_isa()));
    if (getloadavg(load, 1) == 1 && load[0] > 0.3)
        std::printf("warning: the load average is %.2f; others use this machine, trust ratios and minima rather than times\n", load[0]);
}

}  // namespace halyard::command

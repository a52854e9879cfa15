#include "tools/halyard/machine.h"

#include <cstdio>
#include <cstdlib>
#include <ctime>
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

std::string now() {
    const std::time_t t = std::time(nullptr);
    std::tm utc = {};
    gmtime_r(&t, &utc);
    char text[32];
    std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
    return text;
}

void print_machine() {
    double load[1] = {0};
    std::printf("%s, %u cores, up to %s", processor().c_str(), std::thread::hardware_concurrency(), name_of(host_isa()));
    if (getloadavg(load, 1) == 1 && load[0] > 0.3) std::printf(", load average %.2f", load[0]);
    std::printf("\n");
}

}  // namespace halyard::command

#include "bench/harness/machine.h"

#include <cstdio>
#include <cstdlib>
#include <thread>

#include "registry/op/op_record.h"

namespace halyard::bench {

void print_machine() {
    double load[1] = {0};
    std::printf("%s, %u cores, up to %s", processor().c_str(), std::thread::hardware_concurrency(),
                name_of(host_isa()));
    if (getloadavg(load, 1) == 1 && load[0] > 0.3) std::printf(", load average %.2f", load[0]);
    std::printf("\n");
}

}  // namespace halyard::bench

#include "bench/harness/system_load.h"

#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <thread>

namespace halyard::bench {
namespace {

double now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

// Returns the seconds of a line "some avg10=0.00 avg60=0.00 avg300=0.00 total=5422882635", whose
// total is in microseconds.
double pressure() {
    std::ifstream file("/proc/pressure/cpu");
    std::string line;
    std::getline(file, line);
    const size_t at = line.find("total=");
    return at == std::string::npos ? 0 : std::stod(line.substr(at + 6)) * 1e-6;
}

std::vector<Counters::Core> cores() {
    cpu_set_t ours;
    CPU_ZERO(&ours);
    sched_getaffinity(0, sizeof ours, &ours);
    std::vector<Counters::Core> all;
    std::ifstream file("/proc/stat");
    for (std::string line; std::getline(file, line);) {
        int id = 0;
        if (std::sscanf(line.c_str(), "cpu%d ", &id) != 1 || !CPU_ISSET(id, &ours)) continue;
        std::istringstream fields(line.substr(line.find(' ')));
        double user = 0, nice = 0, system = 0, idle = 0, io = 0, irq = 0, soft = 0, steal = 0;
        fields >> user >> nice >> system >> idle >> io >> irq >> soft >> steal;
        const double tick = 1.0 / double(sysconf(_SC_CLK_TCK));
        all.push_back({id, (user + nice + system + irq + soft + steal) * tick, steal * tick});
    }
    return all;
}

double seconds(const timeval &t) {
    return double(t.tv_sec) + 1e-6 * double(t.tv_usec);
}

double own_seconds() {
    double sum = 0;
    for (const auto who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
        rusage used{};
        getrusage(who, &used);
        sum += seconds(used.ru_utime) + seconds(used.ru_stime);
    }
    return sum;
}

// The kernel's ticks are coarse, so a share can exceed 1.
std::string percent(double share) {
    return std::to_string(int(std::min(share, 1.0) * 100 + 0.5)) + " %";
}

}  // namespace

Counters count() {
    return {now(), cores(), pressure(), own_seconds()};
}

long involuntary_switches() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_nivcsw;
}

Load between(const Counters &before, const Counters &after) {
    Load load;
    load.seconds = after.now - before.now;
    load.pressure = (after.pressure - before.pressure) / load.seconds;
    for (size_t i = 0; i < std::min(before.cores.size(), after.cores.size()); i++) {
        const Counters::Core &a = before.cores[i];
        const Counters::Core &b = after.cores[i];
        load.cores.push_back(
            {b.id, (b.busy - a.busy) / load.seconds, (b.steal - a.steal) / load.seconds});
        load.others += load.cores.back().busy;
    }
    load.others = std::max(0.0,
                           load.others - (after.own_seconds - before.own_seconds) / load.seconds);
    return load;
}

Load load_of_others(double seconds) {
    const Counters before = count();
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
    return between(before, count());
}

std::string contention(const Load &load, int threads) {
    std::string busy;
    int idle = 0;
    for (const auto &core : load.cores) {
        if (!core.is_busy())
            idle++;
        else {
            busy += (busy.empty() ? "" : ", ") + std::to_string(core.id) + " (" +
                    percent(core.busy) + ")";
        }
    }
    if (idle >= threads || busy.empty()) return "";
    return "other processes keep core " + busy + " busy: " + std::to_string(idle) + " of " +
           std::to_string(load.cores.size()) + " are idle for " + std::to_string(threads) +
           (threads == 1 ? " thread" : " threads") +
           (load.pressure > 0.01
                ? "; tasks wait for a core " + percent(load.pressure) + " of the time"
                : "");
}

bool is_noisy(const Load &load) {
    constexpr double switches_per_second = 20, steal = 0.01;
    double max_steal = 0;
    for (const auto &core : load.cores)
        max_steal = std::max(max_steal, core.steal);
    return double(load.switches) > 1 + switches_per_second * load.seconds || max_steal > steal;
}

bool leaves_a_core(const Load &load) {
    constexpr double enough = 0.85;  // ticks are coarse, and an idle desktop does a little
    return load.cores.empty() || double(load.cores.size()) - load.others >= enough;
}

Load warn_of_others(int threads, double patience) {
    Load load = load_of_others();
    std::string why = contention(load, threads);
    const double begin = now();
    while (!why.empty() && now() - begin < patience) {
        load = load_of_others(0.5);
        why = contention(load, threads);
        if (why.empty()) std::printf("waited %.1f s for other processes\n", now() - begin);
    }
    if (!why.empty() && patience > 0) std::printf("waited %.1f s in vain\n", now() - begin);
    if (!why.empty()) std::printf("warning: %s\n", why.c_str());
    return load;
}

}  // namespace halyard::bench

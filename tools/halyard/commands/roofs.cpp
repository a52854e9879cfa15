// halyard roofs: the measured limits of this machine.
#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "bench/harness/roofline.h"
#include "tools/halyard/command.h"

namespace halyard::command {
using namespace bench;
namespace {

struct RoofsOptions {
    bool remeasure = false;
};

void print_peaks(const std::vector<roofs::Peak> &peaks) {
    std::printf("\n  threads  GFLOP/s       f32       f64   f16->f32  bf16->f32\n");
    for (auto &p : peaks) {
        if (p.dtype != DType::f32) continue;
        std::printf("  %7d  %-8s", p.threads, name_of(p.isa));
        for (DType t : {DType::f32, DType::f64, DType::f16, DType::bf16}) {
            const auto found = std::find_if(peaks.begin(), peaks.end(), [&](const roofs::Peak &q) {
                return q.threads == p.threads && q.isa == p.isa && q.dtype == t;
            });
            const int width = t == DType::f32 || t == DType::f64 ? 9 : 10;
            if (found != peaks.end())
                std::printf(" %*.1f", width, found->rate * 1e-9);
            else
                std::printf(" %*s", width, "-");
        }
        std::printf("\n");
    }
}

void print_levels(const std::vector<roofs::Level> &levels) {
    int threads = 0;
    std::printf("\n  threads  GB/s           read     write      copy     a+b=c   copy, bypassing "
                "the caches\n");
    for (auto &l : levels) {
        if (threads && threads != l.threads) std::printf("\n");
        threads = l.threads;
        std::printf("  %7d  %-8s %9.1f %9.1f %9.1f %9.1f %9.1f\n", l.threads, l.name.c_str(),
                    l.read * 1e-9, l.write * 1e-9, l.copy * 1e-9, l.add * 1e-9, l.bypass * 1e-9);
    }
}

void print(const roofs::Roofs &r) {
    std::printf("%s\n", r.machine.c_str());
    if (r.load > 0.5) {
        std::printf("warning: the load average was %.2f when they were measured: --remeasure when "
                    "the machine is idle\n",
                    r.load);
    }
    print_peaks(r.peaks);
    print_levels(r.levels);
    for (const std::string &reason : r.unmeasured)
        std::printf("  not measured: %s\n", reason.c_str());
}

}  // namespace

void add_roofs(CLI::App &app, Run &selected) {
    auto o = std::make_shared<RoofsOptions>();
    CLI::App *sub = app.add_subcommand(
        "roofs", "Measure this machine's limits: operations and bytes per second");
    sub->add_flag("--remeasure", o->remeasure, "Measure again, even if they are known");
    sub->callback([o, &selected] {
        selected = [o] {
            print(machine_roofs(o->remeasure));
            return 0;
        };
    });
}

}  // namespace halyard::command

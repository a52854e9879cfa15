#include <atomic>
#include <cstdlib>
#include <string>

#include "registry/base/error.h"
#include "registry/dispatch/plan_generation.h"
#include "registry/dispatch/reproducible.h"
#include "registry/op/op_record.h"

namespace halyard {
namespace {

std::atomic<bool> &only_lowest() {
    static std::atomic<bool> on = [] {
        const char *given = std::getenv("HALYARD_REPRODUCIBLE");
        const std::string text = given ? given : "";
        if (!text.empty() && text != "0" && text != "1") {
            throw AttrError("reproducible",
                            "HALYARD_REPRODUCIBLE is '" + text + "', expected 0 or 1");
        }
        return text == "1";
    }();
    return on;
}

}  // namespace

bool reproducible() {
    return only_lowest().load(std::memory_order_relaxed);
}

void set_reproducible(bool now) {
    only_lowest() = now;
    invalidate_plans();
}

const char *name_of(Isa isa) {
    switch (isa) {
    case Isa::avx2: return "avx2";
    case Isa::avx512: return "avx512";
    case Isa::neon: return "neon";
    case Isa::baseline: break;
    }
    return "baseline";
}

Isa isa_of(const std::string &name) {
    for (int i = 0; i < isa_count; i++)
        if (name == name_of((Isa)i)) return (Isa)i;
    throw AttrError("isa", "'" + name + "', expected baseline, avx2, avx512 or neon");
}

#if defined(__aarch64__)

Isa host_isa() {
    return Isa::neon;
}

Isa lowest_isa() {
    return Isa::neon;
}

#else

Isa host_isa() {
    static const Isa best = [] {
        __builtin_cpu_init();
        const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                          __builtin_cpu_supports("f16c");
        const bool avx512 = __builtin_cpu_supports("avx512f") &&
                            __builtin_cpu_supports("avx512dq") &&
                            __builtin_cpu_supports("avx512bw") &&
                            __builtin_cpu_supports("avx512vl") &&
                            __builtin_cpu_supports("avx512cd");
        return avx2 && avx512 ? Isa::avx512 : avx2 ? Isa::avx2 : Isa::baseline;
    }();
    return best;
}

Isa lowest_isa() {
    return Isa::baseline;
}

#endif

bool host_runs(Isa isa) {
    return lowest_isa() <= isa && isa <= host_isa();
}

Isa active_isa() {
    static const Isa active = [] {
        const char *wanted = std::getenv("HALYARD_ISA");
        if (!wanted || !*wanted) return host_isa();
        const Isa isa = isa_of(wanted);
        if (!host_runs(isa)) {
            throw DispatchError("isa", std::string("HALYARD_ISA is ") + wanted +
                                           ", this CPU has up to " + name_of(host_isa()));
        }
        return isa;
    }();
    return reproducible() ? lowest_isa() : active;
}

}  // namespace halyard

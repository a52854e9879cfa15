#include "registry/op/extension.h"

#include <algorithm>

#include "registry/base/tile_product.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace halyard {

namespace {

#if defined(__x86_64__)

bool host_has_vnni() {
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512bf16") &&
           __builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("avx512vbmi2") &&
           __builtin_cpu_supports("avx512ifma") && __builtin_cpu_supports("avx512bitalg") &&
           __builtin_cpu_supports("avx512vpopcntdq");
}

bool host_has_amx() {
    constexpr unsigned bf16 = 1U << 22, tiles = 1U << 24, int8 = 1U << 25;
    constexpr unsigned all = bf16 | tiles | int8;
    unsigned a = 0, b = 0, c = 0, d = 0;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (d & all) == all && may_use_tiles();
}

#else

bool host_has_vnni() {
    return false;
}

bool host_has_amx() {
    return false;
}

#endif

}  // namespace

const char *name_of(Extension extension) {
    switch (extension) {
    case Extension::vnni: return "vnni";
    case Extension::amx: return "amx";
    case Extension::none: break;
    }
    return "none";
}

bool host_has(Extension extension) {
    static const bool vnni = host_has_vnni();
    static const bool amx = vnni && host_has_amx();
    switch (extension) {
    case Extension::vnni: return vnni;
    case Extension::amx: return amx;
    case Extension::none: break;
    }
    return true;
}

bool builds(Extension extension, Isa isa) {
    return isa == Isa::avx512 || extension == Extension::none;
}

Extension extension_of(const OpRecord &op, const std::string &variant) {
    const VariantSpec *v = find_variant(op, variant);
    return v ? v->extension : Extension::none;
}

}  // namespace halyard

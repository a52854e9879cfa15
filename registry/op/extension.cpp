#include "registry/op/extension.h"

namespace halyard {

bool is_extension(const std::string &variant) {
    return variant == "vnni";
}

bool host_runs(const std::string &variant) {
    static const bool vnni = [] {
        __builtin_cpu_init();
        return __builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512bf16") &&
               __builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("avx512vbmi2") &&
               __builtin_cpu_supports("avx512ifma") && __builtin_cpu_supports("avx512bitalg") &&
               __builtin_cpu_supports("avx512vpopcntdq");
    }();
    return vnni || !is_extension(variant);
}

bool builds(const std::string &variant, Isa isa) {
    return isa == Isa::avx512 || !is_extension(variant);
}

}  // namespace halyard

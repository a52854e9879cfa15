#include "registry/op/extension.h"

#include <algorithm>

namespace halyard {

const char *name_of(Extension extension) {
    return extension == Extension::vnni ? "vnni" : "none";
}

bool host_has(Extension extension) {
    static const bool vnni = [] {
        __builtin_cpu_init();
        return __builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512bf16") &&
               __builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("avx512vbmi2") &&
               __builtin_cpu_supports("avx512ifma") && __builtin_cpu_supports("avx512bitalg") &&
               __builtin_cpu_supports("avx512vpopcntdq");
    }();
    return vnni || extension == Extension::none;
}

bool builds(Extension extension, Isa isa) {
    return isa == Isa::avx512 || extension == Extension::none;
}

Extension extension_of(const OpRecord &op, const std::string &variant) {
    const auto v = std::ranges::find(op.variants, variant, &VariantSpec::name);
    return v == op.variants.end() ? Extension::none : v->extension;
}

}  // namespace halyard

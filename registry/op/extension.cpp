#include "registry/op/extension.h"

#include <algorithm>

#include "registry/base/tile_product.h"

namespace halyard {

namespace {

bool host_has_vnni() {
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512bf16") &&
           __builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("avx512vbmi2") &&
           __builtin_cpu_supports("avx512ifma") && __builtin_cpu_supports("avx512bitalg") &&
           __builtin_cpu_supports("avx512vpopcntdq");
}

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
    static const bool amx = vnni && may_use_tiles();
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
    const auto v = std::ranges::find(op.variants, variant, &VariantSpec::name);
    return v == op.variants.end() ? Extension::none : v->extension;
}

}  // namespace halyard

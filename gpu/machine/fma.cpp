#include "gpu/machine/fma.h"

#include <cmath>

#include "gpu/machine/lanes.h"

namespace halyard::ptx {
namespace {

struct Fma {
    template<class T> static T of(T a, T b, T c) { return canonical(std::fma(a, b, c)); }
};
template<bool flushes, bool saturates> struct ModifiedFma {
    static float of(float a, float b, float c) {
        float r = flushes ? flush(Fma::of(flush(a), flush(b), flush(c))) : Fma::of(a, b, c);
        return saturates ? saturate(r) : r;
    }
};

#ifdef __x86_64__
// The same loops, in which the compiler may use the instruction.
template<class T>
__attribute__((target("avx2,fma"))) void fma_by_hardware(const Step &s, Warp &w, uint32_t mask) {
    const Row &a = w.rows[s.a], &b = w.rows[s.b], &c = w.rows[s.c];
    Row &to = w.rows[s.to];
    for (uint32_t l = 0; l < lanes; l++) {
        if ((mask >> l & 1) == 0) continue;
        T r;
        if constexpr (sizeof(T) == 4)
            r = __builtin_fmaf(unpack<T>(a[l]), unpack<T>(b[l]), unpack<T>(c[l]));
        else
            r = __builtin_fma(unpack<T>(a[l]), unpack<T>(b[l]), unpack<T>(c[l]));
        to[l] = pack<T>(canonical(r));
    }
}

bool has_instruction() {
    static const bool has = __builtin_cpu_supports("fma") && __builtin_cpu_supports("avx2");
    return has;
}
#endif

}  // namespace

Execute fma_of(const TypeName &type, bool flushes, bool saturates) {
    const bool plain = !flushes && !saturates;
#ifdef __x86_64__
    if (plain && has_instruction()) {
        if (type == "f32") return fma_by_hardware<float>;
        if (type == "f64") return fma_by_hardware<double>;
    }
#endif
    if (type == "f64") return plain ? ternary<Fma, double, double, double, double> : nullptr;
    if (type != "f32") return nullptr;
    if (plain) return ternary<Fma, float, float, float, float>;
    if (!saturates) return ternary<ModifiedFma<true, false>, float, float, float, float>;
    return flushes ? ternary<ModifiedFma<true, true>, float, float, float, float>
                   : ternary<ModifiedFma<false, true>, float, float, float, float>;
}

}  // namespace halyard::ptx

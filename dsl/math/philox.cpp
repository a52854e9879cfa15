#include "dsl/math/philox.h"

namespace halyard::philox {
using namespace Halide;

std::vector<Expr> words(std::array<Expr, 4> c, std::array<Expr, 2> key) {
    auto product = [](const Expr &a, uint32_t m) {
        return cast(UInt(64), a) * Internal::make_const(UInt(64), int64_t(m));
    };
    for (int r = 0; r < rounds; r++) {
        const Expr p = product(c[0], multipliers[0]);
        const Expr q = product(c[2], multipliers[1]);
        c = {cast(UInt(32), q >> 32) ^ c[1] ^ key[0], cast(UInt(32), q),
             cast(UInt(32), p >> 32) ^ c[3] ^ key[1], cast(UInt(32), p)};
        for (size_t k = 0; k < 2; k++)
            key[k] = key[k] + Internal::make_const(UInt(32), int64_t(weyl[k]));
    }
    return {c[0], c[1], c[2], c[3]};
}

}  // namespace halyard::philox

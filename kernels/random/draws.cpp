#include "kernels/random/draws.h"

namespace halyard {
using Halide::cast;
using Halide::UInt;

std::vector<Halide::Expr> Draws::block_of(int lane) const {
    auto bits = [](const Expr &e) { return cast(UInt(32), e); };
    return philox::words(
        {bits(b), Halide::Internal::make_const(UInt(32), lane), bits(offset_lo), bits(offset_hi)},
        {bits(seed_lo), bits(seed_hi)});
}

uint32_t Draws::word(const Problem &p, int64_t i, int lane, int64_t w) {
    const Words all = philox_words({uint32_t(i / tile * tile_blocks + i % tile_blocks),
                                    uint32_t(lane), uint32_t(p["offset_lo"]),
                                    uint32_t(p["offset_hi"])},
                                   {uint32_t(p["seed_lo"]), uint32_t(p["seed_hi"])});
    return all[size_t(w)];
}

}  // namespace halyard

#include "primitives/random.h"

#include <atomic>

namespace halyard {
namespace {

std::atomic<uint64_t> state{0};  // seed above, draws below: both change at once

}  // namespace

void set_seed(uint32_t seed) { state = (uint64_t)seed << 32; }

RandomDraw next_draw() {
    uint64_t now = state.load();
    while (!state.compare_exchange_weak(now, (now & ~uint64_t{0xffffffff}) | (uint32_t)(now + 1))) {}
    return {(uint32_t)(now >> 32), (uint32_t)now};
}

}  // namespace halyard

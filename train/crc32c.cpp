#include "train/crc32c.h"

#include <array>

namespace halyard {
namespace {

constexpr std::array<uint32_t, 256> table = [] {
    std::array<uint32_t, 256> t{};
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t c = i;
        for (int bit = 0; bit < 8; bit++) c = c >> 1 ^ (c & 1 ? 0x82f63b78 : 0);
        t[i] = c;
    }
    return t;
}();

}  // namespace

uint32_t crc32c(std::string_view bytes) {
    uint32_t c = ~0u;
    for (const char b : bytes) c = c >> 8 ^ table[(c ^ (unsigned char)b) & 255];
    return ~c;
}

uint32_t masked_crc32c(std::string_view bytes) {
    const uint32_t c = crc32c(bytes);
    return (c >> 15 | c << 17) + 0xa282ead8;
}

}  // namespace halyard

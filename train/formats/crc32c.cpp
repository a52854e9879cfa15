#include "train/formats/crc32c.h"

#include <array>
#include <cstring>

namespace halyard {
namespace {

// tables[k][b] is the contribution of byte b to the checksum k bytes later.
using Tables = std::array<std::array<uint32_t, 256>, 8>;

constexpr Tables make_tables() {
    Tables t = {};
    for (uint32_t b = 0; b < 256; b++) {
        uint32_t c = b;
        for (int bit = 0; bit < 8; bit++)
            c = c >> 1 ^ (c & 1 ? 0x82F63B78 : 0);
        t[0][b] = c;
    }
    for (size_t k = 1; k < 8; k++) {
        for (size_t b = 0; b < 256; b++)
            t[k][b] = t[k - 1][b] >> 8 ^ t[0][t[k - 1][b] & 255];
    }
    return t;
}

constexpr Tables tables = make_tables();

}  // namespace

// Processes eight bytes at a time (Kounavis and Berry, "Novel table lookup-based algorithms for
// high-performance CRC generation", 2008).
uint32_t crc32c(std::string_view text) {
    const auto *p = reinterpret_cast<const unsigned char *>(text.data());
    size_t bytes = text.size();
    uint32_t c = ~0u;
    for (; bytes >= 8; bytes -= 8, p += 8) {
        uint32_t low;
        std::memcpy(&low, p, 4);  // assumes a little-endian processor
        low ^= c;
        c = tables[7][low & 255] ^ tables[6][low >> 8 & 255] ^ tables[5][low >> 16 & 255] ^
            tables[4][low >> 24] ^ tables[3][p[4]] ^ tables[2][p[5]] ^ tables[1][p[6]] ^
            tables[0][p[7]];
    }
    for (; bytes > 0; bytes--)
        c = c >> 8 ^ tables[0][(c ^ *p++) & 255];
    return ~c;
}

uint32_t masked_crc32c(std::string_view text) {
    const uint32_t c = crc32c(text);
    return (c >> 15 | c << 17) + 0xa282ead8;
}

}  // namespace halyard

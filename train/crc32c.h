// CRC-32C (Castagnoli's polynomial, 0x1EDC6F41), as TFRecord files have it. No library of Debian 12 offers it with headers.
#pragma once
#include <cstddef>
#include <cstdint>

namespace halyard {

uint32_t crc32c(const void *data, size_t bytes);

}  // namespace halyard

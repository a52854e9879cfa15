// CRC-32C (Castagnoli's polynomial, 0x1EDC6F41), the checksum of TFRecord files. No library of
// Debian 12 offers it with headers.
#pragma once
#include <cstdint>
#include <string_view>

namespace halyard {

uint32_t crc32c(std::string_view bytes);

// Returns the checksum in the form that TFRecord stores: rotated right by 15, plus 0xa282ead8. The
// mask avoids the constant checksum of bytes that contain their own.
uint32_t masked_crc32c(std::string_view bytes);

}  // namespace halyard

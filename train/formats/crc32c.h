// CRC-32C (Castagnoli's polynomial, 0x1EDC6F41), of which TFRecord files hold one for each length
// and one for each record. No library of Debian 12 offers it with headers.
#pragma once
#include <cstdint>
#include <string_view>

namespace halyard {

uint32_t crc32c(std::string_view bytes);

// As TFRecord stores it, so that the sum of bytes that hold sums isn't constant: rotated right by
// 15, plus 0xa282ead8.
uint32_t masked_crc32c(std::string_view bytes);

}  // namespace halyard

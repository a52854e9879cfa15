// Copies that change the order of elements: transposition and reversal.
#pragma once
#include <cstddef>
#include <cstdint>

namespace halyard {

// Sets to[i * to_step + j] = from[i + j * from_step] for i < rows, j < columns. Elements have 1, 2,
// 4 or 8 bytes. No element may be written twice, and the memories must not overlap.
void transpose_elements(void *to, const void *from, int64_t rows, int64_t columns, int64_t to_step,
                        int64_t from_step, size_t element_bytes);

// Sets to[j] = from[-j] for j < n. The memories must not overlap.
void reverse_elements(void *to, const void *from, int64_t n, size_t element_bytes);

}  // namespace halyard

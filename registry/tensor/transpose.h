// Copies whose elements change their order: transposing ones, which copies between strided tensors
// come to where one side runs along another dimension than the other, and those from the last to
// the first.
#pragma once
#include <cstddef>
#include <cstdint>

namespace halyard {

// to[i * to_step + j] = from[i + j * from_step] for i < rows, j < columns, of elements of 1, 2, 4
// or 8 bytes. Both steps are such that no element is written twice; the memories don't overlap.
void transpose_elements(void *to, const void *from, int64_t rows, int64_t columns, int64_t to_step,
                        int64_t from_step, size_t element_bytes);

// to[j] = from[-j] for j < n. The memories don't overlap.
void reverse_elements(void *to, const void *from, int64_t n, size_t element_bytes);

}  // namespace halyard

// Products of small matrices by the matrix instructions of a CPU (AMX). Kernels call them: see
// dsl/matrix_tiles.h.
#pragma once
#include <cstdint>

namespace halyard {

// Returns true if the system lets this process use AMX's tile registers, for which it asks at the
// first call. The caller has found that the CPU has them.
bool may_use_tiles();

}  // namespace halyard

extern "C" {

// c[rows][32] += a[rows][4 groups bytes] b[groups][32], for any number of rows. A group is as
// many elements of k as have four bytes: two bf16, or four 8-bit integers, of which a's are
// unsigned. They are adjacent in rows of a, and in b for each column. c is f32 or i32. Offsets and
// strides of rows are in bytes. Subnormal operands of bf16 count as 0. Returns 0; -1, and does
// nothing, in a build for another architecture.
int halyard_tile_product_bf16(void *c, int64_t c_offset, int64_t c_stride, const void *a,
                              int64_t a_offset, int64_t a_stride, const void *b, int64_t b_offset,
                              int64_t b_stride, int rows, int groups);
int halyard_tile_product_u8i8(void *c, int64_t c_offset, int64_t c_stride, const void *a,
                              int64_t a_offset, int64_t a_stride, const void *b, int64_t b_offset,
                              int64_t b_stride, int rows, int groups);
}

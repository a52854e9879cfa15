// When sums of products run on several threads.
#pragma once
#include <initializer_list>

#include "dsl/op.h"

namespace halyard {

// Returns true if the op has at least `least` products; their number is the product of these
// extents. Waking the thread pool costs more than fewer products.
Halide::Expr has_many_products(const Op &op, std::initializer_list<const char *> extents,
                               int least = 100'000);

// Returns true if several tasks may compute tiles of an output whose ragged edges end in a tile
// that overlaps the one before: both write the same bits there. ThreadSanitizer would report that
// as a race, so its kernels run products with ragged edges on one thread.
Halide::Expr may_share_tiles(const Op &op, const Cpu &cpu, const char *rows, int tile_rows,
                             const char *columns, int tile_columns);

}  // namespace halyard

#include "kernels/contraction/parallel_products.h"

namespace halyard {

Halide::Expr has_many_products(const Op &op, std::initializer_list<const char *> extents,
                               int least) {
    Halide::Expr products = Halide::cast<int64_t>(1);
    for (const char *extent : extents)
        products *= op.size(extent);
    return products >= Halide::cast<int64_t>(Halide::Expr(least));
}

Halide::Expr may_share_tiles(const Op &op, const Cpu &cpu, const char *rows, int tile_rows,
                             const char *columns, int tile_columns) {
    if (!cpu.target.has_feature(Halide::Target::TSAN)) return Halide::Internal::const_true();
    return op.size(rows) % tile_rows == 0 && op.size(columns) % tile_columns == 0;
}

}  // namespace halyard

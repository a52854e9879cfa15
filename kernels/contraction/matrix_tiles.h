// Sums of products in matrix tiles, which several ops have: an algorithm and its schedule, from
// which the compiler makes matrix instructions (dsl/matrix_tiles.h).
#pragma once
#include <array>
#include <functional>

#include "dsl/matrix_tiles.h"
#include "dsl/op.h"

namespace halyard {

class MatrixTiles {
public:
    using Expr = Halide::Expr;
    using Var = Halide::Var;
    // An element: of a at (k, row, batch), of b at (column, k, batch).
    using Element = std::function<Expr(const Expr &, const Expr &, const Expr &)>;

    struct Factors {
        Element a;                                  // as it is multiplied
        Element b;                                  // as it is stored
        std::function<Expr(const Expr &)> widened;  // b's as it is multiplied
    };

    // Defines sum(column, row, batch) over groups of so many k, of which there are `groups`. There
    // are n columns, at least tile_columns.
    void define(Halide::Func sum, int group, const Expr &groups, const Expr &n, const Factors &f);

    // The dimensions of the product's output: column, row and batch.
    using OutputDims = std::array<Var, 3>;
    // What a schedule depends on at the call.
    struct Conditions {
        Expr b_is_in_rows;  // b is contiguous along its columns
        Expr in_parallel;
    };
    // The order of the loops over panels of tile_columns columns and over strips of rows. A block
    // of k of a panel stays in L1 while a strip passes by.
    enum class Order : uint8_t {
        strips_outside,  // all of b is packed first; a strip of a stays in L2
        panels_outside,  // a panel of b is packed when it is reached; all of a stays in L2
    };
    // Schedules `out`, which reads the sum once.
    void schedule(const Cpu &cpu, Halide::Func out, const OutputDims &dims, Order order,
                  const Conditions &c);
    // Returns true if a call has so few elements of a (m rows) that panels_outside is the faster
    // order. L2 has 2 MiB on CPUs with matrix instructions.
    static DimExpr stays_in_l2(const DimExpr &m, const DimExpr &k) { return m * k <= 1 << 19; }

    // A loop over the rows of a strip, of `out`.
    Var row{"row"};

private:
    void schedule_packing(const Conditions &c);

    Halide::Func packed_{"packed"}, tiles_{"tiles"};
    Var element_{"element"}, column_{"column"}, group_{"group"}, panel_{"panel"}, line_{"line"},
        batch_{"batch"};
    Halide::RDom k_;
    int group_size_ = 0;
};

}  // namespace halyard

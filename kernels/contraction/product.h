// Product: the base of matmul and dense, c = a b, batched. It has one algorithm and a register tile
// per variant.
#pragma once
#include <array>

#include "dsl/op.h"
#include "kernels/contraction/matrix_tiles.h"

namespace halyard {

// The names in conditions of variants.
struct ProductDims {
    Dim m{"m"}, n{"n"}, k{"k"};
};

// Splits the sum over k into blocks: the products of a block are summed in registers, then the
// blocks' sums are added. That bounds the error, which otherwise grows with k. ko is the loop over
// blocks, ki that within one. Returns the Func of the blocks' sums, with ko's index u. Ops whose
// results have the bits of matmul's take the blocks from here.
Halide::Func sum_in_blocks(const Cpu &cpu, Halide::Func sum, const Halide::RDom &k,
                           const Halide::RVar &ko, const Halide::RVar &ki, const Halide::Var &u);

struct Product : Op {
    // The signature begins with the inputs a[..g,m,k] b[..g,k,n] and has the output c[..g,m,n].
    // Either operand may be transposed.
    Product(const std::string &name, const std::string &signature);

    Func a = input("a"), b = input("b");
    Func sum{"sum"};             // of the products: (j, i, g), column, row and batch of c
    Func pairs{"pairs"};         // vnni: b's elements of k = 2 u and 2 u + 1 side by side
    Var j{"j"}, i{"i"}, g{"g"};  // column, row, batch
    Var u{"u"}, q{"q"};          // pair, element of a pair
    RDom k;
    MatrixTiles matrix_tiles;  // amx
    RVar ko{"ko"}, ki{"ki"};   // block of k, element of a block

    // What is applied to a tile of sums before it is stored, as a Func of (j, i, g). It is
    // undefined if the sums are stored as they are. If it depends on a number that is known at the
    // call (an activation), `epilogue_cases` holds the conditions, and each case has a loop of its
    // own.
    Func epilogue;
    std::vector<Expr> epilogue_cases;

    void algorithm() override;
    void schedule(const Cpu &cpu) override;
    void schedule(const Gpu &gpu) override;
    // Defines c, or the epilogue and then c, from `sum`.
    virtual void define_output() = 0;

    static inline const ProductDims d;
    // The tile of a GPU's thread, that of a block of 4 warps one below the other, and the terms
    // that are added in one turn.
    static constexpr int gpu_tile_rows = 8, gpu_tile_columns = 4, gpu_block_rows = 32,
                         gpu_block_columns = 128, gpu_terms = 4;
    // Rows of a register tile, and its vectors.
    static inline const Tunable tile_rows{"rows"}, tile_vectors{"cols"};
    // Numbers that only conditions read: 1 if a kernel has instructions for pairs, the n up to
    // which one vector is enough, the m and n from which packing pays, and 1 if packing may pay.
    static inline const Tunable has_pairs{"pairs"}, max_narrow_t_n{"upto"}, max_narrow_n{"most"},
        min_packed_m{"least_m"}, min_packed_n{"least_n"}, may_pack{"packs"};

    // The variants. matmul.cpp says when each is chosen; the operands' layouts are part of `when`.
    // products of tiles of pairs of bf16; b is packed whole, or panel by panel
    Variant amx(const DimExpr &when);
    Variant amx_panels(const DimExpr &when);
    Variant vnni(const DimExpr &when);  // dot products of pairs of bf16
    // Returns true if b's elements are pairs along k and a's are adjacent, in kernels of bf16.
    DimExpr has_pairs_along_k() const {
        return has_pairs > 0 && stride(a) == 1 && d.k % 2 == 0 && d.k >= 2;
    }
    // Returns true if tile products compute few rows and columns in vain.
    static DimExpr fills_matrix_tiles() { return d.m >= 16 && d.n >= tile_columns; }
    // b is transposed while its panels are packed: one vector, several, or half a vector wide
    Variant narrow_t(const DimExpr &when);
    Variant packed_t(const DimExpr &when);
    Variant half_t(const DimExpr &when);
    // vectors along k
    Variant dot_row(const DimExpr &when);
    Variant dot_column(const DimExpr &when);
    Variant dot_column_packed(const DimExpr &when);
    // panels of b are packed, or b is read in place
    Variant packed(const DimExpr &when);
    Variant narrow(const DimExpr &when);
    Variant direct(const DimExpr &when);
    Variant half(const DimExpr &when);
    Variant row(const DimExpr &when);
    Variant wide_row(const DimExpr &when);
    // Returns false for few rows of a and a b whose rows are apart by a multiple of a page, so that
    // they share few lines of L1: packing wide panels of such a b takes longer than it gains.
    DimExpr packs_wide_panels() const { return stride(b, 0) % 1024 != 0 || d.m > 16 || lanes < 16; }
    // Returns true if n is so small, or exceeds full tiles of two vectors by so little, that a tile
    // of one vector is enough.
    static DimExpr leaves_one_vector() {
        return d.n < max_narrow_t_n ||
               (d.n < 8 * lanes && d.n % (2 * lanes) > 0 && d.n % (2 * lanes) <= lanes);
    }
    Variant any();  // every shape and stride: algorithm() and schedule()
    // The variants for GPUs: a thread has a tile of sums, or one sum of small products.
    void add_variants_for_gpus();

    // Computes the sums for references, and the sums of the products' absolute values.
    static void reference_sums(const Problem &p, Array &sums, Array &abs_sums);

private:
    // `rows` rows of `vectors` vectors of `lanes` lanes, whose sums stay in registers.
    struct Tile {
        int lanes, vectors, rows;
        Tile(int l, int v, int r) : lanes(l), vectors(v), rows(r) {}
        int columns() const { return lanes * vectors; }
    };
    using Schedule = std::function<void(const Cpu &cpu)>;
    Variant tiled(const std::string &name, const DimExpr &when, const Schedule &schedule);
    Variant in_matrix_tiles(const std::string &name, const DimExpr &when, MatrixTiles::Order order);
    void define_sum();
    void define_sum_of_copies();
    void define_sum_of_parts();
    void schedule_thread_tiles();
    void schedule_thread_tiles_of_parts();
    Func load_terms();
    // `dims` are the columns, rows and batch of `tiles`, which is `sum` or what is stored.
    void tile_by_threads(Func tiles, const std::array<Var, 3> &dims);
    void copy_by_threads(Func copy, const Var &columns);
    Var one_element_a_thread();  // returns the loop over the columns of a block's threads
    void define_sum_of_pairs(const Build &build);
    void define_sum_in_tiles(const Build &build);
    void promise_layout();
    void promise_further_inputs();

    // One schedule each; several variants differ in the tile only.
    void schedule_packed(const Cpu &cpu, const Tile &t, bool transposed);
    void schedule_pairs(const Cpu &cpu, const Tile &t);
    void schedule_matrix_tiles(const Cpu &cpu, MatrixTiles::Order order);
    void schedule_direct(const Cpu &cpu, const Tile &t);
    void schedule_streams(const Cpu &cpu);
    void schedule_dot(const Cpu &cpu, int rows, int columns, bool pack_b = false);

    // GPUs: the copies of a and b, what a thread has in registers, and parts of sums.
    Func a_rows{"a_rows"}, b_rows{"b_rows"}, a_terms{"a_terms"}, thread_sum{"thread_sum"};
    Func parts{"parts"};
    Var part{"part"};
    RDom terms, last_terms;  // those of whole groups, and the rest

    // The steps they are made of.
    Func sum_in_blocks(const Cpu &cpu);
    void tile_output(const Cpu &cpu, const Tile &t, Var &jo, Var &io, Var &strip);
    void keep_in_registers(Func block_sum, const Var &at, const Tile &t);
    void pack_panel(Func block_sum, const Var &jo, const Tile &t, bool transposed);
    void schedule_epilogue(const Var &at, const Tile &t);
    void specialize_cases(Func f) const;
    Expr is_worth_threads() const;
    Expr may_run_in_parallel(const Cpu &cpu, int rows, int columns) const;
};

}  // namespace halyard

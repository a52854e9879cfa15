// Product: the base of matmul and dense, c = a b, batched. It has one algorithm and a register tile
// per variant.
#pragma once
#include "dsl/op.h"

namespace halyard {

struct Product : Op {
    // The signature begins with the inputs a[..g,m,k] b[..g,k,n] and has the output c[..g,m,n].
    // Either operand may be transposed.
    Product(const std::string &name, const std::string &signature);

    Func a = input("a"), b = input("b");
    Func sum{"sum"};             // of the products: (j, i, g), column, row and batch of c
    Func pairs{"pairs"};         // variant "vnni": b's elements of k = 2 u and 2 u + 1 side by side
    Var j{"j"}, i{"i"}, g{"g"};  // column, row, batch
    Var u{"u"}, q{"q"};          // pair, element of a pair
    RDom k;
    RVar ko{"ko"}, ki{"ki"};  // block of k, element of a block

    // What is applied to a tile of sums before it is stored, as a Func of (j, i, g). It is
    // undefined if the sums are stored as they are. If it depends on a number that is known at the
    // call (an activation), `epilogue_cases` holds the conditions, and each case has a loop of its
    // own.
    Func epilogue;
    std::vector<Expr> epilogue_cases;

    void define_sum();
    void schedule(const Cpu &cpu) override;
    void schedule(const Gpu &gpu) override;

    // Computes the sums for references, and the sums of the products' absolute values.
    static void reference_sums(const Problem &p, Array &sums, Array &abs_sums);

private:
    // `rows` rows of `vectors` vectors of `lanes` lanes, whose sums stay in registers.
    struct Tile {
        int lanes, vectors, rows;
        Tile(int l, int v, int r) : lanes(l), vectors(v), rows(r) {}
        int columns() const { return lanes * vectors; }
    };
    bool is_of(DType t) const;
    void promise_layout(const Cpu &cpu);
    void offer_limits(const Cpu &cpu) const;

    // One schedule each; several variants differ in the tile only.
    void schedule_packed(const Cpu &cpu, const Tile &t, bool transposed);
    void schedule_pairs(const Cpu &cpu, const Tile &t);
    void schedule_direct(const Cpu &cpu, const Tile &t);
    void schedule_dot(const Cpu &cpu, int rows, int columns);
    void schedule_any(const Cpu &cpu);

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

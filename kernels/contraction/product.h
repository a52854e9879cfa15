// Product: c = a b, batched, as matmul and the ops around it compute it. One algorithm, a register
// tile per variant.
#pragma once
#include "dsl/op.h"

namespace halyard {

struct Product : Op {
    // Inputs a[..g,m,k] b[..g,k,n] first, output c[..g,m,n]; either operand may be transposed.
    Product(const std::string &name, const std::string &signature);
    Func a = input("a"), b = input("b");
    Func sum{"sum"}, pairs{"pairs"};
    Var j{"j"}, i{"i"}, g{"g"}, u{"u"}, q{"q"};
    RDom k;
    RVar ko{"ko"}, ki{"ki"};

    // What becomes of a tile of sums before it is stored: Funcs of (j, i, g), undefined where sums
    // are stored as they are. Where it is one thing or another, by a number known at the call,
    // `cases` holds the conditions, each of which gets loops of its own.
    Func finished;
    std::vector<Expr> cases;

    void multiply();  // adds the products to sum
    void schedule(const Cpu &cpu) override;
    void schedule(const Gpu &gpu) override;

    // For references: the sums, and in `terms` those of the terms' sizes.
    static void multiply(const Problem &p, Array &sums, Array &terms);

private:
    struct Tile {  // vec lanes per vector; cols vectors x rows accumulators stay in registers
        int vec, cols, rows;
    };
    Func blocks_of_k(const Cpu &cpu);
    void in_registers(Func part, const Var &at, const Tile &t);
    void finish_tile(const Var &at, const Tile &t);
    void by_cases(Func f) const;
    void pack_panel(Func part, const Var &jo, const Tile &t, bool transposed);
    Expr worth_sharing() const;
    Expr may_share(const Cpu &cpu, int rows, int cols) const;
    void tiles(const Cpu &cpu, const Tile &t, Var &jo, Var &io, Var &ib);
    void packed(const Cpu &cpu, const Tile &t, bool transposed);
    void paired(const Cpu &cpu, const Tile &t);
    void direct(const Cpu &cpu, const Tile &t);
    void dot(const Cpu &cpu, int rows, int cols);
    void any(const Cpu &cpu);
};

}  // namespace halyard

// Reductions over any dimensions: x[o,r,i,s], of which r and s (the dimensions in `axis`) are
// reduced to y[o,i].
//
// Every reduction is a tree that depends on the shape alone: runs of 16 (rows: of 64 partial
// results side by side), runs of 16 of those, and so on, along s and then along r. So the error of
// a sum grows with the tree's depth (pairwise summation: Higham, "The accuracy of floating point
// summation", SIAM J. Sci. Comput. 14, 1993), and threads and instruction sets cannot change a bit.
#pragma once
#include <cmath>

#include "dsl/op.h"

namespace halyard {

inline constexpr int reduction_width = 64;  // partial results side by side
// 256 rows of 256 in tasks of 16 Ki took 1.3 times as long with 2 threads as with 1
inline constexpr int reduction_task_elements = 65536;

// Partial results that stay in registers where there are enough of them: `v` in vectors of `lanes`,
// unrolled when few.
void in_registers(Halide::Stage f, const Halide::VarOrRVar &v, int lanes);

struct Reduction : Op {
    // `mindspore`: the primitive's class. `result`: the output's dtype, "" = the input's.
    Reduction(const std::string &name, const std::string &mindspore,
              const std::string &result = "");
    Func x = input("x");
    Func y = output("y");

    // y = finish(start combined with load(x) of every element), in any order
    virtual Expr start() const = 0;
    virtual Expr load(const Expr &x) const { return x; }
    virtual Expr combine(const Expr &a, const Expr &b) const = 0;
    virtual Expr finish(const Expr &a) const { return a; }
    Expr count;  // of the elements of one result
    // Adjoints are derived from the plain definition, and a backend without vectors has its own way
    // to sum (dsl/ascend/lowering/reduce.h).
    bool is_plain() const { return variant.empty() || lanes == 1; }

    void algorithm() override;
    void schedule(const Cpu &cpu) override;

    // For references: value(o, i, elements) for every result, where elements(visit) calls visit(x)
    // for all it is made of.
    template<class F> void each(Problem &p, F value) const {
        for (int64_t a = 0; a < p["o"]; a++) {
            for (int64_t c = 0; c < p["i"]; c++) {
                value(a, c, [&](auto visit) {
                    for (int64_t b = 0; b < p["r"]; b++) {
                        for (int64_t d = 0; d < p["s"]; d++)
                            visit(p("x")(a, b, c, d));
                    }
                });
            }
        }
    }

private:
    bool along_s() const { return variant == "whole" || variant == "rows"; }
    void as_stated();
    // the rest of the tree: partial results of (u, i, o) to y
    void fold(const Func &wide, int from_width);
    void short_rows();
    void schedule_rows(const Cpu &cpu);
    void schedule_short(const Cpu &cpu);
    void schedule_columns(const Cpu &cpu);
    void schedule_tall(const Cpu &cpu);

    Var i{"i"}, o{"o"}, u{"u"}, t{"t"}, r{"r"};
    // of a run, of 16 runs, of 256 runs
    Func level[3] = {Func("runs"), Func("runs_of_runs"), Func("runs_of_runs_of_runs")};
    // the same, of 16, 256 and 4096 r
    Func over[3] = {Func("rows"), Func("runs_of_rows"), Func("runs_of_runs_of_rows")};
    // what is left to fold across the width
    Func all{"all"}, narrow{"narrow"};
    Func folds[6];
    RDom k[7];
};

}  // namespace halyard

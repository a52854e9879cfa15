// Reductions over any dimensions: x[o,r,i,s] is reduced to y[o,i]. r and s are the dimensions in
// `axis`; o and i are the others.
//
// Every reduction is a tree whose form depends on the shape alone, so threads and instruction sets
// cannot change a bit. The leaves are runs of 16 elements (rows: of 16 blocks of 64 elements,
// reduced to 64 partial results), the next level combines runs of 16 leaves, and so on, along s and
// then along r. The error of a sum grows with the depth of the tree (pairwise summation: Higham,
// "The accuracy of floating point summation", SIAM J. Sci. Comput. 14, 1993).
#pragma once
#include <cmath>

#include "dsl/op.h"

namespace halyard {

inline constexpr int reduction_width = 64;  // partial results of a row, side by side
// Tasks of fewer elements make two threads slower than one: docs/kernel_measurements.md.
inline constexpr int reduction_task_elements = 65536;

// Vectorises the loop v over partial results, and unrolls it if the vectors are few enough to stay
// in registers.
void in_registers(Halide::Stage f, const Halide::VarOrRVar &v, int lanes);

struct Reduction : Op {
    // `mindspore` is the name of the primitive's class, `result` the output's dtype ("": the
    // input's).
    Reduction(const std::string &name, const std::string &mindspore,
              const std::string &result = "");
    Func x = input("x");
    Func y = output("y");

    // y = finish(start() combined with load(x) of every element), in any order.
    virtual Expr start() const = 0;
    virtual Expr load(const Expr &x) const { return x; }
    virtual Expr combine(const Expr &a, const Expr &b) const = 0;
    virtual Expr finish(const Expr &a) const { return a; }
    Expr count;  // the number of elements of one result
    // Returns true if the algorithm that is being defined is a single reduction instead of the
    // tree: adjoints are derived from that form.
    bool is_plain() const { return is_plain_; }

    void algorithm() override { define_plain(); }

    // For references: calls value(o, i, elements) for every result. elements(visit) calls visit(x)
    // for each element of that result.
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
    void declare_variants();
    void declare_gpu_variants();
    void begin_tree();
    void define_plain();
    void define_lanes();
    void define_chunks(bool of_columns);
    std::vector<Expr> chunk_at(const std::vector<Var> &args, const Expr &chunk) const;
    void schedule_chunks();
    void define_row_tree();
    // `whole_tiles`: i is a multiple of a tile, or tiles overlap.
    void define_column_tree(bool whole_tiles);
    void define_short_rows();
    Expr define_runs(Expr count_below, const std::vector<Var> &args);
    void define_row_runs(const Expr &runs_left);
    void fold(const Func &wide, int from_width);

    void schedule_rows(const Cpu &cpu, bool shares_rows);
    void schedule_short(const Cpu &cpu);
    void schedule_columns(const Cpu &cpu, bool shares_r);
    void schedule_tall(const Cpu &cpu);

    bool is_plain_ = true;
    Var i{"i"}, o{"o"};
    Var u{"u"};  // partial result of a row
    Var t{"t"};  // run
    Var r{"r"};
    // Levels of the tree along s (columns: along r): results of runs of 16, 256 and 4096 elements.
    Func runs[3] = {Func("runs"), Func("runs_of_runs"), Func("runs_of_runs_of_runs")};
    // Levels of the tree along r, for rows.
    Func row_runs[3] = {Func("rows"), Func("runs_of_rows"), Func("runs_of_runs_of_rows")};
    // The partial results that remain: `reduction_width` or, for short rows, fewer of them.
    Func partial{"all"}, narrow_partial{"narrow"};
    Func by_one_thread{"by_one_thread"};  // a whole row, on a GPU
    Func folds[6];
    RDom run_domain[3], top_domain, row_domain[3];
};

}  // namespace halyard

// Elementwise ops: any rank, any strides. Views and broadcasts enter without a copy:
// registry/dispatch/canonical.h merges them to three dimensions, d0 d1 d2.
#pragma once
#include <cmath>
#include <functional>

#include "dsl/op.h"

namespace halyard {

using Halide::Expr;
using Halide::Func;

struct Elementwise : Op {
    Elementwise(const std::string &name, const std::string &signature);
    void schedule(const Cpu &cpu) override;
    void schedule(const Gpu &gpu) override;

    // For references: `value` maps the inputs' elements to the outputs', broadcasting as NumPy
    // does.
    void each(Problem &p, const std::function<void(const double *in, double *out)> &value) const;
    // How large numbers are on the way to a result: the terms of a sum, or of a gradient its slope,
    // which may overflow before it meets a small dy.
    void each_magnitude(Problem &p,
                        const std::function<void(const double *in, double *out)> &value) const;

    // Elements a task. What is rounded once is an instruction or two, and a second thread worth its
    // while only for long tasks.
    int task_elements = 16384;
    static constexpr int cheap_task = 65536;
    // loops for strided operands go by blocks of 16 rows, so that a transposed one's cache lines
    // are used whole
    bool tiled = false;
};

// One line of a family: y = fn(x), dx = dfn(saved, dy), where `saves` names what the gradient needs
// beside dy.
struct UnaryLine {
    std::string name, doc;
    double ulps;
    Expr (*fn)(Expr x);
    double (*reference)(double x);
    std::string saves = "none";  // "x", "y", "" (only dy) or "none": no gradient
    Expr (*dfn)(Expr saved, Expr dy) = nullptr;
    double (*dreference)(double saved, double dy) = nullptr;
    double dulps = 4;
    // Where the gradient's terms cancel: how large they were. Then dulps count against that
    // (Contract::products).
    double (*dmagnitude)(double saved, double dy) = nullptr;
    std::string alias = "";
    std::vector<std::string> other_names = {};
    std::vector<std::string> dtypes = {"f32", "f16", "bf16", "f64"};
    bool to_bool = false;  // the result is a bool
    // where integers aren't just real numbers; wraps
    int64_t (*integer_reference)(int64_t) = nullptr;
};
void add_unary(OpTable &ops, const UnaryLine &line);  // the op and, if it has one, its gradient

// Any number of tensors x and of run-time numbers s: y = fn(x, s), and for the inputs that have one
// a gradient.
using Exprs = std::vector<Expr>;
struct FormulaLine {
    struct Slope {
        std::string input;  // "x": the op NAME_dx
        // the inputs it needs beside dy; the places of the others in x are empty
        std::vector<std::string> saves;
        Expr (*fn)(const Exprs &x, const Exprs &s, const Expr &dy);
        double (*reference)(const double *x, const double *s, double dy);
        double ulps = 4;
        // as the line's
        double (*magnitude)(const double *x, const double *s, double dy) = nullptr;
    };
    std::string name, doc;
    std::vector<std::string> inputs;
    std::vector<std::pair<std::string, double>> scalars = {};  // with their defaults
    double ulps;
    Expr (*fn)(const Exprs &x, const Exprs &s);
    double (*reference)(const double *x, const double *s);
    std::vector<Slope> slopes = {};
    // Where terms cancel: how large they were. Then ulps count against that (Contract::products).
    double (*magnitude)(const double *x, const double *s) = nullptr;
    std::string alias = "", functional = "";
    std::vector<std::string> dtypes = {"f32", "f16", "bf16", "f64"};
    bool gpu = false;
    bool internal = false;  // without a public face
};
void add_formula(OpTable &ops, const FormulaLine &line);

struct BinaryLine {
    std::string name, doc;
    double ulps;
    Expr (*fn)(Expr a, Expr b);
    double (*reference)(double a, double b);
    // Each side's gradient: what it saves of a and b ("", "a", "b", "ab"), and the function; null:
    // no kernel.
    std::string da_saves = "";
    Expr (*da)(Expr a, Expr b, Expr dy) = nullptr;
    double (*da_reference)(double a, double b, double dy) = nullptr;
    std::string db_saves = "";
    Expr (*db)(Expr a, Expr b, Expr dy) = nullptr;
    double (*db_reference)(double a, double b, double dy) = nullptr;
    double dulps = 4;
    // where integers aren't just real numbers; wraps
    int64_t (*integer_reference)(int64_t a, int64_t b) = nullptr;
    std::string alias = "", functional = "";
    std::vector<std::string> other_names = {};
    std::vector<std::string> dtypes = {"f32", "f16", "bf16", "f64"};
    bool to_bool = false;  // the result is a bool
};
void add_binary(OpTable &ops, const BinaryLine &line);

}  // namespace halyard

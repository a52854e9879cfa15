// Elementwise ops: any rank, any strides. Views and broadcasts enter without a copy: registry/canonical.h merges them to
// three dimensions, d0 d1 d2.
#pragma once
#include <cmath>
#include <functional>

#include "dsl/op.h"

namespace halyard {

using Halide::Expr;

struct Elementwise : Op {
    Elementwise(const std::string &name, const std::string &signature);
    void schedule(const Cpu &cpu) override;
    void schedule(const Gpu &gpu) override;
    void schedule(const Ascend &npu) override;

    // For references: `value` maps the inputs' elements to the outputs', broadcasting as NumPy does.
    void each(Problem &p, const std::function<void(const double *in, double *out)> &value) const;
};

// One line of a family: y = fn(x), dx = dfn(saved, dy), where `saves` names what the gradient needs beside dy.
struct UnaryLine {
    std::string name, doc;
    double ulps;
    Expr (*fn)(Expr x);
    double (*reference)(double x);
    std::string saves = "none";  // "x", "y", "" (only dy) or "none": no gradient
    Expr (*dfn)(Expr saved, Expr dy) = nullptr;
    double (*dreference)(double saved, double dy) = nullptr;
    double dulps = 4;
    std::string alias = "";
    std::vector<std::string> dtypes = {"f32", "f16", "bf16", "f64"};
};
void add_unary(OpTable &ops, const UnaryLine &line);  // the op and, if it has one, its gradient

struct BinaryLine {
    std::string name, doc;
    double ulps;
    Expr (*fn)(Expr a, Expr b);
    double (*reference)(double a, double b);
    std::string saves = "";  // of a and b, what the gradients need: "ab"
    Expr (*da)(Expr a, Expr b, Expr dy) = nullptr;  // null: no gradient
    Expr (*db)(Expr a, Expr b, Expr dy) = nullptr;
    double (*da_reference)(double a, double b, double dy) = nullptr;
    double (*db_reference)(double a, double b, double dy) = nullptr;
    double dulps = 4;
    std::string alias = "", functional = "";
    std::vector<std::string> dtypes = {"f32", "f16", "bf16", "f64"};
    bool to_bool = false;    // the result is a bool
    std::string saves_text() const;
};
void add_binary(OpTable &ops, const BinaryLine &line);

}  // namespace halyard

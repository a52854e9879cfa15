// Elementwise ops take tensors of any rank and any strides. Views and broadcasts enter without a
// copy: registry/dispatch/canonical.h merges their dimensions to three, d0 d1 d2.
//
// Most of these ops are rows of a table: UnarySpec, FormulaSpec and BinarySpec below. Others derive
// from Elementwise.
#pragma once
#include <cmath>
#include <functional>
#include <span>

#include "dsl/op.h"

namespace halyard {

using Halide::Expr;
using Halide::Func;

struct Elementwise : Op {
    Elementwise(const std::string &name, const std::string &signature);
    void schedule(const Cpu &cpu) override;
    void schedule(const Gpu &gpu) override;

    // For references: calls value(in, out) for each element. The inputs are broadcast as in NumPy.
    void each(Problem &p, const std::function<void(const double *in, double *out)> &value) const;
    // The same for the abs_sum of the outputs. It is the sum of the terms' absolute values; of a
    // gradient it is the derivative, which may overflow before it is multiplied by a small dy.
    void each_abs_sum(Problem &p,
                      const std::function<void(const double *in, double *out)> &value) const;

    // The number of elements of a task. Ops that round once are one or two instructions, for which
    // a second thread pays off in long tasks only.
    int task_elements = 16384;
    static constexpr int cheap_task = 65536;
    // If true, strided operands are read in blocks of rows, so that the cache lines of a transposed
    // operand are used whole.
    bool tiled = false;

private:
    using Var = Halide::Var;
    template<class FuncOrStage> void distribute(FuncOrStage &stage, const std::vector<Var> &dims,
                                                const Var &outer, const Expr &rows_per_task);
    std::vector<unsigned> patterns() const;
    Expr has_layout(const Func &y, unsigned broadcast) const;
};

// A function of one tensor, y = fn(x), and its gradient, dx = gradient(saved, dy).
struct UnarySpec {
    std::string name, doc;
    double ulps;  // the error of each element of y
    Expr (*fn)(Expr x);
    double (*reference)(double x);  // null for ops of integers only
    // Names the tensor that the gradient needs besides dy: "x", "y" or "" (none). With "none" the
    // op has no gradient.
    std::string saves = "none";
    Expr (*gradient)(Expr saved, Expr dy) = nullptr;
    double (*gradient_reference)(double saved, double dy) = nullptr;
    double gradient_ulps = 4;
    // If the gradient's terms cancel: the sum of their absolute values. gradient_ulps is then
    // relative to it (Contract::products).
    double (*gradient_abs_sum)(double saved, double dy) = nullptr;
    std::string alias = "";
    std::vector<std::string> other_names = {};
    std::vector<std::string> dtypes = {"f32", "f16", "bf16", "f64"};
    bool to_bool = false;  // y is a bool
    // The reference for integers, if doubles don't give their answer. The result wraps.
    int64_t (*integer_reference)(int64_t) = nullptr;
};

// A function of any number of tensors x and of scalars s, which are known at the call: y = fn(x,
// s). There is a gradient for each of the listed inputs.
using Exprs = std::vector<Expr>;
struct FormulaSpec {
    struct Gradient {
        std::string input;  // "x" makes the op NAME_dx
        // Names the inputs that the gradient needs besides dy. In x the others are undefined.
        std::vector<std::string> saves;
        Expr (*fn)(const Exprs &x, const Exprs &s, const Expr &dy);
        double (*reference)(const double *x, const double *s, double dy);
        double ulps = 4;
        double (*abs_sum)(const double *x, const double *s, double dy) = nullptr;
    };
    std::string name, doc;
    std::vector<std::string> inputs;
    std::vector<std::pair<std::string, double>> scalars = {};  // names and defaults
    double ulps;
    Expr (*fn)(const Exprs &x, const Exprs &s);
    double (*reference)(const double *x, const double *s);
    std::vector<Gradient> gradients = {};
    // If terms cancel: the sum of their absolute values. ulps is then relative to it.
    double (*abs_sum)(const double *x, const double *s) = nullptr;
    std::string alias = "", functional = "";
    std::vector<std::string> dtypes = {"f32", "f16", "bf16", "f64"};
    bool internal = false;  // a kernel of composites, without a public function
};

// A function of two tensors, y = fn(a, b), and the gradient of each side.
struct BinarySpec {
    std::string name, doc;
    double ulps;
    Expr (*fn)(Expr a, Expr b);
    double (*reference)(double a, double b);  // null for ops of integers only
    // Each gradient names what it needs of a and b ("", "a", "b", "ab") and has a formula. If the
    // formula is null there is no kernel.
    std::string da_saves = "";
    Expr (*da)(Expr a, Expr b, Expr dy) = nullptr;
    double (*da_reference)(double a, double b, double dy) = nullptr;
    std::string db_saves = "";
    Expr (*db)(Expr a, Expr b, Expr dy) = nullptr;
    double (*db_reference)(double a, double b, double dy) = nullptr;
    double gradient_ulps = 4;
    int64_t (*integer_reference)(int64_t a, int64_t b) = nullptr;  // as UnarySpec's
    std::string alias = "", functional = "";
    std::vector<std::string> other_names = {};
    std::vector<std::string> dtypes = {"f32", "f16", "bf16", "f64"};
    bool to_bool = false;  // y is a bool
};

// Add an op and its gradients, or those of all rows of a table.
void add_unary(OpTable &ops, const UnarySpec &spec);
void add_unary(OpTable &ops, std::span<const UnarySpec> table);
void add_formula(OpTable &ops, const FormulaSpec &spec);
void add_formula(OpTable &ops, std::span<const FormulaSpec> table);
void add_binary(OpTable &ops, const BinarySpec &spec);
void add_binary(OpTable &ops, std::span<const BinarySpec> table);

}  // namespace halyard

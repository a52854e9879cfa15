// The families of elementwise ops: an op and its gradients for each row of a table.
#include <algorithm>

#include "kernels/elementwise/elementwise.h"

namespace halyard {
namespace {

// The value of dy for which a gradient is the derivative.
constexpr double unit_dy = 1;

std::vector<std::string> floats_of(const std::vector<std::string> &dtypes) {
    std::vector<std::string> floats;
    for (auto &d : dtypes)
        if (is_float(dtype_of(d))) floats.push_back(d);
    return floats;
}

// Returns v modulo the range of t.
double wrapped(int64_t v, DType t) {
    return t == DType::i8    ? int8_t(v)
           : t == DType::u8  ? uint8_t(v)
           : t == DType::i32 ? int32_t(v)
                             : double(v);
}

struct Unary : Elementwise {
    UnarySpec spec;
    Func x = input("x");
    Func y = output("y");
    explicit Unary(const UnarySpec &op)
        : Elementwise(op.name, op.to_bool ? "x[*] -> y:bool[*]" : "x[*] -> y[*]"), spec(op) {
        doc = op.doc;
        alias = op.alias;
        other_names = op.other_names;
        dtypes = op.dtypes;
        contract = {Contract::elementwise, op.ulps};
        if (op.ulps <= 0.5) task_elements = cheap_task;
    }
    void algorithm() override { y(Halide::_) = spec.fn(x(Halide::_)); }
    void reference(Problem &p) const override {
        const bool wraps = is_integer(p.dtype) && spec.integer_reference;
        each(p, [&](const double *in, double *o) {
            o[0] = wraps ? wrapped(spec.integer_reference(int64_t(in[0])), p.dtype)
                         : spec.reference(in[0]);
        });
    }
};

struct UnaryDx : Elementwise {
    UnarySpec spec;
    Func saved, dy, dx;
    explicit UnaryDx(const UnarySpec &op)
        : Elementwise(op.name + "_dx",
                      (op.saves.empty() ? "" : op.saves + "[*] ") + "dy[*] -> dx[*]"),
          spec(op) {
        internal = true;
        dtypes = floats_of(op.dtypes);
        contract = {op.gradient_abs_sum ? Contract::products : Contract::elementwise,
                    op.gradient_ulps};
        if (op.gradient_ulps <= 0.5) task_elements = cheap_task;
        if (!op.saves.empty()) saved = input(op.saves);
        dy = input("dy");
        dx = output("dx");
    }
    void algorithm() override {
        dx(Halide::_) = spec.gradient(spec.saves.empty() ? Expr() : saved(Halide::_),
                                      dy(Halide::_));
    }
    void reference(Problem &p) const override {
        const size_t dy_index = sig.inputs.size() - 1;
        const auto saved_value = [&](const double *in) { return dy_index == 0 ? 0 : in[0]; };
        each_abs_sum(p, [&](const double *in, double *o) {
            o[0] = spec.gradient_abs_sum
                       ? spec.gradient_abs_sum(saved_value(in), in[dy_index])
                       : std::fabs(spec.gradient_reference(saved_value(in), unit_dy));
        });
        each(p, [&](const double *in, double *o) {
            o[0] = spec.gradient_reference(saved_value(in), in[dy_index]);
        });
    }
};

// Returns "x[*] weight[*] -> y[*]".
std::string formula_signature(const std::vector<std::string> &inputs, const std::string &output) {
    std::string s;
    for (auto &n : inputs)
        s += n + "[*] ";
    return s + "-> " + output + "[*]";
}

struct FormulaBase : Elementwise {
    FormulaSpec spec;
    Exprs s;
    FormulaBase(const std::string &name, const std::string &signature, const FormulaSpec &op)
        : Elementwise(name, signature), spec(op) {
        for (auto &[scalar_name, value] : op.scalars)
            s.push_back(scalar(scalar_name, value));
        for (auto &t : sig.inputs)
            input(t.name);
    }
    std::vector<double> scalar_values(const Problem &p) const {
        std::vector<double> all;
        for (auto &[scalar_name, value] : spec.scalars)
            all.push_back(p.real(scalar_name));
        return all;
    }
};

struct Formula : FormulaBase {
    Func y = output("y");
    explicit Formula(const FormulaSpec &op)
        : FormulaBase(op.name, formula_signature(op.inputs, "y"), op) {
        doc = op.doc;
        alias = op.alias;
        functional = op.functional;
        dtypes = op.dtypes;
        internal = op.internal;
        contract = {op.abs_sum ? Contract::products : Contract::elementwise, op.ulps};
    }
    void algorithm() override {
        Exprs x;
        for (const Func &f : in)
            x.push_back(f(Halide::_));
        y(Halide::_) = spec.fn(x, s);
    }
    void reference(Problem &p) const override {
        const std::vector<double> scalars = scalar_values(p);
        if (spec.abs_sum) {
            each_abs_sum(
                p, [&](const double *x, double *o) { o[0] = spec.abs_sum(x, scalars.data()); });
        }
        each(p, [&](const double *x, double *o) { o[0] = spec.reference(x, scalars.data()); });
    }
};

struct FormulaGradient : FormulaBase {
    FormulaSpec::Gradient gradient;
    Func d = output("d" + gradient.input);
    FormulaGradient(const FormulaSpec &op, const FormulaSpec::Gradient &which)
        : FormulaBase(op.name + "_d" + which.input,
                      formula_signature(with_dy(which.saves), "d" + which.input), op),
          gradient(which) {
        internal = true;
        dtypes = op.dtypes;
        contract = {which.abs_sum ? Contract::products : Contract::elementwise, which.ulps};
    }
    static std::vector<std::string> with_dy(std::vector<std::string> saves) {
        saves.push_back("dy");
        return saves;
    }
    // Returns the index among the op's inputs of a saved one.
    size_t input_index(size_t saved) const {
        return size_t(std::find(spec.inputs.begin(), spec.inputs.end(), gradient.saves[saved]) -
                      spec.inputs.begin());
    }
    void algorithm() override {
        Exprs x(spec.inputs.size());
        for (size_t k = 0; k < gradient.saves.size(); k++)
            x[input_index(k)] = in[k](Halide::_);
        d(Halide::_) = gradient.fn(x, s, in.back()(Halide::_));
    }
    void reference(Problem &p) const override {
        const std::vector<double> scalars = scalar_values(p);
        std::vector<double> x(spec.inputs.size());
        const auto at = [&](double (*value)(const double *x, const double *s, double dy),
                            const double *given, double dy) {
            for (size_t k = 0; k < gradient.saves.size(); k++)
                x[input_index(k)] = given[k];
            return value(x.data(), scalars.data(), dy);
        };
        const size_t dy = gradient.saves.size();
        each_abs_sum(p, [&](const double *given, double *o) {
            o[0] = gradient.abs_sum ? at(gradient.abs_sum, given, given[dy])
                                    : std::fabs(at(gradient.reference, given, unit_dy));
        });
        each(p, [&](const double *given, double *o) {
            o[0] = at(gradient.reference, given, given[dy]);
        });
    }
};

struct Binary : Elementwise {
    BinarySpec spec;
    Func a = input("a"), b = input("b");
    Func y = output("y");
    explicit Binary(const BinarySpec &op)
        : Elementwise(op.name, op.to_bool ? "a[*] b[*] -> y:bool[*]" : "a[*] b[*] -> y[*]"),
          spec(op) {
        doc = op.doc;
        alias = op.alias;
        functional = op.functional;
        other_names = op.other_names;
        dtypes = op.dtypes;
        contract = {Contract::elementwise, op.ulps};
        if (op.ulps <= 0.5) task_elements = cheap_task;
    }
    void algorithm() override { y(Halide::_) = spec.fn(a(Halide::_), b(Halide::_)); }
    void reference(Problem &p) const override {
        const bool wraps = is_integer(p.dtype) && spec.integer_reference;
        each(p, [&](const double *in, double *o) {
            o[0] = wraps ? wrapped(spec.integer_reference(int64_t(in[0]), int64_t(in[1])), p.dtype)
                         : spec.reference(in[0], in[1]);
        });
    }
};

struct BinaryGradient : Elementwise {
    BinarySpec spec;
    bool in_a;
    std::map<std::string, Func> from;
    Func dy, d;
    BinaryGradient(const BinarySpec &op, bool a_side)
        : Elementwise(op.name + (a_side ? "_da" : "_db"),
                      saved(a_side ? op.da_saves : op.db_saves) + "dy[*] -> " +
                          (a_side ? "da" : "db") + "[*]"),
          spec(op), in_a(a_side) {
        internal = true;
        dtypes = floats_of(op.dtypes);
        contract = {Contract::elementwise, op.gradient_ulps};
        if (op.gradient_ulps <= 0.5) task_elements = cheap_task;
        for (auto &t : sig.inputs)
            from[t.name] = input(t.name);
        d = output(in_a ? "da" : "db");
    }
    static std::string saved(const std::string &names) {
        std::string s;
        for (char c : names)
            s += std::string(1, c) + "[*] ";
        return s;
    }
    void algorithm() override {
        auto value = [&](const char *name) {
            return from.count(name) ? Expr(from[name](Halide::_)) : Expr();
        };
        d(Halide::_) = (in_a ? spec.da : spec.db)(value("a"), value("b"), value("dy"));
    }
    void reference(Problem &p) const override {
        const auto fn = in_a ? spec.da_reference : spec.db_reference;
        const int a = index_of("a"), b = index_of("b"), g = index_of("dy");
        const auto value = [](const double *in, int index) { return index < 0 ? 0 : in[index]; };
        each_abs_sum(p, [&](const double *in, double *o) {
            o[0] = std::fabs(fn(value(in, a), value(in, b), unit_dy));
        });
        each(p, [&](const double *in, double *o) { o[0] = fn(value(in, a), value(in, b), in[g]); });
    }
    // Returns the index of an input, or -1 if the gradient doesn't need it.
    int index_of(const char *name) const {
        for (size_t k = 0; k < sig.inputs.size(); k++)
            if (sig.inputs[k].name == name) return static_cast<int>(k);
        return -1;
    }
};

}  // namespace

void add_unary(OpTable &ops, const UnarySpec &spec) {
    ops.add<Unary>(spec);
    if (spec.saves != "none") ops.add<UnaryDx>(spec);
}

void add_unary(OpTable &ops, std::span<const UnarySpec> table) {
    for (const UnarySpec &spec : table)
        add_unary(ops, spec);
}

void add_formula(OpTable &ops, const FormulaSpec &spec) {
    ops.add<Formula>(spec);
    for (auto &gradient : spec.gradients)
        ops.add<FormulaGradient>(spec, gradient);
}

void add_formula(OpTable &ops, std::span<const FormulaSpec> table) {
    for (const FormulaSpec &spec : table)
        add_formula(ops, spec);
}

void add_binary(OpTable &ops, const BinarySpec &spec) {
    ops.add<Binary>(spec);
    if (spec.da) ops.add<BinaryGradient>(spec, true);
    if (spec.db) ops.add<BinaryGradient>(spec, false);
}

void add_binary(OpTable &ops, std::span<const BinarySpec> table) {
    for (const BinarySpec &spec : table)
        add_binary(ops, spec);
}

}  // namespace halyard

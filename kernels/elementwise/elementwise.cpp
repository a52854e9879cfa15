#include "kernels/elementwise/elementwise.h"

namespace halyard {

using Tail = Halide::TailStrategy;
using Halide::Var;

Elementwise::Elementwise(const std::string &name, const std::string &signature)
    : Op(name, signature) {
    samples = {"d0=1 d1=1 d2=1",  "d0=2 d1=3 d2=5",  "d0=1 d1=3 d2=17",   "d0=1 d1=1 d2=31",
               "d0=1 d1=1 d2=32", "d0=5 d1=7 d2=33", "d0=1 d1=1 d2=40009"};
    bench = {"d0=1 d1=1 d2=4194304"};
}

namespace {

// The layouts of the innermost dimension that get loops of their own: all operands dense, or some
// standing still (stride 0) beside dense ones. Bit k of an entry: operand k stands still.
std::vector<unsigned> still_operands(size_t operands) {
    if (operands == 2) return {0, 1, 2};
    if (operands == 3) return {0, 1, 2, 4, 6};
    // a map and what normalises its channels: 0.18 of the time for 256 of 56 x 56 (Zen 5)
    if (operands == 4) return {0, 14};
    return {0};
}

}  // namespace

// One task is a run of up to `task_elements` of one row, or as many shorter rows: small tensors
// stay on one thread, big ones use them all. With a row a task, a bias of 64 added to 256 Ki
// elements took 1.3 times as long (Zen 5; 1 thread), and 4096 tasks.
void Elementwise::schedule(const Cpu &cpu) {
    const int chunk = cpu.pick("chunk", {task_elements, 4096, 262144});
    const std::vector<Func> all = out.size() > 1 ? out : std::vector<Func>{store()};
    Var vec("vec"), lane("lane"), run("run"), i("i"), row("row"), rows("rows"), task("task"),
        part("part");
    for (Func y : all) {
        const std::vector<Var> w = y.args();
        const bool by_blocks = tiled && w.size() > 1;
        const Expr row_elements = max(1, min(chunk, y.output_buffer().dim(0).extent()));
        // Vectors first, then runs of whole vectors: that guard is scalar, and Halide turns it into
        // a loop bound.
        auto loops = [&](auto &stage, const Var &outer, int rows_each) {
            if (w.size() > 1)
                stage.fuse(run, outer, task);
            else
                stage.rename(run, task);
            for (size_t d = 2; d < w.size(); d++)
                stage.fuse(task, w[d], task);
            if (w.size() > 1) {
                stage.split(task, task, part, max(1, chunk / rows_each / row_elements),
                            Tail::GuardWithIf);
            }
            stage.parallel(task);
        };
        y.compute_root()
            .split(w[0], vec, lane, cpu.lanes, Tail::GuardWithIf)
            .vectorize(lane)
            .split(vec, run, i, chunk / cpu.lanes, Tail::GuardWithIf);
        if (!by_blocks) loops(y, w.size() > 1 ? w[1] : run, 1);
        for (unsigned still :
             any_strides ? still_operands(memory.size()) : std::vector<unsigned>{}) {
            Expr layout = y.output_buffer().dim(0).stride() == 1;
            for (size_t k = 0; k < memory.size(); k++)
                layout = layout && memory[k].dim(0).stride() == (still >> k & 1 ? 0 : 1);
            Halide::Stage dense = y.specialize(layout);
            if (by_blocks) loops(dense, w[1], 1);
        }
        if (!by_blocks) continue;
        y.split(w[1], rows, row, 16, Tail::GuardWithIf).reorder(lane, row, i, run, rows);
        loops(y, rows, 16);
    }
}

void Elementwise::schedule(const Gpu &) {
    for (Func &y : out) {
        Var x = y.args()[0];
        Var xi("xi");
        y.compute_root();
        y.output_buffer().dim(0).set_stride(Expr());
        for (int d = y.dimensions() - 1; d > 1; d--)
            y.fuse(y.args()[size_t(d) - 1], y.args()[size_t(d)], y.args()[size_t(d) - 1]);
        y.gpu_tile(x, xi, 64, Tail::GuardWithIf);
        if (y.dimensions() > 1) y.gpu_blocks(y.args()[1]);
    }
}

void Elementwise::each(Problem &p,
                       const std::function<void(const double *in, double *out)> &value) const {
    std::vector<const Array *> from;
    std::vector<Array *> to;
    for (auto &t : sig.inputs)
        from.push_back(&p(t.name));
    for (auto &t : sig.outputs)
        to.push_back(&p(t.name));
    const Shape &shape = to[0]->shape;
    const auto broadcast_place = [&](const Shape &s, int64_t rest) {
        int64_t at = 0, stride = 1;
        for (int d = shape.rank() - 1, e = s.rank() - 1; e >= 0; d--, e--) {
            at += (s[e] == 1 ? 0 : rest % shape[d]) * stride;
            rest /= shape[d];
            stride *= s[e];
        }
        return at;
    };
    std::vector<char> alike(from.size());
    for (size_t k = 0; k < from.size(); k++)
        alike[k] = from[k]->shape == shape;
    std::vector<double> a(from.size());
    std::vector<double> b(to.size());
    for (int64_t i = 0, n = shape.elements(); i < n; i++) {
        for (size_t k = 0; k < from.size(); k++)
            a[k] = from[k]->v[size_t(alike[k] ? i : broadcast_place(from[k]->shape, i))];
        value(a.data(), b.data());
        for (size_t k = 0; k < to.size(); k++)
            to[k]->v[size_t(i)] = b[k];
    }
}

void Elementwise::each_magnitude(
    Problem &p, const std::function<void(const double *in, double *out)> &value) const {
    each(p, value);
    for (auto &t : sig.outputs)
        p.abs_sum[t.name] = p(t.name);
}

namespace {

std::vector<std::string> floats_of(const std::vector<std::string> &dtypes) {
    std::vector<std::string> floats;
    for (auto &d : dtypes)
        if (is_float(dtype_of(d))) floats.push_back(d);
    return floats;
}

double wrapped(int64_t v, DType t) {
    return t == DType::i8    ? int8_t(v)
           : t == DType::u8  ? uint8_t(v)
           : t == DType::i32 ? int32_t(v)
                             : double(v);
}

struct Unary : Elementwise {
    UnaryLine line;
    Func x = input("x");
    Func y = output("y");
    explicit Unary(const UnaryLine &l)
        : Elementwise(l.name, l.to_bool ? "x[*] -> y:bool[*]" : "x[*] -> y[*]"), line(l) {
        doc = l.doc;
        alias = l.alias;
        other_names = l.other_names;
        dtypes = l.dtypes;
        gpu = !l.to_bool && l.reference;
        contract = {Contract::elementwise, l.ulps};
        if (l.ulps <= 0.5) task_elements = cheap_task;
    }
    void algorithm() override { y(Halide::_) = line.fn(x(Halide::_)); }
    void reference(Problem &p) const override {
        const bool whole = is_integer(p.dtype) && line.integer_reference;
        each(p, [&](const double *in, double *o) {
            o[0] = whole ? wrapped(line.integer_reference(int64_t(in[0])), p.dtype)
                         : line.reference(in[0]);
        });
    }
};

struct UnaryDx : Elementwise {
    UnaryLine line;
    Func saved, dy, dx;
    explicit UnaryDx(const UnaryLine &l)
        : Elementwise(l.name + "_dx", (l.saves.empty() ? "" : l.saves + "[*] ") + "dy[*] -> dx[*]"),
          line(l) {
        internal = true;
        dtypes = floats_of(l.dtypes);
        contract = {l.dmagnitude ? Contract::products : Contract::elementwise, l.dulps};
        if (l.dulps <= 0.5) task_elements = cheap_task;
        if (!l.saves.empty()) saved = input(l.saves);
        dy = input("dy");
        dx = output("dx");
    }
    void algorithm() override {
        dx(Halide::_) = line.dfn(line.saves.empty() ? Expr() : saved(Halide::_), dy(Halide::_));
    }
    void reference(Problem &p) const override {
        const auto at = [&](double (*f)(double, double), const double *in) {
            return line.saves.empty() ? f(0, in[0]) : f(in[0], in[1]);
        };
        each_magnitude(p, [&](const double *in, double *o) {
            const double one[] = {in[0], 1};
            o[0] = line.dmagnitude
                       ? at(line.dmagnitude, in)
                       : std::fabs(at(line.dreference, line.saves.empty() ? one + 1 : one));
        });
        each(p, [&](const double *in, double *o) { o[0] = at(line.dreference, in); });
    }
};

// "x[*] weight[*] -> y[*]"
std::string formula_signature(const std::vector<std::string> &inputs, const std::string &output) {
    std::string s;
    for (auto &n : inputs)
        s += n + "[*] ";
    return s + "-> " + output + "[*]";
}

struct FormulaBase : Elementwise {
    FormulaLine line;
    Exprs s;
    FormulaBase(const std::string &name, const std::string &signature, const FormulaLine &l)
        : Elementwise(name, signature), line(l) {
        for (auto &[scalar_name, value] : l.scalars)
            s.push_back(scalar(scalar_name, value));
        for (auto &t : sig.inputs)
            input(t.name);
    }
    std::vector<double> numbers_of(const Problem &p) const {
        std::vector<double> all;
        for (auto &[scalar_name, value] : line.scalars)
            all.push_back(p.real(scalar_name));
        return all;
    }
};

struct Formula : FormulaBase {
    Func y = output("y");
    explicit Formula(const FormulaLine &l)
        : FormulaBase(l.name, formula_signature(l.inputs, "y"), l) {
        doc = l.doc;
        alias = l.alias;
        functional = l.functional;
        dtypes = l.dtypes;
        gpu = l.gpu;
        internal = l.internal;
        contract = {l.magnitude ? Contract::products : Contract::elementwise, l.ulps};
    }
    void algorithm() override {
        Exprs x;
        for (const Func &f : in)
            x.push_back(f(Halide::_));
        y(Halide::_) = line.fn(x, s);
    }
    void reference(Problem &p) const override {
        const std::vector<double> numbers = numbers_of(p);
        if (line.magnitude) {
            each_magnitude(
                p, [&](const double *x, double *o) { o[0] = line.magnitude(x, numbers.data()); });
        }
        each(p, [&](const double *x, double *o) { o[0] = line.reference(x, numbers.data()); });
    }
};

struct FormulaSlope : FormulaBase {
    FormulaLine::Slope slope;
    Func d = output("d" + slope.input);
    FormulaSlope(const FormulaLine &l, const FormulaLine::Slope &which)
        : FormulaBase(l.name + "_d" + which.input,
                      formula_signature(with_dy(which.saves), "d" + which.input), l),
          slope(which) {
        internal = true;
        dtypes = l.dtypes;
        contract = {which.magnitude ? Contract::products : Contract::elementwise, which.ulps};
    }
    static std::vector<std::string> with_dy(std::vector<std::string> saves) {
        saves.push_back("dy");
        return saves;
    }
    size_t place(size_t saved) const {
        return size_t(std::find(line.inputs.begin(), line.inputs.end(), slope.saves[saved]) -
                      line.inputs.begin());
    }
    void algorithm() override {
        Exprs x(line.inputs.size());
        for (size_t k = 0; k < slope.saves.size(); k++)
            x[place(k)] = in[k](Halide::_);
        d(Halide::_) = slope.fn(x, s, in.back()(Halide::_));
    }
    void reference(Problem &p) const override {
        const std::vector<double> numbers = numbers_of(p);
        std::vector<double> x(line.inputs.size());
        const auto at = [&](double (*value)(const double *x, const double *s, double dy),
                            const double *given, double dy) {
            for (size_t k = 0; k < slope.saves.size(); k++)
                x[place(k)] = given[k];
            return value(x.data(), numbers.data(), dy);
        };
        const size_t dy = slope.saves.size();
        each_magnitude(p, [&](const double *given, double *o) {
            o[0] = slope.magnitude ? at(slope.magnitude, given, given[dy])
                                   : std::fabs(at(slope.reference, given, 1));
        });
        each(p,
             [&](const double *given, double *o) { o[0] = at(slope.reference, given, given[dy]); });
    }
};

struct Binary : Elementwise {
    BinaryLine line;
    Func a = input("a"), b = input("b");
    Func y = output("y");
    explicit Binary(const BinaryLine &l)
        : Elementwise(l.name, l.to_bool ? "a[*] b[*] -> y:bool[*]" : "a[*] b[*] -> y[*]"), line(l) {
        doc = l.doc;
        alias = l.alias;
        functional = l.functional;
        other_names = l.other_names;
        dtypes = l.dtypes;
        contract = {Contract::elementwise, l.ulps};
        if (l.ulps <= 0.5) task_elements = cheap_task;
    }
    void algorithm() override { y(Halide::_) = line.fn(a(Halide::_), b(Halide::_)); }
    void reference(Problem &p) const override {
        const bool whole = is_integer(p.dtype) && line.integer_reference;
        each(p, [&](const double *in, double *o) {
            o[0] = whole ? wrapped(line.integer_reference(int64_t(in[0]), int64_t(in[1])), p.dtype)
                         : line.reference(in[0], in[1]);
        });
    }
};

struct BinaryGradient : Elementwise {
    BinaryLine line;
    bool in_a;
    std::map<std::string, Func> from;
    Func dy, d;
    BinaryGradient(const BinaryLine &l, bool a_side)
        : Elementwise(l.name + (a_side ? "_da" : "_db"), saved(a_side ? l.da_saves : l.db_saves) +
                                                             "dy[*] -> " + (a_side ? "da" : "db") +
                                                             "[*]"),
          line(l), in_a(a_side) {
        internal = true;
        dtypes = floats_of(l.dtypes);
        contract = {Contract::elementwise, l.dulps};
        if (l.dulps <= 0.5) task_elements = cheap_task;
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
        d(Halide::_) = (in_a ? line.da : line.db)(value("a"), value("b"), value("dy"));
    }
    void reference(Problem &p) const override {
        const auto at = [&](const double *in, bool slope) {
            double a = 0, b = 0, g = 0;
            for (size_t k = 0; k < sig.inputs.size(); k++)
                (sig.inputs[k].name == "a" ? a : sig.inputs[k].name == "b" ? b : g) = in[k];
            return (in_a ? line.da_reference : line.db_reference)(a, b, slope ? 1 : g);
        };
        each_magnitude(p, [&](const double *in, double *o) { o[0] = std::fabs(at(in, true)); });
        each(p, [&](const double *in, double *o) { o[0] = at(in, false); });
    }
};

}  // namespace

void add_unary(OpTable &ops, const UnaryLine &line) {
    ops.add<Unary>(line);
    if (line.saves != "none") ops.add<UnaryDx>(line);
}

void add_formula(OpTable &ops, const FormulaLine &line) {
    ops.add<Formula>(line);
    for (auto &slope : line.slopes)
        ops.add<FormulaSlope>(line, slope);
}

void add_binary(OpTable &ops, const BinaryLine &line) {
    ops.add<Binary>(line);
    if (line.da) ops.add<BinaryGradient>(line, true);
    if (line.db) ops.add<BinaryGradient>(line, false);
}

}  // namespace halyard

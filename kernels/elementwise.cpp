#include "kernels/elementwise.h"

namespace halyard {

using Tail = Halide::TailStrategy;
using Halide::Func;
using Halide::Var;

Elementwise::Elementwise(const std::string &name, const std::string &signature) : Op(name, signature) {
    samples = {"d0=1 d1=1 d2=1", "d0=2 d1=3 d2=5", "d0=1 d1=3 d2=17", "d0=1 d1=1 d2=31", "d0=1 d1=1 d2=32", "d0=5 d1=7 d2=33", "d0=1 d1=1 d2=40009"};
    bench = {"d0=1 d1=1 d2=4194304"};
    flops = "d0*d1*d2";
}

// One task is a run of up to 16 Ki elements of one row: small tensors stay on one thread, big ones use them all.
// A branch per layout of the innermost dimension: every operand dense, or one dense against a stride-0 broadcast.
void Elementwise::schedule(const Cpu &cpu) {
    const int chunk = cpu.pick("chunk", {16384, 4096, 65536});
    Func first = store();
    const std::vector<Var> v = first.args();
    Expr outputs_dense = first.output_buffer().dim(0).stride() == 1;
    std::vector<Expr> layouts = {outputs_dense};
    for (auto &m : memory) layouts[0] = layouts[0] && m.dim(0).stride() == 1;
    for (size_t b = 0; memory.size() == 2 && b < 2; b++)
        layouts.push_back(outputs_dense && memory[b].dim(0).stride() == 0 && memory[1 - b].dim(0).stride() == 1);

    std::vector<Func> all = out.size() > 1 ? out : std::vector<Func>{first};
    Var run("run"), i("i"), task("task");
    for (size_t k = 0; k < all.size(); k++) {
        Func y = all[k];
        const std::vector<Var> w = y.args();
        y.compute_root().split(w[0], run, i, chunk, Tail::GuardWithIf);
        if (w.size() > 1) y.fuse(run, w[1], task);
        else y.rename(run, task);
        for (size_t d = 2; d < w.size(); d++) y.fuse(task, w[d], task);
        y.parallel(task);
        for (auto &l : layouts) y.specialize(l).vectorize(i, cpu.lanes, Tail::GuardWithIf);
    }
}

void Elementwise::schedule(const Gpu &) {
    for (Func &y : out) {
        Var x = y.args()[0], xi("xi");
        y.compute_root();
        y.output_buffer().dim(0).set_stride(Expr());
        for (int d = y.dimensions() - 1; d > 1; d--) y.fuse(y.args()[(size_t)d - 1], y.args()[(size_t)d], y.args()[(size_t)d - 1]);
        y.gpu_tile(x, xi, 64, Tail::GuardWithIf);
        if (y.dimensions() > 1) y.gpu_blocks(y.args()[1]);
    }
}

void Elementwise::schedule(const Ascend &npu) {  // rank 1: tiles of T, in the Unified Buffer
    Var x = npu.gm.args()[0], xo("tile"), xi("xi"), core("core");
    const int T = npu.pick("tile", {2048, 4096, 8192});
    for (auto m : npu.memory) m.dim(0).set_min(0).set_stride(1);
    Func gm = npu.gm;
    gm.output_buffer().dim(0).set_min(0);
    gm.split(x, core, xi, 4 * T, Tail::RoundUp).split(xi, xo, xi, T, Tail::RoundUp).parallel(core).vectorize(xi);
    npu.ub(store(), xo, T);
    for (const Func &f : npu.inputs) npu.ub(f, xo, T);
}

void Elementwise::each(Problem &p, const std::function<void(const double *in, double *out)> &value) const {
    std::vector<const Array *> from;
    std::vector<Array *> to;
    for (auto &t : sig.inputs) from.push_back(&p(t.name));
    for (auto &t : sig.outputs) to.push_back(&p(t.name));
    const Shape &shape = to[0]->shape;
    std::vector<double> a(from.size()), b(to.size());
    for (int64_t i = 0, n = shape.elements(); i < n; i++) {
        for (size_t k = 0; k < from.size(); k++) {
            const Shape &s = from[k]->shape;
            int64_t rest = i, at = 0, stride = 1;
            for (int d = shape.rank() - 1, e = s.rank() - 1; e >= 0; d--, e--) {
                at += (s[e] == 1 ? 0 : rest % shape[d]) * stride;
                rest /= shape[d], stride *= s[e];
            }
            a[k] = from[k]->v[(size_t)at];
        }
        value(a.data(), b.data());
        for (size_t k = 0; k < to.size(); k++) to[k]->v[(size_t)i] = b[k];
    }
}

namespace {

struct Unary : Elementwise {
    UnaryLine line;
    Func x = input("x"), y = output("y");
    explicit Unary(const UnaryLine &l) : Elementwise(l.name, "x[*] -> y[*]"), line(l) {
        doc = l.doc, alias = l.alias, dtypes = l.dtypes, gpu = true;
        contract = {Contract::elementwise, l.ulps};
    }
    void algorithm() override { y(Halide::_) = line.fn(x(Halide::_)); }
    void reference(Problem &p) const override {
        each(p, [&](const double *in, double *o) { o[0] = line.reference(in[0]); });
    }
};

struct UnaryDx : Elementwise {
    UnaryLine line;
    Func saved, dy, dx;
    explicit UnaryDx(const UnaryLine &l) : Elementwise(l.name + "_dx", (l.saves.empty() ? "" : l.saves + "[*] ") + "dy[*] -> dx[*]"), line(l) {
        internal = true, dtypes.clear();
        for (auto &d : l.dtypes)
            if (is_float(dtype_of(d))) dtypes.push_back(d);
        contract = {Contract::elementwise, l.dulps};
        if (!l.saves.empty()) saved = input(l.saves);
        dy = input("dy"), dx = output("dx");
    }
    void algorithm() override { dx(Halide::_) = line.dfn(line.saves.empty() ? Expr() : saved(Halide::_), dy(Halide::_)); }
    void reference(Problem &p) const override {
        each(p, [&](const double *in, double *o) { o[0] = line.saves.empty() ? line.dreference(0, in[0]) : line.dreference(in[0], in[1]); });
    }
};

struct Binary : Elementwise {
    BinaryLine line;
    Func a = input("a"), b = input("b"), y = output("y");
    explicit Binary(const BinaryLine &l) : Elementwise(l.name, l.to_bool ? "a[*] b[*] -> y:bool[*]" : "a[*] b[*] -> y[*]"), line(l) {
        doc = l.doc, alias = l.alias, functional = l.functional, dtypes = l.dtypes;
        contract = {Contract::elementwise, l.ulps};
    }
    void algorithm() override { y(Halide::_) = line.fn(a(Halide::_), b(Halide::_)); }
    void reference(Problem &p) const override {
        each(p, [&](const double *in, double *o) { o[0] = line.reference(in[0], in[1]); });
    }
};

struct BinaryGradient : Elementwise {
    BinaryLine line;
    bool in_a;
    std::map<std::string, Func> from;
    Func dy, d;
    BinaryGradient(const BinaryLine &l, bool in_a)
        : Elementwise(l.name + (in_a ? "_da" : "_db"), l.saves_text() + "dy[*] -> " + (in_a ? "da" : "db") + "[*]"), line(l), in_a(in_a) {
        internal = true, dtypes.clear();
        for (auto &t : l.dtypes)
            if (is_float(dtype_of(t))) dtypes.push_back(t);
        contract = {Contract::elementwise, l.dulps};
        for (auto &t : sig.inputs) from[t.name] = input(t.name);
        d = output(in_a ? "da" : "db");
    }
    void algorithm() override {
        auto value = [&](const char *name) { return from.count(name) ? Expr(from[name](Halide::_)) : Expr(); };
        d(Halide::_) = (in_a ? line.da : line.db)(value("a"), value("b"), value("dy"));
    }
    void reference(Problem &p) const override {
        each(p, [&](const double *in, double *o) {
            double a = 0, b = 0, dy = 0;
            for (size_t k = 0; k < sig.inputs.size(); k++) (sig.inputs[k].name == "a" ? a : sig.inputs[k].name == "b" ? b : dy) = in[k];
            o[0] = (in_a ? line.da_reference : line.db_reference)(a, b, dy);
        });
    }
};

}  // namespace

std::string BinaryLine::saves_text() const {
    std::string s;
    for (char c : saves)
        if (c != ' ') s += std::string(1, c) + "[*] ";
    return s;
}

void add_unary(OpTable &ops, const UnaryLine &line) {
    ops.add<Unary>(line);
    if (line.saves != "none") ops.add<UnaryDx>(line);
}

void add_binary(OpTable &ops, const BinaryLine &line) {
    ops.add<Binary>(line);
    if (!line.da) return;
    ops.add<BinaryGradient>(line, true);
    ops.add<BinaryGradient>(line, false);
}

}  // namespace halyard

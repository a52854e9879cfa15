// Checks gradients against central differences of the double reference, and against the adjoint
// that Halide derives.
#include <algorithm>
#include <cmath>
#include <optional>
#include <random>

#include "bench/harness/case.h"
#include "bench/harness/progress.h"
#include "dsl/kernel.h"
#include "primitives/library.h"
#include "registry/dispatch/plan.h"
#include "registry/dispatch/planner.h"
#include "registry/dispatch/run_plan.h"
#include "tools/check/check.h"

namespace halyard::check {
namespace {

bool has(const std::vector<std::string> &list, const std::string &s) {
    for (auto &e : list)
        if (e == s) return true;
    return false;
}

// Returns the largest difference of a gradient from finite differences, relative to the largest
// element, or to 1 if that is less. Differences are of the reference in double, so it depends on
// the dtypes of the gradient's kernel alone. 0 if none is a float.
double tolerance(const std::string &dtypes) {
    double largest = 0;
    for (const DType t : dtypes_of(dtypes)) {
        if (!is_float(t)) continue;
        const double own = t == DType::f64   ? 1e-5
                           : t == DType::f32 ? 1e-3
                           : t == DType::f16 ? 0.02
                                             : 0.1;
        largest = std::max(largest, own);
    }
    return largest;
}

// Returns the inputs of op <name>_d<input>, from a solved case and the outputs' gradients.
std::vector<Tensor> gradient_inputs(const RegisteredOp &g, const Case &c, const Named<Array> &dy,
                                    const Op &op) {
    std::vector<Tensor> in;
    for (auto &t : g.signature.inputs) {
        if (const auto given = dy.find(t.name); given != dy.end()) {
            const auto &outputs = op.sig.outputs;
            const auto y = std::ranges::find(outputs, t.name.substr(1), &TensorSpec::name);
            const DType dtype = c.out_dtypes[size_t(y - outputs.begin())];
            in.push_back(c.as_called(*y, tensor_of(given->second, dtype)));
            continue;
        }
        for (size_t k = 0; k < op.sig.inputs.size(); k++)
            if (op.sig.inputs[k].name == t.name) in.push_back(c.in[k]);
        for (size_t k = 0; k < op.sig.outputs.size(); k++) {
            if (op.sig.outputs[k].name == t.name)
                in.push_back(
                    c.as_called(t, tensor_of(c.problem.tensors.at(t.name), c.out_dtypes[k])));
        }
    }
    return in;
}

// Returns random gradients of those outputs through which gradients pass.
Named<Array> random_dy(const Op &op, const Case &c) {
    Named<Array> dy;
    std::mt19937 rng(17);
    std::uniform_real_distribution<double> u(-1, 1);
    auto is_read = [&](const std::string &gradient) {
        for (auto &input : c.registered.gradient_inputs) {
            for (auto &t : library().gradient_in(c.registered, input).op->signature.inputs)
                if (t.name == gradient) return true;
        }
        return false;
    };
    for (size_t k = 0; k < op.sig.outputs.size(); k++) {
        if (!is_float(c.out_dtypes[k]) || !is_read("d" + op.sig.outputs[k].name)) continue;
        Array a(c.problem.tensors.at(op.sig.outputs[k].name).shape);
        for (double &v : a.v)
            v = u(rng);
        dy["d" + op.sig.outputs[k].name] = a;
    }
    return dy;
}

// Returns the outputs that have a gradient in dy, in dy's order.
std::vector<double> solved(const Op &op, Problem &p, const Named<Array> &dy) {
    for (auto &t : op.sig.outputs)
        std::fill(p.tensors[t.name].v.begin(), p.tensors[t.name].v.end(), 0.0);
    op.reference(p);
    std::vector<double> all;
    for (auto &[name, d] : dy) {
        const std::vector<double> &y = p.tensors.at(name.substr(1)).v;
        all.insert(all.end(), y.begin(), y.end());
    }
    return all;
}

// Returns the sum of dy (up - down). Elements that are NaN on either side are left out: they are
// undefined for other reasons than this step.
double weighted(const std::vector<double> &up, const std::vector<double> &down,
                const Named<Array> &dy) {
    double sum = 0;
    size_t at = 0;
    for (auto &[name, d] : dy) {
        for (double w : d.v) {
            if (up[at] != down[at] && !(std::isnan(up[at]) && std::isnan(down[at])))
                sum += w * (up[at] - down[at]);
            at++;
        }
    }
    return sum;
}

// The derivative of the sum of dy y by one element of an input: one-sided on both sides, and
// central.
struct Slopes {
    double left, right, across;
};
Slopes slopes_at(const Op &op, Problem &p, const Named<Array> &dy, const std::string &input,
                 size_t at, const std::vector<double> &here) {
    double &x = p.tensors.at(input).v[at];
    const double keep = x;
    const double h = 1e-6 * std::max(0.01, std::fabs(keep));
    x = keep + h;
    const std::vector<double> up = solved(op, p, dy);
    p.tensors.at(input).v[at] = keep - h;
    const std::vector<double> down = solved(op, p, dy);
    p.tensors.at(input).v[at] = keep;
    return {weighted(here, down, dy) / h, weighted(up, here, dy) / h,
            weighted(up, down, dy) / (2 * h)};
}

// Returns true if finite differences contradict Halide's adjoint clearly. Halide derives wrong
// adjoints of some reductions: those that read what they wrote, and pairs of sums.
bool contradicted(const Op &op, const Case &c, const Named<Array> &dy, const std::string &input,
                  const std::vector<double> &derived) {
    Problem p = c.problem;
    const std::vector<double> here = solved(op, p, dy);
    std::mt19937 rng(29);
    double largest = 1, worst = 0;
    for (double v : derived)
        largest = std::max(largest, std::fabs(v));
    for (size_t t = 0, n = derived.size(); t < std::min<size_t>(n, 24); t++) {
        const size_t at = n <= 24 ? t : rng() % n;
        const Slopes s = slopes_at(op, p, dy, input, at, here);
        if (std::fabs(s.right - s.left) <= 1e-2 * largest)
            worst = std::max(worst, std::fabs(s.across - derived[at]));
    }
    return worst > 1e-3 * largest;
}

// Returns how `got`, the gradient in `input`, differs from finite differences of the reference; ""
// if it doesn't.
std::string gradient_error(const Op &op, const Case &c, const Named<Array> &dy,
                           const std::string &input, const std::vector<double> &got) {
    const double allowed = tolerance(c.dtypes);
    Problem p = c.problem;
    double largest = 1e-3;
    for (double v : got)
        largest = std::max(largest, std::fabs(v));
    std::mt19937 rng(23);
    const size_t n = p.tensors.at(input).v.size();
    const size_t tries = std::min<size_t>(n, 24);
    size_t without_slope = 0;
    const std::vector<double> here = solved(op, p, dy);
    for (size_t t = 0; t < tries; t++) {
        const size_t at = n <= tries ? t : rng() % n;
        const auto [left, right, expected] = slopes_at(op, p, dy, input, at, here);
        // The derivative is undefined where the reference jumps and where an elementwise function
        // is NaN.
        const bool jumps = !(std::fabs(right - left) <= 1e-2 * std::max(1.0, largest));
        if (jumps || (here.size() == n && std::isnan(here[at]))) {
            without_slope++;
            continue;
        }
        if (!(std::fabs(expected - got[at]) <= allowed * std::max(1.0, largest))) {
            return "d" + input + "[" + std::to_string(at) + "] is " + std::to_string(got[at]) +
                   ", finite differences give " + std::to_string(expected);
        }
    }
    if (without_slope == tries && tries > 1)
        return "d" + input + ": the reference has no derivative anywhere";
    return "";
}

int64_t elements_of(const Problem &p) {
    int64_t all = 0;
    for (auto &[name, a] : p.tensors)
        all += int64_t(a.v.size());
    return all;
}

}  // namespace

std::string gradient_dtypes(const OpRecord &op) {
    std::string best;
    const auto rank = [](const std::string &dtypes) {
        return std::pair(!std::ranges::all_of(dtypes_of(dtypes), is_float), tolerance(dtypes));
    };
    for (const std::string &dtypes : op.dtypes) {
        if (tolerance(dtypes) > 0 && (best.empty() || rank(dtypes) < rank(best))) best = dtypes;
    }
    return best;
}

void check_gradients(const Op &op, const Options &o, Report &r) {
    const RegisteredOp &registered = library().at(op.name);
    if (registered.gradient_inputs.empty()) return;
    const std::string dtypes = gradient_dtypes(op);
    if (dtypes.empty()) return r.fail("has gradients, but no kernels for floats to check them in");
    int done = 0;
    for (auto &sample : op.samples) {
        Case c(op, sample, dtypes, 8);
        c.solve(op);
        if (elements_of(c.problem) > 20000 || (o.quick && done >= 3)) continue;
        done++;
        const auto dy = random_dy(op, c);
        for (auto &input : registered.gradient_inputs) {
            const GradientOp of = library().gradient_in(registered, input);
            const RegisteredOp &g = *of.op;
            begin_step("gradient " + dtypes + " of " + g.record.name + " '" + sample + "'");
            const Tensor dx = dispatch(g, gradient_inputs(g, c, dy, op),
                                       Attrs(g.record, registered.record, c.attrs))[of.output];
            const Tensor found = c.as_in_signature(g.signature.outputs[of.output], dx);
            r.expect("gradient '" + sample + "'",
                     gradient_error(op, c, dy, input, found.to_vector<double>()));
        }
    }
}

namespace {

// Returns the kernel of the adjoint that Halide derives in `input`, or nothing, with a note, if it
// derives none.
std::optional<KernelFn> derived_adjoint(const Op &op, const Options &o, const std::string &input,
                                        Report &r) {
    Instance i;
    i.dtypes = "f64";
    i.isa = isas_of(op, o).back();
    i.variant = op.variants.back().name;
    i.adjoint_in = input;
    try {
        return Kernel(op_table().make(op.name), i).load();
    } catch (const std::exception &) {
        r.skip("Halide derives no adjoint of it (a max, or a function it can't differentiate)");
        return std::nullopt;
    }
}

// Compares an op's gradient in one input with the adjoint that Halide derives, on one sample.
class AdjointCheck {
public:
    AdjointCheck(const Op &op, const Options &o, const std::string &input, Report &r)
        : op_(op), input_(input), r_(r), isa_(isas_of(op, o).back()),
          variant_(op.variants.back().name),
          sample_(op.samples[std::min<size_t>(1, op.samples.size() - 1)]),
          case_(op, sample_, "f64", 9) {
        case_.solve(op);
        dy_ = random_dy(op, case_);
    }

    void run(KernelFn derived) {
        const Tensor mine = gradient();
        const std::optional<Tensor> theirs = run_derived(derived);
        if (theirs) compare(mine.to_vector<double>(), theirs->to_vector<double>());
    }

private:
    // Returns what the op's own gradient gives.
    Tensor gradient() const {
        const GradientOp of = library().gradient_in(case_.registered, input_);
        const RegisteredOp &g = *of.op;
        const Attrs attrs(g.record, case_.registered.record, case_.attrs);
        begin_step("adjoint f64 of " + g.record.name + " '" + sample_ + "'");
        return dispatch(g, gradient_inputs(g, case_, dy_, op_), attrs)[of.output];
    }

    // Runs the derived kernel, which takes the op's inputs and dy. Its plan is the op's, with dy
    // appended and dx as the output. Returns nothing if the kernel rejects the call.
    std::optional<Tensor> run_derived(KernelFn derived) {
        const Force force(isa_, variant_);
        const std::vector<OperandMeta> metas = metas_of(case_.in);
        Plan p = make_plan(case_.registered, metas, case_.attrs);
        const Plan::Buffer from_y = p.outputs[0];
        p.inputs.push_back(from_y);
        size_t at = 0;
        while (op_.sig.inputs[at].name != input_)
            at++;
        Plan::Output dx;
        static_cast<Plan::Buffer &>(dx) = p.inputs[at];
        dx.shape = case_.in[at].shape();
        dx.dtype = DType::f64;
        p.outputs = {dx};
        KernelEntry entry = *p.kernel;
        entry.fn = derived;
        p.kernel = &entry;
        std::vector<Tensor> in = case_.in;
        in.push_back(
            case_.as_called(op_.sig.outputs[0], tensor_of(dy_.begin()->second, DType::f64)));
        const Tensor theirs = Tensor::zeros(dx.shape, DType::f64);
        try {
            run_plan(p, in, case_.attrs, {&theirs, 1});
        } catch (const DispatchError &e) {
            r_.skip(std::string("the derived adjoint doesn't run: ") + e.what());
            return std::nullopt;
        }
        return theirs;
    }

    void compare(const std::vector<double> &mine, const std::vector<double> &theirs) {
        double worst = 0, scale = 1e-300;
        for (size_t k = 0; k < mine.size(); k++) {
            worst = std::max(worst, std::fabs(mine[k] - theirs[k]));
            scale = std::max(scale, std::fabs(theirs[k]));
        }
        const bool differs = !(worst <= 1e-11 * std::max(1.0, scale));
        if (worst > 1e-11 * std::max(1.0, scale) && contradicted(op_, case_, dy_, input_, theirs)) {
            r_.skip("the adjoint that Halide derives in " + input_ +
                    " is wrong: finite differences contradict it");
            return;
        }
        r_.expect("derived adjoint in " + input_ + " '" + sample_ + "'",
                  differs ? "differs by " + std::to_string(worst) : "");
    }

    const Op &op_;
    const std::string &input_;
    Report &r_;
    const Isa isa_;
    const std::string variant_;
    const std::string &sample_;
    Case case_;
    Named<Array> dy_;
};

}  // namespace

void check_adjoints(const Op &op, const Options &o, Report &r) {
    const RegisteredOp &registered = library().at(op.name);
    if (o.quick || registered.gradient_inputs.empty() || !has(op.dtypes, "f64") ||
        op.sig.outputs.size() > 1)
        return;
    for (auto &input : registered.gradient_inputs) {
        if (const auto derived = derived_adjoint(op, o, input, r))
            AdjointCheck(op, o, input, r).run(*derived);
    }
}

}  // namespace halyard::check

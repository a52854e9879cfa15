// Proves schedules in modular integers: every legal schedule gives the same bits as the algorithm.
// The kit evaluates the algorithm itself (dsl/evaluate.h), so that it also finds what Halide lowers
// wrongly, with a schedule and without. A sample that is too large for this is compared with the
// algorithm as Halide lowers it unscheduled.
#include <cmath>
#include <cstring>
#include <map>
#include <random>

#include "bench/harness/case.h"
#include "bench/harness/progress.h"
#include "dsl/evaluate.h"
#include "dsl/gpu/gpu_kernels.h"
#include "dsl/kernel.h"
#include "primitives/library.h"
#include "registry/dispatch/choice.h"
#include "registry/dispatch/plan.h"
#include "registry/dispatch/planner.h"
#include "registry/dispatch/run_plan.h"
#include "registry/op/extension.h"
#include "tools/check/check.h"
#include "tools/check/record.h"

namespace halyard::check {
namespace {

KernelFn exact_kernel(const std::string &name, Isa isa, const std::string &variant, bool scheduled,
                      const std::string &backend = "cpu", const Tunables &tunables = {},
                      const std::string &fault = "") {
    Instance i;
    i.backend = backend;
    i.dtypes = "exact";
    i.isa = isa;
    i.variant = variant;
    i.scheduled = scheduled;
    i.tunables = tunables;
    i.fault = fault;
    return Kernel(op_table().make(name), i).load();
}

// Returns the plan that the f32 kernel of this variant would get, with modular types and without
// the kernel.
Plan exact_plan(const Case &c, const Op &op) {
    const std::vector<OperandMeta> metas = metas_of(c.in);
    Plan p = make_plan(c.registered, metas, c.attrs);
    auto modular = [](Plan::Buffer &b, const TensorSpec &t) {
        const bool variable = t.dtype.size() == 1 && std::isupper((unsigned char)t.dtype[0]);
        if (variable || is_float(dtype_of(t.dtype))) b.type = halide_type_t(halide_type_uint, 32);
    };
    for (size_t k = 0; k < p.inputs.size(); k++)
        modular(p.inputs[k], op.sig.inputs[k]);
    for (size_t k = 0; k < p.outputs.size(); k++)
        modular(p.outputs[k], op.sig.outputs[k]);
    return p;
}

std::vector<Tensor> run_exact(const Plan &p, KernelFn fn, const Case &c) {
    KernelEntry entry = *p.kernel;
    entry.fn = fn;
    Plan mine = p;
    mine.kernel = &entry;
    mine.parallel_loops = false;  // the evaluator runs in this thread
    std::vector<Tensor> out;
    for (auto &o : p.outputs)
        out.push_back(Tensor::zeros(o.shape, o.dtype));
    run_plan(mine, c.in, c.attrs, out);
    return out;
}

constexpr int64_t max_steps = 2'000'000;  // of an evaluation

// The results of a variant's algorithm without a schedule: evaluated if that is quick, else as
// Halide lowers it.
class Unscheduled {
public:
    Unscheduled(const Op &op, Isa isa, std::string variant)
        : op_(op), isa_(isa), variant_(std::move(variant)) {}

    // Returns the results for sample `s`, whose plan is `p`. They are kept, because the tuner and
    // the mutants prove a schedule many times.
    const std::vector<Tensor> &result(size_t s, const Plan &p, const Case &c, Report &r) {
        static std::map<std::string, std::vector<Tensor>> known;  // empty: can't be evaluated
        const auto [at, is_new] = known.emplace(op_.name + "/" + variant_ + "/" + c.sample,
                                                std::vector<Tensor>());
        if (is_new) at->second = evaluated(p, c, r);
        if (!at->second.empty()) return at->second;
        if (!lowered_) lowered_ = exact_kernel(op_.name, isa_, variant_, false);
        std::vector<Tensor> &mine = by_lowering_[s];
        if (mine.empty()) mine = run_exact(p, lowered_, c);
        return mine;
    }

private:
    // The evaluator as a kernel. run_plan() calls it in this thread, once for each iteration of the
    // plan's loops.
    struct Running {
        Evaluator *evaluator = nullptr;
        int64_t steps_left = 0;  // steps that remain; negative: it gave up
    };
    static Running &running() {
        static Running r;
        return r;
    }
    static int evaluate(void **arguments) {
        Running &now = running();
        if (now.steps_left < 0) return 0;
        const int64_t steps = now.evaluator->run(arguments, now.steps_left);
        now.steps_left = steps == Evaluator::gave_up ? -1 : now.steps_left - steps;
        return 0;
    }

    std::vector<Tensor> evaluated(const Plan &p, const Case &c, Report &r) {
        const auto skip = [&](const std::string &why) {
            r.skip("exact mode: " + why +
                   ", and is compared with the algorithm as Halide lowers it unscheduled");
            return std::vector<Tensor>();
        };
        try {
            if (!evaluator_) {
                Instance i;
                i.dtypes = "exact";
                i.isa = isa_;
                i.variant = variant_;
                i.scheduled = false;
                evaluator_ = std::make_unique<Evaluator>(Kernel(op_table().make(op_.name), i));
            }
            running() = {evaluator_.get(), max_steps};
            std::vector<Tensor> results = run_exact(p, evaluate, c);
            return running().steps_left < 0
                       ? skip("'" + c.sample + "' is too large to be evaluated")
                       : results;
        } catch (const UnsupportedDefinition &e) {
            const std::string why = e.what();
            return skip("an evaluation " + why.substr(why.find("] ") + 2));
        }
    }

    const Op &op_;
    const Isa isa_;
    const std::string variant_;
    std::unique_ptr<Evaluator> evaluator_;
    KernelFn lowered_ = nullptr;
    std::map<size_t, std::vector<Tensor>> by_lowering_;
};

// Returns true if the variant accepts the plan's problem with these tunables too.
bool takes(const Op &op, const Plan &p, const Tunables &tunables) {
    KernelEntry k = *p.kernel;
    for (auto &[name, value] : tunables.chosen)
        k.tunables[name] = value;
    return rejection_reason(op, k, p.dims).empty();
}

// Returns how many elements of the results differ; "" for none.
std::string difference(const std::vector<Tensor> &a, const std::vector<Tensor> &b) {
    int64_t differ = 0, total = 0;
    for (size_t k = 0; k < a.size(); k++) {
        for (size_t i = 0, n = size_t(a[k].elements()), size = bytes_of(a[k].dtype()); i < n;
             i++, total++) {
            differ += std::memcmp(static_cast<char *>(a[k].raw()) + i * size,
                                  static_cast<char *>(b[k].raw()) + i * size, size) != 0;
        }
    }
    return differ
               ? std::to_string(differ) + " of " + std::to_string(total) + " elements differ from "
               : "";
}

// The algorithms of an op's variants, unscheduled and in double.
class InDouble {
public:
    InDouble(const Op &op, Isa isa) : op_(op), isa_(isa) {}

    // Returns how two variants differ by more than rounding explains; "" if they don't.
    std::string difference(const std::string &sample, const std::string &variant,
                           const std::string &other) {
        const Case c(op_, sample, "f64", 7);
        const auto a = run(c, variant);
        const auto b = run(c, other);
        for (size_t k = 0; k < a.size(); k++) {
            const std::vector<double> x = a[k].to_vector<double>();
            const std::vector<double> y = b[k].to_vector<double>();
            double largest = 0;
            for (double v : y)
                largest = std::max(largest, std::fabs(v));
            for (size_t i = 0; i < x.size(); i++) {
                if (!(std::fabs(x[i] - y[i]) <= 1e-9 * largest)) {
                    return op_.sig.outputs[k].name + "[" + std::to_string(i) + "] is " +
                           std::to_string(x[i]) + " of '" + sample + "' in double, there " +
                           std::to_string(y[i]);
                }
            }
        }
        return "";
    }

private:
    std::vector<Tensor> run(const Case &c, const std::string &variant) {
        if (!kernels_.count(variant)) {
            Instance i;
            i.dtypes = "f64";
            i.isa = isa_;
            i.variant = variant;
            i.scheduled = false;
            kernels_[variant] = Kernel(op_table().make(op_.name), i).load();
        }
        RegisteredOp unscheduled = library().at(op_.name);
        unscheduled.record.variants = {{"", ""}};  // any shape: nothing is vectorised
        unscheduled.record.dtypes = {"f64"};
        unscheduled.kernels = {{op_.name, "cpu", "f64", "", isa_, 1, {}, kernels_[variant]}};
        const Force force(isa_, "");
        const std::vector<OperandMeta> metas = metas_of(c.in);
        return run_exact(make_plan(unscheduled, metas, c.attrs), kernels_[variant], c);
    }

    const Op &op_;
    const Isa isa_;
    std::map<std::string, KernelFn> kernels_;
};

// One op's samples in modular integers, and the results of the last variant's algorithm, which
// accepts every shape.
class Exact {
public:
    Exact(const Op &op, Isa isa, bool own_algorithms = false)
        : op_(op), isa_(isa), own_algorithms_(own_algorithms),
          written_(op, isa, op.variants.back().name) {
        for (auto &sample : op.samples) {
            cases_.emplace_back(op, sample, "f32", 7);
            std::mt19937 rng(11);
            for (Tensor &t : cases_.back().in) {
                if (t.dtype() != DType::f32) continue;
                // Odd, because a product of many even numbers is 0.
                auto *numbers = static_cast<uint32_t *>(t.raw());
                for (int64_t i = 0; i < t.elements(); i++)
                    numbers[i] = uint32_t(rng()) | 1;
            }
        }
    }

    void check(KernelFn scheduled, Isa isa, const std::string &variant, const std::string &backend,
               const Tunables &tunables, Report &r) {
        const Force force(isa, variant, backend);
        for (size_t s = 0; s < cases_.size(); s++) {
            const Case &c = cases_[s];
            // Dispatch never sends empty tensors to a device.
            if (backend != "cpu" && has_empty_tensor(c)) continue;
            Plan p;
            try {
                p = exact_plan(c, op_);
            } catch (const DispatchError &) {
                continue;  // this variant doesn't accept this sample
            }
            if (!takes(op_, p, tunables)) continue;
            const std::string where = "exact/" +
                                      (backend == "cpu" ? std::string(name_of(isa)) : backend) +
                                      (variant.empty() ? "" : "/" + variant) + " '" +
                                      op_.samples[s] + "'";
            begin_step(where);
            const auto mine = run_exact(p, scheduled, c);
            std::string error = difference(mine, written_.result(s, on_host(p), c, r));
            if (!error.empty()) {
                error = backend == "cpu" ? blamed(s, p, mine, variant, error, r)
                                         : error + "the algorithm as written";
            }
            r.expect(where, error);
        }
    }

private:
    static Plan on_host(Plan p) {
        p.on_device = false;
        return p;
    }
    // A variant may have its own algorithm, and its schedule is proved against that one. Where
    // modular integers give no common result (Winograd's fractions, a gradient that compares x with
    // a y that isn't its maximum), the two algorithms are compared in double.
    std::string blamed(size_t s, const Plan &p, const std::vector<Tensor> &mine,
                       const std::string &variant, const std::string &error, Report &r) {
        if (variant == op_.variants.back().name) return error + "the algorithm as written";
        Unscheduled &own = own_.try_emplace(variant, op_, isa_, variant).first->second;
        const std::string from_own = difference(mine, own.result(s, p, cases_[s], r));
        if (!from_own.empty()) return from_own + "the algorithm as written";
        if (own_algorithms_) return "";
        const std::string in_double = differs_in_double(variant);
        return in_double.empty() ? ""
                                 : error + "variant " + op_.variants.back().name +
                                       ", because this one's algorithm is another: " + in_double;
    }

    const std::string &differs_in_double(const std::string &variant) {
        const auto [at, is_new] = in_double_.emplace(variant, "");
        if (!is_new) return at->second;
        InDouble algorithms(op_, isa_);
        for (const Case &c : cases_) {
            try {
                exact_plan(c, op_);
                at->second = algorithms.difference(c.sample, variant, op_.variants.back().name);
                if (!at->second.empty()) break;
            } catch (const DispatchError &) {
                continue;  // this variant doesn't accept this sample
            }
        }
        return at->second;
    }

    const Op &op_;
    const Isa isa_;
    const bool own_algorithms_;
    Unscheduled written_;
    std::map<std::string, Unscheduled> own_;  // by variant
    // By variant: how its algorithm differs from the last one's, in double.
    std::map<std::string, std::string> in_double_;
    std::vector<Case> cases_;
};

void check_on_device(Exact &exact, const Op &op, const std::string &backend, const Options &o,
                     Report &r) {
    for (const std::string &variant : gpu::variants(op)) {
        if (!o.variant.empty() && variant != o.variant) continue;
        exact.check(exact_kernel(op.name, Isa::baseline, variant, true, backend, {}, o.fault),
                    host_isa(), variant, backend, {}, r);
    }
}

}  // namespace

void check_exact_cuda(const Op &op, const Options &o, Report &r) {
    try {
        Exact exact(op, host_isa());
        check_on_device(exact, op, "cuda", o, r);
    } catch (const DTypeError &e) {
        r.skip(std::string("exact mode: ") + e.what());
    }
}

void check_exact(const Op &op, const Options &o, Report &r) {
    bool f32 = false;
    for (auto &d : op.dtypes)
        f32 |= d.substr(0, 3) == "f32" && (d.size() == 3 || d == "f32,f32");
    if (!f32) return r.skip("exact mode: the op has no f32 kernels");
    const std::vector<Isa> all = isas_of(op, o);
    try {
        Exact exact(op, all.back(), o.own_algorithms);
        for (auto &v : op.variants) {
            if (!o.variant.empty() && v.name != o.variant) continue;
            for (Isa isa : all) {
                if (builds(v.extension, isa) && host_has(v.extension) &&
                    (!o.quick || isa == all.back())) {
                    exact.check(o.kernel ? o.kernel
                                         : exact_kernel(op.name, isa, v.name, true, "cpu",
                                                        o.tunables, o.fault),
                                isa, v.name, "cpu", o.tunables, r);
                }
            }
        }
        if (!opencl_dtypes(op).empty() && o.variant.empty() && has_device("opencl"))
            check_on_device(exact, op, "opencl", {}, r);
    } catch (const DTypeError &e) {
        r.skip(std::string("exact mode: ") + e.what());
    }
}

}  // namespace halyard::check

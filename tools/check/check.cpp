#include "tools/check/check.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <list>
#include <set>
#include <sstream>

#include "bench/harness/case.h"
#include "bench/harness/progress.h"
#include "dsl/all_ops.h"
#include "primitives/library.h"
#include "registry/dispatch/choice.h"
#include "registry/op/extension.h"
#include "tools/check/cancellation.h"
#include "tools/check/guard.h"

namespace halyard::check {

const NamedChecks all_checks = {
    {"legality", check_legality},
    {"reference", check_reference},
    {"views", check_views},
    {"broadcast", check_broadcast},
    {"zero sizes", check_zero_sizes},
    {"refusals", check_refusals},
    {"specials", check_specials},
    {"isolation", check_isolation},
    {"threads", check_threads},
    {"rows", check_rows},
    {"sandbox", check_sandbox},
    {"exact", check_exact},
    {"gradients", check_gradients},
    {"adjoints", check_adjoints},
    {"device", check_device_without_half_floats},
    {"fuzz", check_fuzz},
};

bool can_run(const OpRecord &op, const KernelEntry &k) {
    if (!host_has(extension_of(op, k.variant))) return false;
    Dims known(k.tunables.begin(), k.tunables.end());
    known["lanes"] = k.lanes;
    for (auto &v : op.variants) {
        std::stringstream words(v.name == k.variant ? v.when : "");
        for (std::string w; words >> w;) {
            const ParsedExpr e(w);
            if (std::all_of(e.names().begin(), e.names().end(),
                            [&](auto &name) { return known.count(name) > 0; }) &&
                !holds(w, known))
                return false;
        }
    }
    return true;
}

std::vector<Isa> isas_of(const Op &op, const Options &o) {
    if (!o.device.empty()) return {host_isa()};
    if (!o.isas.empty()) return o.isas;
    bool has[isa_count] = {};
    for (const KernelEntry &k : library().at(op.name).kernels)
        if (k.backend == "cpu") has[int(k.isa)] = true;
    std::vector<Isa> all;
    for (int i = 0; i <= int(host_isa()); i++)
        if (has[i]) all.push_back((Isa)i);
    return all;
}

namespace {

std::string place(const std::string &dtypes, Isa isa, const std::string &variant,
                  const std::string &sample) {
    return dtypes + "/" + name_of(isa) + (variant.empty() ? "" : "/" + variant) + " '" + sample +
           "'";
}

// Compares every output of a finished call.
void compare_all(const Op &op, const Case &c, const std::vector<Tensor> &out,
                 const std::string &where, Report &r) {
    for (size_t k = 0; k < out.size(); k++) {
        const TensorSpec &y = op.sig.outputs[k];
        const Tensor got = c.as_in_signature(y, out[k]);
        std::string error = compare(op, y.name, got, c.problem);
        if (!error.empty() && !r.has_kind(error)) error += cancellation(op, y.name, got, c.problem);
        r.expect(where, error);
    }
}

bool refused(const DispatchError &e) {
    return std::string(e.what()).find("no kernel takes this call") != std::string::npos;
}

// Runs the call between guard pages, once with the guard right after each tensor and once with it
// right before. This also makes two alignments, for which the bits must be the same. Throws as
// dispatch() does.
std::vector<Tensor> guarded_call(const Op &op, const Case &c, const std::string &where, Report &r) {
    std::vector<Tensor> results;
    for (auto side : {Guards::before, Guards::after}) {
        std::vector<Tensor> in = c.in;
        std::vector<Tensor> out;
        for (size_t k = 0; k < c.out_dtypes.size(); k++) {
            out.push_back(Tensor::empty(c.output_shape(k), c.out_dtypes[k]));
        }
        Guards guards(side);
        guards.move(op, in, out);
        dispatch_into(c.registered, in, c.attrs, out);
        if (const std::string outside = guards.finding(); !outside.empty()) r.fail(where, outside);
        if (results.empty()) {
            for (const Tensor &t : out)
                results.push_back(t.copy());
        } else {
            for (size_t k = 0; k < out.size(); k++) {
                r.expect(where,
                         same_bits(out[k], results[k])
                             ? ""
                             : op.sig.outputs[k].name +
                                   " has other bits where tensors begin elsewhere in memory");
            }
        }
    }
    return results;
}

// The kernels of one set of dtypes against the reference.
class ReferenceCheck {
public:
    ReferenceCheck(const Op &op, const Options &o, const std::string &dtypes, Report &r)
        : op_(op), o_(o), dtypes_(dtypes), isas_(isas_of(op, o)),
          kernels_(library().at(op.name).kernels), r_(r) {}

    void run_sample(const std::string &sample) {
        Case c(op_, sample, dtypes_, 1);
        c.solve(op_);
        for (Isa isa : isas_) {
            for (auto &v : op_.variants) {
                const bool asked = o_.variant.empty() || v.name == o_.variant;
                if (asked && has_kernel(isa, v.name)) run_variant(c, isa, v.name);
            }
        }
    }

    // Fails for each kernel that could run but that no sample reached.
    void expect_all_reached() {
        for (auto &k : kernels_) {
            const bool asked = k.backend == "cpu" && k.dtypes == dtypes_ &&
                               (o_.variant.empty() || o_.variant == k.variant) &&
                               std::find(isas_.begin(), isas_.end(), k.isa) != isas_.end();
            if (asked && can_run(op_, k) && !reached_.count({k.variant, k.isa})) {
                r_.fail(dtypes_ + "/" + name_of(k.isa) + "/" + k.variant,
                        "no sample reaches this variant");
            }
        }
    }

private:
    bool has_kernel(Isa isa, const std::string &variant) const {
        return std::any_of(kernels_.begin(), kernels_.end(), [&](const KernelEntry &k) {
            return k.dtypes == dtypes_ && k.isa == isa && k.variant == variant;
        });
    }

    void run_variant(const Case &c, Isa isa, const std::string &variant) {
        const Force force(isa, variant);
        const std::string where = place(dtypes_, isa, variant, c.sample);
        begin_step(where);
        try {
            compare_all(op_, c, guarded_call(op_, c, where, r_), where, r_);
            reached_.emplace(variant, isa);
        } catch (const DispatchError &e) {
            if (!refused(e)) r_.fail(where, e.what());
        }
    }

    const Op &op_;
    const Options &o_;
    const std::string &dtypes_;
    const std::vector<Isa> isas_;
    const std::list<KernelEntry> &kernels_;
    Report &r_;
    std::set<std::pair<std::string, Isa>> reached_;
};

}  // namespace

void check_reference(const Op &op, const Options &o, Report &r) {
    if (isas_of(op, o).empty()) return r.fail("has no kernel that this CPU can run");
    for (auto &dtypes : op.dtypes) {
        if (!o.dtypes.empty() && dtypes != o.dtypes) continue;
        ReferenceCheck check(op, o, dtypes, r);
        for (auto &sample : op.samples)
            check.run_sample(sample);
        check.expect_all_reached();
    }
}

void check_zero_sizes(const Op &op, const Options &o, Report &r) {
    const Sample s = parse_sample(op, op.samples[0]);
    for (auto &[name, value] : s.dims) {
        std::string sample;
        for (auto &[other, v] : s.dims)
            sample += other + "=" + std::to_string(other == name ? 0 : v) + " ";
        for (auto &[attr, text] : s.attrs)
            sample += attr + "=" + text + " ";
        try {
            Case c(op, sample, op.dtypes[0], 3);
            begin_step(kernel_text(c) + " '" + sample + "'");
            try {
                const auto out = guarded_call(op, c, "'" + sample + "'", r);
                c.solve(op);
                compare_all(op, c, out, "'" + sample + "'", r);
            } catch (const DispatchError &e) {
                r.fail("'" + sample + "'", e.what());
            } catch (const Error &) {
                r.pass();  // a typed error that gives the reason
            }
        } catch (const Error &) {
            r.skip("zero sizes that its own shape rule refuses");
        }
    }
    check_zero_gradients(op, o, r);
}

bool has_device(const std::string &backend) {
    try {
        set_device(backend);
    } catch (const DeviceError &) {
        return false;
    }
    set_device("cpu");
    return true;
}

namespace {

// Compares the OpenCL kernel's results with the reference.
void check_sample_on_device(const Op &op, const std::string &dtypes, const std::string &sample,
                            Report &r) {
    const std::string what = "opencl " + dtypes + " '" + sample + "'";
    Case c(op, sample, dtypes, 6);
    c.solve(op);
    const Force force(host_isa(), "", "opencl");
    begin_step(what);
    try {
        compare_all(op, c, dispatch(c.registered, c.in, c.attrs), what, r);
    } catch (const Error &e) {
        r.fail(what, e.what());
    }
}

}  // namespace

std::vector<std::string> opencl_dtypes(const Op &op) {
    std::vector<std::string> all;
    if (op.form == Form::composite) return all;
    for (const KernelEntry &k : library().at(op.name).kernels)
        if (k.backend == "opencl") all.push_back(k.dtypes);
    return all;
}

namespace {

void check_on_opencl(const Op &op, const std::vector<std::string> &dtype_sets, Report &r) {
    if (dtype_sets.empty()) return;
    if (!has_device("opencl")) return r.skip("no OpenCL device");
    for (const std::string &dtypes : dtype_sets) {
        for (const std::string &sample : op.samples)
            check_sample_on_device(op, dtypes, sample, r);
    }
}

}  // namespace

void check_opencl_calls(const Op &op, const Options &o, Report &r) {
    if (opencl_dtypes(op).empty() || !has_device("opencl")) return;
    Options calls = o;
    calls.device = "opencl";
    check_fuzz(op, calls, r);
}

void check_device(const Op &op, const Options &o, Report &r) {
    check_on_opencl(op, opencl_dtypes(op), r);
    check_opencl_calls(op, o, r);
}

void check_device_without_half_floats(const Op &op, const Options &, Report &r) {
    std::vector<std::string> dtype_sets = opencl_dtypes(op);
    std::erase_if(dtype_sets, [](const std::string &dtypes) { return in_f32(dtypes) != dtypes; });
    check_on_opencl(op, dtype_sets, r);
}

Report run_check(const Op &op, const std::string &check, Check run, const Options &o) {
    Report r;
    r.op = op.name;
    r.check = check;
    begin_check(check);
    const auto from = std::chrono::steady_clock::now();
    try {
        run(op, o, r);
    } catch (const std::exception &e) {
        r.fail(std::string("threw ") + e.what());
    }
    r.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - from).count();
    return r;
}

NamedChecks checks_of(const Op &op, const Options &o) {
    if (op.form == Form::composite) {
        return {
            {"composite", check_composite},
            {"broadcast", check_broadcast},
            {"zero sizes", check_zero_gradients},
            {"threads", check_threads},
        };
    }
    // reports that there are no kernels
    if (isas_of(op, o).empty()) return {{"reference", check_reference}};
    NamedChecks all = all_checks;
    if (!o.exact) std::erase_if(all, [](const auto &named) { return named.first == "exact"; });
    return all;
}

std::vector<std::string> family_of(const std::string &op) {
    const auto differentiated = [](const RegisteredOp &g) -> const RegisteredOp * {
        const RegisteredOp *forward = library().find(forward_name(g.record.name));
        return forward && g.signature.differentiates(forward->signature) ? forward : nullptr;
    };
    const auto root_of = [&](const RegisteredOp &of) {
        const RegisteredOp *root = &of;
        while (const RegisteredOp *forward = differentiated(*root))
            root = forward;
        return root;
    };
    const RegisteredOp *const root = root_of(library().at(op));
    std::vector<std::string> all = {root->record.name};
    for (const RegisteredOp *other : library().ops())
        if (other != root && root_of(*other) == root) all.push_back(other->record.name);
    return all;
}

Report check_op(const std::string &name, const Options &o) {
    list_kit_ops();
    Report r;
    r.op = name;
    const OpPtr op = op_table().make(name);
    if (!op) throw DispatchError(name, "no such op");
    for (auto &[check, run] : checks_of(*op, o))
        r.add(run_check(*op, check, run, o));
    r.require_a_pass();
    return r;
}

}  // namespace halyard::check

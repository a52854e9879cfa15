#include "tools/check/check.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <set>
#include <sstream>

#include "bench/harness/case.h"
#include "bench/harness/progress.h"
#include "dsl/all_ops.h"
#include "primitives/library.h"
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
    {"sandbox", check_sandbox},
    {"exact", check_exact},
    {"gradients", check_gradients},
    {"adjoints", check_adjoints},
    {"device", check_device},
    {"fuzz", check_fuzz},
};

std::vector<Isa> isas_of(const Op &op, const Options &o) {
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
        std::string error = compare(op, op.sig.outputs[k].name, out[k], c.problem);
        if (!error.empty() && !r.has_kind(error))
            error += cancellation(op, op.sig.outputs[k].name, out[k], c.problem);
        r.expect(where, error);
    }
}

bool refused(const DispatchError &e) {
    return std::string(e.what()).find("no kernel takes this call") != std::string::npos;
}

// Is there any shape this kernel takes? "lanes>=4" is false for two doubles, whatever the shape.
bool can_run(const OpRecord &op, const KernelEntry &k) {
    if (!host_runs(k.variant)) return false;
    Dims known = k.tunables;
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

// The call between guard pages, once flush with the guard after each tensor and once with that
// before, which also makes two alignments: the bits must be the same. Throws as dispatch() does.
std::vector<Tensor> guarded_call(const Op &op, const Case &c, const std::string &where, Report &r) {
    std::vector<Tensor> results;
    for (auto side : {Guards::before, Guards::after}) {
        std::vector<Tensor> in = c.in;
        std::vector<Tensor> out;
        for (size_t k = 0; k < c.out_dtypes.size(); k++) {
            out.push_back(
                Tensor::empty(c.problem.tensors.at(op.sig.outputs[k].name).shape, c.out_dtypes[k]));
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

}  // namespace

void check_reference(const Op &op, const Options &o, Report &r) {
    const std::vector<Isa> isas = isas_of(op, o);
    if (isas.empty()) return r.fail("has no kernel that this CPU can run");
    const auto &kernels = library().at(op.name).kernels;
    const auto has_kernel = [&](const std::string &dtypes, Isa isa, const std::string &variant) {
        return std::any_of(kernels.begin(), kernels.end(), [&](const KernelEntry &k) {
            return k.dtypes == dtypes && k.isa == isa && k.variant == variant;
        });
    };
    for (auto &dtypes : op.dtypes) {
        if (!o.dtypes.empty() && dtypes != o.dtypes) continue;
        std::set<std::pair<std::string, Isa>> reached;
        for (auto &sample : op.samples) {
            Case c(op, sample, dtypes, 1);
            c.solve(op);
            for (Isa isa : isas) {
                for (auto &v : op.variants) {
                    if ((!o.variant.empty() && v.name != o.variant) ||
                        !has_kernel(dtypes, isa, v.name))
                        continue;
                    const Force force(isa, v.name);
                    const std::string where = place(dtypes, isa, v.name, sample);
                    begins(where);
                    try {
                        compare_all(op, c, guarded_call(op, c, where, r), where, r);
                        reached.emplace(v.name, isa);
                    } catch (const DispatchError &e) {
                        if (!refused(e)) r.fail(where, e.what());
                    }
                }
            }
        }
        for (auto &k : kernels) {
            const bool asked = k.backend == "cpu" && k.dtypes == dtypes &&
                               (o.variant.empty() || o.variant == k.variant) &&
                               std::find(isas.begin(), isas.end(), k.isa) != isas.end();
            if (asked && can_run(op, k) && !reached.count({k.variant, k.isa})) {
                r.fail(dtypes + "/" + name_of(k.isa) + "/" + k.variant,
                       "no sample reaches this variant");
            }
        }
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
            begins(kernel_text(c) + " '" + sample + "'");
            try {
                const auto out = guarded_call(op, c, "'" + sample + "'", r);
                c.solve(op);
                compare_all(op, c, out, "'" + sample + "'", r);
            } catch (const DispatchError &e) {
                r.fail("'" + sample + "'", e.what());
            } catch (const Error &) {
                r.pass();  // a typed error that says what is wrong
            }
        } catch (const Error &) {
            r.skip("zero sizes that its own shape rule refuses");
        }
    }
    check_zero_gradients(op, o, r);
}

// NaN and Inf of the results of c's inputs, which were changed. Elementwise ops that are exact are
// so for all of them: subnormals stay.
static void expect_specials(const Op &op, Case &c, const Options &o, const std::string &what,
                            Report &r, bool finite_stays = false) {
    for (size_t k = 0; k < c.in.size(); k++)
        c.problem.tensors[op.sig.inputs[k].name] = array_of(c.in[k]);
    c.fit_forward_outputs(op);
    c.solve(op);
    const bool is_exact = op.form == Form::elementwise &&
                          op.contract.measure == Contract::elementwise && op.contract.ulps == 0;
    for (Isa isa : isas_of(op, o)) {
        const Force force(isa, "");
        begins(what + " " + kernel_text(c) + " '" + c.sample + "'");
        const auto out = dispatch(c.registered, c.in, c.attrs);
        for (size_t k = 0; k < out.size(); k++) {
            const std::string &name = op.sig.outputs[k].name;
            const std::string error = is_exact
                                          ? compare(op, name, out[k], c.problem)
                                          : compare_specials(name, out[k], c.problem, finite_stays);
            r.expect(what + " " + place("f32", isa, "", c.sample), error);
        }
    }
}

void check_specials(const Op &op, const Options &o, Report &r) {
    if (op.dtypes[0] != "f32") return;
    static const float specials[] = {NAN, INFINITY, -INFINITY, 0.f, -0.f, 1e-40f, 3e38f, -3e38f};
    for (auto &sample : op.samples) {
        Case c(op, sample, "f32", 4);
        for (size_t k = 0; k < c.in.size(); k++) {
            if (c.in[k].dtype() != DType::f32) continue;
            const int64_t n = c.in[k].elements();
            for (int64_t i = 0, at = 1; at < n || i == 0; i++, at = at * 2 + 3)
                c.in[k].data<float>()[std::min(at, n - 1)] = specials[i % 8];
        }
        expect_specials(op, c, o, "specials", r);
        // where a sum or a max that starts at a number overflows, or none of its terms is left
        for (float shift : {-1000.f, 1000.f}) {
            Case far(op, sample, "f32", 4);
            for (Tensor &t : far.in) {
                if (t.dtype() == DType::f32) {
                    for (int64_t i = 0; i < t.elements(); i++)
                        t.data<float>()[i] += shift;
                }
            }
            expect_specials(op, far, o, "values around " + std::to_string(int(shift)), r);
        }
        // a maximum that misses the largest, of which there are many or one, leaves what overflows
        for (int64_t period : {5, 1009}) {
            Case spread(op, sample, "f32", 4);
            for (Tensor &t : spread.in) {
                if (t.dtype() == DType::f32) {
                    for (int64_t i = 0; i < t.elements(); i++)
                        t.data<float>()[i] += i % period == 2 ? 1000.f : -1000.f;
                }
            }
            expect_specials(op, spread, o, "values far apart", r, true);
        }
    }
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

void check_device(const Op &op, const Options &, Report &r) {
    if (!op.gpu) return;
    if (!has_device("opencl")) return r.skip("no OpenCL device");
    for (auto &sample : op.samples) {
        Case c(op, sample, "f32", 6);
        c.solve(op);
        const Force force(host_isa(), "", "opencl");
        begins("opencl f32 '" + sample + "'");
        try {
            compare_all(op, c, dispatch(c.registered, c.in, c.attrs), "opencl '" + sample + "'", r);
        } catch (const Error &e) {
            r.fail("opencl '" + sample + "'", e.what());
        }
    }
}

Report run_check(const Op &op, const std::string &check, Check run, const Options &o) {
    Report r;
    r.op = op.name;
    r.check = check;
    begins_check(check);
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
    if (isas_of(op, o).empty()) return {{"reference", check_reference}};  // which says so
    return all_checks;
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
    if (op_table().names().empty()) list_all_ops(op_table());
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

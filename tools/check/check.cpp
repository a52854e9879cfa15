#include "tools/check/check.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>
#include <sstream>

#include "dsl/all_ops.h"
#include "primitives/library.h"
#include "registry/parallel.h"
#include "tools/check/case.h"

namespace halyard::check {

void Report::fail(const std::string &what) {
    failed++;
    failures.push_back(op + " " + what);
}
void Report::skip(const std::string &why) {
    skipped++;
    if (std::find(notes.begin(), notes.end(), why) == notes.end()) notes.push_back(why);
}

std::vector<Isa> isas_of(const Op &op, const Options &o) {
    if (!o.isas.empty()) return o.isas;
    bool has[isa_count] = {};
    for (const KernelEntry &k : library().at(op.name).kernels)
        if (k.backend == "cpu") has[(int)k.isa] = true;
    std::vector<Isa> all;
    for (int i = 0; i <= (int)host_isa(); i++)
        if (has[i]) all.push_back((Isa)i);
    return all;
}

namespace {

std::string place(const std::string &dtypes, Isa isa, const std::string &variant, const std::string &sample) {
    return dtypes + "/" + name_of(isa) + (variant.empty() ? "" : "/" + variant) + " '" + sample + "'";
}

// Compares every output of a finished call.
void compare_all(const Op &op, const Case &c, const std::vector<Tensor> &out, const std::string &where, Report &r) {
    for (size_t k = 0; k < out.size(); k++) r.expect(where, compare(op, op.sig.outputs[k].name, out[k], c.problem));
}

bool refused(const DispatchError &e) { return std::string(e.what()).find("no kernel takes this call") != std::string::npos; }

bool same_bits(const Tensor &a, const Tensor &b) { return a.shape() == b.shape() && std::memcmp(a.raw(), b.raw(), a.bytes()) == 0; }

// Is there any shape this kernel takes? "lanes>=4" is false for two doubles, whatever the shape.
bool can_run(const OpRecord &op, const KernelEntry &k) {
    Dims known = k.picks;
    known["lanes"] = k.lanes;
    for (auto &v : op.variants) {
        std::stringstream words(v.name == k.variant ? v.when : "");
        for (std::string w; words >> w;) {
            const ParsedExpr e(w);
            if (std::all_of(e.names().begin(), e.names().end(), [&](auto &name) { return known.count(name) > 0; }) && !holds(w, known)) return false;
        }
    }
    return true;
}

}  // namespace

void check_reference(const Op &op, const Options &o, Report &r) {
    const std::vector<Isa> isas = isas_of(op, o);
    for (auto &dtypes : op.dtypes) {
        std::set<std::pair<std::string, Isa>> reached;
        for (auto &sample : op.samples) {
            Case c(op, sample, dtypes, 1);
            c.solve(op);
            for (Isa isa : isas)
                for (auto &v : op.variants) {
                    const Force force(isa, v.name);
                    try {
                        compare_all(op, c, dispatch(c.registered, c.in, c.attrs), place(dtypes, isa, v.name, sample), r);
                        reached.emplace(v.name, isa);
                    } catch (const DispatchError &e) {
                        if (!refused(e)) r.fail(place(dtypes, isa, v.name, sample) + ": " + e.what());
                    }
                }
        }
        for (auto &k : library().at(op.name).kernels) {
            const bool asked = k.backend == "cpu" && k.dtypes == dtypes && std::find(isas.begin(), isas.end(), k.isa) != isas.end();
            if (asked && can_run(op, k) && !reached.count({k.variant, k.isa}))
                r.fail(dtypes + "/" + name_of(k.isa) + "/" + k.variant + ": no sample reaches this variant");
        }
    }
}

void check_views(const Op &op, const Options &, Report &r) {
    const std::string dtypes = op.dtypes[0];
    for (auto &sample : op.samples) {
        Case c(op, sample, dtypes, 2);
        c.solve(op);
        for (size_t k = 0; k < c.in.size(); k++) {
            if (c.in[k].rank() == 0) continue;
            std::vector<std::pair<std::string, Tensor>> views;
            std::vector<int> order;  // the same elements, laid out in reverse order of dimensions
            for (int d = c.in[k].rank(); d-- > 0;) order.push_back(d);
            views.emplace_back("reversed strides", c.in[k].transpose(order).copy().transpose(order));
            Shape wide = c.in[k].shape();
            for (int64_t &e : wide) e = 2 * e + 1;
            Tensor gaps = Tensor::zeros(wide, c.in[k].dtype());
            for (int d = 0; d < gaps.rank(); d++) gaps = gaps.slice(d, 1, 1 + 2 * c.in[k].shape()[d], 2);
            gaps.assign(c.in[k]);
            views.emplace_back("offset with gaps", gaps);
            for (auto &[name, view] : views) {
                std::vector<Tensor> in = c.in;
                in[k] = view;
                const std::string where = dtypes + " '" + sample + "' with " + op.sig.inputs[k].name + " as " + name;
                try {
                    compare_all(op, c, dispatch(c.registered, in, c.attrs), where, r);
                } catch (const Error &e) { r.fail(where + ": " + e.what()); }
            }
        }
    }
}

void check_zero_sizes(const Op &op, const Options &, Report &r) {
    const Sample s = parse_sample(op, op.samples[0]);
    for (auto &[name, value] : s.dims) {
        std::string sample;
        for (auto &[other, v] : s.dims) sample += other + "=" + std::to_string(other == name ? 0 : v) + " ";
        for (auto &[attr, text] : s.attrs) sample += attr + "=" + text + " ";
        try {
            Case c(op, sample, op.dtypes[0], 3);
            try {
                const auto out = dispatch(c.registered, c.in, c.attrs);
                c.solve(op);
                compare_all(op, c, out, "'" + sample + "'", r);
            } catch (const DispatchError &e) { r.fail("'" + sample + "': " + e.what()); } catch (const Error &) {
                r.pass();  // a typed error that says what is wrong
            }
        } catch (const Error &) { r.skip("zero sizes that its own shape rule refuses"); }
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
            for (int64_t i = 0, at = 1; at < n || i == 0; i++, at = at * 2 + 3) c.in[k].data<float>()[std::min(at, n - 1)] = specials[i % 8];
            c.problem.tensors[op.sig.inputs[k].name] = array_of(c.in[k]);
        }
        c.fit_forward_outputs(op);
        c.solve(op);
        for (Isa isa : isas_of(op, o)) {
            const Force force(isa, "");
            const auto out = dispatch(c.registered, c.in, c.attrs);
            for (size_t k = 0; k < out.size(); k++)
                r.expect("specials " + place("f32", isa, "", sample), compare_specials(op.sig.outputs[k].name, out[k], c.problem));
        }
    }
}

void check_threads(const Op &op, const Options &, Report &r) {
    const int before = threads();
    for (auto &sample : op.samples) {
        Case c(op, sample, op.dtypes[0], 5);
        std::vector<Tensor> first;
        for (int n : {1, 2, 3, 8}) {
            set_threads(n);
            const auto out = dispatch(c.registered, c.in, c.attrs);
            if (first.empty()) first = out;
            bool equal = true;
            for (size_t k = 0; k < out.size(); k++) equal &= same_bits(out[k], first[k]);
            r.expect("'" + sample + "' with " + std::to_string(n) + " threads", equal ? "" : "other bits than with 1");
        }
    }
    set_threads(before);
}

void check_device(const Op &op, const Options &, Report &r) {
    if (!op.gpu) return;
    try {
        set_device("opencl");
        set_device("cpu");
    } catch (const DeviceError &) { return r.skip("no OpenCL device"); }
    for (auto &sample : op.samples) {
        Case c(op, sample, "f32", 6);
        c.solve(op);
        const Force force(host_isa(), "", "opencl");
        try {
            compare_all(op, c, dispatch(c.registered, c.in, c.attrs), "opencl '" + sample + "'", r);
        } catch (const Error &e) { r.fail("opencl '" + sample + "': " + e.what()); }
    }
}

Report check_op(const std::string &name, const Options &o) {
    if (op_table().names().empty()) list_all_ops(op_table());
    Report r;
    r.op = name;
    const OpPtr op = op_table().make(name);
    if (!op) throw DispatchError(name, "no such op");
    if (op->form == Form::composite) {
        check_composite(*op, o, r);
        return r;
    }
    if (isas_of(*op, o).empty()) return r.fail("has no kernel that this CPU can run"), r;
    using Check = void (*)(const Op &, const Options &, Report &);
    for (Check check : {check_reference, check_views, check_zero_sizes, check_refusals, check_specials, check_threads, check_exact, check_gradients,
                        check_adjoints, check_device, check_fuzz})
        try {
            check(*op, o, r);
        } catch (const std::exception &e) { r.fail(std::string("threw ") + e.what()); }
    return r;
}

}  // namespace halyard::check

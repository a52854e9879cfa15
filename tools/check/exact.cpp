// Schedules are proved in modular integers: whatever is legal gives the same bits as the algorithm as written.
#include <cstring>
#include <random>

#include "dsl/kernel.h"
#include "primitives/library.h"
#include "registry/plan.h"
#include "tools/check/case.h"
#include "tools/check/check.h"

namespace halyard::check {
namespace {

KernelFn exact_kernel(const std::string &name, Isa isa, const std::string &variant, bool scheduled, const Picks &picks = {}) {
    Instance i;
    i.dtypes = "exact", i.isa = isa, i.variant = variant, i.scheduled = scheduled, i.picks = picks;
    return Kernel(op_table().make(name), i).load();
}

// The plan that the f32 kernel of this variant would get, with another kernel and modular types put into it.
Plan exact_plan(const Case &c, const Op &op) {
    std::vector<OperandMeta> metas;
    for (const Tensor &t : c.in) metas.push_back(meta_of(t));
    Plan p = make_plan(c.registered, metas, c.attrs);
    auto modular = [](Plan::Buffer &b, const TensorSpec &t) {
        const bool variable = t.dtype.size() == 1 && std::isupper((unsigned char)t.dtype[0]);
        if (variable || is_float(dtype_of(t.dtype))) b.type = halide_type_t(halide_type_uint, 32);
    };
    for (size_t k = 0; k < p.inputs.size(); k++) modular(p.inputs[k], op.sig.inputs[k]);
    for (size_t k = 0; k < p.outputs.size(); k++) modular(p.outputs[k], op.sig.outputs[k]);
    return p;
}

std::vector<Tensor> run_exact(const Plan &p, KernelFn fn, const Case &c) {
    KernelEntry entry = *p.kernel;
    entry.fn = fn;
    Plan mine = p;
    mine.kernel = &entry;
    std::vector<Tensor> out;
    for (auto &o : p.outputs) out.push_back(Tensor::zeros(o.shape, o.dtype));
    run_plan(mine, c.in, c.attrs, out);
    return out;
}

// Does the variant take the plan's problem with these picks too?
bool takes(const Variant &v, const Plan &p, const Picks &picks) {
    Dims facts = p.dims;
    for (auto &[name, value] : p.kernel->picks) facts[name] = value;
    for (auto &[name, value] : picks.chosen) facts[name] = value;
    facts["lanes"] = p.kernel->lanes;
    return holds(v.when, facts);
}

}  // namespace

void check_exact(const Op &op, const Options &o, Report &r) {
    bool f32 = false;
    for (auto &d : op.dtypes) f32 |= d.substr(0, 3) == "f32" && (d.size() == 3 || d == "f32,f32");
    if (!f32) return r.skip("exact mode: the op has no f32 kernels");
    const std::vector<Isa> all = isas_of(op, o);
    for (auto &v : op.variants) {
        if (!o.variant.empty() && v.name != o.variant) continue;
        KernelFn plain;
        try {
            plain = exact_kernel(op.name, all.back(), v.name, false);
        } catch (const DTypeError &e) {
            r.skip(std::string("exact mode: ") + e.what());
            continue;
        }
        for (Isa isa : all) {
            if (o.quick && isa != all.back()) continue;
            const KernelFn scheduled = o.kernel ? o.kernel : exact_kernel(op.name, isa, v.name, true, o.picks);
            for (auto &sample : op.samples) {
                Case c(op, sample, "f32", 7);
                std::mt19937 rng(11);
                for (Tensor &t : c.in)
                    if (t.dtype() == DType::f32)
                        for (int64_t i = 0; i < t.elements(); i++) ((uint32_t *)t.raw())[i] = (uint32_t)rng();
                const Force force(isa, v.name);
                try {
                    const Plan p = exact_plan(c, op);
                    if (!takes(v, p, o.picks)) continue;
                    const auto a = run_exact(p, plain, c), b = run_exact(p, scheduled, c);
                    int64_t differ = 0, total = 0;
                    for (size_t k = 0; k < a.size(); k++)
                        for (size_t i = 0, n = (size_t)a[k].elements(), size = bytes_of(a[k].dtype()); i < n; i++, total++)
                            differ += std::memcmp((char *)a[k].raw() + i * size, (char *)b[k].raw() + i * size, size) != 0;
                    r.expect(std::string("exact/") + name_of(isa) + "/" + v.name + " '" + sample + "'",
                             differ ? std::to_string(differ) + " of " + std::to_string(total) + " elements differ from the algorithm as written" : "");
                } catch (const DispatchError &) {
                    continue;  // this variant doesn't take this sample
                }
            }
        }
    }
}

}  // namespace halyard::check

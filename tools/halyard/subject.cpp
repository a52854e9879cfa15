#include "tools/halyard/subject.h"

#include "dsl/kernel.h"
#include "registry/dispatch.h"
#include "registry/parallel.h"
#include "registry/plan.h"
#include "tools/halyard/peers.h"

namespace halyard::command {
namespace {

std::vector<OperandMeta> metas_of(const Trial &t) {
    std::vector<OperandMeta> metas;
    for (const Tensor &x : t.in) metas.push_back(meta_of(x));
    return metas;
}

std::vector<Tensor> empty_like(const std::vector<Tensor> &all) {
    std::vector<Tensor> out;
    for (const Tensor &t : all) out.push_back(Tensor::empty(t.shape(), t.dtype()));
    return out;
}

struct Candidate {
    KernelEntry kernel;
    std::string label;
};

std::string label_of(const KernelEntry &k) { return (k.variant.empty() ? "" : k.variant + "/") + name_of(k.isa); }

// Each free choice in turn, the others at their defaults.
std::vector<Candidate> other_picks(const RegisteredOp &op, const KernelEntry &k) {
    std::vector<Candidate> all;
    Instance i;
    i.dtypes = k.dtypes, i.variant = k.variant, i.isa = k.isa;
    const Kernel standard(op_table().make(op.record.name), i);
    for (auto &[name, values] : standard.instance.picks.offered)
        for (size_t v = 1; v < values.size(); v++) {
            Instance other = i;
            other.picks.chosen[name] = values[v];
            Kernel built(op_table().make(op.record.name), other);
            KernelEntry entry = k;
            entry.fn = built.load(), entry.lanes = built.lanes, entry.picks = built.instance.picks.values();
            all.push_back({entry, label_of(k) + "/" + name + "=" + std::to_string(values[v])});
        }
    return all;
}

// Does the variant's condition hold for this kernel's picks?
bool takes(const OpRecord &op, const KernelEntry &k, const Plan &plan) {
    Dims facts = plan.dims;
    for (auto &[name, value] : k.picks) facts[name] = value;
    facts["lanes"] = k.lanes;
    for (auto &v : op.variants)
        if (v.name == k.variant) return holds(v.when, facts);
    return false;
}

std::vector<Candidate> candidates_of(const Trial &t, const std::string &dtypes, const Selection &s, std::vector<std::string> &refused) {
    std::vector<Candidate> all;
    for (const KernelEntry &k : t.op.kernels) {
        if (k.backend != "cpu" || k.dtypes != dtypes || k.isa > host_isa() || (s.isa != "all" && isa_of(s.isa) != k.isa)) continue;
        if (!s.variant.empty() && k.variant != s.variant) continue;
        try {
            const Force force(k.isa, k.variant);
            make_plan(t.op, metas_of(t), t.attrs);
        } catch (const DispatchError &) {
            std::string why = "its condition doesn't hold";
            for (auto &v : t.op.record.variants)
                if (v.name == k.variant) why = "needs " + v.when;
            refused.push_back(label_of(k) + ": " + why);
            continue;
        }
        all.push_back({k, label_of(k)});
    }
    if (!s.picks) return all;
    const size_t standard = all.size();
    for (size_t i = 0; i < standard; i++)
        if (all[i].kernel.isa == all[0].kernel.isa)
            for (auto &other : other_picks(t.op, all[i].kernel)) all.push_back(other);
    return all;
}

}  // namespace

std::vector<Tensor> outputs_of(const Trial &t) {
    std::vector<Tensor> out;
    for (auto &o : make_plan(t.op, metas_of(t), t.attrs).outputs) out.push_back(Tensor::empty(o.shape, o.dtype));
    return out;
}

std::deque<Subject> subjects_of(const Trial &t, const std::string &dtypes, const Selection &s, const Expected &expected, const std::vector<Tensor> &like,
                                std::vector<std::string> &refused) {
    std::deque<Subject> all;
    const Plan chosen = make_plan(t.op, metas_of(t), t.attrs);
    auto add = [&](Subject subject) {
        set_threads(subject.threads);
        subject.run();
        if (subject.computes && expected.known()) subject.verdict = expected.judge(subject.out);
        all.push_back(std::move(subject));
    };
    const auto candidates = candidates_of(t, dtypes, s, refused);
    for (int threads : s.threads) {
        for (const Candidate &c : candidates) {
            auto kernel = std::make_shared<KernelEntry>(c.kernel);
            Plan plan;
            {
                const Force force(kernel->isa, kernel->variant);
                plan = make_plan(t.op, metas_of(t), t.attrs);
            }
            if (!takes(t.op.record, *kernel, plan)) {
                refused.push_back(c.label + ": the variant's condition doesn't hold with these picks");
                continue;
            }
            const bool dispatched = chosen.kernel && chosen.kernel->fn == kernel->fn;
            plan.kernel = kernel.get();
            Subject subject{c.label, threads, false, true, dispatched, empty_like(like), {}, {}, {}};
            subject.run = [plan = std::make_shared<Plan>(plan), kernel, &t, out = subject.out] { run_plan(*plan, t.in, t.attrs, out); };
            add(std::move(subject));
        }
        const std::vector<Tensor> out = empty_like(like);
        for (Peer &p : peers_for({t.op, t.attrs, chosen.dims, t.in, out, threads}, s.isa == "all" ? "" : s.isa)) {
            Subject subject{p.name, threads, true, p.computes, false, out, {}, {}, {}};
            subject.run = std::move(p.run);
            add(std::move(subject));
        }
    }
    return all;
}

}  // namespace halyard::command

#include "tools/check/mutants.h"

#include <algorithm>
#include <random>

#include "bench/harness/case.h"
#include "dsl/all_ops.h"
#include "dsl/gpu/gpu_kernels.h"
#include "dsl/kernel_cache.h"
#include "dsl/kernel_faults.h"
#include "dsl/mutate.h"
#include "registry/dispatch/plan.h"
#include "registry/dispatch/planner.h"
#include "registry/dispatch/simulated.h"
#include "registry/op/extension.h"
#include "tools/check/mutant_survivors.h"

namespace halyard::check {
namespace {

// Returns the dtypes and instruction set of a kernel; "" for the usual ones: those of the op's
// first dtypes on o.isa.
std::string place_of(const KernelEntry &k, const MutantOptions &o) {
    if (k.backend != "cpu") return k.dtypes + "/" + k.backend;
    const bool usual = k.isa == o.isa && k.dtypes == library().at(k.op).record.dtypes[0];
    return usual ? "" : k.dtypes + "/" + name_of(k.isa);
}

std::vector<KernelEntry> kernels_that_run(const std::string &op) {
    const RegisteredOp &registered = library().at(op);
    std::vector<KernelEntry> all;
    for (const KernelEntry &k : registered.kernels) {
        const Extension needed = extension_of(registered.record, k.variant);
        if (k.backend == "cpu" && k.isa <= host_isa() && host_has(needed)) all.push_back(k);
    }
    return all;
}

// Returns a kernel entry for each dtype of an op on the simulated device. It represents the
// programs, one for each call.
std::vector<KernelEntry> programs_of(const std::string &op) {
    const OpRecord &record = library().at(op).record;
    std::vector<KernelEntry> all;
    if (record.form == Form::composite) return all;
    for (auto &dtypes : record.dtypes) {
        // The chip lacks these dtypes.
        if (dtypes.starts_with("f64") || dtypes.starts_with("bf16")) continue;
        KernelEntry &k = all.emplace_back();
        k.op = op;
        k.backend = "ascend";
        k.dtypes = dtypes;
    }
    return all;
}

// Returns a kernel entry for each set of dtypes that an op has CUDA kernels for.
std::vector<KernelEntry> cuda_kernels_of(const std::string &name) {
    const OpPtr op = op_table().make(name);
    std::vector<KernelEntry> all;
    for (auto &dtypes : op->dtypes) {
        if (!gpu::has_kernel(*op, dtypes)) continue;
        for (const std::string &variant : gpu::variants(*op)) {
            KernelEntry &k = all.emplace_back();
            k.op = name;
            k.backend = "cuda";
            k.dtypes = dtypes;
            k.variant = variant;
        }
    }
    return all;
}

// Returns the kernels of the CPU, or of the one device that is asked for.
std::vector<KernelEntry> kernels_of(const std::string &op, const MutantOptions &o) {
    if (o.cuda) return cuda_kernels_of(op);
    return o.programs ? programs_of(op) : kernels_that_run(op);
}

// Returns how many faults each op gets.
std::map<std::string, int> faults_per_op(const MutantOptions &o) {
    std::map<std::string, int> all;
    if (!o.in_all) {
        for (auto &name : o.ops)
            all[name] = o.per_op;
        return all;
    }
    std::vector<std::string> left;
    std::mt19937 rng(o.seed);
    for (int n = 0; n < o.in_all; n++) {
        if (left.empty()) {  // all of them have one more: in another order again
            for (auto &name : o.ops) {
                if (!kernels_of(name, o).empty()) left.push_back(name);
            }
            if (left.empty()) return all;
            std::shuffle(left.begin(), left.end(), rng);
        }
        all[left.back()]++;
        left.pop_back();
    }
    return all;
}

std::vector<KernelEntry> kernels_and_programs(const std::string &op) {
    std::vector<KernelEntry> all = kernels_that_run(op);
    const std::vector<KernelEntry> programs = programs_of(op);
    all.insert(all.end(), programs.begin(), programs.end());
    return all;
}

// Returns the kernels that get faults: the usual one of every op, or as many of any as the op gets
// faults. Listing the faults of a kernel takes a second.
std::vector<KernelEntry> faulted_kernels(const MutantOptions &o,
                                         const std::map<std::string, int> &per_op) {
    std::vector<KernelEntry> all;
    std::mt19937 rng(o.seed);
    for (auto &[name, count] : per_op) {
        std::vector<KernelEntry> kernels = kernels_that_run(name);
        if (!o.everywhere)
            std::erase_if(kernels, [&](const KernelEntry &k) { return !place_of(k, o).empty(); });
        if (o.everywhere) {
            const bool one_device = o.programs || o.cuda;
            kernels = one_device ? kernels_of(name, o) : kernels_and_programs(name);
            std::shuffle(kernels.begin(), kernels.end(), rng);
            kernels.resize(std::min(kernels.size(), size_t(count)));
        }
        all.insert(all.end(), kernels.begin(), kernels.end());
    }
    return all;
}

// Selects faults, op by op: each time of the kind that has been planted least so far, anywhere in
// the op's kernels.
class Chooser {
public:
    Chooser(const std::vector<KernelEntry> &kernels, const std::vector<Faults> &faults,
            unsigned seed)
        : rng_(seed) {
        for (size_t k = 0; k < kernels.size(); k++) {
            for (auto &f : faults[k])
                unplanted_[kernels[k].op][kind_of(f)].push_back({kernels[k], {f}});
        }
    }
    std::vector<Choice> choose(const std::map<std::string, int> &per_op) {
        std::vector<Choice> chosen;
        bool any = true;
        for (int round = 0; std::exchange(any, false); round++) {
            for (auto &[op, count] : per_op) {
                const auto it = unplanted_.find(op);
                if (round >= count || it == unplanted_.end() || it->second.empty()) continue;
                chosen.push_back(next(it->second));
                any = true;
            }
        }
        return chosen;
    }

private:
    static constexpr size_t max_candidates = 8;
    using ByKind = std::map<std::string, std::vector<Choice>>;

    Choice next(ByKind &kinds) {
        std::vector<std::string> least;
        for (auto &[kind, places] : kinds) {
            if (!least.empty() && planted_[kind] > planted_[least[0]]) continue;
            if (!least.empty() && planted_[kind] < planted_[least[0]]) least.clear();
            least.push_back(kind);
        }
        const std::string kind = least[rng_() % least.size()];
        planted_[kind]++;
        std::vector<Choice> &places = kinds[kind];
        Choice c = take(places, rng_() % places.size());
        for (size_t tries = places.size(); tries-- > 0 && c.candidates.size() < max_candidates;) {
            const size_t at = rng_() % places.size();
            if (same_kernel(places[at].kernel, c.kernel))
                c.candidates.push_back(take(places, at).candidates[0]);
        }
        if (places.empty()) kinds.erase(kind);
        return c;
    }
    static bool same_kernel(const KernelEntry &a, const KernelEntry &b) {
        return a.backend == b.backend && a.variant == b.variant && a.dtypes == b.dtypes &&
               a.isa == b.isa;
    }
    static Choice take(std::vector<Choice> &places, size_t at) {
        std::swap(places[at], places.back());
        Choice c = std::move(places.back());
        places.pop_back();
        return c;
    }

    std::mt19937 rng_;
    std::map<std::string, ByKind> unplanted_;
    std::map<std::string, int> planted_;
};

// Returns true for a flag or barrier without which a program has no race. A program is made for one
// call, and the survivor's check follows every access of that call (ascend/passes/clocks.h).
bool orders_nothing(const KernelEntry &k, const Mutant &survivor) {
    return k.backend == "ascend" &&
           (survivor.kind() == "lost-flag" || survivor.kind() == "lost-barrier");
}

Mutant mutant_of(const Choice &c, const MutantOptions &o, const JobResult &r) {
    Mutant m;
    m.op = c.kernel.op;
    m.variant = c.kernel.variant;
    m.place = place_of(c.kernel, o);
    m.fault = c.candidates[0];
    bool compiled = false;
    bool stopped = false;  // at the first check that caught it, on request
    std::string checking;
    for (const std::string &line : r.messages) {
        const std::string word = line.substr(0, line.find(' '));
        const std::string rest = line.substr(std::min(line.size(), word.size() + 1));
        if (word == "fault") {
            m.fault = rest;
            m.status = Mutant::survived;
        } else if (word == "same")
            m.status = Mutant::same_code;
        else if (word == "refused") {
            m.status = Mutant::refused;
            m.output = rest;
        } else if (word == "unseen") {
            m.status = Mutant::equivalent;
            m.output = "every number of its 16-bit floats was tried in every layout of memory: all "
                       "results are within the contract";
        } else if (word == "comparison") {
            m.compares_one_number = true;
        } else if (word == "bits") {
            m.status = Mutant::equivalent;
            m.output = "calls with " + rest + " different values have the same bits without it";
        } else if (word == "compiled")
            compiled = true;
        else if (word == "stopped")
            stopped = true;
        else if (word == "check")
            checking = rest;
        else if (word == "caught") {
            m.status = Mutant::caught;
            m.caught_by.push_back(rest.substr(0, rest.find(':')));
            if (m.output.empty()) m.output = rest.substr(rest.find(':') + 2);
        }
    }
    if (r.has_returned() && m.status == Mutant::survived && orders_nothing(c.kernel, m)) {
        m.status = Mutant::equivalent;
        m.output = "no two accesses of the call conflict without it, whatever the pipes' speeds: "
                   "the vector clocks of the pipes order them all";
    }
    const bool timed_out = r.ending == JobResult::Ending::timed_out;
    if (r.has_returned() || stopped || (timed_out && checking == all_numbers)) return m;
    if (!compiled) {
        m.status = Mutant::refused;
        m.output = "the compiler " + r.how;
        return m;
    }
    m.status = Mutant::caught;
    m.caught_by.emplace_back(timed_out ? "hang" : r.signal ? "crash" : "exit");
    if (m.output.empty()) m.output = r.how + " in check " + checking;
    return m;
}

Choice parsed(const std::string &text, const MutantOptions &o) {  // a Mutant::text()
    Choice found;
    size_t longest = 0;  // the text of a usual kernel is shorter, and others begin with it
    for (auto &name : o.ops) {
        for (auto &k : o.cuda ? cuda_kernels_of(name) : kernels_and_programs(name)) {
            Mutant m;
            m.op = k.op;
            m.variant = k.variant;
            m.place = place_of(k, o);
            const std::string before = m.text();
            if (text.starts_with(before) && before.size() > longest) {
                longest = before.size();
                found = {k, {text.substr(longest)}};
            }
        }
    }
    if (longest) return found;
    throw AttrError("check", "no kernel for the fault '" + text + "'");
}

// Returns the faults of the programs of one call, each with the call: "wrong-offset: vec_add #3 in
// 'n=3 c=7'", or "in sums 'n=3 c=7'" for a handwritten program.
Faults faults_of_programs(const KernelEntry &k, unsigned seed) {
    const OpPtr op = op_table().make(k.op);
    std::vector<std::string> samples = quick_samples_of(*op, k.dtypes);
    std::mt19937 rng(seed);
    std::shuffle(samples.begin(), samples.end(), rng);
    for (auto &sample : samples) {
        const Case c(*op, sample, k.dtypes, 6);
        const std::vector<OperandMeta> metas = metas_of(c.in);
        Faults all;
        const auto add = [&](const std::string &variant) {
            const Force force(host_isa(), variant, "ascend");
            const Plan plan = make_plan(c.registered, metas, c.attrs);
            if (!plan.simulated) return std::vector<std::string>();
            const std::string in = " in " + variant + (variant.empty() ? "" : " ") + "'" + sample +
                                   "'";
            for (auto &f : simulated_device().faults(plan, k.dtypes))
                all.push_back(f + in);
            return simulated_device().handwritten(plan, k.dtypes);
        };
        for (auto &variant : add(""))
            add(variant);
        if (!all.empty()) return all;  // otherwise the chip has no program for it
    }
    return {};
}

std::vector<Choice> choices(const MutantOptions &o) {
    if (!o.only.empty()) {
        std::vector<Choice> chosen;
        for (auto &text : o.only)
            chosen.push_back(parsed(text, o));
        return chosen;
    }
    const std::map<std::string, int> per_op = faults_per_op(o);
    const std::vector<KernelEntry> kernels = faulted_kernels(o, per_op);
    std::vector<Faults> faults(kernels.size());
    const auto list = [&](size_t i, const ProcessPool::Send &send) {
        if (kernels[i].backend == "ascend") {
            for (auto &f : faults_of_programs(kernels[i], o.seed + unsigned(i)))
                send(f);
            return;
        }
        Kernel k(op_table().make(kernels[i].op), instance_of(kernels[i]));
        for (auto &f : faults_of(k))
            send(f);
    };
    size_t listed = 0;
    pool_of(o).run(kernels.size(), list, [&](size_t i, const JobResult &r) {
        if (!r.has_returned())
            throw Error(kernels[i].op, "its faults can't be listed: the process " + r.how);
        faults[i] = r.messages;
        if (o.on_progress) o.on_progress(++listed, kernels.size(), "places in " + kernels[i].op);
    });
    return Chooser(kernels, faults, o.seed).choose(per_op);
}

}  // namespace

std::vector<Mutant> try_mutants(const MutantOptions &o) {
    list_kit_ops();
    // If the cache can't be opened, a private one is made here, which the processes then share.
    kernel_cache();
    const std::vector<Choice> chosen = choices(o);
    std::vector<Mutant> all(chosen.size());
    size_t tried = 0;
    pool_of(o).run(
        chosen.size(),
        [&](size_t i, const ProcessPool::Send &send) { MutantRunner(chosen[i], o, send).run(); },
        [&](size_t i, const JobResult &r) {
            all[i] = mutant_of(chosen[i], o, r);
            if (o.on_progress) o.on_progress(++tried, chosen.size(), all[i].text());
        });
    try_survivors(chosen, o, all);
    return all;
}

}  // namespace halyard::check

#include "tools/check/mutants.h"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <random>
#include <sstream>

#include "bench/harness/case.h"
#include "bench/harness/progress.h"
#include "dsl/all_ops.h"
#include "dsl/gpu/gpu_kernels.h"
#include "dsl/kernel.h"
#include "dsl/kernel_cache.h"
#include "dsl/kernel_faults.h"
#include "dsl/mutate.h"
#include "primitives/library.h"
#include "registry/base/parallel.h"
#include "registry/base/process_pool.h"
#include "registry/base/text.h"
#include "registry/dispatch/plan.h"
#include "registry/dispatch/planner.h"
#include "registry/dispatch/simulated.h"
#include "registry/op/extension.h"
#include "tools/check/fuzz.h"
#include "tools/check/kernel_sizes.h"
#include "tools/check/ulps.h"

namespace halyard::check {
namespace {

using Faults = std::vector<std::string>;

// The name that check_all_numbers() has in messages. It catches nothing.
constexpr const char *all_numbers = "all numbers";
// The name of the calls that are made of survivors only.
const std::string search_check = "search";
// The name of the part of `check --legality` that tries survivors only.
const std::string sanitizers = "legality";
constexpr unsigned search_seed = 77;  // other calls than those of the checks
// The kind of fault that matters only where both sides of a comparison are equal (dsl/mutate.cpp).
constexpr const char *wrong_comparison = "wrong-comparison";

Instance instance_of(const KernelEntry &k, const std::string &fault = "") {
    Instance i;
    if (k.backend == "cuda") i.backend = k.backend;
    i.dtypes = k.dtypes;
    i.variant = k.variant;
    i.isa = k.isa;
    i.fault = fault;
    return i;
}

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
        KernelEntry &k = all.emplace_back();
        k.op = name;
        k.backend = "cuda";
        k.dtypes = dtypes;
        k.variant = gpu::variant(*op);
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

// A fault to plant, with others of its kind in the same kernel, for when the compiler generates the
// same code for the first.
struct Choice {
    KernelEntry kernel;
    Faults candidates;
};

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

// Returns true if the check uses this kernel. Gradients are computed in the most exact dtypes,
// adjoints in f64, and modular integers replace f32.
bool uses_kernel(const std::string &check, const KernelEntry &k) {
    if (check == "device" || check == "legality") return false;  // other kernels
    if (check == "gradients") return k.dtypes == gradient_dtypes(library().at(k.op).record);
    if (check == "adjoints") return k.dtypes == "f64";
    return check != "exact" || k.dtypes.starts_with("f32");
}

// Returns true if the exact kernel lacks the fault's place, for example a rounding to f32. That
// finds nothing.
bool lacks_the_place(const std::string &failure) {
    return failure.find("no place for the fault") != std::string::npos;
}

// Returns the checks that use the kernel. If one finding is enough, those that find most per second
// come first.
NamedChecks checks_for(const KernelEntry &k, bool until_caught) {
    if (k.backend == "cuda") return {{"cuda", check_cuda}};
    static const std::vector<std::string> first = {"views", "fuzz", "reference", "exact"};
    NamedChecks all;
    for (auto &named : all_checks)
        if (uses_kernel(named.first, k)) all.push_back(named);
    const auto rank = [&](const NamedChecks::value_type &c) {
        return std::find(first.begin(), first.end(), c.first) - first.begin();
    };
    if (until_caught) {
        std::stable_sort(all.begin(), all.end(),
                         [&](auto &a, auto &b) { return rank(a) < rank(b); });
    }
    return all;
}

// Tries the mutants of a kernel, in a child process.
class MutantRunner {
public:
    MutantRunner(const Choice &c, const MutantOptions &o, const ProcessPool::Send &send)
        : MutantRunner(c, o, o.until_caught, send) {}
    MutantRunner(const Choice &c, const MutantOptions &o, bool until_caught,
                 const ProcessPool::Send &send)
        : choice_(c), random_calls_(o.random_calls), until_caught_(until_caught), send_(send) {}

    // Compiles the fault, replaces the right kernel by the faulty one and runs the checks. It sends
    // "fault ..." for what it tries, "same" or "compiled", "check ..." before each check and
    // "caught ..." after one that failed.
    void run() {
        set_threads(2);
        if (choice_.kernel.backend == "ascend") return run_programs(choice_.candidates[0]);
        if (choice_.candidates[0] == no_fault) {
            send_(std::string("fault ") + no_fault);
            send_("compiled");
            return run_checks(*op_table().make(choice_.kernel.op), "");
        }
        const std::string right = kernel("").object(symbol());
        for (auto &fault : choice_.candidates) {
            send_("fault " + fault);
            Kernel k = kernel(fault);
            try {
                if (k.object(symbol()) == right) {
                    send_("same");
                    continue;
                }
            } catch (const Error &e) {
                return send_("refused " + one_line(e.what()));
            }
            // The check of CUDA kernels compiles the fault itself.
            if (choice_.kernel.backend == "cpu") replace_by(k);
            send_("compiled");
            run_checks(*k.op, fault);
            if (was_caught_) return;
            if (changes_no_number(*k.op, fault)) return send_("unseen");
            if (kind_of(fault) == wrong_comparison && has_ulps(*k.op) && is_of_values(fault))
                send_("comparison");
            return;
        }
    }

    // Makes random calls of a kernel that aborts at the place of the fault. Sends "call ..." before
    // each, and "calls N" if none aborts.
    void search(const std::string &fault, int calls, double seconds) {
        set_threads(2);
        Kernel k = kernel(probe_of(fault));
        replace_by(k);
        Options o = options_for(fault);
        o.fuzz_cases = calls;
        o.kernel_sizes = kernel_sizes(kernel(""));
        o.seed = search_seed;
        const int made = make_random_calls(*k.op, o, seconds,
                                           [&](const FuzzCase &c) { send_("call " + c.text()); });
        send_("calls " + std::to_string(made));
    }

    // Makes the call of the faulty kernel with values of all kinds, and sends "caught ..." for the
    // first wrong result.
    void repeat(const std::string &fault, const std::string &call) {
        set_threads(2);
        Kernel k = kernel(fault);
        replace_by(k);
        send_("compiled");
        const FuzzCase found = parse_fuzz_case(*k.op, call);
        for (FuzzCase &c : with_other_values(found)) {
            send_("check " + search_check);
            const std::string wrong = run_fuzz_case(*k.op, c);
            if (!wrong.empty()) return send_("caught " + search_check + ": " + one_line(wrong));
        }
    }

    // Runs the op's samples on the faulty kernel under the sanitizers. Sends "caught ..." for what
    // they report, unless they report something about the right kernel too.
    void sanitize(const std::string &fault) {
        const OpPtr op = op_table().make(choice_.kernel.op);
        Report of_right, of_faulty;
        check_sanitized(*op, instance_of(choice_.kernel), of_right);
        if (of_right.failed) return;
        check_sanitized(*op, instance_of(choice_.kernel, fault), of_faulty);
        if (of_faulty.failed)
            send_("caught " + sanitizers + ": " + one_line(of_faulty.failures[0]));
    }

    // Runs the checks on a kernel that aborts at the place of the fault.
    void reach(const std::string &fault) {
        set_threads(2);
        Kernel k = kernel(probe_of(fault));
        replace_by(k);
        send_("compiled");
        run_checks(*k.op, probe_of(fault));
    }

private:
    // Returns the call with other random values, in each of the ways in which random calls are
    // filled.
    static std::vector<FuzzCase> with_other_values(const FuzzCase &c) {
        constexpr int seeds = 12;
        std::vector<FuzzCase> all = {c};
        for (int seed = 1; seed <= seeds; seed++) {
            FuzzCase plain = c;
            plain.specials = 0;
            plain.integers = plain.breakpoints = plain.constants = plain.lonely = false;
            plain.seed = seed;
            FuzzCase integers = plain, lonely = plain, breakpoints = plain;
            integers.integers = lonely.lonely = breakpoints.breakpoints = true;
            all.insert(all.end(), {plain, integers, lonely, breakpoints});
        }
        return all;
    }
    // Returns true for a changed value in a function of one 16-bit float, if every number in every
    // layout still has a result within the contract.
    bool changes_no_number(const Op &op, const std::string &fault) const {
        Report r;
        send_(std::string("check ") + all_numbers);
        if (choice_.kernel.backend != "cpu" || !check_all_numbers(op, options_for(fault), r) ||
            r.failed)
            return false;
        return is_of_values(fault);
    }
    bool is_of_values(const std::string &fault) const {
        Kernel right = kernel("");
        const Faults of_values = faults_of_values(right);
        return std::ranges::find(of_values, fault) != of_values.end();
    }
    Kernel kernel(const std::string &fault) const {
        return Kernel(op_table().make(choice_.kernel.op), instance_of(choice_.kernel, fault));
    }
    std::string symbol() const { return instance_of(choice_.kernel).symbol(choice_.kernel.op); }
    void replace_by(Kernel &k) const {
        KernelEntry entry = choice_.kernel;
        entry.fn = k.load();
        library().replace_kernel(entry);
    }
    // For "wrong-offset: vec_add #3 in sums 'n=3 c=7'": checks the call whose program gets the
    // fault.
    void run_programs(const std::string &fault) {
        send_("fault " + fault);
        const size_t in = fault.rfind(" in ");
        const size_t quote = fault.find('\'', in);
        Options o;
        o.dtypes = choice_.kernel.dtypes;
        o.sample = fault.substr(quote + 1, fault.size() - quote - 2);
        if (quote > in + 4) o.variant = fault.substr(in + 4, quote - in - 5);
        simulated_device().plant(fault.substr(0, in));
        send_("compiled");
        const OpPtr op = op_table().make(choice_.kernel.op);
        run_checks(*op, {{"ascend", check_ascend}}, o);
        if (was_caught_) return;
        const FaultyCalls found = try_other_values(*op, o, fault.substr(0, in));
        if (!found.wrong.empty())
            send_("caught " + search_check + ": " + one_line(found.wrong));
        else if (found.have_same_bits)
            send_("bits " + std::to_string(found.calls));
    }
    Options options_for(const std::string &fault) const {
        Options o;
        o.isas = {choice_.kernel.isa};
        o.dtypes = choice_.kernel.dtypes;
        o.variant = choice_.kernel.variant;
        o.fault = fault;
        o.fuzz_cases = random_calls_;
        o.shrink_seconds = 0;
        return o;
    }
    void run_checks(const Op &op, const std::string &fault) {
        Options o = options_for(fault);
        if (choice_.kernel.backend == "cpu") o.kernel_sizes = kernel_sizes(kernel(""));
        run_checks(op, checks_for(choice_.kernel, until_caught_), o);
    }
    void run_checks(const Op &op, const NamedChecks &checks, const Options &o) {
        for (auto &[name, check] : checks) {
            send_("check " + name);
            const std::string caught = "caught " + name + ": ";
            if (until_caught_) {
                set_failure_listener([&](const std::string &failure) {
                    if (lacks_the_place(failure)) return;
                    send_(caught + one_line(failure));
                    send_("stopped");
                    _exit(0);  // without the check's other failures
                });
            }
            Report r;
            r.op = choice_.kernel.op;
            try {
                check(op, o, r);
            } catch (const std::exception &e) {
                r.fail(std::string("threw ") + e.what());
            }
            if (!r.failed || lacks_the_place(r.failures[0])) continue;
            was_caught_ = true;
            send_(caught + one_line(r.failures[0]));
        }
        set_failure_listener(nullptr);
    }

    const Choice &choice_;
    const int random_calls_;
    const bool until_caught_;
    bool was_caught_ = false;
    const ProcessPool::Send &send_;
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

// Returns the processes that compile and check mutants, which may crash and hang. What they print
// is lost.
ProcessPool pool_of(const MutantOptions &o) {
    // A process may exceed its processor time by this factor on the clock, because other processes
    // use the machine.
    constexpr double patience = 10;
    return ProcessPool(size_t(std::max(0, o.at_once)), {patience * o.seconds, o.seconds},
                       ProcessPool::Output::discard);
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
        std::vector<OperandMeta> metas;
        for (const Tensor &t : c.in)
            metas.push_back(meta_of(t));
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

// Returns the indices of the surviving kernels of the CPU whose places a call is known to execute,
// or, without `reached`, of the others.
std::vector<size_t> survivors_on_cpu(const std::vector<Choice> &chosen,
                                     const std::vector<Mutant> &all, bool reached) {
    std::vector<size_t> indices;
    for (size_t i = 0; i < all.size(); i++) {
        if (all[i].status == Mutant::survived && all[i].reached == reached &&
            chosen[i].kernel.backend == "cpu")
            indices.push_back(i);
    }
    return indices;
}

// Finds for every survivor whether the checks execute its place: a program that aborts there must
// end them.
void find_reached(const std::vector<Choice> &chosen, const MutantOptions &o,
                  std::vector<Mutant> &all) {
    const std::vector<size_t> survivors = survivors_on_cpu(chosen, all, false);
    pool_of(o).run(
        survivors.size(),
        [&](size_t i, const ProcessPool::Send &send) {
            MutantRunner(chosen[survivors[i]], o, true, send).reach(all[survivors[i]].fault);
        },
        [&](size_t i, const JobResult &r) {
            Mutant &m = all[survivors[i]];
            m.reached = r.signal == SIGABRT;
            if (!m.reached || !m.compares_one_number) return;
            m.status = Mutant::equivalent;
            m.output = "checks compare equal numbers there, and the results are within the "
                       "contract";
        });
}

// Returns what follows the last message that begins with `word`; "" if there is none.
std::string last_message(const JobResult &r, const std::string &word) {
    const auto last = std::find_if(
        r.messages.rbegin(), r.messages.rend(),
        [&](const std::string &line) { return line.starts_with(word + " "); });
    return last == r.messages.rend() ? "" : last->substr(word.size() + 1);
}

// Tries the sanitizers on the survivors whose places are executed: they see races and accesses out
// of bounds that leave the results right.
void try_sanitizers(const std::vector<Choice> &chosen, const MutantOptions &o,
                    std::vector<Mutant> &all) {
    const std::vector<size_t> survivors = survivors_on_cpu(chosen, all, true);
    pool_of(o).run(
        survivors.size(),
        [&](size_t i, const ProcessPool::Send &send) {
            MutantRunner(chosen[survivors[i]], o, send).sanitize(all[survivors[i]].fault);
        },
        [&](size_t i, const JobResult &r) {
            const std::string found = last_message(r, "caught");
            if (found.empty()) return;
            Mutant &m = all[survivors[i]];
            m.status = Mutant::caught;
            m.caught_by.push_back(sanitizers);
            m.output = found;
        });
}

// Searches a call that executes the place of each survivor that no check reaches, and makes it with
// many values. A survivor for which there is none becomes `unreached`.
void search_calls(const std::vector<Choice> &chosen, const MutantOptions &o,
                  std::vector<Mutant> &all) {
    const std::vector<size_t> survivors = survivors_on_cpu(chosen, all, false);
    std::map<size_t, std::string> calls;
    pool_of(o).run(
        survivors.size(),
        [&](size_t i, const ProcessPool::Send &send) {
            MutantRunner(chosen[survivors[i]], o, send)
                .search(all[survivors[i]].fault, o.search_calls, o.search_seconds);
        },
        [&](size_t i, const JobResult &r) {
            Mutant &m = all[survivors[i]];
            if (r.signal == SIGABRT) {
                m.reached = true;
                m.output = last_message(r, "call");
                calls[survivors[i]] = m.output;
            } else if (const std::string made = last_message(r, "calls"); !made.empty()) {
                m.status = Mutant::unreached;
                m.output = "none of " + made + " random calls of the kernel executes its place";
            }
        });
    const std::vector<std::pair<size_t, std::string>> found(calls.begin(), calls.end());
    pool_of(o).run(
        found.size(),
        [&](size_t i, const ProcessPool::Send &send) {
            const auto &[survivor, call] = found[i];
            MutantRunner(chosen[survivor], o, send).repeat(all[survivor].fault, call);
        },
        [&](size_t i, const JobResult &r) {
            Mutant &m = all[found[i].first];
            const std::string wrong = last_message(r, "caught");
            if (r.has_returned() && wrong.empty()) return;
            m.status = Mutant::caught;
            m.caught_by.push_back(search_check);
            m.output = wrong.empty() ? r.how + " in " + found[i].second : wrong;
        });
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

std::string Mutant::kind() const {
    return kind_of(fault);
}

const char *name_of(Mutant::Status status) {
    switch (status) {
    case Mutant::caught: return "caught";
    case Mutant::survived: return "survived";
    case Mutant::equivalent: return "equivalent";
    case Mutant::unreached: return "unreached";
    case Mutant::same_code: return "same code";
    case Mutant::refused: break;
    }
    return "refused";
}

std::vector<Mutant> try_mutants(const MutantOptions &o) {
    if (op_table().names().empty()) list_all_ops(op_table());
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
    find_reached(chosen, o, all);
    try_sanitizers(chosen, o, all);
    search_calls(chosen, o, all);
    return all;
}

}  // namespace halyard::check

#include "tools/check/mutant_runner.h"

#include <unistd.h>

#include <algorithm>

#include "bench/harness/progress.h"
#include "dsl/all_ops.h"
#include "dsl/kernel_faults.h"
#include "dsl/mutate.h"
#include "registry/base/parallel.h"
#include "registry/base/text.h"
#include "registry/dispatch/simulated.h"
#include "tools/check/fuzz.h"
#include "tools/check/kernel_sizes.h"
#include "tools/check/ulps.h"

namespace halyard::check {
namespace {

// The kind of fault that matters only where both sides of a comparison are equal (dsl/mutate.cpp).
constexpr const char *wrong_comparison = "wrong-comparison";

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

// Returns the call with other random values, in each of the ways in which random calls are
// filled.
std::vector<FuzzCase> with_other_values(const FuzzCase &c) {
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

}  // namespace

Instance instance_of(const KernelEntry &k, const std::string &fault) {
    Instance i;
    if (k.backend == "cuda") i.backend = k.backend;
    i.dtypes = k.dtypes;
    i.variant = k.variant;
    i.isa = k.isa;
    i.fault = fault;
    return i;
}

ProcessPool pool_of(const MutantOptions &o) {
    // A process may exceed its processor time by this factor on the clock, because other processes
    // use the machine.
    constexpr double patience = 10;
    return ProcessPool(size_t(std::max(0, o.at_once)), {patience * o.seconds, o.seconds},
                       ProcessPool::Output::discard);
}

void MutantRunner::run() {
    set_threads(2);
    if (choice_.kernel.backend == "ascend") return run_programs(choice_.candidates[0]);
    if (choice_.candidates[0] == no_fault) {
        send_(std::string("fault ") + no_fault);
        send_("compiled");
        const OpPtr op = op_table().make(choice_.kernel.op);
        run_checks(*op, "");
        changes_no_number(*op, "");
        return;
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

void MutantRunner::search(const std::string &fault, int calls, double seconds, unsigned seed) {
    Kernel k = kernel(probe_of(fault));
    replace_by(k);
    Options o = options_for(fault);
    o.fuzz_cases = calls;
    o.kernel_sizes = kernel_sizes(kernel(""));
    o.seed = seed;
    const int made = make_random_calls(*k.op, o, seconds,
                                       [&](const FuzzCase &c) { send_("call " + c.text()); });
    send_("calls " + std::to_string(made));
}

void MutantRunner::repeat(const std::string &fault, const std::vector<std::string> &calls) {
    Kernel k = kernel(fault);
    replace_by(k);
    for (auto &call : calls) {
        for (FuzzCase &c : with_other_values(parse_fuzz_case(*k.op, call))) {
            send_("check " + search_check);
            const std::string wrong = run_fuzz_case(*k.op, c);
            if (!wrong.empty())
                return send_("caught " + search_check + ": '" + c.text() + "': " + one_line(wrong));
        }
    }
}

void MutantRunner::compare(const std::string &fault, double seconds) {
    Kernel k = kernel(fault);
    replace_by(k);
    Options o = options_for(fault);
    o.kernel_sizes = kernel_sizes(kernel(""));
    o.seed = search_seed;
    o.fuzz_seconds = seconds;
    run_checks(*k.op, {{search_check, check_fuzz}}, o);
}

void MutantRunner::sanitize(const std::string &fault, const std::vector<std::string> &calls) {
    const OpPtr op = op_table().make(choice_.kernel.op);
    for (auto &call : calls)
        op->samples.push_back(text_of(parse_fuzz_case(*op, call).sample));
    Report of_right, of_faulty;
    check_sanitized(*op, instance_of(choice_.kernel), of_right);
    if (of_right.failed) return;
    check_sanitized(*op, instance_of(choice_.kernel, fault), of_faulty);
    if (of_faulty.failed) send_("caught " + sanitizers + ": " + one_line(of_faulty.failures[0]));
}

void MutantRunner::reach(const std::string &fault) {
    Kernel k = kernel(probe_of(fault));
    replace_by(k);
    send_("compiled");
    run_checks(*k.op, probe_of(fault));
}

void MutantRunner::spoil(const std::string &fault) {
    NamedChecks checks = checks_for(choice_.kernel, until_caught_);
    std::erase_if(checks, [](auto &c) { return c.first == "exact"; });  // of other numbers
    Options o = options_for(fault);
    o.kernel_sizes = kernel_sizes(kernel(""));
    for (auto &spoiler : spoilers_of(fault)) {
        Kernel k = kernel(spoiler);
        try {
            replace_by(k);
        } catch (const Error &) {  // the fault changes no float
            return;
        }
        run_checks(*k.op, checks, o);
        if (was_caught_) return;
    }
    send_("unused");
}

// Returns true for a changed value in a function of one 16-bit float, if every number in every
// layout still has a result within the contract. Sends a number that hasn't as a finding.
bool MutantRunner::changes_no_number(const Op &op, const std::string &fault) {
    Report r;
    send_(std::string("check ") + all_numbers);
    if (choice_.kernel.backend == "cuda") {
        // check_cuda() has tried all of them.
        return is_half_float(choice_.kernel.dtypes) && has_ulps(op) && is_of_values(fault);
    }
    if (choice_.kernel.backend != "cpu" || !check_all_numbers(op, options_for(fault), r))
        return false;
    if (r.failed) send_("caught " + search_check + ": " + one_line(r.failures[0]));
    return !r.failed && is_of_values(fault);
}

bool MutantRunner::is_of_values(const std::string &fault) const {
    Kernel right = kernel("");
    const Faults of_values = faults_of_values(right);
    return std::ranges::find(of_values, fault) != of_values.end();
}

Kernel MutantRunner::kernel(const std::string &fault) const {
    return Kernel(op_table().make(choice_.kernel.op), instance_of(choice_.kernel, fault));
}

std::string MutantRunner::symbol() const {
    return instance_of(choice_.kernel).symbol(choice_.kernel.op);
}

void MutantRunner::replace_by(Kernel &k) const {
    set_threads(2);
    KernelEntry entry = choice_.kernel;
    entry.fn = k.load();
    library().replace_kernel(entry);
}

// For "wrong-offset: vec_add #3 in sums 'n=3 c=7'": checks the call whose program gets the
// fault.
void MutantRunner::run_programs(const std::string &fault) {
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

Options MutantRunner::options_for(const std::string &fault) const {
    Options o;
    o.isas = {choice_.kernel.isa};
    o.dtypes = choice_.kernel.dtypes;
    o.variant = choice_.kernel.variant;
    o.fault = fault;
    o.fuzz_cases = random_calls_;
    o.shrink_seconds = 0;
    return o;
}

void MutantRunner::run_checks(const Op &op, const std::string &fault) {
    Options o = options_for(fault);
    if (choice_.kernel.backend == "cpu") o.kernel_sizes = kernel_sizes(kernel(""));
    run_checks(op, checks_for(choice_.kernel, until_caught_), o);
}

void MutantRunner::run_checks(const Op &op, const NamedChecks &checks, const Options &o) {
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

}  // namespace halyard::check

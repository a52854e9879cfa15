// Checks the ops of a kit for another machine against the references. `halyard check --device
// aarch64` runs it.
#include <set>

#include "bench/harness/case.h"
#include "bench/harness/progress.h"
#include "registry/dispatch/dispatch.h"
#include "tools/check/check.h"
#include "tools/check/fills.h"
#include "tools/check/other_values.h"
#include "tools/check/remote_kit.h"
#include "tools/check/specials.h"

namespace halyard::check {
namespace {

constexpr int64_t few_elements = 20'000;     // of calls that are repeated with other values
constexpr int64_t bytes_at_once = 32 << 20;  // of tensors that the program is given
constexpr int many_runs = 4096;              // that it is given at once

// A call, and what its results are compared with.
struct Run {
    Case of;
    std::string variant, where;
    bool has_specials = false;  // among the inputs
    std::string refusal = {};   // the error that this machine gives for the call
};

class RemoteCheck {
public:
    RemoteCheck(const Op &op, const RemoteKit &kit, const Options &o, Report &r)
        : op_(op), kit_(kit), options_(o), r_(r) {}

    // The program takes half a second to start in an emulator, so it is given many calls at once.
    void run_all() {
        std::vector<std::pair<std::string, std::set<std::string>>> all;
        for (const std::string &dtypes : op_.dtypes) {
            if (options_.dtypes.empty() || dtypes == options_.dtypes)
                all.emplace_back(dtypes, variants_of(dtypes));
        }
        for (const auto &[dtypes, variants] : all) {
            if (variants.empty()) r_.fail(dtypes, "the kit has no kernel for these dtypes");
            for (const std::string &sample :
                 options_.quick ? quick_samples_of(op_, dtypes) : op_.samples)
                add_sample(sample, dtypes, variants);
        }
        if (op_.form != Form::composite) add_empty_calls();
        end();
        if (options_.quick) return;
        for (const auto &[dtypes, variants] : all) {
            for (const std::string &variant : variants)
                if (!reached_.contains({dtypes, variant})) unreached(dtypes, variant);
        }
    }

private:
    bool is_composite() const { return op_.form == Form::composite; }

    std::set<std::string> variants_of(const std::string &dtypes) const {
        if (is_composite()) return {""};
        std::set<std::string> variants;
        for (const KernelEntry &k : kit_.kernels(op_.name))
            if (k.dtypes == dtypes) variants.insert(k.variant);
        return variants;
    }

    void add_sample(const std::string &sample, const std::string &dtypes,
                    const std::set<std::string> &variants) {
        const std::string where = dtypes + " '" + sample + "'";
        begin_step(where);
        Case c(op_, sample, dtypes, 1);
        c.solve(op_);
        add({c, "", where}, variants);
        if (is_composite() || input_elements(c) > few_elements) return;
        add({with_values(op_, c, true, 1), "", where + ", numbers where it bends"}, variants);
        add({with_values(op_, c, false, 11), "", where + ", other values"}, variants);
        if (!is_float(c.out_dtypes[0])) return;
        add({with_specials(op_, c, int(input_elements(c) / 4 + 16), true, 3), "",
             where + ", special values", true},
            variants);
    }

    // Calls with each dimension 0: the result is the reference's, or the error this machine's.
    void add_empty_calls() {
        const std::string &dtypes = options_.dtypes.empty() ? op_.dtypes[0] : options_.dtypes;
        const Sample first = parse_sample(op_, op_.samples[0]);
        for (auto &[name, extent] : first.dims) {
            Sample s = first;
            s.dims[name] = 0;
            const std::string text = text_of(s);
            try {
                Case c(op_, text, dtypes, 3);
                const std::string refusal = refusal_of(c);
                if (refusal.empty()) c.solve(op_);
                add({c, "", "'" + text + "'", false, refusal}, {""});
            } catch (const Error &) {
                r_.skip("zero sizes that its own shape rule refuses");
            }
        }
    }

    // Returns this machine's error for the call; "" if it accepts it.
    static std::string refusal_of(const Case &c) {
        try {
            dispatch(c.registered, c.in, c.attrs);
        } catch (const Error &e) {
            return e.what();
        }
        return "";
    }

    void add(const Run &run, const std::set<std::string> &variants) {
        for (const std::string &variant : variants) {
            calls_.push_back({op_.name, run.of.attrs.exact_texts(), variant, run.of.in, {}});
            for (const Tensor &t : run.of.in)
                waiting_ += t.defined() ? int64_t(t.bytes()) : 0;
            for (size_t k = 0; !is_composite() && k < run.of.out_dtypes.size(); k++) {
                const Shape shape = run.of.output_shape(k);
                const Tensor out = poisoned(shape.elements(), run.of.out_dtypes[k]);
                calls_.back().out.push_back(out.reshape(shape));
                waiting_ += int64_t(out.bytes());
            }
            runs_.push_back(run);
            runs_.back().variant = variant;
        }
        if (waiting_ > bytes_at_once || runs_.size() > many_runs) end();
    }

    // Runs what waits.
    void end() {
        if (runs_.empty()) return;
        begin_step(runs_[0].where + " and " + std::to_string(runs_.size() - 1) + " more, remotely");
        const std::vector<calls::Result> results = kit_.run(calls_);
        for (size_t k = 0; k < runs_.size(); k++)
            judge(runs_[k], results[k]);
        calls_.clear();
        runs_.clear();
        waiting_ = 0;
    }

    void judge(const Run &run, const calls::Result &result) {
        const std::string where = run.where + (run.variant.empty() ? "" : " " + run.variant);
        if (!run.refusal.empty() || !result.error.empty()) {
            // A variant has a condition, which not every sample satisfies.
            const bool may_refuse = result.has_no_kernel && run.refusal.empty();
            if (!may_refuse)
                r_.expect(where, result.error == run.refusal
                                     ? ""
                                     : result.error + ", expected '" + run.refusal + "'");
            return;
        }
        reached_.insert({run.of.dtypes, run.variant});
        if (result.out.size() != op_.sig.outputs.size())
            return r_.fail(where, "has " + std::to_string(result.out.size()) + " results");
        for (size_t k = 0; k < result.out.size(); k++)
            r_.expect(where, error_of(run, k, result.out[k]));
    }

    std::string error_of(const Run &run, size_t k, const Tensor &result) const {
        const TensorSpec &y = op_.sig.outputs[k];
        const Tensor got = is_composite() ? result : run.of.as_in_signature(y, result);
        if (run.has_specials && !is_exact(op_))
            return compare_specials(y.name, got, run.of.problem);
        return compare(op_, y.name, got, run.of.problem);
    }

    // Fails unless no shape satisfies the variant's condition with the vectors of its highest
    // level, whose kernel a call gets.
    void unreached(const std::string &dtypes, const std::string &variant) {
        const KernelEntry *highest = nullptr;
        for (const KernelEntry &k : kit_.kernels(op_.name)) {
            const bool is_higher = !highest || k.isa > highest->isa;
            if (k.dtypes == dtypes && k.variant == variant && is_higher) highest = &k;
        }
        if (highest && can_run(op_, *highest)) {
            r_.fail(dtypes + "/" + name_of(highest->isa) + "/" + variant,
                    "no sample reaches this variant");
        }
    }

    const Op &op_;
    const RemoteKit &kit_;
    const Options &options_;
    Report &r_;
    std::vector<calls::Call> calls_;
    std::vector<Run> runs_;
    int64_t waiting_ = 0;
    std::set<std::pair<std::string, std::string>> reached_;
};

}  // namespace

void check_remote(const Op &op, const Options &o, Report &r) {
    RemoteCheck(op, o.kit ? *o.kit : aarch64_kit("check"), o, r).run_all();
}

}  // namespace halyard::check

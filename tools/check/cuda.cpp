// Runs an op's CUDA kernels on the PTX machine, which needs no GPU (gpu/machine/machine.h), through
// the device run time: only the driver below it is the model. Results are compared with the
// reference, and what the machine finds is a failure.
#include <algorithm>
#include <functional>
#include <memory>

#include "bench/harness/case.h"
#include "bench/harness/progress.h"
#include "dsl/gpu/gpu_kernels.h"
#include "primitives/library.h"
#include "registry/dispatch/device.h"
#include "registry/dispatch/force.h"
#include "registry/dispatch/planner.h"
#include "tools/check/check.h"
#include "tools/check/cuda_model.h"
#include "tools/check/fuzz.h"
#include "tools/check/record.h"
#include "tools/check/specials.h"
#include "tools/check/stages.h"

namespace halyard::check {
namespace {

// The CUDA kernel of a variant for one set of dtypes. It is registered, so that dispatch finds it.
class CudaKernel {
public:
    CudaKernel(const Op &op, const std::string &dtypes, const std::string &variant,
               const Options &o)
        : op_(op), options_(o), kernel_(op_table().make(op.name), instance(dtypes, variant, o)),
          stages_(stages_of(kernel_)) {
        const Instance &i = kernel_.instance;
        for (const KernelEntry &k : library().at(op.name).kernels)
            if (k.backend == i.backend && k.dtypes == i.dtypes && k.variant == variant) return;
        library().add_kernel({op.name, i.backend, i.dtypes, i.variant, i.isa, kernel_.lanes,
                              i.tunables.values(), kernel_.load()});
    }

    bool is_asked() const { return is_asked(options_, kernel_.instance.variant); }

    void check_sample(const std::string &sample, Report &r) {
        const bool is_alone = op_.gpu_variants.empty();
        const std::string what = "cuda " + kernel_.instance.dtypes +
                                 (is_alone ? "" : "/" + kernel_.instance.variant) + " '" + sample +
                                 "'";
        Case c(op_, sample, kernel_.instance.dtypes, 6);
        // Dispatch never sends empty tensors to a device.
        if (has_empty_tensor(c)) return;
        const Force force(host_isa(), kernel_.instance.variant, "cuda");
        if (!takes(c)) return;
        c.solve(op_);
        watched(what, r, [&] {
            begin_step(what);
            const std::vector<Tensor> results = dispatch(c.registered, c.in, c.attrs);
            for (size_t k = 0; k < results.size(); k++) {
                const TensorSpec &y = op_.sig.outputs[k];
                const Tensor got = c.as_in_signature(y, results[k]);
                r.expect(what, compare(op_, y.name, got, c.problem));
            }
        });
    }

    // Passes over a sample whose extents the op doesn't take together.
    void check_if_valid(const std::string &sample, Report &r) {
        try {
            const Case valid(op_, sample, kernel_.instance.dtypes, 6);
        } catch (const Error &) {
            return;
        }
        check_sample(sample, r);
    }

    void check_specials(Report &r) {
        watched("specials", r, [&] {
            check_specials_at({{"cuda", host_isa(), "cuda"}}, op_, kernel_.instance.dtypes, r);
        });
    }
    void check_exact(Report &r) {
        if (!is_f32()) return;
        Options o = options_;
        o.variant = kernel_.instance.variant;
        watched("exact", r, [&] { check_exact_cuda(op_, o, r); });
    }
    // Random calls, and every number of 16-bit formulas.
    void check_calls(Report &r) {
        Options o = options_;
        o.device = "cuda";
        o.dtypes = kernel_.instance.dtypes;
        o.variant = op_.gpu_variants.empty() ? "" : kernel_.instance.variant;
        check_fuzz(op_, o, r);
        check_numbers_on_device(op_, o, r);
    }

private:
    static Instance instance(const std::string &dtypes, const std::string &variant,
                             const Options &o) {
        Instance i;
        i.backend = "cuda";
        i.dtypes = dtypes;
        i.variant = variant;
        if (is_asked(o, variant)) i.fault = o.fault;
        return i;
    }

    static bool is_asked(const Options &o, const std::string &variant) {
        return o.variant.empty() || o.variant == variant;
    }

    // Returns false if the variant's condition rejects the call.
    static bool takes(const Case &c) {
        try {
            const std::vector<OperandMeta> metas = metas_of(c.in);
            make_plan(c.registered, metas, c.attrs);
        } catch (const DispatchError &) {
            return false;
        }
        return true;
    }

    bool is_f32() const { return kernel_.instance.dtypes == "f32"; }

    // Runs a part of the check. Fails for what the machine found meanwhile; an error is its
    // consequence.
    void watched(const std::string &what, Report &r, const std::function<void()> &part) const {
        std::string error;
        try {
            part();
        } catch (const Error &e) {
            error = e.what();
            release_devices();  // the context is lost with the launch that failed
        }
        const std::vector<std::string> found = cuda_findings();
        for (const std::string &line : found)
            r.fail(what, explained_line(line));
        if (!error.empty() && found.empty()) r.fail(what, error);
    }

    // Adds the Func, and where its schedule stands, to a line with the name of a kernel:
    // "race in KERNEL, line 12 ...".
    std::string explained_line(const std::string &line) const {
        const size_t in = line.find(" in ");
        const size_t end = line.find(", line ");
        if (in == std::string::npos || end == std::string::npos || in > end) return line;
        const std::string kernel = line.substr(in + 4, end - in - 4);
        return line.substr(0, in + 4) + explained(stages_, kernel) + line.substr(end);
    }

    const Op &op_;
    const Options &options_;
    Kernel kernel_;
    const std::vector<Stage> stages_;
};

// Returns the sample with another extent of a dimension.
std::string with_extent(const Sample &s, const std::string &dimension, int64_t extent) {
    Sample other = s;
    other.dims[dimension] = extent;
    return text_of(other);
}

// Samples are small: of many ops none fills a block of 128 threads, for which kernels have loops of
// their own. Returns a sample with each of its dimensions in turn as long as a block and a bit, and
// with rows of more than 64 x 64 terms, for which sums have one level more.
std::vector<std::string> longer_samples(const Op &op) {
    constexpr int64_t more_than_a_block = 131, long_row = 4099;
    const Sample s = parse_sample(op, op.samples[std::min<size_t>(1, op.samples.size() - 1)]);
    std::vector<std::string> all;
    for (auto &[name, extent] : s.dims) {
        all.push_back(with_extent(s, name, more_than_a_block));
        const bool is_reduced = op.form == Form::reduction ? name == "r" || name == "s"
                                                           : name == op.axis;
        if (is_reduced) all.push_back(with_extent(s, name, long_row));
    }
    return all;
}

}  // namespace

namespace {

// Returns the op's kernels of the dtypes that the options ask for, those of all variants: calls
// that do not choose one find theirs.
std::vector<std::unique_ptr<CudaKernel>> cuda_kernels(const Op &op, const Options &o) {
    std::vector<std::unique_ptr<CudaKernel>> all;
    if (op.form == Form::composite) return all;
    open_cuda_model();
    for (const std::string &dtypes : op.dtypes) {
        if (!gpu::has_kernel(op, dtypes) || !(o.dtypes.empty() || dtypes == o.dtypes)) continue;
        for (const std::string &variant : gpu::variants(op))
            all.push_back(std::make_unique<CudaKernel>(op, dtypes, variant, o));
    }
    return all;
}

}  // namespace

void check_cuda(const Op &op, const Options &o, Report &r) {
    for (const auto &kernel : cuda_kernels(op, o)) {
        if (!kernel->is_asked()) continue;
        for (const std::string &sample : op.samples)
            kernel->check_sample(sample, r);
        for (const std::string &sample : longer_samples(op))
            kernel->check_if_valid(sample, r);
        kernel->check_specials(r);
        kernel->check_exact(r);
        kernel->check_calls(r);
    }
}

void check_cuda_calls(const Op &op, const Options &o, Report &r) {
    for (const auto &kernel : cuda_kernels(op, o))
        if (kernel->is_asked()) kernel->check_calls(r);
}

std::string run_cuda_call(const Op &op, const FuzzCase &c) {
    Options o;
    o.dtypes = c.dtypes;
    cuda_kernels(op, o);
    return run_fuzz_case(op, c);
}

}  // namespace halyard::check

#include "tools/halyard/backends.h"

#include <algorithm>
#include <map>

#include "dsl/all_ops.h"
#include "dsl/gpu/gpu_kernels.h"
#include "dsl/kernel.h"
#include "registry/base/program.h"
#include "registry/base/text.h"
#include "tools/halyard/rejections.h"

namespace halyard::command {
namespace {

// Returns true if this set of dtypes, such as "f32,i64", has one that the chip's vector unit lacks.
bool chip_lacks(const std::string &dtypes) {
    const auto has = [&](const char *name) {
        return ("," + dtypes + ",").find(std::string(",") + name + ",") != std::string::npos;
    };
    return has("f64") || has("bf16") || has("i64");
}

bool has_kernel(const OpInfo &op, const std::string &backend, const std::string &dtypes) {
    return std::ranges::any_of(*op.kernels, [&](const KernelEntry &k) {
        return k.backend == backend && k.dtypes == dtypes;
    });
}

// Returns true if an op without a reason against it has a CUDA kernel: Halide accepts its schedule.
bool has_cuda_kernel(const std::string &op, const std::string &dtypes) {
    try {
        Instance i;
        i.backend = "cuda";
        i.dtypes = dtypes;
        for (const std::string &variant : gpu::variants(*op_table().make(op))) {
            i.variant = variant;
            const Kernel scheduled(op_table().make(op), i);
        }
    } catch (const Error &) {
        return false;
    }
    return true;
}

Backend with_kernels(const OpInfo &op, const std::string &name) {
    Backend b;
    b.name = name;
    std::vector<std::string> missing;
    for (const std::string &dtypes : op.record->dtypes) {
        (has_kernel(op, name, dtypes) ? b.dtypes : missing).push_back(dtypes);
    }
    if (b.dtypes.empty()) {
        b.why_not.push_back("no kernels in this build");
    } else if (!missing.empty()) {
        b.why_not.push_back("no kernels in this build for " + join(missing, " "));
    }
    return b;
}

Backend ascend(const OpInfo &op) {
    static const std::map<std::string, std::string> refused = read_rejections(
        installed("share/halyard/ascend_refused.txt"));
    Backend b;
    b.name = "ascend";
    std::vector<std::string> lacking;
    for (const std::string &dtypes : op.record->dtypes) {
        if (chip_lacks(dtypes)) {
            lacking.push_back(dtypes);
            continue;
        }
        b.dtypes.push_back(dtypes);
        const auto it = refused.find(op.record->name + " " + dtypes);
        if (it == refused.end()) continue;
        b.why_not.push_back("some calls in " + dtypes + " have no program: " + it->second);
        b.not_all_calls = true;
    }
    if (!lacking.empty()) b.why_not.push_back("the chip has no " + join(lacking, " "));
    return b;
}

Backend of_its_parts(const std::string &name) {
    Backend b;
    b.name = name;
    b.why_not.push_back("composed of other ops: each of them runs where it can");
    return b;
}

}  // namespace

std::vector<Backend> backends_of(const OpInfo &op) {
    if (op.record->form != Form::composite)
        return {with_kernels(op, "cpu"), with_kernels(op, "opencl"), ascend(op)};
    Backend cpu;
    cpu.name = "cpu";
    cpu.dtypes = op.record->dtypes;
    return {cpu, of_its_parts("opencl"), of_its_parts("ascend")};
}

std::vector<MissingKernel> missing_kernels(const OpInfo &op, const std::string &device) {
    list_kit_ops();
    const std::string &name = op.record->name;
    const OpPtr source = op_table().make(name);
    std::vector<MissingKernel> all;
    for (const std::string &dtypes : op.record->dtypes) {
        if (!has_kernel(op, "cpu", dtypes)) continue;
        const std::string why = source ? gpu::no_kernel_reason(*source, dtypes) : "";
        const bool has = device == "cuda" ? source && why.empty() && has_cuda_kernel(name, dtypes)
                                          : has_kernel(op, device, dtypes);
        if (!has) all.push_back({dtypes, why});
    }
    return all;
}

}  // namespace halyard::command

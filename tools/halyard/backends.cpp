#include "tools/halyard/backends.h"

#include <algorithm>
#include <map>

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

Backend with_kernels(const OpInfo &op, const std::string &name) {
    Backend b;
    b.name = name;
    std::vector<std::string> missing;
    for (const std::string &dtypes : op.record->dtypes) {
        const bool has = std::any_of(
            op.kernels->begin(), op.kernels->end(),
            [&](const KernelEntry &k) { return k.backend == name && k.dtypes == dtypes; });
        (has ? b.dtypes : missing).push_back(dtypes);
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

}  // namespace halyard::command

#include "dsl/gpu/gpu_kernels.h"

#include <algorithm>
#include <sstream>

#include "registry/base/text.h"

namespace halyard::gpu {

std::string no_kernel_reason(const Op &op, const std::string &dtypes) {
    if (op.form == Form::composite) return "it is composed of other ops";
    if (!op.gpu) return "its op file asks for none";
    if (std::ranges::find(op.dtypes, dtypes) == op.dtypes.end())
        return "its dtypes are " + join(op.dtypes);
    std::istringstream words(dtypes);
    for (std::string dtype; std::getline(words, dtype, ',');) {
        if (dtype == "f64") return "few GPUs compute f64 faster than the CPU does";
    }
    return "";
}

std::vector<std::string> variants(const OpRecord &op) {
    if (op.gpu_variants.empty()) return {op.variants.back().name};
    std::vector<std::string> names;
    for (const VariantSpec &v : op.gpu_variants)
        names.push_back(v.name);
    return names;
}

}  // namespace halyard::gpu

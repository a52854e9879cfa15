#include "tools/export/runtime/host.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <sstream>

#include "registry/dispatch/planner.h"
#include "registry/op/op_files.h"

namespace halyard::host {

const Registry &ops() {
    static Registry &all = []() -> Registry & {
        registry().add(op_files());
        return registry();
    }();
    return all;
}

const std::string &library_name() {
    static const std::string &name = op_files().front()->name;
    return name;
}

std::vector<TensorMeta> infer(const RegisteredOp &op, const std::vector<TensorMeta> &in,
                              const Attrs &attrs) {
    std::vector<OperandMeta> metas;
    for (const TensorMeta &t : in)
        metas.push_back({t.dtype, t.shape, t.strides});
    const Plan plan = make_plan(op, metas, attrs);
    std::vector<TensorMeta> out;
    for (const Plan::Output &o : plan.outputs)
        out.push_back({o.dtype, o.shape, dense_strides(o.shape)});
    return out;
}

CallDTypes dtypes_of(const RegisteredOp &op, const std::string &set) {
    std::vector<std::string> bound;
    std::istringstream words(set);
    for (std::string word; std::getline(words, word, ',');)
        bound.push_back(word);
    std::map<std::string, DType> variables;
    const auto dtype = [&](const TensorSpec &t) {
        if (!is_type_variable(t.dtype)) return dtype_of(t.dtype);
        const size_t place = std::min(variables.size(), bound.size() - 1);
        return variables.emplace(t.dtype, dtype_of(bound[place])).first->second;
    };
    CallDTypes all;
    std::ranges::transform(op.signature.inputs, std::back_inserter(all.inputs), dtype);
    std::ranges::transform(op.signature.outputs, std::back_inserter(all.outputs), dtype);
    return all;
}

}  // namespace halyard::host

#include "dsl/ascend/algorithm.h"

#include <algorithm>
#include <sstream>

#include "dsl/ascend/schedule.h"
#include "dsl/op.h"
#include "registry/base/error.h"
#include "registry/op/expr.h"
#include "registry/op/signature.h"

namespace halyard::ascend {
namespace {

// Returns why the condition doesn't hold; "" if it holds.
std::string unfulfilled(const std::string &condition, const Dims &values) {
    std::stringstream words(condition);
    for (std::string word; words >> word;) {
        const ParsedExpr parsed(word, "condition");
        for (auto &name : parsed.names())
            if (!values.count(name)) return word + ": an Ascend program has no " + name;
        std::string why;
        if (!holds(word, values, &why)) return why;
    }
    return "";
}

}  // namespace

std::string algorithm_for(const Op &op, int lanes, const FixedCall &call) {
    Dims values = call.dims;
    values["lanes"] = lanes;
    std::string reasons;
    for (auto v = op.variants.rbegin(); v != op.variants.rend(); ++v) {
        const std::string why = unfulfilled(v->when, values);
        if (why.empty()) return v->name;
        reasons += "; " + v->name + " needs " + why;
    }
    throw DispatchError(op.name,
                        "no Ascend program: none of its algorithms takes this call" + reasons);
}

}  // namespace halyard::ascend

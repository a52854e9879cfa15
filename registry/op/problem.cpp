#include "registry/op/problem.h"

#include "registry/base/error.h"
#include "registry/base/text.h"

namespace halyard {

void Array::throw_no_element(std::initializer_list<int64_t> index) const {
    std::vector<std::string> indices;
    for (int64_t i : index)
        indices.push_back(std::to_string(i));
    throw ShapeError("reference",
                     "reads element (" + join(indices) + ") of a tensor of shape " + shape.text());
}

void Problem::throw_unknown(const std::string &name, const char *kind,
                            const std::vector<std::string> &names) {
    throw AttrError("reference", std::string("reads ") + kind + " " + name + ": there is " +
                                     (names.empty() ? "none" : join(names)));
}

}  // namespace halyard

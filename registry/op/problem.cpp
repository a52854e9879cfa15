#include "registry/op/problem.h"

#include "registry/base/error.h"

namespace halyard {

void Array::refuse(std::initializer_list<int64_t> index) const {
    std::string places;
    for (int64_t i : index)
        places += (places.empty() ? "" : ", ") + std::to_string(i);
    throw ShapeError("reference",
                     "asks for element (" + places + ") of a tensor of shape " + shape.text());
}

void Problem::refuse(const std::string &name, const char *kind, const std::string &known) {
    throw AttrError("reference", std::string("asks for ") + kind + " " + name + ": there is " +
                                     (known.empty() ? "none" : known));
}

}  // namespace halyard

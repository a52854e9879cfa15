#include "registry/op/problem.h"

#include <atomic>

#include "registry/base/error.h"
#include "registry/base/text.h"
#include "registry/op/author_location.h"

namespace halyard {
namespace {

std::atomic<AuthorLocation> find_location = nullptr;

// Returns "mine/softmax.cpp:41: ", or "" if nothing is set that finds the line.
std::string location() {
    const AuthorLocation find = find_location;
    const std::string text = find ? find() : "";
    return text.empty() ? "" : text + ": ";
}

}  // namespace

void set_author_location(AuthorLocation find) {
    find_location = find;
}

void Array::throw_no_element(std::initializer_list<int64_t> index) const {
    std::vector<std::string> indices;
    for (int64_t i : index)
        indices.push_back(std::to_string(i));
    throw ShapeError("reference", location() + "reads element (" + join(indices) +
                                      ") of a tensor of shape " + shape.text());
}

void Problem::throw_unknown(std::string_view name, const char *kind,
                            const std::vector<std::string> &names) {
    throw AttrError("reference", location() + "reads " + kind + " " + std::string(name) +
                                     ": there is " + (names.empty() ? "none" : join(names)));
}

}  // namespace halyard

// The names of scopes and pipes.
#include "ascend/program/profile.h"
#include "registry/base/error.h"

namespace halyard::dv {
namespace {

constexpr const char *scopes[scope_count] = {"gm", "ubuf", "l1", "l0a", "l0b", "l0c"};
constexpr const char *pipes[pipe_count + 1] = {"S", "V", "M", "MTE1", "MTE2", "MTE3", "FIX", "ALL"};

template<class T, size_t n>
T find(const char *what, const char *const (&names)[n], const std::string &name) {
    std::string known;
    for (size_t i = 0; i < n; i++) {
        if (name == names[i]) return (T)i;
        known += (i ? ", " : "") + std::string(names[i]);
    }
    throw AttrError("dv", "unknown " + std::string(what) + " '" + name + "'; known: " + known);
}

}  // namespace

const char *name_of(Scope s) {
    return scopes[int(s)];
}
const char *name_of(Pipe p) {
    return pipes[int(p)];
}
Scope scope_of(const std::string &name) {
    return find<Scope>("scope", scopes, name);
}
Pipe pipe_of(const std::string &name) {
    return find<Pipe>("pipe", pipes, name);
}

}  // namespace halyard::dv

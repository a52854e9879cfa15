#include "train/checkpoint/named_tensors.h"

#include <algorithm>

#include "registry/base/error.h"

namespace halyard {

void take_name(const std::string &path, const std::string &name, std::set<std::string> &taken) {
    if (name.empty()) throw IoError(path, "a tensor without a name");
    if (!taken.insert(name).second) throw IoError(path, "'" + name + "' stands there twice");
}

void check_bools(const std::string &path, const std::string &name, const Tensor &t) {
    if (t.dtype() != DType::boolean) return;
    const unsigned char *v = static_cast<const unsigned char *>(t.bytes_to_read());
    if (std::any_of(v, v + t.elements(), [](unsigned char b) { return b > 1; }))
        throw IoError(path, "'" + name + "' has a bool that is neither 0 nor 1");
}

}  // namespace halyard

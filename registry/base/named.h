// Named: values by name, which are looked up in nanoseconds: references ask for dimensions and
// tensors in their innermost loops.
#pragma once
#include <algorithm>
#include <map>
#include <string>
#include <string_view>

namespace halyard {

// Compares names as std::less does, without a call for the few characters that most have.
struct NameLess {
    using is_transparent = void;
    bool operator()(std::string_view a, std::string_view b) const {
        const size_t common = std::min(a.size(), b.size());
        for (size_t k = 0; k < common; k++) {
            if (a[k] != b[k])
                return static_cast<unsigned char>(a[k]) < static_cast<unsigned char>(b[k]);
        }
        return a.size() < b.size();
    }
};

template<class T> using Named = std::map<std::string, T, NameLess>;

}  // namespace halyard

// The names of ops: the kit's own, MindSpore's, NumPy's and PyTorch's.
#include <algorithm>
#include <cctype>
#include <string_view>

#include "registry/op/op_record.h"

namespace halyard {

std::string class_name(const OpRecord &op) {
    if (!op.alias.empty()) return op.alias;
    std::string s;
    bool up = true;
    for (char c : op.name) {
        if (c == '_')
            up = true;
        else {
            s += up ? char(std::toupper((unsigned char)c)) : c;
            up = false;
        }
    }
    return s;
}

const std::string &function_name(const OpRecord &op) {
    return op.functional.empty() ? op.name : op.functional;
}

std::string kernel_function_name(const OpRecord &op) {
    constexpr std::string_view suffix = "_kernel";
    std::string name = op.name;
    const size_t at = name.find(suffix);
    if (at != std::string::npos) name.erase(at, suffix.size());
    return name;
}

std::vector<std::string> further_names(const OpRecord &op) {
    std::vector<std::string> all;
    if (op.internal) return all;
    auto add = [&](const std::string &name) {
        if (name != op.name && std::find(all.begin(), all.end(), name) == all.end())
            all.push_back(name);
    };
    add(function_name(op));
    add(class_name(op));
    for (auto &name : op.other_names)
        add(name);
    return all;
}

}  // namespace halyard

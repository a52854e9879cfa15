#include "tools/export/int8_loops.h"

namespace halyard::exporting {

std::string LoopText::loop(const std::string &name, int64_t extent, bool always) {
    if (extent == 1 && !always) return "";
    loop_between(name, "0", std::to_string(extent));
    return name;
}

void LoopText::loop_between(const std::string &name, const std::string &first,
                            const std::string &last) {
    line("for (int32_t " + name + " = " + first + "; " + name + " < " + last + "; " + name +
         "++) {");
    depth_++;
    loops_++;
}

void LoopText::close_loops(size_t loops) {
    for (; loops_ > loops; loops_--) {
        depth_--;
        line("}");
    }
}

std::string sum_text(const std::vector<Term> &terms, int64_t constant) {
    std::string s;
    for (const Term &t : terms) {
        if (t.index.empty() || t.index == "0") continue;
        const bool is_sum = t.index.find_first_of("+-") != std::string::npos;
        const std::string factor = is_sum && t.stride != 1 ? "(" + t.index + ")" : t.index;
        s += (s.empty() ? "" : " + ") + factor +
             (t.stride == 1 ? "" : " * " + std::to_string(t.stride));
    }
    if (constant == 0) return s.empty() ? "0" : s;
    if (s.empty()) return std::to_string(constant);
    return s + (constant < 0 ? " - " : " + ") + std::to_string(std::abs(constant));
}

}  // namespace halyard::exporting

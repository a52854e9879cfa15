#include "dsl/fault_names.h"

#include <cctype>

namespace halyard {

const std::vector<FaultKind> &fault_kinds() {
    static const std::vector<FaultKind> kinds = {
        {kind::dropped_tail,
         "a loop stops one iteration early, or the code for what remains is missing"},
        {kind::late_start, "a loop begins one iteration late"},
        {kind::extra_iteration, "a loop makes one iteration too many"},
        {kind::reduction_bounds,
         "a reduction begins late, begins early, ends early or ends late by one"},
        {kind::racy_parallel, "a loop whose iterations store to the same element runs in parallel"},
        {kind::lost_guard, "the condition of a tail or of a specialized loop is taken to hold"},
        {kind::lost_mask, "a masked vector is stored whole"},
        {kind::wrong_comparison, "< where <= is meant, or the reverse"},
        {kind::wrong_clamp, "the second side of a min or max in an index is one too large"},
        {kind::wrong_pad, "a padding constant is another one"},
        {kind::wrong_index, "a load or a store goes one element too far"},
        {kind::swapped_stride, "the stride of another dimension"},
        {kind::missing_init, "an accumulator isn't initialised"},
        {kind::wrong_start, "an accumulator starts at another constant"},
        {kind::overwrites, "an update ignores the old value"},
        {kind::missing_store, "a result is computed and not stored"},
        {kind::wrong_operator, "- for +, + for *, min for max, max for min"},
        {kind::swapped_operands, "b - a for a - b, b / a for a / b"},
        {kind::wrong_constant, "a constant has the other sign"},
        {kind::wrong_input, "another input is read"},
        {kind::lost_precision,
         "each f32 that a stage stores loses all but 10 bits of its mantissa"},
    };
    return kinds;
}

std::string without_prefix(const std::string &text) {
    for (const std::string prefix : {fault_name::probe, fault_name::upper, fault_name::lower})
        if (text.starts_with(prefix)) return text.substr(prefix.size());
    return text;
}

std::string probe_of(const std::string &fault) {
    return fault_name::probe + fault;
}
std::vector<std::string> spoilers_of(const std::string &fault) {
    return {fault_name::upper + fault, fault_name::lower + fault};
}

std::string kind_of(const std::string &fault) {
    return fault.substr(0, fault.find(':'));
}

namespace {

bool is_digit(char c) {
    return std::isdigit(static_cast<unsigned char>(c));
}

}  // namespace

std::string stem(const std::string &name) {
    std::string s;
    for (size_t i = 0, end; i < name.size(); i = end) {
        // name[i] and the digits that follow it end before `end`.
        end = i + 1;
        while (end < name.size() && is_digit(name[end]))
            end++;
        const bool has_number = end > i + 1;
        const bool begins_part = i == 0 || name[i - 1] == '.';
        const bool ends_part = end == name.size() || name[end] == '.' || name[end] == '$';
        const bool is_dropped =
            name[i] == '$' || (name[i] == '_' && (ends_part || name.compare(end, 5, "_intm") == 0));
        const bool is_variable = begins_part && ends_part &&
                                 (name[i] == 'r' || name[i] == 't' || name[i] == 'v');
        if (has_number && is_dropped) continue;
        if (has_number && is_variable)
            s += name[i];
        else
            s += name.substr(i, end - i);
    }
    return s;
}

}  // namespace halyard

#include "tools/halyard/option.h"

#include <algorithm>
#include <charconv>

#include "ascend/program/profile.h"
#include "dsl/ascend/schedule.h"
#include "registry/base/error.h"

namespace halyard::command {
namespace {

bool has(const std::vector<std::string> &names, const std::string &name) {
    return std::find(names.begin(), names.end(), name) != names.end();
}

[[noreturn]] void does_nothing(const CLI::App &sub, const std::string &option,
                               const std::string &mode) {
    throw AttrError(sub.get_name(), option + " does nothing " + mode);
}

}  // namespace

void refuse_idle(const CLI::App &sub, const std::string &mode,
                 const std::vector<std::string> &used) {
    for (const CLI::Option *option : sub.get_options()) {
        if (option->count() > 0 && !has(used, option->get_name()))
            does_nothing(sub, option->get_name(), mode);
    }
}

void refuse(const CLI::App &sub, const std::string &mode, const std::vector<std::string> &idle) {
    for (const CLI::Option *option : sub.get_options()) {
        if (option->count() > 0 && has(idle, option->get_name()))
            does_nothing(sub, option->get_name(), mode);
    }
}

bool is_ascend(const std::string &device) {
    return device == "ascend" || has(dv::Profile::names(), device);
}

CLI::Validator cpu_or_ascend() {
    std::vector<std::string> names = dv::Profile::names();
    names.insert(names.begin(), {"cpu", "ascend"});
    return CLI::IsMember(names);
}

std::string ascend_names() {
    const std::string default_chip = FixedCall().chip;
    std::string text = "ascend (" + default_chip + ")";
    for (const std::string &name : dv::Profile::names())
        if (name != default_chip) text += ", " + name;
    return text;
}

CLI::Validator whole_number(uint64_t most) {
    const auto error = [most](std::string &text) {
        uint64_t value = 0;
        const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
        const bool is_number = failed == std::errc() && end == text.data() + text.size() &&
                               value <= most;
        return is_number
                   ? std::string()
                   : "is '" + text + "', expected a whole number from 0 to " + std::to_string(most);
    };
    return CLI::Validator(error, "UINT");
}

}  // namespace halyard::command

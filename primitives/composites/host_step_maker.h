// How a step on the host is taken apart into its settings, and made of them.
#pragma once
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "primitives/composites/host_steps.h"
#include "registry/base/error.h"

namespace halyard::host_steps {

// Takes settings one after the other.
class SettingsReader {
public:
    SettingsReader(const std::string &name, const Settings &settings)
        : name_(name), words_(settings.words), numbers_(settings.numbers) {}

    std::string word() { return next(words_, word_++); }
    int64_t number() { return next(numbers_, number_++); }
    bool has_number() const { return number_ < numbers_.size(); }
    Shape rest() {
        Shape shape;
        while (has_number())
            shape.push_back(number());
        return shape;
    }
    void end() const {
        if (word_ != words_.size() || has_number()) fail();
    }

private:
    [[noreturn]] void fail() const {
        throw AttrError(name_, "has " + std::to_string(words_.size()) + " words and " +
                                   std::to_string(numbers_.size()) +
                                   " numbers as settings, which it doesn't take");
    }
    template<class T> T next(const std::vector<T> &all, size_t k) const {
        if (k >= all.size()) fail();
        return all[k];
    }

    const std::string &name_;
    const std::vector<std::string> &words_;
    const std::vector<int64_t> &numbers_;
    size_t word_ = 0, number_ = 0;
};

// Sets `found` to the settings of the step if it is one of this type, and returns true then.
template<class Step> bool take_settings(const HostFunction &step, std::optional<Settings> &found) {
    if (const Step *const s = step.target<Step>()) found = s->settings();
    return found.has_value();
}

// Makes the step if it has this type's name, and returns true then.
template<class Step>
bool make(const std::string &name, const Settings &settings, HostFunction &made) {
    if (name != Step::name) return false;
    SettingsReader reader(name, settings);
    Step s{};
    s.read(reader);
    reader.end();
    made = std::move(s);
    return true;
}

}  // namespace halyard::host_steps

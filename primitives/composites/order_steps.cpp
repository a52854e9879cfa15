// Steps that sort (primitives/composites/order.cpp), and the choice among all steps.
#include "primitives/composites/host_step_maker.h"

namespace halyard::host_steps {

Settings FirstInOrder::settings() const {
    return {{}, {k, descending}};
}
void FirstInOrder::read(SettingsReader &from) {
    k = from.number();
    descending = from.number() != 0;
}

Settings NthInOrder::settings() const {
    return {{}, {k}};
}
void NthInOrder::read(SettingsReader &from) {
    k = from.number();
}

std::optional<Settings> settings_of(const HostFunction &step) {
    std::optional<Settings> found = settings_of_place_step(step);
    if (found || take_settings<FirstInOrder>(step, found)) return found;
    take_settings<NthInOrder>(step, found);
    return found;
}

HostFunction made(const std::string &name, const Settings &settings) {
    HostFunction step = made_place_step(name, settings);
    if (step || make<FirstInOrder>(name, settings, step) || make<NthInOrder>(name, settings, step))
        return step;
    throw AttrError(name, "is no step on the host of any primitive");
}

}  // namespace halyard::host_steps

// Steps that check indices and labels (primitives/composites/places.cpp). They stand apart from
// those that sort, because an exported library has these only.
#include "primitives/composites/host_step_maker.h"

namespace halyard::host_steps {
namespace {

std::vector<int64_t> with_shape(std::vector<int64_t> numbers, const Shape &shape) {
    numbers.insert(numbers.end(), shape.begin(), shape.end());
    return numbers;
}

// Throws AttrError unless the shape has this axis.
int checked_axis(const std::string &op, int64_t axis, const Shape &shape) {
    if (axis < 0 || axis >= shape.rank()) {
        throw AttrError(op,
                        "axis is " + std::to_string(axis) + ", expected one of x" + shape.text());
    }
    return int(axis);
}

template<class Step> void read_along(SettingsReader &from, Step &s) {
    s.op = from.word();
    const int64_t axis = from.number();
    s.shape = from.rest();
    s.axis = checked_axis(s.op, axis, s.shape);
}

// Calls a function template with each step until one returns true.
template<class F> bool any_place_step(const F &f) {
    return f.template operator()<PlacesOf>() || f.template operator()<LabelsOf>() ||
           f.template operator()<IndicesAlong>() || f.template operator()<PlacesAlong>() ||
           f.template operator()<PlacesNd>();
}

}  // namespace

Settings PlacesOf::settings() const {
    return {{op}, {n}};
}
void PlacesOf::read(SettingsReader &from) {
    op = from.word();
    n = from.number();
}

Settings LabelsOf::settings() const {
    Settings all{{op, labels}, {classes}};
    if (ignored) all.numbers.push_back(*ignored);
    return all;
}
void LabelsOf::read(SettingsReader &from) {
    op = from.word();
    labels = from.word();
    classes = from.number();
    if (from.has_number()) ignored = from.number();
}

Settings IndicesAlong::settings() const {
    return {{op}, with_shape({axis}, shape)};
}
void IndicesAlong::read(SettingsReader &from) {
    read_along(from, *this);
}

Settings PlacesAlong::settings() const {
    return {{op}, with_shape({axis}, shape)};
}
void PlacesAlong::read(SettingsReader &from) {
    read_along(from, *this);
}

Settings PlacesNd::settings() const {
    return {{op}, shape.vec()};
}
void PlacesNd::read(SettingsReader &from) {
    op = from.word();
    shape = from.rest();
}

std::optional<Settings> settings_of_place_step(const HostFunction &step) {
    std::optional<Settings> found;
    any_place_step([&]<class Step>() { return take_settings<Step>(step, found); });
    return found;
}

HostFunction made_place_step(const std::string &name, const Settings &settings) {
    HostFunction step;
    any_place_step([&]<class Step>() { return make<Step>(name, settings, step); });
    return step;
}

}  // namespace halyard::host_steps

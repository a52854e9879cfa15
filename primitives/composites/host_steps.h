// The steps on the host of composites, as function objects: what they are made with can be taken
// apart, so that a saved graph makes them again.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "registry/tensor/tensor.h"

namespace halyard::host_steps {

// What a step is made with.
struct Settings {
    std::vector<std::string> words;
    std::vector<int64_t> numbers;
};

class SettingsReader;  // primitives/composites/host_step_maker.h

// places_of() of primitives/composites/places.h, and so on.
struct PlacesOf {
    static constexpr const char *name = "places_of";
    std::string op;
    int64_t n;
    std::vector<Tensor> operator()(std::span<const Tensor> in) const;
    Settings settings() const;
    void read(SettingsReader &from);
};
struct LabelsOf {
    static constexpr const char *name = "labels_of";
    std::string op, labels;
    int64_t classes;
    std::optional<int64_t> ignored;
    std::vector<Tensor> operator()(std::span<const Tensor> in) const;
    Settings settings() const;
    void read(SettingsReader &from);
};
struct IndicesAlong {
    static constexpr const char *name = "indices_along";
    std::string op;
    Shape shape;
    int axis;
    std::vector<Tensor> operator()(std::span<const Tensor> in) const;
    Settings settings() const;
    void read(SettingsReader &from);
};
struct PlacesAlong {
    static constexpr const char *name = "places_along";
    std::string op;
    Shape shape;
    int axis;
    std::vector<Tensor> operator()(std::span<const Tensor> in) const;
    Settings settings() const;
    void read(SettingsReader &from);
};
struct PlacesNd {
    static constexpr const char *name = "places_nd";
    std::string op;
    Shape shape;
    std::vector<Tensor> operator()(std::span<const Tensor> in) const;
    Settings settings() const;
    void read(SettingsReader &from);
};
// first_in_order() of primitives/composites/order.h, and nth_in_order(). Throws ShapeError unless x
// has rank 2 and such a k.
struct FirstInOrder {
    static constexpr const char *name = "first_in_order";
    int64_t k;
    bool descending;
    std::vector<Tensor> operator()(std::span<const Tensor> in) const;
    Settings settings() const;
    void read(SettingsReader &from);
};
struct NthInOrder {
    static constexpr const char *name = "nth_in_order";
    int64_t k;
    std::vector<Tensor> operator()(std::span<const Tensor> in) const;
    Settings settings() const;
    void read(SettingsReader &from);
};

// Returns what the step was made with; nullopt if it is none of these.
std::optional<Settings> settings_of(const HostFunction &step);

// Makes the step of this name. Throws AttrError if there is none, or for settings that it doesn't
// have.
HostFunction made(const std::string &name, const Settings &settings);

// The same for steps that check indices and labels, PlacesOf to PlacesNd: nullopt and an empty
// function for others.
std::optional<Settings> settings_of_place_step(const HostFunction &step);
HostFunction made_place_step(const std::string &name, const Settings &settings);

}  // namespace halyard::host_steps

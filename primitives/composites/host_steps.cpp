#include "primitives/composites/host_steps.h"

#include "registry/base/error.h"

namespace halyard::host_steps {
namespace {

// Takes settings one after the other.
class Reader {
public:
    Reader(const std::string &name, const Settings &settings)
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

std::vector<int64_t> with_shape(std::vector<int64_t> numbers, const Shape &shape) {
    numbers.insert(numbers.end(), shape.begin(), shape.end());
    return numbers;
}

Settings settings(const PlacesOf &s) {
    return {{s.op}, {s.n}};
}
Settings settings(const LabelsOf &s) {
    Settings all{{s.op, s.labels}, {s.classes}};
    if (s.ignored) all.numbers.push_back(*s.ignored);
    return all;
}
Settings settings(const IndicesAlong &s) {
    return {{s.op}, with_shape({s.axis}, s.shape)};
}
Settings settings(const PlacesAlong &s) {
    return {{s.op}, with_shape({s.axis}, s.shape)};
}
Settings settings(const PlacesNd &s) {
    return {{s.op}, s.shape.vec()};
}
Settings settings(const FirstInOrder &s) {
    return {{}, {s.k, s.descending}};
}
Settings settings(const NthInOrder &s) {
    return {{}, {s.k}};
}

void read(Reader &r, PlacesOf &s) {
    s.op = r.word();
    s.n = r.number();
}
void read(Reader &r, LabelsOf &s) {
    s.op = r.word();
    s.labels = r.word();
    s.classes = r.number();
    if (r.has_number()) s.ignored = r.number();
}
// Throws AttrError unless the shape has this axis.
int checked_axis(const std::string &op, int64_t axis, const Shape &shape) {
    if (axis < 0 || axis >= shape.rank()) {
        throw AttrError(op,
                        "axis is " + std::to_string(axis) + ", expected one of x" + shape.text());
    }
    return int(axis);
}
template<class Step> void read_along(Reader &r, Step &s) {
    s.op = r.word();
    const int64_t axis = r.number();
    s.shape = r.rest();
    s.axis = checked_axis(s.op, axis, s.shape);
}
void read(Reader &r, IndicesAlong &s) {
    read_along(r, s);
}
void read(Reader &r, PlacesAlong &s) {
    read_along(r, s);
}
void read(Reader &r, PlacesNd &s) {
    s.op = r.word();
    s.shape = r.rest();
}
void read(Reader &r, FirstInOrder &s) {
    s.k = r.number();
    s.descending = r.number() != 0;
}
void read(Reader &r, NthInOrder &s) {
    s.k = r.number();
}

template<class Step> bool take_settings(const HostFunction &step, std::optional<Settings> &found) {
    if (const Step *const s = step.target<Step>()) found = settings(*s);
    return found.has_value();
}

template<class Step>
bool make(const std::string &name, const Settings &settings, HostFunction &made) {
    if (name != Step::name) return false;
    Reader reader(name, settings);
    Step s{};
    read(reader, s);
    reader.end();
    made = std::move(s);
    return true;
}

// Calls a function template with each step until one returns true.
template<class F> bool any_step(const F &f) {
    return f.template operator()<PlacesOf>() || f.template operator()<LabelsOf>() ||
           f.template operator()<IndicesAlong>() || f.template operator()<PlacesAlong>() ||
           f.template operator()<PlacesNd>() || f.template operator()<FirstInOrder>() ||
           f.template operator()<NthInOrder>();
}

}  // namespace

std::optional<Settings> settings_of(const HostFunction &step) {
    std::optional<Settings> found;
    any_step([&]<class Step>() { return take_settings<Step>(step, found); });
    return found;
}

HostFunction made(const std::string &name, const Settings &settings) {
    HostFunction step;
    if (!any_step([&]<class Step>() { return make<Step>(name, settings, step); }))
        throw AttrError(name, "is no step on the host of any primitive");
    return step;
}

}  // namespace halyard::host_steps

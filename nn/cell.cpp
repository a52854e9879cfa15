#include "nn/cell.h"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <typeinfo>

#include "primitives/tape.h"
#include "registry/error.h"

namespace halyard::nn {
namespace {

[[noreturn]] void no_such_construct(int given) {
    throw ShapeError("cell", "inputs are " + std::to_string(given) + " tensors, but this cell has no construct() for that many");
}

// Construct of a cell whose gradients are switched off runs beside the tape.
template<class F> Tensor call(bool grad, const F &construct) {
    std::optional<StopTape> stop;
    if (!grad) stop.emplace();
    return construct();
}

}  // namespace

Cell::Cell(bool auto_prefix) : state_(std::make_shared<State>()) { state_->auto_prefix = auto_prefix; }

std::string Cell::cls_name() const {
    int status = 0;
    char *name = abi::__cxa_demangle(typeid(*this).name(), nullptr, nullptr, &status);
    std::string text = status == 0 ? name : typeid(*this).name();
    std::free(name);
    return text.substr(text.rfind(':') + 1);
}

Tensor Cell::construct(const Tensor &) const { no_such_construct(1); }
Tensor Cell::construct(const Tensor &, const Tensor &) const { no_such_construct(2); }
Tensor Cell::construct(const Tensor &, const Tensor &, const Tensor &) const { no_such_construct(3); }

Tensor Cell::operator()(const Tensor &x) const {
    return call(state_->grad, [&] { return construct(x); });
}
Tensor Cell::operator()(const Tensor &x, const Tensor &y) const {
    return call(state_->grad, [&] { return construct(x, y); });
}
Tensor Cell::operator()(const Tensor &x, const Tensor &y, const Tensor &z) const {
    return call(state_->grad, [&] { return construct(x, y, z); });
}

void Cell::check_name(const std::string &name) const {
    const auto taken = [&](const auto &list) { return std::any_of(list.begin(), list.end(), [&](const auto &e) { return e.first == name; }); };
    if (name.empty() || name.find('.') != std::string::npos) throw AttrError("cell", "name is \"" + name + "\", expected one without dots that is not empty");
    if (taken(state_->children) || taken(state_->parameters)) throw AttrError("cell", "name \"" + name + "\" is given twice");
}

void Cell::insert_child(const std::string &name, std::shared_ptr<const Cell> cell) {
    check_name(name);
    // A cell that stands in two places keeps the names of its first one.
    if (state_->auto_prefix && !cell->state_->has_parent) {
        for (const Parameter &p : cell->get_parameters()) p.set_name(name + "." + p.name());
        cell->state_->has_parent = true;
    }
    state_->children.emplace_back(name, std::move(cell));
}

Parameter Cell::parameter(const std::string &name, Tensor value, bool requires_grad) {
    check_name(name);
    Parameter p(std::move(value), name, requires_grad);
    state_->parameters.emplace_back(name, p);
    return p;
}

void Cell::visit(const std::string &path, std::vector<const State *> &seen, std::vector<std::pair<std::string, std::shared_ptr<const Cell>>> &out) const {
    for (const auto &[name, cell] : state_->children) {
        if (std::find(seen.begin(), seen.end(), cell->state_.get()) != seen.end()) continue;
        seen.push_back(cell->state_.get());
        const std::string full = path.empty() ? name : path + "." + name;
        out.emplace_back(full, cell);
        cell->visit(full, seen, out);
    }
}

std::vector<std::pair<std::string, AnyCell>> Cell::cells_and_names() const {
    std::vector<const State *> seen{state_.get()};
    std::vector<std::pair<std::string, std::shared_ptr<const Cell>>> found;
    visit("", seen, found);
    std::vector<std::pair<std::string, AnyCell>> out;
    for (const auto &[name, cell] : found) out.emplace_back(name, AnyCell(cell));
    return out;
}

std::vector<std::pair<std::string, Parameter>> Cell::parameters_and_names() const {
    std::vector<std::pair<std::string, Parameter>> out;
    const auto add = [&](const std::string &path, const Cell &cell) {
        for (const auto &[name, p] : cell.state_->parameters) {
            const bool known = std::any_of(out.begin(), out.end(), [&p = p](const auto &e) { return e.second.same(p); });
            if (!known) out.emplace_back(path.empty() ? name : path + "." + name, p);
        }
    };
    add("", *this);
    for (const auto &[path, cell] : cells_and_names()) add(path, cell);
    return out;
}

ParameterTuple Cell::get_parameters() const {
    ParameterTuple out;
    for (const auto &[name, p] : parameters_and_names()) out.push_back(p);
    return out;
}

ParameterTuple Cell::trainable_params() const {
    ParameterTuple out = get_parameters();
    std::erase_if(out, [](const Parameter &p) { return !p.requires_grad(); });
    return out;
}

std::map<std::string, Parameter> Cell::parameters_dict() const {
    std::map<std::string, Parameter> out;
    for (const Parameter &p : get_parameters())
        if (!out.emplace(p.name(), p).second) throw AttrError("cell", "two parameters are named \"" + p.name() + "\"");
    return out;
}

void Cell::set_train(bool on) const {
    state_->training = on;
    for (const auto &[name, cell] : state_->children) cell->set_train(on);
}

void Cell::set_grad(bool on) const { state_->grad = on; }

const Cell &AnyCell::cell() const {
    if (!cell_) throw AttrError("cell", "an empty cell was called");
    return *cell_;
}

Tensor AnyCell::construct(const Tensor &x) const { return cell().construct(x); }
Tensor AnyCell::construct(const Tensor &x, const Tensor &y) const { return cell().construct(x, y); }
Tensor AnyCell::construct(const Tensor &x, const Tensor &y, const Tensor &z) const { return cell().construct(x, y, z); }

}  // namespace halyard::nn

#include "nn/cell.h"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <typeinfo>

#include "registry/base/error.h"

namespace halyard::nn {

Cell::Cell(bool auto_prefix) : state_(std::make_shared<State>()) {
    state_->auto_prefix = auto_prefix;
}

std::string Cell::cls_name() const {
    int status = 0;
    char *name = abi::__cxa_demangle(typeid(*this).name(), nullptr, nullptr, &status);
    std::string text = status == 0 ? name : typeid(*this).name();
    std::free(name);
    return text.substr(text.rfind(':') + 1);
}

void Cell::check_name(const std::string &name) const {
    const auto taken = [&](const auto &list) {
        return std::any_of(list.begin(), list.end(),
                           [&](const auto &e) { return e.first == name; });
    };
    if (name.empty() || name.find('.') != std::string::npos) {
        throw AttrError("cell",
                        "name is \"" + name + "\", expected one without dots that is not empty");
    }
    if (taken(state_->children) || taken(state_->parameters))
        throw AttrError("cell", "name \"" + name + "\" is given twice");
}

void Cell::insert_child(const std::string &name, std::shared_ptr<const Cell> cell) const {
    check_name(name);
    // A cell that is being constructed is in no captured graph.
    if (state_->replay || state_->has_parent) settings_changed();
    // A cell that is added to two parents keeps the names of the first one.
    if (state_->auto_prefix && !cell->state_->has_parent) {
        const std::string path = state_->prefix + name + ".";
        for (const Parameter &p : cell->get_parameters())
            p.set_name(path + p.name());
        cell->state_->prefix = path + cell->state_->prefix;
        for (const auto &[below, c] : cell->cells_below())
            c->state_->prefix = path + c->state_->prefix;
        cell->state_->has_parent = true;
    }
    state_->children.emplace_back(name, std::move(cell));
}

std::shared_ptr<const Cell> Cell::itself() const {
    return {std::shared_ptr<const Cell>(), this};
}

Parameter Cell::parameter(const std::string &name, Tensor value, bool requires_grad) {
    check_name(name);
    Parameter p(std::move(value), state_->prefix + name, requires_grad);
    state_->parameters.emplace_back(name, p);
    return p;
}

void Cell::visit(const std::string &path, std::vector<const State *> &seen,
                 std::vector<std::pair<std::string, std::shared_ptr<const Cell>>> &out) const {
    for (const auto &[name, cell] : state_->children) {
        if (std::find(seen.begin(), seen.end(), cell->state_.get()) != seen.end()) continue;
        seen.push_back(cell->state_.get());
        const std::string full = path.empty() ? name : path + "." + name;
        out.emplace_back(full, cell);
        cell->visit(full, seen, out);
    }
}

std::vector<std::pair<std::string, std::shared_ptr<const Cell>>> Cell::cells_below() const {
    std::vector<const State *> seen{state_.get()};
    std::vector<std::pair<std::string, std::shared_ptr<const Cell>>> found;
    visit("", seen, found);
    return found;
}

std::vector<std::pair<std::string, AnyCell>> Cell::cells_and_names() const & {
    std::vector<std::pair<std::string, AnyCell>> out;
    out.emplace_back("", AnyCell(itself()));
    for (const auto &[name, cell] : cells_below())
        out.emplace_back(name, AnyCell(cell));
    return out;
}

std::vector<std::pair<std::string, Parameter>> Cell::parameters_and_names() const {
    std::vector<std::pair<std::string, Parameter>> out;
    const auto add = [&](const std::string &path, const Cell &cell) {
        for (const auto &[name, p] : cell.state_->parameters) {
            const bool known = std::any_of(out.begin(), out.end(),
                                           [&p = p](const auto &e) { return e.second.same(p); });
            if (!known) out.emplace_back(path.empty() ? name : path + "." + name, p);
        }
    };
    add("", *this);
    for (const auto &[path, cell] : cells_below())
        add(path, *cell);
    return out;
}

ParameterTuple Cell::get_parameters() const {
    ParameterTuple out;
    for (const auto &[name, p] : parameters_and_names())
        out.push_back(p);
    return out;
}

ParameterTuple Cell::trainable_params() const {
    ParameterTuple out = get_parameters();
    std::erase_if(out, [](const Parameter &p) { return !p.requires_grad(); });
    return out;
}

ParameterTuple Cell::untrainable_params() const {
    ParameterTuple out = get_parameters();
    std::erase_if(out, [](const Parameter &p) { return p.requires_grad(); });
    return out;
}

std::map<std::string, Parameter> Cell::parameters_dict() const {
    std::map<std::string, Parameter> out;
    for (const Parameter &p : get_parameters()) {
        if (!out.emplace(p.name(), p).second)
            throw AttrError("cell", "two parameters are named \"" + p.name() + "\"");
    }
    return out;
}

std::vector<std::pair<std::string, AnyCell>> Cell::name_cells() const {
    std::vector<std::pair<std::string, AnyCell>> out;
    for (const auto &[name, cell] : state_->children)
        out.emplace_back(name, AnyCell(cell));
    return out;
}

void Cell::insert_child_to_cell(const std::string &name, const AnyCell &cell) const {
    if (!cell) throw AttrError("cell", "child \"" + name + "\" is an empty cell");
    insert_child(name, cell.cell_);
}

std::string Cell::text() const {
    const auto indented = [](const std::string &lines) {
        std::string out;
        for (const char c : lines)
            out += c == '\n' ? std::string("\n  ") : std::string(1, c);
        return out;
    };
    const std::string own = extend_repr();
    std::string lines;
    for (const auto &[name, cell] : state_->children)
        lines += "\n  (" + name + "): " + indented(cell->text());
    if (lines.empty()) return cls_name() + "(" + own + ")";
    return cls_name() + "(" + (own.empty() ? "" : "\n  " + own) + lines + "\n)";
}

void Cell::set_train(bool on) const {
    if (state_->training != on) settings_toggled(state_.get(), Switch::training);
    state_->training = on;
    for (const auto &[name, cell] : state_->children)
        cell->set_train(on);
}

void Cell::set_grad(bool on) const {
    if (state_->grad != on) settings_toggled(state_.get(), Switch::gradient);
    state_->grad = on;
}

const Cell &AnyCell::cell() const {
    if (!cell_) throw AttrError("cell", "an empty cell was called");
    return *cell_;
}

}  // namespace halyard::nn

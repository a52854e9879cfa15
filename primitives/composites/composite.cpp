#include "primitives/composites/composite.h"

#include <algorithm>

#include "registry/base/error.h"

namespace halyard {

Composite::Composite(std::string n, std::string text, std::string formula) : sig(n, text) {
    name = std::move(n);
    signature = std::move(text);
    doc = std::move(formula);
    form = Form::composite;
    dtypes = all_dtypes;
    contract = {Contract::elementwise, 0};
    any_strides = !sig.inputs.empty() && sig.inputs[0].any_rank;
}

void Composite::at_call(const std::string &n, AttrKind kind, const std::string &value) {
    attrs.push_back({n, kind, value, {}, {}, true});
}
void Composite::required_at_call(const std::string &n, AttrKind kind) {
    at_call(n, kind, AttrSpec::no_default);
}
void Composite::attr(const std::string &n, int64_t value) {
    attrs.push_back({n, AttrKind::integer, std::to_string(value), {}, {}});
}
void Composite::attr(const std::string &n, AttrKind kind, const std::string &value) {
    attrs.push_back({n, kind, value, {}, {}});
}
void Composite::flag(const std::string &n, bool value) {
    attrs.push_back({n, AttrKind::boolean, value ? "1" : "0", {}, {}});
}
void Composite::real(const std::string &n, const std::string &value) {
    attrs.push_back({n, AttrKind::real, value, {}, {}});
}
void Composite::choice_at_call(const std::string &n, std::vector<std::string> choices,
                               const std::string &type) {
    choice(n, std::move(choices), type);
    attrs.back().at_call = true;
}
void Composite::choice(const std::string &n, std::vector<std::string> choices,
                       const std::string &type) {
    const std::string first = choices[0];
    attrs.push_back({n, AttrKind::choice, first, std::move(choices), {}, false, type});
}
void Composite::ints(const std::string &n, const std::string &value,
                     std::vector<std::string> parts) {
    attrs.push_back({n, AttrKind::ints, value, {}, std::move(parts)});
}
void Composite::required(const std::string &n, AttrKind kind, std::vector<std::string> parts) {
    attrs.push_back({n, kind, AttrSpec::no_default, {}, std::move(parts)});
}
void Composite::let(const std::string &dimension, const std::string &expression) {
    lets.push_back({dimension, expression});
}

bool Composite::is_optional(const std::string &input) const {
    return std::ranges::count(optional, input) > 0;
}

void Composite::expect_one_dtype(Tensors in, std::initializer_list<size_t> inputs) const {
    const size_t first = *inputs.begin();
    for (const size_t k : inputs) {
        if (!in[k].defined() || in[k].dtype() == in[first].dtype()) continue;
        throw DTypeError(name, sig.inputs[k].name + " is " + name_of(in[k].dtype()) +
                                   ", expected " + name_of(in[first].dtype()) + " like " +
                                   sig.inputs[first].name);
    }
}

Shape Composite::list(const Problem &p, const std::string &attr) {
    Shape values;
    for (auto it = p.dims.end();
         (it = p.dims.find(attr + std::to_string(values.rank()))) != p.dims.end();)
        values.push_back(it->second);
    return values;
}

void Composite::same_elements(Problem &p, const Shape &shape) {
    Array y(shape);
    y.v = p("x").v;
    p.tensors["y"] = y;
}

void CompositeTable::begin_file(const std::string &name, const std::string &family) {
    files_.push_back(std::make_unique<OpFile>(OpFile{name, {}, {}, family}));
}

void CompositeTable::put(std::unique_ptr<Composite> c) {
    if (!by_name_.emplace(c->name, c.get()).second)
        throw Error(c->name, "two composites of this name");
    files_.back()->ops.push_back(*c);
    composites_.push_back(std::move(c));
}

void CompositeTable::gradient(const ComposedGradient &g) {
    const std::string key = std::string(g.op) + " " + g.input;
    const std::string file = files_.empty() ? "" : files_.back()->name;
    if (!gradients_.emplace(key, Gradient{g, file}).second)
        throw Error(g.op, std::string("two composed gradients in ") + g.input);
}

const Composite *CompositeTable::find(const std::string &name) const {
    const auto it = by_name_.find(name);
    return it == by_name_.end() ? nullptr : it->second;
}

const ComposedGradient *CompositeTable::gradient_of(const std::string &op,
                                                    const std::string &input) const {
    const auto it = gradients_.find(op + " " + input);
    return it == gradients_.end() ? nullptr : &it->second.gradient;
}

std::string CompositeTable::file_of_gradient(const std::string &op,
                                             const std::string &input) const {
    const auto it = gradients_.find(op + " " + input);
    return it == gradients_.end() ? "" : it->second.file;
}

std::vector<const OpFile *> CompositeTable::files() const {
    std::vector<const OpFile *> all;
    for (const auto &file : files_)
        if (!file->ops.empty()) all.push_back(file.get());
    return all;
}

const ComposedGradient *composed_gradient(const std::string &op, const std::string &input) {
    return composites().gradient_of(op, input);
}

const Composition *composition_of(const std::string &op) {
    return composites().find(op);
}

std::vector<const OpFile *> composite_files() {
    return composites().files();
}

const CompositeTable &composites() {
    // It is never destroyed, because threads that main() didn't wait for still call ops.
    static const CompositeTable &all = *[] {
        auto *table = new CompositeTable;
        list_composites(*table);
        return table;
    }();
    return all;
}

}  // namespace halyard

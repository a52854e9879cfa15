#include "dsl/op.h"

#include <fmt/core.h>

#include <algorithm>
#include <sstream>
#include <utility>

#include "dsl/gpu/plain_schedule.h"
#include "registry/base/error.h"
#include "registry/base/process_pool.h"
#include "registry/base/text.h"

namespace halyard {
using namespace Halide;

namespace {

// Parses a signature. Adds the line of the op file to what the parser throws.
Signature parse_signature(const std::string &name, const std::string &text) {
    try {
        return {name, text};
    } catch (const Error &e) {
        throw Error(name, at_location(CallSite::here().outermost_location(), e.detail()));
    }
}

// Returns the names of the ops that `factories` make, a line each. Ops are made in a child process
// for that: making one advances the counters of Halide's names, and so the names in a kernel, and
// its key in the cache, would depend on which other ops a program has.
std::string lines_of_names(const std::vector<OpFactory> &factories) {
    const auto make_all = [&] {
        std::string lines;
        for (const OpFactory &factory : factories)
            lines += factory()->name + "\n";
        return lines;
    };
    try {
        return run_in_child("ops", make_all, 0, "the constructor of an op");
    } catch (const DispatchError &) {
        throw;  // the child died, and so would this process
    } catch (const std::runtime_error &) {
        return make_all();  // throws again, with the type that the child's message has lost
    }
}

}  // namespace

Op::Op(std::string n, std::string text) : sig(parse_signature(n, text)) {
    name = std::move(n);
    signature = std::move(text);
    if (!sig.inputs.empty() && sig.inputs[0].any_rank) {
        form = Form::elementwise;
        any_strides = true;
    }
}

std::vector<std::string> Op::extents_of(const TensorSpec &t) const {
    std::vector<std::string> e;
    if (t.any_rank) {
        for (int d = 0; d < any_rank; d++)
            e.push_back("d" + std::to_string(d));
    }
    if (!t.group.empty()) e.push_back(t.group);
    e.insert(e.end(), t.extents.begin(), t.extents.end());
    return e;
}

Func Op::declared(std::vector<Func> &all, const std::vector<TensorSpec> &specs,
                  const std::string &n, const char *suffix, const char *kind) {
    const auto spec = std::find_if(specs.begin(), specs.end(),
                                   [&](const TensorSpec &t) { return t.name == n; });
    if (spec == specs.end()) {
        std::vector<std::string> names;
        for (const TensorSpec &t : specs)
            names.push_back(t.name);
        throw AttrError(name, at_location(CallSite::here().location(),
                                          fmt::format("{0}(\"{1}\"): the {0}s of {2} are {3}", kind,
                                                      n, signature, join(names))));
    }
    // An op may declare its tensors in any order; `all` is in the order of the signature.
    const auto index = size_t(spec - specs.begin());
    while (all.size() <= index)
        all.emplace_back(specs[all.size()].name + suffix);
    return all[index];
}
Func Op::input(const std::string &n) {
    return declared(in, sig.inputs, n, "_in", "input");
}
Func Op::output(const std::string &n) {
    return declared(out, sig.outputs, n, "", "output");
}
void Op::declare_all_tensors() {
    if (!sig.inputs.empty()) input(sig.inputs.back().name);
    if (!sig.outputs.empty()) output(sig.outputs.back().name);
}

Expr Op::size(const std::string &expression) const {
    std::map<std::string, Expr> values = extents_;
    // Lets over attributes are skipped: kernels do not have them.
    for (auto &l : lets) {
        try {
            values.emplace(l.name, evaluate<Expr>(l.value, values));
        } catch (const std::exception &) {
            continue;
        }
    }
    try {
        return evaluate<Expr>(expression, values);
    } catch (const AttrError &e) {
        std::vector<std::string> names;
        for (auto &[n, value] : values)
            names.push_back(n);
        throw AttrError(name, at_location(CallSite::here().location(),
                                          fmt::format("size(\"{}\"): the sizes of {} are {}",
                                                      expression, signature, join(names))));
    }
}

Dim Op::stride(const Func &tensor, int dim) const {
    for (size_t k = 0; k < in.size(); k++) {
        if (in[k].name() == tensor.name())
            return Dim(sig.inputs[k].name + "_s" + std::to_string(dim));
    }
    for (size_t k = 0; k < out.size(); k++)
        if (out[k].name() == tensor.name() && dim == 0) return Dim(sig.outputs[k].name + "_s0");
    throw AttrError(name, at_location(CallSite::here().location(),
                                      fmt::format("stride({}, {}): {} has no such stride; of "
                                                  "outputs only the innermost one is known",
                                                  tensor.name(), dim, signature)));
}

// Before the first variant an op has one without a name and an implementation.
void Op::add(Variant v) {
    const bool has_default = std::ranges::none_of(
        variants_, [&](const Variant &one) { return one.name == variants[0].name; });
    if (has_default) variants.clear();
    insert(std::move(v), variants);
}

void Op::add_for_gpu(Variant v) {
    insert(std::move(v), gpu_variants);
}

void Op::insert(Variant v, std::vector<VariantSpec> &specs) {
    specs.push_back({v.name, v.when.words(), v.extension});
    variants_.push_back(std::move(v));
}

void Op::clear_variants() {
    variants_.clear();
    variants = {{"", ""}};
    gpu_variants.clear();
}

// Not inline: a frame of this library ends the calls that an error message names.
void Op::algorithm(const Build &) {
    algorithm();
}

void Op::schedule(const Gpu &) {
    std::vector<Func> stored = out;
    stored[0] = store();
    gpu::plain_schedule(stored);
}

void Op::define(const Build &build) {
    implementation_ = nullptr;
    const auto v = std::find_if(variants_.begin(), variants_.end(),
                                [&](const Variant &one) { return one.name == build.variant; });
    if (v == variants_.end()) {
        if (!build.variant.empty() && !variants_.empty())
            throw Error(name, "has no variant '" + build.variant + "'");
        return algorithm(build);
    }
    implementation_ = v->make(*this);
    implementation_->algorithm(build);
}

std::vector<std::string> Op::names_of(std::initializer_list<Dim> dims) {
    std::vector<std::string> names;
    for (const Dim &d : dims)
        names.push_back(d.name());
    return names;
}

void Implementation::algorithm(const Build &build) {
    base_.algorithm(build);
}
void Implementation::schedule(const Cpu &cpu) {
    base_.schedule(cpu);
}
void Implementation::schedule(const Gpu &gpu) {
    base_.schedule(gpu);
}
Expr Implementation::size(const DimExpr &e) const {
    return base_.size(e);
}
Func Implementation::store() const {
    return base_.store();
}
Var Implementation::var(int dim) const {
    return base_.var(dim);
}

namespace {

class StepsImplementation : public Implementation {
public:
    StepsImplementation(Op &op, Steps steps) : Implementation(op), steps_(std::move(steps)) {}
    void algorithm(const Build &build) override {
        if (steps_.algorithm)
            steps_.algorithm(build);
        else
            Implementation::algorithm(build);
    }
    void schedule(const Cpu &cpu) override {
        if (steps_.schedule)
            steps_.schedule(cpu);
        else
            Implementation::schedule(cpu);
    }
    void schedule(const Gpu &gpu) override {
        if (steps_.schedule_on_gpu)
            steps_.schedule_on_gpu(gpu);
        else
            Implementation::schedule(gpu);
    }

private:
    Steps steps_;
};

}  // namespace

Variant::Variant(std::string variant_name, DimExpr condition, Steps steps, Extension needs)
    : name(std::move(variant_name)), when(std::move(condition)), extension(needs),
      make([steps](Op &op) { return std::make_unique<StepsImplementation>(op, steps); }) {}

Expr Op::parameter(const std::string &n, const Type &t) {
    const Halide::Parameter p(t, false, 0, n);
    parameters[n] = p;
    return Internal::Variable::make(t, n, p);
}
Expr Op::scalar(const std::string &n, int64_t value) {
    attr(n, value);
    return derived(n, n);
}
Expr Op::scalar(const std::string &n, double value) {
    char text[40];
    std::snprintf(text, sizeof text, "%.17g", value);
    attrs.push_back({n, AttrKind::real, text, {}, {}});
    scalars.push_back({n, n, true});
    return parameter(n, Float(64));
}
Expr Op::derived(const std::string &n, const std::string &expression) {
    scalars.push_back({n, expression, false});
    return extents_[n] = parameter(n, Int(32));
}

void Op::adopt(const ScalarSpec &scalar, const Halide::Parameter &argument) {
    scalars.push_back(scalar);
    parameters[scalar.name] = argument;
    if (!scalar.real)
        extents_[scalar.name] = Internal::Variable::make(Int(32), scalar.name, argument);
}

void Op::bind_input(size_t i, const Func &from, const Extents &e) {
    in[i](_) = from(_);
    if (i == 0) first_input_extents_ = e;
    const std::vector<std::string> names = extents_of(sig.inputs[i]);
    for (size_t d = 0; d < names.size() && d < e.size(); d++)
        if (is_name(names[d])) extents_.emplace(names[d], e[e.size() - 1 - d]);
}
Op::Extents Op::output_extents() const {
    if (form == Form::elementwise) return first_input_extents_;
    Extents e;
    for (auto &text : extents_of(sig.outputs[0]))
        e.insert(e.begin(), size(text));
    return e;
}

void OpTable::learn_names() const {
    std::istringstream lines(lines_of_names(unnamed_));
    for (const OpFactory &factory : std::exchange(unnamed_, {})) {
        std::string name;
        std::getline(lines, name);
        if (!ops_.emplace(name, factory).second) throw Error(name, "two ops of this name");
        order_.push_back(name);
    }
}
const std::vector<std::string> &OpTable::names() const {
    if (!unnamed_.empty()) learn_names();
    return order_;
}
OpPtr OpTable::make(const std::string &name) const {
    if (!unnamed_.empty()) learn_names();
    const auto it = ops_.find(name);
    return it == ops_.end() ? nullptr : it->second();
}
OpTable &op_table() {
    static OpTable table;
    return table;
}

}  // namespace halyard

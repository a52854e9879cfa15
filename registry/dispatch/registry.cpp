#include "registry/dispatch/registry.h"

#include <algorithm>
#include <set>
#include <sstream>

#include "registry/base/edit_distance.h"
#include "registry/base/error.h"
#include "registry/dispatch/plan_generation.h"
#include "registry/op/expr.h"

namespace halyard {
namespace {

bool by_name(const std::unique_ptr<RegisteredOp> &a, const std::string &name) {
    return a->record.name < name;
}

// Returns all names that planning reads, except those of scalars.
std::set<std::string> names_plans_read(const OpRecord &r) {
    std::set<std::string> all = {"axis", "keep_dims", "data_format", "dtype"};
    const auto add = [&](const std::string &expression) {
        const ParsedExpr e(expression);
        all.insert(e.names().begin(), e.names().end());
    };
    const Signature signature(r.name, r.signature);
    for (const auto *tensors : {&signature.inputs, &signature.outputs}) {
        for (const TensorSpec &t : *tensors) {
            all.insert("transpose_" + t.name);
            for (const std::string &extent : t.extents)
                add(extent);
        }
    }
    for (const std::string &condition : r.conditions)
        add(condition);
    for (const LetSpec &let : r.lets)
        add(let.value);
    for (const VariantSpec *v : all_variants(r)) {
        std::istringstream words(v->when);
        for (std::string word; words >> word;)
            add(word);
    }
    for (const ScalarSpec &s : r.scalars)
        if (!s.real && !is_name(s.value)) add(s.value);
    return all;
}

std::vector<bool> only_arguments(const OpRecord &r) {
    if (r.scalars.empty()) return std::vector<bool>(r.attrs.size());
    const std::set<std::string> read = names_plans_read(r);
    std::vector<bool> only;
    for (const AttrSpec &a : r.attrs) {
        const bool is_scalar = std::ranges::any_of(
            r.scalars, [&](const ScalarSpec &s) { return !s.real && s.value == a.name; });
        only.push_back(a.kind == AttrKind::integer && is_scalar && !read.count(a.name));
    }
    return only;
}

}  // namespace

void Registry::add(const std::vector<const OpFile *> &files) {
    for (const OpFile *file : files) {
        for (const OpRecord &r : file->ops) {
            if (const RegisteredOp *same = find(r.name); same && same->record.name == r.name)
                throw Error(r.name, "two ops of this name");
            auto op = std::make_unique<RegisteredOp>(RegisteredOp{r,
                                                                  Signature(r.name, r.signature),
                                                                  {},
                                                                  {},
                                                                  file->name,
                                                                  file->family,
                                                                  only_arguments(r)});
            op->shares_plans = std::ranges::count(op->only_argument, true) > 0;
            for (const std::string &further : further_names(r)) {
                if (!further_.emplace(further, op.get()).second)
                    throw Error(r.name, "two ops are also called " + further);
            }
            ops_.insert(std::lower_bound(ops_.begin(), ops_.end(), r.name, by_name), std::move(op));
        }
        for (const KernelEntry &k : file->kernels)
            add_kernel(k);
    }
    for (auto &op : ops_) {
        op->gradient_inputs.clear();
        for (auto &t : op->signature.inputs)
            if (gradient_in(*op, t.name).op) op->gradient_inputs.push_back(t.name);
    }
    invalidate_plans();
}

void Registry::add_kernel(const KernelEntry &k) {
    const auto it = std::lower_bound(ops_.begin(), ops_.end(), k.op, by_name);
    if (it == ops_.end() || (*it)->record.name != k.op)
        throw Error(k.op, "a kernel of an op that doesn't exist");
    RegisteredOp &op = **it;
    const std::vector<const VariantSpec *> variants = all_variants(op.record);
    auto rank = [&](const KernelEntry &e) {
        const auto place = std::ranges::find(variants, e.variant, &VariantSpec::name);
        // The highest ISA comes first; a variant for fewer lanes sets them in its schedule.
        return int(place - variants.begin()) - 1000 * int(e.isa);
    };
    op.kernels.insert(std::upper_bound(op.kernels.begin(), op.kernels.end(), k,
                                       [&](const KernelEntry &a, const KernelEntry &b) {
                                           return rank(a) < rank(b);
                                       }),
                      k);
    invalidate_plans();
}

void Registry::replace_kernel(const KernelEntry &k) {
    for (auto &op : ops_) {
        for (KernelEntry &e : op->kernels) {
            if (e.op == k.op && e.backend == k.backend && e.dtypes == k.dtypes &&
                e.variant == k.variant && e.isa == k.isa) {
                e = k;
                return invalidate_plans();
            }
        }
    }
    throw Error(k.op,
                "has no " + k.backend + " kernel " + k.dtypes + "/" + k.variant + " to replace");
}

const RegisteredOp *Registry::find(const std::string &name) const {
    const auto it = std::lower_bound(ops_.begin(), ops_.end(), name, by_name);
    if (it != ops_.end() && (*it)->record.name == name) return it->get();
    const auto further = further_.find(name);
    return further == further_.end() ? nullptr : further->second;
}

const RegisteredOp &Registry::at(const std::string &name) const {
    if (const RegisteredOp *op = find(name)) return *op;
    std::vector<std::pair<int, std::string>> near;
    for (auto &op : ops_) {
        if (!op->record.internal)
            near.emplace_back(edit_distance(name, op->record.name), op->record.name);
    }
    std::sort(near.begin(), near.end());
    std::string hint;
    for (size_t i = 0; i < near.size() && i < 3 && near[i].first <= 4; i++)
        hint += (i ? ", " : "; did you mean ") + near[i].second;
    throw DispatchError(name, "no such op" + hint);
}

GradientOp Registry::gradient_in(const RegisteredOp &op, const std::string &input) const {
    const auto gradient = [&](const TensorSpec &of) -> GradientOp {
        const RegisteredOp *g = find(op.record.name + "_d" + of.name);
        for (size_t k = 0; g && k < g->signature.outputs.size(); k++)
            if (g->signature.outputs[k].name == "d" + input) return {g, k};
        return {};
    };
    for (const TensorSpec &t : op.signature.inputs)
        if (const GradientOp g = gradient(t); g.op) return g;
    return {};
}

std::vector<const RegisteredOp *> Registry::ops() const {
    std::vector<const RegisteredOp *> all;
    for (auto &op : ops_)
        all.push_back(op.get());
    return all;
}

Registry &registry() {
    // It is never destroyed: threads that outlive main() may still call ops.
    static Registry &r = *new Registry;
    return r;
}

}  // namespace halyard

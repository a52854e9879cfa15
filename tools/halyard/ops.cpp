// halyard ops: what this build has.
#include <cstdio>
#include <nlohmann/json.hpp>

#include "primitives/library.h"
#include "tools/halyard/call.h"
#include "tools/halyard/command.h"
#include "tools/halyard/joined.h"

namespace halyard::command {
namespace {
using nlohmann::json;

std::string joined(const std::vector<std::string> &list, const char *between = ", ") {
    std::string s;
    for (auto &e : list) s += (s.empty() ? "" : between) + e;
    return s;
}

// What is derived from the kernels, each in the order of first appearance.
struct Kinds {
    std::vector<std::string> backends, isas, variants, layouts;
};
Kinds kinds_of(const OpRecord &r, const std::vector<KernelEntry> &kernels) {
    Kinds kinds;
    auto add = [](std::vector<std::string> &to, const std::string &s) {
        if (std::find(to.begin(), to.end(), s) == to.end()) to.push_back(s);
    };
    for (auto &k : kernels) {
        add(kinds.backends, k.backend);
        if (k.backend == "cpu") add(kinds.isas, name_of(k.isa));
    }
    if (r.form == Form::composite) kinds.backends = {"composite"};
    for (auto &v : r.variants)
        if (!v.name.empty()) kinds.variants.push_back(v.name);
    for (auto &a : r.attrs)
        if (a.name == "data_format") kinds.layouts = a.choices;
    return kinds;
}

const char *name_of_kind(AttrKind k) {
    static const char *names[] = {"integer", "real", "boolean", "choice", "ints", "dtype"};
    return names[(int)k];
}
std::string default_of(const AttrSpec &a) {
    return a.kind == AttrKind::choice ? a.choices[0] : a.kind == AttrKind::boolean ? (a.value == "1" ? "true" : "false") : a.value;
}
std::string form_of(const OpRecord &r) {
    static const char *names[] = {"plain", "elementwise", "reduction", "composite"};
    return names[(int)r.form];
}

json as_json(const OpRecord &r, const std::vector<KernelEntry> &kernels, const std::vector<std::string> &gradients) {
    const Kinds kinds = kinds_of(r, kernels);
    json attrs = json::array(), variants = json::array();
    for (auto &a : r.attrs) {
        json one = {{"name", a.name}, {"kind", name_of_kind(a.kind)}, {"default", a.value == "!" ? json() : json(default_of(a))}, {"required", a.value == "!"}};
        if (!a.choices.empty()) one["choices"] = a.choices;
        attrs.push_back(one);
    }
    for (auto &v : r.variants) variants.push_back({{"name", v.name}, {"when", v.when}});
    static const char *measures[] = {"elementwise", "normwise", "products"};
    return {{"name", r.name},
            {"other_names", r.other_names},
            {"signature", r.signature},
            {"doc", r.doc},
            {"class", class_name(r)},
            {"function", function_name(r)},
            {"form", form_of(r)},
            {"internal", r.internal},
            {"dtypes", r.dtypes},
            {"backends", kinds.backends},
            {"isas", kinds.isas},
            {"variants", variants},
            {"layouts", kinds.layouts},
            {"gradients", gradients},
            {"attributes", attrs},
            {"kernels", kernels.size()},
            {"samples", r.samples},
            {"bench", r.bench},
            {"contract", {{"measure", measures[r.contract.measure]}, {"ulps", r.contract.ulps}}}};
}

void print_details(const OpRecord &r, const std::vector<KernelEntry> &kernels, const std::vector<std::string> &gradients) {
    const Kinds kinds = kinds_of(r, kernels);
    auto line = [](const char *label, const std::string &text) {
        if (!text.empty()) std::printf("  %-12s%s\n", label, text.c_str());
    };
    std::printf("%s: %s\n", r.name.c_str(), r.signature.c_str());
    line("", r.doc);
    if (!r.internal)
        line("names", "ops::" + class_name(r) + ", F::" + function_name(r) + (r.other_names.empty() ? "" : ", F::" + joined(r.other_names, ", F::")));
    line("form", form_of(r));
    line("dtypes", joined(r.dtypes, " "));
    line("backends", joined(kinds.backends));
    line("ISAs", joined(kinds.isas));
    for (auto &v : r.variants)
        if (!v.name.empty()) line(&v == &r.variants[0] ? "variants" : "", v.name + (v.when.empty() ? " (any shape)" : " when " + v.when));
    line("layouts", joined(kinds.layouts));
    line("gradients", joined(gradients));
    bool first = true;
    for (auto &a : r.attrs) {
        std::string text = a.name + ": " + name_of_kind(a.kind);
        if (!a.choices.empty()) text += " of " + joined(a.choices, "|");
        if (!a.parts.empty()) text += " (" + joined(a.parts) + ")";
        line(first ? "attributes" : "", text + (a.value == "!" ? ", required" : " = " + (default_of(a).empty() ? "(empty)" : default_of(a))));
        first = false;
    }
    for (auto &c : r.conditions) line(&c == &r.conditions[0] ? "conditions" : "", c);
    char bound[80];
    static const char *measures[] = {"ulps of each element", "ulps of the largest element", "ulps of the sum of |products|"};
    std::snprintf(bound, sizeof bound, "%g %s", r.contract.ulps, measures[r.contract.measure]);
    line("error bound", bound);
    for (auto &b : r.bench) line(&b == &r.bench[0] ? "bench" : "", b);
    for (auto &s : r.samples) line(&s == &r.samples[0] ? "samples" : "", s);
    if (!kernels.empty()) line("kernels", std::to_string(kernels.size()));
}

std::vector<std::string> gradients_of(const RegisteredOp &op) {
    std::vector<std::string> names;
    for (size_t k : differentiable_inputs(op)) names.push_back(op.signature.inputs[k].name);
    return names;
}

// What doesn't fit into the table stays visible in `halyard ops NAME`.
std::string cut(const std::string &s, size_t width) { return s.size() <= width ? s : s.substr(0, width - 2) + ".."; }

void print_line(const OpRecord &r, const std::vector<KernelEntry> &kernels, const std::vector<std::string> &gradients) {
    const Kinds kinds = kinds_of(r, kernels);
    std::string variants = joined(kinds.variants, " ");
    if (!kinds.layouts.empty()) variants += (variants.empty() ? "" : "  ") + joined(kinds.layouts, "|");
    std::printf("%-22s %-14s %-36s %-9s %-44s %s\n", r.name.c_str(), joined(kinds.backends, "+").c_str(), joined(r.dtypes, " ").c_str(),
                gradients.empty() ? "-" : ("d" + joined(gradients, ",d")).c_str(), cut(r.signature, 44).c_str(), variants.c_str());
}

struct Listed {
    const OpRecord *record;
    const std::vector<KernelEntry> *kernels;
    std::vector<std::string> gradients;
};

int list(const std::string &name, bool as_data, bool all) {
    static const std::vector<KernelEntry> none;
    std::map<std::string, Listed> ops;
    for (const RegisteredOp *op : library().ops()) ops[op->record.name] = {&op->record, &op->kernels, gradients_of(*op)};
    for (auto &op : joined_ops()) ops[op.record.name] = {&op.record, &none, {}};
    if (!name.empty()) {
        const auto it = ops.find(ops.count(name) ? name : library().at(name).record.name);
        const Listed &one = it->second;
        if (as_data) std::printf("%s\n", as_json(*one.record, *one.kernels, one.gradients).dump(1).c_str());
        else print_details(*one.record, *one.kernels, one.gradients);
        return 0;
    }
    json list = json::array();
    size_t shown = 0, hidden = 0, kernels = 0;
    if (!as_data) std::printf("%-22s %-14s %-36s %-9s %-44s %s\n", "op", "backends", "dtypes", "gradients", "signature", "variants, layouts");
    for (auto &[op_name, op] : ops) {
        kernels += op.kernels->size();
        if (as_data) list.push_back(as_json(*op.record, *op.kernels, op.gradients));
        else if (op.record->internal && !all) hidden++;
        else print_line(*op.record, *op.kernels, op.gradients), shown++;
    }
    if (as_data) std::printf("%s\n", list.dump(1).c_str());
    else
        std::printf("%zu ops%s, %zu kernels\n", shown,
                    hidden ? (" and " + std::to_string(hidden) + " internal ones (gradients; --all lists them)").c_str() : "", kernels);
    return 0;
}

}  // namespace

void add_ops(CLI::App &app, Run &chosen) {
    struct Options {
        std::string name;
        bool json = false, all = false;
    };
    auto o = std::make_shared<Options>();
    CLI::App *sub = app.add_subcommand("ops", "List the ops of this build, or one in detail");
    sub->add_option("name", o->name, "Show this op in detail");
    sub->add_flag("--json", o->json, "Everything, as JSON");
    sub->add_flag("--all", o->all, "Internal ops too, on lines of their own");
    sub->callback([o, &chosen] { chosen = [o] { return list(o->name, o->json, o->all); }; });
}

}  // namespace halyard::command

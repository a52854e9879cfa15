// halyard ops: what this build has.
#include <algorithm>
#include <cctype>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "registry/base/text.h"
#include "tools/halyard/backends.h"
#include "tools/halyard/command.h"
#include "tools/halyard/op_info.h"
#include "tools/halyard/option.h"

namespace halyard::command {
namespace {
using nlohmann::json;

// {"cpu": {"dtypes": ["f32", ...], "why_not": ["f64: no kernel in this build"]}, ...}
json dtypes_on(const OpInfo &op) {
    json all;
    for (const Backend &b : backends_of(op))
        all[b.name] = {{"dtypes", b.dtypes}, {"why_not", b.why_not}};
    return all;
}

json as_json(const OpInfo &op) {
    const OpRecord &r = *op.record;
    const KernelSummary summary = kernel_summary(op);
    json attrs = json::array(), variants = json::array();
    for (auto &a : r.attrs) {
        json one = {{"name", a.name},
                    {"kind", name_of_kind(a.kind)},
                    {"default", a.value == "!" ? json() : json(default_of(a))},
                    {"required", a.value == "!"}};
        if (!a.choices.empty()) one["choices"] = a.choices;
        attrs.push_back(one);
    }
    for (auto &v : r.variants)
        variants.push_back({{"name", v.name}, {"when", v.when}});
    static const char *measures[] = {"elementwise", "normwise", "products"};
    return {{"name", r.name},
            {"other_names", r.other_names},
            {"signature", r.signature},
            {"doc", r.doc},
            {"class", class_name(r)},
            {"function", function_name(r)},
            {"family", family_of(op)},
            {"form", form_of(r)},
            {"internal", r.internal},
            {"dtypes", r.dtypes},
            {"backends", summary.backends},
            {"dtypes_on", dtypes_on(op)},
            {"isas", summary.isas},
            {"variants", variants},
            {"layouts", summary.layouts},
            {"gradients", op.gradients},
            {"attributes", attrs},
            {"kernels", op.kernels->size()},
            {"samples", r.samples},
            {"bench", r.bench},
            {"contract", {{"measure", measures[r.contract.measure]}, {"ulps", r.contract.ulps}}}};
}

void print_details(const OpInfo &op) {
    const OpRecord &r = *op.record;
    const KernelSummary summary = kernel_summary(op);
    auto line = [](const char *label, const std::string &text) {
        if (!text.empty()) std::printf("  %-12s%s\n", label, text.c_str());
    };
    std::printf("%s: %s\n", r.name.c_str(), r.signature.c_str());
    line("", r.doc);
    if (!r.internal) {
        line("names", "ops::" + class_name(r) + ", F::" + function_name(r) +
                          (r.other_names.empty() ? "" : ", F::" + join(r.other_names, ", F::")));
    }
    line("family", family_of(op));
    line("form", form_of(r));
    line("dtypes", join(r.dtypes, " "));
    for (const Backend &b : backends_of(op)) {
        line(b.name.c_str(), b.dtypes.empty() ? "-" : join(b.dtypes, " "));
        for (const std::string &why : b.why_not)
            line("", why);
    }
    line("ISAs", join(summary.isas));
    for (auto &v : r.variants) {
        if (!v.name.empty()) {
            line(&v == &r.variants[0] ? "variants" : "",
                 v.name + (v.when.empty() ? " (any shape)" : " when " + v.when));
        }
    }
    line("layouts", join(summary.layouts));
    line("gradients", join(op.gradients));
    bool first = true;
    for (auto &a : r.attrs) {
        std::string text = a.name + ": " + name_of_kind(a.kind);
        if (!a.choices.empty()) text += " of " + join(a.choices, "|");
        if (!a.parts.empty()) text += " (" + join(a.parts) + ")";
        line(first ? "attributes" : "",
             text + (a.value == "!" ? ", required"
                                    : " = " + (default_of(a).empty() ? "(empty)" : default_of(a))));
        first = false;
    }
    for (auto &c : r.conditions)
        line(&c == &r.conditions[0] ? "conditions" : "", c);
    line("error bound", bound_of(r.contract));
    for (auto &b : r.bench)
        line(&b == &r.bench[0] ? "bench" : "", b);
    for (auto &s : r.samples)
        line(&s == &r.samples[0] ? "samples" : "", s);
    if (!op.kernels->empty()) line("kernels", std::to_string(op.kernels->size()));
}

// What doesn't fit into the table stays visible in `halyard ops NAME`.
std::string cut(const std::string &s, size_t width) {
    return s.size() <= width ? s : s.substr(0, width - 2) + "..";
}

int width_of(const std::string &backend) {
    return backend == "cpu" ? 32 : 20;
}

// Dtypes, and "*" where some calls have no program all the same: the op's details say why.
std::string column_of(const OpInfo &op, const Backend &b) {
    if (op.record->form == Form::composite && b.name != "cpu") return "(its parts)";
    if (b.dtypes.empty()) return "-";
    return cut(join(b.dtypes, " "), size_t(width_of(b.name)) - 1) + (b.not_all_calls ? "*" : "");
}

void print_line(const OpInfo &op) {
    const OpRecord &r = *op.record;
    const KernelSummary summary = kernel_summary(op);
    std::string variants = join(summary.variants, " ");
    if (!summary.layouts.empty())
        variants += (variants.empty() ? "" : "  ") + join(summary.layouts, "|");
    std::printf("%-22s ", r.name.c_str());
    for (const Backend &b : backends_of(op))
        std::printf("%-*s ", width_of(b.name), column_of(op, b).c_str());
    const std::string gradients = op.gradients.empty() ? "-" : "d" + join(op.gradients, ",d");
    std::printf("%-9s %-44s %s\n", gradients.c_str(), cut(r.signature, 44).c_str(),
                variants.c_str());
}

struct OpsOptions {
    std::string name, family, dtype;
    bool json = false, all = false, no_gradient = false;
};

// Family names go by their beginning, whatever the case: "norm" is Norms.
bool starts_alike(const std::string &whole, const std::string &start) {
    return whole.size() >= start.size() && std::equal(start.begin(), start.end(), whole.begin(),
                                                      [](unsigned char a, unsigned char b) {
                                                          return std::tolower(a) == std::tolower(b);
                                                      });
}

bool wanted(const OpInfo &op, const OpsOptions &o) {
    const auto &sets = op.record->dtypes;
    const bool has_dtype = std::any_of(sets.begin(), sets.end(), [&](const std::string &set) {
        return set.substr(0, set.find(',')) == o.dtype;
    });
    return starts_alike(family_of(op), o.family) && (o.dtype.empty() || has_dtype) &&
           (!o.no_gradient || op.gradients.empty());
}

int list(const OpsOptions &o) {
    if (!o.dtype.empty()) dtype_of(o.dtype);  // refuses what is none
    if (!o.name.empty()) {
        const OpInfo one = op_info(o.name);
        if (o.json)
            std::printf("%s\n", as_json(one).dump(1).c_str());
        else
            print_details(one);
        return 0;
    }
    json list = json::array();
    size_t shown = 0, hidden = 0, kernels = 0;
    if (!o.json) {
        std::printf("%-22s %-*s %-*s %-*s %-9s %-44s %s\n", "op", width_of("cpu"), "cpu",
                    width_of("opencl"), "opencl", width_of("ascend"), "ascend", "gradients",
                    "signature", "variants, layouts");
    }
    for (auto &[op_name, op] : op_infos()) {
        if (!wanted(op, o)) continue;
        kernels += op.kernels->size();
        if (o.json)
            list.push_back(as_json(op));
        else if (op.record->internal && !o.all)
            hidden++;
        else {
            print_line(op);
            shown++;
        }
    }
    if (o.json)
        std::printf("%s\n", list.dump(1).c_str());
    else {
        std::printf("%zu ops%s, %zu kernels\n", shown,
                    hidden ? (" and " + std::to_string(hidden) +
                              " internal ones (gradients; --all lists them)")
                                 .c_str()
                           : "",
                    kernels);
    }
    return 0;
}

}  // namespace

void add_ops(CLI::App &app, Run &selected) {
    auto o = std::make_shared<OpsOptions>();
    CLI::App *sub = app.add_subcommand("ops", "List the ops of this build, or one in detail");
    sub->add_option("name", o->name, "Show this op in detail");
    sub->add_flag("--json", o->json, "Everything, as JSON");
    sub->add_option("--family", o->family,
                    "Only ops of this family, as `halyard docs` lists them: Reductions, norm");
    sub->add_option("--dtype", o->dtype, "Only ops that take this dtype");
    sub->add_flag("--no-gradient", o->no_gradient, "Only ops without a gradient");
    sub->add_flag("--all", o->all, "Internal ops too, on lines of their own");
    sub->callback([o, sub, &selected] {
        if (!o->name.empty()) {
            refuse(*sub, "with the name of an op",
                   {"--family", "--dtype", "--no-gradient", "--all"});
        }
        if (o->json) refuse(*sub, "with --json, which lists internal ops too", {"--all"});
        selected = [o] { return list(*o); };
    });
}

}  // namespace halyard::command

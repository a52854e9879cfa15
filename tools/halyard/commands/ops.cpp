// halyard ops: lists the ops of this build.
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

// Returns {"cpu": {"dtypes": ["f32", ...], "why_not": ["f64: no kernel in this build"]}, ...}.
json dtypes_on(const OpInfo &op) {
    json all;
    for (const Backend &b : backends_of(op))
        all[b.name] = {{"dtypes", b.dtypes}, {"why_not", b.why_not}};
    return all;
}

json as_json(const std::vector<VariantSpec> &variants) {
    json all = json::array();
    for (const VariantSpec &v : variants)
        all.push_back({{"name", v.name}, {"when", v.when}});
    return all;
}

json as_json(const OpInfo &op) {
    const OpRecord &r = *op.record;
    const KernelSummary summary = kernel_summary(op);
    json attrs = json::array();
    for (auto &a : r.attrs) {
        json one = {{"name", a.name},
                    {"kind", name_of_kind(a.kind)},
                    {"default", a.is_required() ? json() : json(default_of(a))},
                    {"required", a.is_required()}};
        if (!a.choices.empty()) one["choices"] = a.choices;
        attrs.push_back(one);
    }
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
            {"variants", as_json(r.variants)},
            {"gpu_variants", as_json(r.gpu_variants)},
            {"layouts", summary.layouts},
            {"gradients", op.gradients},
            {"attributes", attrs},
            {"kernels", op.kernels->size()},
            {"samples", r.samples},
            {"bench", r.bench},
            {"contract", {{"measure", measures[r.contract.measure]}, {"ulps", r.contract.ulps}}}};
}

// Prints a line of an op's details, unless its text is empty.
void print_detail(const char *label, const std::string &text) {
    if (!text.empty()) std::printf("  %-12s%s\n", label, text.c_str());
}

// Prints a detail that is a list, an entry a line.
void print_details(const char *label, const std::vector<std::string> &texts) {
    for (size_t k = 0; k < texts.size(); k++)
        print_detail(k == 0 ? label : "", texts[k]);
}

std::vector<std::string> texts_of(const std::vector<VariantSpec> &variants) {
    std::vector<std::string> all;
    for (const VariantSpec &v : variants) {
        const std::string condition = v.when.empty() ? " (any shape)" : " when " + v.when;
        if (!v.name.empty()) all.push_back(v.name + condition);
    }
    return all;
}

std::string text_of(const AttrSpec &a) {
    std::string text = a.name + ": " + name_of_kind(a.kind);
    if (!a.choices.empty()) text += " of " + join(a.choices, "|");
    if (!a.parts.empty()) text += " (" + join(a.parts) + ")";
    if (a.is_required()) return text + ", required";
    return text + " = " + (default_of(a).empty() ? "(empty)" : default_of(a));
}

void print_op(const OpInfo &op) {
    const OpRecord &r = *op.record;
    const KernelSummary summary = kernel_summary(op);
    std::printf("%s: %s\n", r.name.c_str(), r.signature.c_str());
    print_detail("", r.doc);
    if (!r.internal) {
        print_detail("names",
                     "ops::" + class_name(r) + ", F::" + function_name(r) +
                         (r.other_names.empty() ? "" : ", F::" + join(r.other_names, ", F::")));
    }
    print_detail("family", family_of(op));
    print_detail("form", form_of(r));
    print_detail("dtypes", join(r.dtypes, " "));
    for (const Backend &b : backends_of(op)) {
        print_detail(b.name.c_str(), b.dtypes.empty() ? "-" : join(b.dtypes, " "));
        for (const std::string &why : b.why_not)
            print_detail("", why);
    }
    print_detail("ISAs", join(summary.isas));
    print_details("variants", texts_of(r.variants));
    print_details("on a GPU", texts_of(r.gpu_variants));
    print_detail("layouts", join(summary.layouts));
    print_detail("gradients", join(op.gradients));
    std::vector<std::string> attributes;
    for (auto &a : r.attrs)
        attributes.push_back(text_of(a));
    print_details("attributes", attributes);
    print_details("conditions", r.conditions);
    print_detail("error bound", bound_of(r.contract));
    print_details("bench", r.bench);
    print_details("samples", r.samples);
    if (!op.kernels->empty()) print_detail("kernels", std::to_string(op.kernels->size()));
}

// Cuts a text that is too wide for the table; `halyard ops NAME` prints it whole.
std::string cut(const std::string &s, size_t width) {
    return s.size() <= width ? s : s.substr(0, width - 2) + "..";
}

int width_of(const std::string &backend) {
    return backend == "cpu" ? 32 : 20;
}

// Returns the dtypes, with "*" if some calls have no program; the op's details give the reasons.
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
    std::string name, family, dtype, device;
    bool json = false, all = false, no_gradient = false, missing = false;
};

// Compares the beginning of a family's name without regard to case: "norm" selects Normalization.
bool starts_alike(const std::string &whole, const std::string &start) {
    return whole.size() >= start.size() && std::equal(start.begin(), start.end(), whole.begin(),
                                                      [](unsigned char a, unsigned char b) {
                                                          return std::tolower(a) == std::tolower(b);
                                                      });
}

bool is_selected(const OpInfo &op, const OpsOptions &o) {
    const auto &sets = op.record->dtypes;
    const bool has_dtype = std::any_of(sets.begin(), sets.end(), [&](const std::string &set) {
        return set.substr(0, set.find(',')) == o.dtype;
    });
    return starts_alike(family_of(op), o.family) && (o.dtype.empty() || has_dtype) &&
           (!o.no_gradient || op.gradients.empty());
}

int list(const OpsOptions &o) {
    if (!o.dtype.empty()) dtype_of(o.dtype);  // throws if it isn't a dtype
    if (!o.name.empty()) {
        const OpInfo one = op_info(o.name);
        if (o.json)
            std::printf("%s\n", as_json(one).dump(1).c_str());
        else
            print_op(one);
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
        if (!is_selected(op, o)) continue;
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

// Prints a line for each set of dtypes that an op has a CPU kernel for and none for the device.
// Returns 1 if the reason of one of them is unknown.
int list_missing(const OpsOptions &o) {
    size_t missing = 0, unexplained = 0;
    for (auto &[op_name, op] : op_infos()) {
        if (!is_selected(op, o)) continue;
        for (const MissingKernel &m : missing_kernels(op, o.device)) {
            const std::string why = m.why.empty() ? "NO REASON" : m.why;
            std::printf("%-28s %-12s %s\n", op_name.c_str(), m.dtypes.c_str(), why.c_str());
            missing++;
            unexplained += m.why.empty();
        }
    }
    std::printf("%zu sets of dtypes have a CPU kernel and none for %s, %zu of them without a "
                "reason\n",
                missing, o.device.c_str(), unexplained);
    return unexplained ? 1 : 0;
}

}  // namespace

void add_ops(CLI::App &app, Run &selected) {
    auto o = std::make_shared<OpsOptions>();
    CLI::App *sub = app.add_subcommand("ops", "List the ops of this build, or one in detail");
    sub->add_option("name", o->name, "Show this op in detail");
    sub->add_flag("--json", o->json, "Everything, as JSON");
    sub->add_option("--family", o->family,
                    "Only ops of this family, by the beginning of its name: Reductions, norm");
    sub->add_option("--dtype", o->dtype, "Only ops with kernels for this dtype");
    sub->add_flag("--no-gradient", o->no_gradient, "Only ops without a gradient");
    sub->add_flag("--all", o->all, "Also internal ops, on lines of their own");
    sub->add_flag("--missing", o->missing,
                  "Only what has a CPU kernel and none for the device, with the reason; the exit "
                  "status is 1 if one has no reason");
    sub->add_option("--device", o->device, "With --missing: opencl or cuda; default: opencl")
        ->check(CLI::IsMember({"opencl", "cuda"}));
    sub->callback([o, sub, &selected] {
        if (!o->name.empty()) {
            refuse(*sub, "with the name of an op",
                   {"--family", "--dtype", "--no-gradient", "--all"});
        }
        if (o->json) refuse(*sub, "with --json, which lists internal ops too", {"--all"});
        if (o->missing) {
            refuse(*sub, "with --missing, which lists internal ops too",
                   {"name", "--json", "--all"});
            if (o->device.empty()) o->device = "opencl";
        } else {
            refuse(*sub, "without --missing", {"--device"});
        }
        selected = [o] { return o->missing ? list_missing(*o) : list(*o); };
    });
}

}  // namespace halyard::command

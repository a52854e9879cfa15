#include "tools/halyard/op_info.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdio>

#include "bench/harness/op_call.h"
#include "bench/harness/variadic_ops.h"
#include "primitives/library.h"

namespace halyard::command {
using namespace bench;
namespace {

// Titles of the families, in the order of the index. A family is a folder of
// kernels/ and of primitives/composites/.
struct Family {
    std::string folder, title;
};

const std::vector<Family> &all_families() {
    static const std::vector<Family> all = {
        {"elementwise", "Elementwise"},
        {"reduction", "Reductions"},
        {"indexing", "Indexing"},
        {"layout", "Shape, layout, creation"},
        {"contraction", "Contractions"},
        {"convolution", "Convolutions"},
        {"pooling", "Pooling"},
        {"rowwise", "Row-wise"},
        {"normalization", "Normalization"},
        {"loss", "Losses"},
        {"random", "Random"},
        {"recurrent", "Recurrent"},
        {"optimizer", "Optimisers"},
    };
    return all;
}

}  // namespace

std::map<std::string, OpInfo> op_infos() {
    static const std::list<KernelEntry> none;
    std::map<std::string, OpInfo> ops;
    for (const RegisteredOp *op : library().ops()) {
        OpInfo &one = ops[op->record.name] = {
            &op->record, &op->kernels, {}, op->family.empty() ? op->file : op->family};
        for (size_t k : differentiable_inputs(*op))
            one.gradients.push_back(op->signature.inputs[k].name);
    }
    for (auto &op : variadic_ops())
        ops[op.record.name] = {&op.record, &none, {"x"}, op.family};
    return ops;
}

OpInfo op_info(const std::string &any_name) {
    std::map<std::string, OpInfo> ops = op_infos();
    return ops.at(ops.count(any_name) ? any_name : library().at(any_name).record.name);
}

KernelSummary kernel_summary(const OpInfo &op) {
    KernelSummary summary;
    auto add = [](std::vector<std::string> &to, const std::string &s) {
        if (std::find(to.begin(), to.end(), s) == to.end()) to.push_back(s);
    };
    for (auto &k : *op.kernels) {
        add(summary.backends, k.backend);
        if (k.backend == "cpu") add(summary.isas, name_of(k.isa));
    }
    if (op.record->form == Form::composite) summary.backends = {"composite"};
    for (auto &v : op.record->variants)
        if (!v.name.empty()) summary.variants.push_back(v.name);
    for (auto &a : op.record->attrs)
        if (a.name == "data_format") summary.layouts = a.choices;
    return summary;
}

std::string family_of(const OpInfo &op) {
    for (auto &family : all_families())
        if (family.folder == op.family) return family.title;
    std::string title = op.family.empty() ? "Others" : op.family;
    title[0] = char(std::toupper(static_cast<unsigned char>(title[0])));
    std::replace(title.begin(), title.end(), '_', ' ');
    return title;
}

const std::vector<std::string> &families() {
    static const std::vector<std::string> titles = [] {
        std::vector<std::string> all;
        for (auto &family : all_families())
            all.push_back(family.title);
        return all;
    }();
    return titles;
}

const char *name_of_kind(AttrKind k) {
    static const char *names[] = {"integer", "real", "boolean", "choice", "ints", "dtype", "text"};
    return names[int(k)];
}
std::string default_of(const AttrSpec &a) {
    // Returns the shortest text of the same number: 0.1, not 0.10000000000000001.
    if (a.kind == AttrKind::real && !a.is_required()) {
        char text[40];
        return {text, std::to_chars(text, text + sizeof text, std::stod(a.value)).ptr};
    }
    return a.kind == AttrKind::choice    ? a.choices[0]
           : a.kind == AttrKind::boolean ? (a.value == "1" ? "true" : "false")
                                         : a.value;
}
std::string form_of(const OpRecord &r) {
    static const char *names[] = {"plain", "elementwise", "reduction", "composite"};
    return names[int(r.form)];
}
std::string bound_of(const Contract &c) {
    static const char *measures[] = {"ulps of each element", "ulps of the largest element",
                                     "ulps of the sum of |products|"};
    char text[80];
    std::snprintf(text, sizeof text, "%g %s", c.ulps, measures[c.measure]);
    return text;
}

}  // namespace halyard::command

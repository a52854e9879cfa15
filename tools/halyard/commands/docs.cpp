// halyard docs: reference pages, made from the ops' records and from calls of this build.
#include <cstdio>
#include <filesystem>
#include <set>

#include "primitives/autograd/adjoint.h"
#include "primitives/library.h"
#include "registry/base/atomic_file.h"
#include "registry/base/error.h"
#include "registry/base/text.h"
#include "tools/halyard/command.h"
#include "tools/halyard/example.h"
#include "tools/halyard/op_info.h"
#include "tools/halyard/option.h"

namespace halyard::command {
namespace {
namespace fs = std::filesystem;

std::string code(const std::string &s) {
    return s.find('`') == std::string::npos ? "`" + s + "`" : "`` " + s + " ``";
}
// Returns a table cell's text, with bars escaped.
std::string cell(const std::string &s) {
    std::string t;
    for (char c : s)
        t += c == '|' ? std::string("\\|") : std::string(1, c);
    return t;
}
std::string row(const std::vector<std::string> &cells) {
    std::string s = "|";
    for (auto &c : cells)
        s += " " + cell(c) + " |";
    return s + "\n";
}
std::string table(const std::vector<std::string> &head,
                  const std::vector<std::vector<std::string>> &rows) {
    std::string s = row(head) + "|";
    for (size_t k = 0; k < head.size(); k++)
        s += "---|";
    s += "\n";
    for (auto &r : rows)
        s += row(r);
    return s;
}

// Returns "[..n,c]".
std::string shape_text(const TensorSpec &t) {
    std::vector<std::string> parts;
    if (t.any_rank) parts.emplace_back("*");
    if (!t.group.empty()) parts.push_back(".." + t.group);
    parts.insert(parts.end(), t.extents.begin(), t.extents.end());
    return "[" + join(parts, ",") + "]";
}

bool is_updated_in_place(const TensorSpec &output, const Signature &sig) {
    return std::any_of(sig.inputs.begin(), sig.inputs.end(),
                       [&](const TensorSpec &i) { return i.name + "_out" == output.name; });
}

// Returns a sentence for each mark in the shapes: "[*]" and "..n".
std::string explained_marks(const OpRecord &r, const Signature &sig, bool in_place) {
    std::set<std::string> groups;
    bool any_rank = false;
    for (auto *list : {&sig.inputs, &sig.outputs}) {
        for (const TensorSpec &t : *list) {
            any_rank |= t.any_rank;
            if (!t.group.empty()) groups.insert(t.group);
        }
    }
    std::string s;
    if (any_rank) {
        s = r.form == Form::elementwise && !in_place
                ? "`[*]`: any shapes that broadcast to each other, as in NumPy; outputs have the "
                  "broadcast one. "
            : r.form == Form::composite ? "`[*]`: any shape. "
                                        : "`[*]`: any shape, the same for all. ";
    }
    for (auto &group : groups)
        s += "`.." + group + "`: any number of leading dimensions. ";
    return s;
}

std::string tensors(const OpRecord &r) {
    if (r.signature.find("...") != std::string::npos)
        return "Any number of tensors: " + code(r.signature) + ".\n";
    const Signature sig(r.name, r.signature);
    std::vector<std::vector<std::string>> rows;
    const auto add = [&](const TensorSpec &t, const char *role) {
        const bool variable = t.dtype.size() == 1;
        rows.push_back(
            {code(t.name), role, code(shape_text(t)), variable ? t.dtype : t.dtype + " always"});
    };
    for (auto &t : sig.inputs)
        add(t, "input");
    bool in_place = true;
    for (auto &t : sig.outputs) {
        add(t, "output");
        in_place &= is_updated_in_place(t, sig);
    }
    std::string s = table({"tensor", "", "shape", "dtype"}, rows) + "\n";
    s += explained_marks(r, sig, in_place);
    if (!r.axis.empty()) s += "`" + r.axis + "` is the dimension of the attribute `axis`. ";
    if (in_place) s += "In place: `NAME_out` is written over the input `NAME`. ";
    std::string lets;
    for (auto &l : r.lets) {
        if (!l.name.ends_with("_end") && !l.name.ends_with("_least"))
            lets += (lets.empty() ? "" : ", ") + code(l.name + " = " + l.value);
    }
    if (!lets.empty()) s += "With " + lets + ". ";
    while (s.ends_with(" "))
        s.pop_back();
    return s + "\n";
}

std::string dtypes(const OpRecord &r) {
    const bool several = r.dtypes[0].find(',') != std::string::npos;
    std::string s = several ? "Sets of T, U, ...: "
                    : r.form == Form::composite || r.signature.find(":") == std::string::npos
                        ? "T is one of "
                        : "T above is one of ";
    std::vector<std::string> sets;
    for (auto &d : r.dtypes)
        sets.push_back(code(d));
    return s + join(sets) + ".\n";
}

// Returns "`F::PadMode`: valid | same | pad", with a constant in brackets if it is not the name.
std::string choices_text(const AttrSpec &a) {
    const std::vector<std::string> constants = choice_constants(a);
    std::vector<std::string> names;
    for (size_t k = 0; k < constants.size(); k++) {
        const bool is_name = constants[k] == a.choices[k];
        names.push_back(is_name ? constants[k] : a.choices[k] + " (" + constants[k] + ")");
    }
    return code("F::" + choice_type(a)) + ": " + join(names, " | ");
}

std::string attributes(const OpRecord &r) {
    if (r.attrs.empty()) return "None.\n";
    std::vector<std::vector<std::string>> rows;
    for (auto &a : r.attrs) {
        std::string kind = name_of_kind(a.kind);
        if (!a.choices.empty()) kind = choices_text(a);
        if (!a.parts.empty()) kind += " (" + join(a.parts) + ")";
        const std::string value = default_of(a);
        rows.push_back({code(a.name), kind,
                        a.is_required() ? "required"
                        : value.empty() ? "(empty)"
                                        : code(value),
                        a.at_call ? "call" : "constructor"});
    }
    return table({"attribute", "kind", "default", "argument of the"}, rows);
}

std::string gradients(const OpInfo &op) {
    if (op.gradients.empty()) return "None.\n";
    if (op.record->form == Form::composite)
        return "In every input that is a float, through the ops it is composed of.\n";
    const RegisteredOp &registered = library().at(op.record->name);
    const auto &specs = registered.signature;
    const std::vector<Adjoint> &adjoints = adjoints_of(registered);
    std::vector<std::vector<std::string>> rows;
    for (size_t k = 0; k < specs.inputs.size(); k++) {
        const Adjoint &a = adjoints[k];
        if (!a.op && !a.compose) continue;
        std::vector<std::string> from;
        for (auto &source : a.inputs) {
            const auto place = size_t(source.place);
            const bool is_input = source.kind == Adjoint::forward && place < specs.inputs.size();
            from.push_back(code(source.kind == Adjoint::gradient ? "d" + specs.outputs[place].name
                                : is_input                       ? specs.inputs[place].name
                                           : specs.outputs[place - specs.inputs.size()].name));
        }
        rows.push_back({code("d" + specs.inputs[k].name), join(from),
                        a.op ? "kernel " + code(a.op->record.name) : "composed of other ops"});
    }
    return table({"gradient", "made of", "by"}, rows);
}

std::string errors(const OpInfo &op) {
    std::string s;
    for (auto &c : op.record->conditions)
        s += "- needs " + code(c) + "\n";
    for (auto &line : refusals_of(op))
        s += "- " + code(line) + "\n";
    return s.empty() ? "None of its own.\n"
                     : s + "\nOther dtypes, ranks and attributes are refused in the same words.\n";
}

std::string accuracy(const OpRecord &r) {
    if (r.contract.ulps == 0) return "Exact.\n";
    bool halves = false, integers = false;
    for (auto &set : r.dtypes) {
        const DType t = dtype_of(set.substr(0, set.find(',')));
        halves |= is_float(t) && bytes_of(t) == 2;
        integers |= is_integer(t);
    }
    return "Within " + bound_of(r.contract) +
           (halves ? "; f16 and bf16: of f32, and one rounding" : "") + "." +
           (integers ? " Integers are exact." : "") + "\n";
}

std::string kernels(const OpInfo &op) {
    const OpRecord &r = *op.record;
    if (r.form == Form::composite) return "Composed of other ops; runs where they do.\n";
    const KernelSummary summary = kernel_summary(op);
    std::vector<std::vector<std::string>> rows;
    for (const auto *variants : {&r.variants, &r.gpu_variants}) {
        for (const VariantSpec &v : *variants) {
            const auto count = std::ranges::count(*op.kernels, v.name, &KernelEntry::variant);
            const std::string place = variants == &r.gpu_variants ? " (GPU)" : "";
            rows.push_back({(v.name.empty() ? "(the only one)" : code(v.name)) + place,
                            v.when.empty() ? "any shape" : code(v.when), std::to_string(count)});
        }
    }
    return "Backends: " + join(summary.backends) + ". Instruction sets: " + join(summary.isas) +
           ".\n\n" + table({"variant", "when", "kernels"}, rows);
}

std::string also_known(const OpRecord &r) {
    std::vector<std::string> names;
    for (auto &name : r.other_names)
        names.push_back(code("F::" + name));
    return code("ops::" + class_name(r)) + ", " + code("F::" + function_name(r)) +
           (names.empty() ? "" : "; as in NumPy or PyTorch also " + join(names));
}

std::string page(const OpInfo &op) {
    const OpRecord &r = *op.record;
    const Example example = example_of(op);
    return "# " + r.name + "\n\n" + code(r.doc) + "\n\n" +
           table({"", ""}, {{"names", also_known(r)},
                            {"signature", code(r.signature)},
                            {"family", family_of(op)}}) +
           "\n## Tensors\n\n" + tensors(r) + "\n" + dtypes(r) + "\n## Attributes\n\n" +
           attributes(r) + "\n## Gradients\n\n" + gradients(op) + "\n## Errors\n\n" + errors(op) +
           "\n## Accuracy\n\n" + accuracy(r) + "\n## Kernels\n\n" + kernels(op) +
           "\n## Example\n\n```cpp\n" + example.cpp + "```\n\n```sh\n" + example.shell + "```\n";
}

std::string index(const std::map<std::string, OpInfo> &ops) {
    std::vector<std::string> order = families();
    for (auto &[name, op] : ops) {
        if (std::find(order.begin(), order.end(), family_of(op)) == order.end())
            order.push_back(family_of(op));
    }
    std::string s = "# Ops\n";
    for (auto &family : order) {
        std::vector<std::vector<std::string>> rows;
        for (auto &[name, op] : ops) {
            if (family_of(op) == family) {
                rows.push_back(
                    {"[" + name + "](" + name + ".md)", code(op.record->doc),
                     join(op.gradients.empty() ? std::vector<std::string>{"-"} : op.gradients)});
            }
        }
        if (!rows.empty()) s += "\n## " + family + "\n\n" + table({"op", "", "gradients"}, rows);
    }
    return s;
}

int docs(const std::string &name, const std::string &dir) {
    if (!name.empty()) {
        const OpInfo op = op_info(name);
        if (op.record->internal) throw DispatchError(name, "is internal: it has no page");
        std::fputs(page(op).c_str(), stdout);
        return 0;
    }
    std::map<std::string, OpInfo> ops = op_infos();
    std::erase_if(ops, [](auto &op) { return op.second.record->internal; });
    if (dir.empty()) {
        std::fputs(index(ops).c_str(), stdout);
        return 0;
    }
    std::error_code failed;
    fs::create_directories(dir, failed);
    if (failed) throw IoError(dir, "can't be created: " + failed.message());
    for (auto &[op_name, op] : ops)
        write_file((fs::path(dir) / (op_name + ".md")).string(), page(op), Durability::to_system);
    write_file((fs::path(dir) / "index.md").string(), index(ops), Durability::to_system);
    std::printf("wrote %zu pages to %s\n", ops.size() + 1, dir.c_str());
    return 0;
}

}  // namespace

void add_docs(CLI::App &app, Run &selected) {
    struct Options {
        std::string name, dir;
    };
    auto o = std::make_shared<Options>();
    CLI::App *sub = app.add_subcommand(
        "docs", "Print an op's reference page in Markdown, or write all to a folder");
    sub->add_option("name", o->name, "The op; default: the index");
    sub->add_option("--out,-o", o->dir, "Write the index and every page into this folder");
    sub->callback([o, sub, &selected] {
        if (!o->name.empty()) refuse(*sub, "with the name of an op", {"--out"});
        selected = [o] { return docs(o->name, o->dir); };
    });
}

}  // namespace halyard::command

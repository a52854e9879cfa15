#include "tools/emit.h"

#include <algorithm>

#include "registry/op/signature.h"

namespace halyard {
namespace {

std::string in_quotes(const std::string &s) {
    std::string q = "\"";
    for (char c : s) {
        if (c == '"' || c == '\\') q += '\\';
        q += c;
    }
    return q + "\"";
}
template<class List, class Write> std::string braced(const List &list, Write write) {
    std::string s = "{";
    bool first = true;
    for (auto &e : list) {
        s += (first ? "" : ", ") + write(e);
        first = false;
    }
    return s + "}";
}
std::string strings(const std::vector<std::string> &list) {
    return braced(list, in_quotes);
}
std::string number(double v) {
    char text[40];
    std::snprintf(text, sizeof text, "%.17g", v);
    return text;
}
const char *form_name(Form f) {
    switch (f) {
    case Form::plain: return "plain";
    case Form::elementwise: return "elementwise";
    case Form::reduction: return "reduction";
    case Form::composite: break;
    }
    return "composite";
}
const char *kind_name(AttrKind k) {
    switch (k) {
    case AttrKind::integer: return "integer";
    case AttrKind::real: return "real";
    case AttrKind::boolean: return "boolean";
    case AttrKind::choice: return "choice";
    case AttrKind::ints: return "ints";
    case AttrKind::text: return "text";
    case AttrKind::dtype: break;
    }
    return "dtype";
}

std::string record(const OpRecord &r) {
    std::string s = "OpRecord record_" + r.name + "() {\n    return {.name = " + in_quotes(r.name) +
                    ", .signature = " + in_quotes(r.signature) + ", .doc = " + in_quotes(r.doc) +
                    ", .alias = " + in_quotes(r.alias) +
                    ", .functional = " + in_quotes(r.functional) +
                    ", .other_names = " + strings(r.other_names) +
                    ",\n         .form = Form::" + form_name(r.form) +
                    ", .dtypes = " + strings(r.dtypes);
    s += ",\n         .attrs = " + braced(r.attrs, [](const AttrSpec &a) {
             return "{" + in_quotes(a.name) + ", AttrKind::" + kind_name(a.kind) + ", " +
                    in_quotes(a.value) + ", " + strings(a.choices) + ", " + strings(a.parts) +
                    ", " + (a.at_call ? "true" : "false") + "}";
         });
    s += ",\n         .lets = " + braced(r.lets, [](const LetSpec &l) {
             return "{" + in_quotes(l.name) + ", " + in_quotes(l.value) + "}";
         });
    s += ", .scalars = " + braced(r.scalars, [](const ScalarSpec &l) {
             return "{" + in_quotes(l.name) + ", " + in_quotes(l.value) + ", " +
                    (l.real ? "true" : "false") + "}";
         });
    s += ", .conditions = " + strings(r.conditions);
    s += ",\n         .variants = " + braced(r.variants, [](const VariantSpec &v) {
             return "{" + in_quotes(v.name) + ", " + in_quotes(v.when) + "}";
         });
    s += ", .samples = " + strings(r.samples) + ", .bench = " + strings(r.bench);
    static const char *measures[] = {"elementwise", "normwise", "products"};
    s += ",\n         .axis = " + in_quotes(r.axis) +
         ", .any_strides = " + (r.any_strides ? "true" : "false") +
         ", .gpu = " + (r.gpu ? "true" : "false") +
         ", .internal = " + (r.internal ? "true" : "false") +
         ", .contract = {Contract::" + measures[r.contract.measure] + ", " +
         number(r.contract.ulps) + "}};\n}\n";
    return s;
}

std::string default_of(const AttrSpec &a) {
    switch (a.kind) {
    case AttrKind::choice: return " = " + in_quotes(a.choices[0]);
    case AttrKind::text: return " = " + in_quotes(a.value);
    case AttrKind::boolean: return a.value == "1" ? " = true" : " = false";
    case AttrKind::ints: return " = {" + a.value + "}";
    case AttrKind::dtype: return " = DType::" + (a.value == "bool" ? "boolean" : a.value);
    default: return " = " + a.value;
    }
}
const char *cpp_type(const AttrSpec &a) {
    switch (a.kind) {
    case AttrKind::choice:
    case AttrKind::text: return "const std::string &";
    case AttrKind::boolean: return "bool ";
    case AttrKind::ints: return "const Ints &";
    case AttrKind::dtype: return "DType ";
    case AttrKind::real: return "double ";
    case AttrKind::integer: break;
    }
    return "int64_t ";
}

struct Parameters {
    std::string declared, passed;  // "const Tensor &x, int64_t axis = -1", "x, axis"
    void add(const std::string &declaration, const std::string &name) {
        declared += (declared.empty() ? "" : ", ") + declaration;
        passed += (passed.empty() ? "" : ", ") + name;
    }
};

std::string face(const OpRecord &r) {
    const Signature sig(r.name, r.signature);
    // Outputs named <input>_out are written into those inputs.
    auto updates = [&](const TensorSpec &o) {
        return std::any_of(sig.inputs.begin(), sig.inputs.end(),
                           [&](const TensorSpec &i) { return i.name + "_out" == o.name; });
    };
    const bool in_place = std::all_of(sig.outputs.begin(), sig.outputs.end(), updates);
    const bool promotes = r.form == Form::elementwise && sig.inputs.size() >= 2 && !in_place;
    const std::string cls = class_name(r);
    const std::string fn = function_name(r);
    const size_t outputs = sig.outputs.size();
    const std::string result = in_place ? "void"
                               : outputs == 1
                                   ? "Tensor"
                                   : "std::array<Tensor, " + std::to_string(outputs) + ">";
    Parameters construct, call, all;
    std::string given, tensors, set;
    for (auto &t : sig.inputs) {
        const std::string declaration =
            std::string(promotes ? "const Argument &" : "const Tensor &") + t.name;
        call.add(declaration, t.name);
        all.add(declaration, t.name);
        tensors += (tensors.empty() ? "" : ", ") + t.name;
    }
    for (auto &a : r.attrs) {
        if (a.at_call) {
            const std::string declaration = cpp_type(a) + a.name;
            call.add(declaration + (a.value == "!" ? "" : default_of(a)), a.name);
            all.add(declaration + (a.value == "!" ? "" : default_of(a)), a.name);
            set += ".with(" + in_quotes(a.name) + ", " + a.name + ")";
        }
    }
    for (auto &a : r.attrs) {
        if (!a.at_call) {
            const std::string declaration = cpp_type(a) + a.name +
                                            (a.value == "!" ? "" : default_of(a));
            construct.add(declaration, a.name);
            all.add(declaration, a.name);
            given += (given.empty() ? "" : ", ") + a.name;
        }
    }
    const std::string run = in_place ? "run_in_place" : promotes ? "run_promoted" : "run";
    std::string s = "// " + r.signature + (r.doc.empty() ? "" : "\n// " + r.doc) + "\n";
    s += "namespace ops {\nclass " + cls + " : public Primitive {\npublic:\n";
    s += "    " +
         std::string(construct.declared.find(',') == std::string::npos &&
                             !construct.declared.empty()
                         ? "explicit "
                         : "") +
         cls + "(" + construct.declared + ") : Primitive(self(), {" + given + "}) {}\n";
    std::string value = set.empty() ? run + "({" + tensors + "})"
                                    : "(*this)" + set + "." + run + "({" + tensors + "})";
    if (!in_place) {
        value = outputs == 1 ? value + "[0]"
                             : "outputs<" + std::to_string(outputs) + ">(" + value + ")";
    }
    s += "    " + result + " operator()(" + call.declared + ") const { return " + value +
         "; }\n\nprivate:\n    static const RegisteredOp &self() {\n        static const "
         "RegisteredOp &op = find_op(" +
         in_quotes(r.name) + ");\n        return op;\n    }\n};\n}  // namespace ops\n";
    s += "namespace F {\ninline " + result + " " + fn + "(" + all.declared + ") {\n";
    if (construct.passed.empty())
        s += "    static const ops::" + cls + " op;\n    return op(" + call.passed + ");\n}\n";
    else
        s += "    return ops::" + cls + "(" + construct.passed + ")(" + call.passed + ");\n}\n";
    std::vector<std::string> others = further_names(r);
    others.push_back(r.name);
    for (const std::string &other : others) {
        if (other != fn && other != cls) {
            s += "inline " + result + " " + other + "(" + all.declared + ") { return " + fn + "(" +
                 all.passed + "); }\n";
        }
    }
    return s + "}  // namespace F\n\n";
}

using SymbolOf = std::function<std::string(const KernelEntry &)>;

std::string linked_kernels(const std::vector<KernelEntry> &kernels, const SymbolOf &symbol) {
    std::string s = "extern \"C\" {\n";
    for (auto &k : kernels)
        s += "int " + symbol(k) + "_argv(void **);\n";
    return s + "}\n\n";
}

std::string kernels_on_demand(const std::vector<KernelEntry> &kernels, const SymbolOf &symbol,
                              const std::string &generator) {
    std::string s = "const char generator[] = " + in_quotes(generator) + ";\n\n";
    for (auto &k : kernels) {
        s += "int " + symbol(k) + "_argv(void **arguments) {\n";
        s += "    static constinit KernelOnDemand kernel(generator, " + in_quotes(symbol(k)) +
             ");\n";
        s += "    return kernel(arguments);\n}\n";
    }
    return s + "\n";
}

std::string kernel_rows(const std::vector<KernelEntry> &kernels, const SymbolOf &symbol) {
    if (kernels.empty()) return "";
    std::string s = "\nconst KernelRow rows[] = {\n";
    for (auto &k : kernels) {
        std::string picks;
        for (auto &[name, value] : k.picks)
            picks += (picks.empty() ? "" : " ") + name + " " + std::to_string(value);
        s += "    {" + in_quotes(k.op) + ", " + in_quotes(k.backend) + ", " + in_quotes(k.dtypes);
        s += ", " + in_quotes(k.variant) + ", Isa::" + name_of(k.isa) + ", " +
             std::to_string(k.lanes);
        s += ", " + in_quotes(picks) + ", " + symbol(k) + "_argv},\n";
    }
    return s + "};\n";
}

}  // namespace

std::string records_source(const std::string &file, const std::vector<OpRecord> &ops,
                           const std::vector<KernelEntry> &kernels,
                           const std::function<std::string(const KernelEntry &)> &symbol,
                           const std::string &generator) {
    std::string s = "#include \"registry/dispatch/kernel_on_demand.h\"\n#include "
                    "\"registry/dispatch/kernel_rows.h\"\n\n";
    if (generator.empty()) s += linked_kernels(kernels, symbol);
    s += "namespace halyard {\nnamespace {\n\n";
    if (!generator.empty()) s += kernels_on_demand(kernels, symbol, generator);
    // A function each: one initialiser of them all takes a compiler time that grows with its
    // square.
    for (auto &r : ops)
        s += record(r);
    s += kernel_rows(kernels, symbol);
    s += "\n}  // namespace\n\nextern const OpFile op_file_" + file + ";\n";
    s += "const OpFile op_file_" + file + " = {\n    .name = " + in_quotes(file) + ",\n";
    s += "    .ops = " + braced(ops, [](const OpRecord &r) { return "record_" + r.name + "()"; });
    s += ",\n    .kernels = ";
    s += kernels.empty() ? "{}" : "kernel_entries(rows, " + std::to_string(kernels.size()) + ")";
    return s + ",\n};\n\n}  // namespace halyard\n";
}

std::string face_source(const std::vector<OpRecord> &ops) {
    std::string s = "// Generated from the ops' records.\n#pragma once\n#include "
                    "\"primitives/primitive.h\"\n\nnamespace halyard {\n\n";
    for (auto &r : ops)
        if (!r.internal) s += face(r);
    return s + "}  // namespace halyard\n";
}

}  // namespace halyard

#include "tools/emit.h"

#include <fmt/core.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>

#include "registry/base/atomic_file.h"
#include "registry/op/extension.h"
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
                    ", " + (a.at_call ? "true" : "false") + ", " + in_quotes(a.type) + "}";
         });
    s += ",\n         .lets = " + braced(r.lets, [](const LetSpec &l) {
             return "{" + in_quotes(l.name) + ", " + in_quotes(l.value) + "}";
         });
    s += ", .scalars = " + braced(r.scalars, [](const ScalarSpec &l) {
             return "{" + in_quotes(l.name) + ", " + in_quotes(l.value) + ", " +
                    (l.real ? "true" : "false") + "}";
         });
    s += ", .conditions = " + strings(r.conditions);
    const auto variant = [](const VariantSpec &v) {
        const std::string names = in_quotes(v.name) + ", " + in_quotes(v.when);
        if (v.extension == Extension::none) return "{" + names + "}";
        return "{" + names + ", Extension::" + name_of(v.extension) + "}";
    };
    s += ",\n         .variants = " + braced(r.variants, variant);
    if (!r.gpu_variants.empty()) s += ", .gpu_variants = " + braced(r.gpu_variants, variant);
    s += ", .samples = " + strings(r.samples) + ", .bench = " + strings(r.bench);
    static const char *measures[] = {"elementwise", "normwise", "products"};
    s += ",\n         .axis = " + in_quotes(r.axis) +
         ", .any_strides = " + (r.any_strides ? "true" : "false") +
         ", .internal = " + (r.internal ? "true" : "false") +
         ", .contract = {Contract::" + measures[r.contract.measure] + ", " +
         number(r.contract.ulps) + "}};\n}\n";
    return s;
}

// Returns the namespace of a choice's class, which depends on all that the class does. So choices
// of ops that don't know each other have one class if they are equal, and can't be mistaken for
// each other if they aren't: their common name, F::Mode, is then ambiguous.
std::string choice_namespace(const AttrSpec &a) {
    std::string s = "of";
    std::string texts;
    bool plain = true;
    for (const std::string &constant : choice_constants(a))
        s += "_" + constant;
    for (const std::string &name : a.choices) {
        plain &= std::ranges::all_of(name, [](unsigned char c) { return std::isalnum(c) != 0; });
        texts += name + '\0';
    }
    if (plain) return s;
    uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
    for (const char c : texts)
        hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    return fmt::format("{}_{:016x}", s, hash);
}

// Returns a choice's class. Headers that are generated apart declare the same one.
std::string choice_class(const AttrSpec &a) {
    const std::string type = choice_type(a), space = choice_namespace(a);
    const std::string guard = "HALYARD_" + type + "_" + space;
    std::string s = "#ifndef " + guard + "\n#define " + guard +
                    "\nnamespace F {\ninline namespace " + space + " {\nstruct " + type +
                    " : Choice {\n";
    s += "    enum Name : uint8_t " +
         braced(choice_constants(a), [](const std::string &constant) { return constant; }) + ";\n";
    s += "    static constexpr const char *names[] = " + strings(a.choices) + ";\n";
    s += "    static constexpr const char *type = " + in_quotes(type) + ";\n";
    s += "    " + type + "(Name name) : Choice(names[name]) {}\n";
    for (const char *text : {"const char *", "const std::string &", "std::string_view "})
        s += "    " + type + "(" + text + "text) : Choice(text) {}\n";
    s += "    friend bool operator==(const " + type + " &a, const " + type +
         " &b) { return a.text() == b.text(); }\n};\n";
    return s + "}  // namespace " + space + "\n}  // namespace F\n#endif\n\n";
}

// `choice` is the name by which the functions of an op call the choice's class.
std::string default_of(const AttrSpec &a, const std::string &choice) {
    switch (a.kind) {
    case AttrKind::choice: return " = " + choice + "::" + choice_constants(a)[0];
    case AttrKind::text: return " = " + in_quotes(a.value);
    case AttrKind::boolean: return a.value == "1" ? " = true" : " = false";
    case AttrKind::ints: return " = {" + a.value + "}";
    case AttrKind::dtype: return " = DType::" + (a.value == "bool" ? "boolean" : a.value);
    case AttrKind::real: {
        const std::string infinity = "std::numeric_limits<double>::infinity()";
        if (a.value == "inf") return " = " + infinity;
        if (a.value == "-inf") return " = -" + infinity;
        return " = " + a.value;
    }
    case AttrKind::integer: break;
    }
    return " = " + a.value;
}
std::string cpp_type(const AttrSpec &a, const std::string &choice) {
    switch (a.kind) {
    case AttrKind::choice: return "const " + choice + " &";
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
    void add(const std::string &type, const std::string &name, const std::string &default_value) {
        declared += (declared.empty() ? "" : ", ") + type + name + default_value;
        passed += (passed.empty() ? "" : ", ") + name;
    }
};

// The C++ functions that call one op. Attributes of the call stand behind the tensors, those of the
// primitive's constructor behind them.
class Wrapper {
public:
    explicit Wrapper(const OpRecord &r)
        : r_(r), signature_(r.name, r.signature), outputs_(signature_.outputs.size()) {
        in_place_ = std::all_of(signature_.outputs.begin(), signature_.outputs.end(),
                                [&](const TensorSpec &o) { return updates_input(o); });
        const bool is_function = !r.internal && r.form == Form::elementwise && !in_place_;
        promotes_ = is_function && signature_.inputs.size() >= 2;
        is_unary_ = is_function && signature_.inputs.size() == 1;
        for (const TensorSpec &t : signature_.inputs) {
            const char *type = promotes_ ? "const Argument &" : "const Tensor &";
            tensors_ += (tensors_.empty() ? "" : ", ") + t.name;
            call_.add(type, t.name, "");
        }
        std::vector<AttrSpec> attrs = r.attrs;
        const auto end_of_call = std::stable_partition(attrs.begin(), attrs.end(),
                                                       [](const AttrSpec &a) { return a.at_call; });
        // A default before a required parameter isn't C++.
        auto defaults = attrs.end();
        while (defaults != attrs.begin() && !std::prev(defaults)->is_required())
            --defaults;
        for (auto a = attrs.begin(); a != attrs.end(); ++a)
            (a < end_of_call ? call_ : construct_)
                .add(cpp_type(*a, class_of(*a)), a->name,
                     a < defaults ? "" : default_of(*a, class_of(*a)));
        for (const AttrSpec &a : r.attrs) {
            if (!a.at_call) continue;
            with_ += ".with(" + in_quotes(a.name) + ", " + a.name + ")";
        }
        all_ = call_;
        if (!construct_.declared.empty()) {
            all_.declared += (all_.declared.empty() ? "" : ", ") + construct_.declared;
            all_.passed += (all_.passed.empty() ? "" : ", ") + construct_.passed;
        }
    }

    // `class ops::Softmax`, `F::softmax` and their other names.
    std::string public_functions() const {
        return comment() + primitive_class() + "namespace F {\n" + function() + other_names() +
               "}  // namespace F\n\n";
    }

    // `kernel::softmax_dx`, for compositions.
    std::string kernel_function() const {
        std::string s = comment() + "namespace kernel {\ninline " + result() + " " +
                        kernel_function_name(r_) + "(" + all_.declared + ") {\n";
        if (construct_.declared.empty()) {
            s += "    static const Primitive op(" + in_quotes(r_.name) + ");\n";
            s += "    return " + run("op") + ";\n";
        } else {
            s += "    static const RegisteredOp &op = find_op(" + in_quotes(r_.name) + ");\n";
            s += "    return " + run("Primitive(op, {" + construct_.passed + "})") + ";\n";
        }
        return s + "}\n}  // namespace kernel\n\n";
    }

private:
    // Outputs named <input>_out are written into those inputs.
    bool updates_input(const TensorSpec &o) const {
        return std::any_of(signature_.inputs.begin(), signature_.inputs.end(),
                           [&](const TensorSpec &i) { return i.name + "_out" == o.name; });
    }

    // Returns the name of a choice's class that no other op's choice can make ambiguous.
    std::string class_of(const AttrSpec &choice) const {
        const std::string type = choice_type(choice);
        return is_member(choice) ? "ops::" + class_name(r_) + "::" + type
                                 : "F::" + choice_namespace(choice) + "::" + type;
    }
    // Returns true if the op's class has the choice's class as a member.
    bool is_member(const AttrSpec &choice) const {
        return !r_.internal && choice_type(choice) != class_name(r_);
    }
    std::string member_classes() const {
        std::string s;
        for (const AttrSpec &a : r_.attrs) {
            if (a.kind != AttrKind::choice || !is_member(a)) continue;
            const std::string type = choice_type(a);
            const std::string line = "    using " + type + " = F::" + choice_namespace(a) +
                                     "::" + type + ";\n";
            if (s.find(line) == std::string::npos) s += line;
        }
        return s;
    }

    std::string comment() const {
        return "// " + r_.signature + (r_.doc.empty() ? "" : "\n// " + r_.doc) + "\n";
    }

    std::string result() const {
        if (in_place_) return "void";
        return outputs_ == 1 ? "Tensor" : "std::array<Tensor, " + std::to_string(outputs_) + ">";
    }

    // The call of `primitive` that gives result(); of the object itself where that is empty.
    std::string run(const std::string &primitive) const {
        const char *method = in_place_   ? "run_in_place"
                             : promotes_ ? "run_promoted"
                             : is_unary_ ? "run_unary"
                                         : "run";
        const std::string object = primitive.empty() && !with_.empty() ? "(*this)" : primitive;
        const std::string arguments = is_unary_ ? tensors_ : "{" + tensors_ + "}";
        const std::string call = object + with_ + (object.empty() ? "" : ".") + method + "(" +
                                 arguments + ")";
        if (in_place_) return call;
        if (outputs_ == 1) return call + "[0]";
        return "Primitive::outputs<" + std::to_string(outputs_) + ">(" + call + ")";
    }

    std::string primitive_class() const {
        const std::string name = class_name(r_);
        const bool one_argument = !construct_.declared.empty() &&
                                  construct_.declared.find(',') == std::string::npos;
        return "namespace ops {\nclass " + name + " : public Primitive {\npublic:\n" +
               member_classes() + "    " + (one_argument ? "explicit " : "") + name + "(" +
               construct_.declared + ") : Primitive(self(), {" + construct_.passed + "}) {}\n    " +
               result() + " operator()(" + call_.declared + ") const { return " + run("") +
               "; }\n\nprivate:\n    static const RegisteredOp &self() {\n        static const "
               "RegisteredOp &op = find_op(" +
               in_quotes(r_.name) + ");\n        return op;\n    }\n};\n}  // namespace ops\n";
    }

    std::string function() const {
        const std::string object = "ops::" + class_name(r_);
        std::string s = "inline " + result() + " " + function_name(r_) + "(" + all_.declared +
                        ") {\n";
        if (construct_.declared.empty()) {
            s += "    static const " + object + " op;\n    return op(" + call_.passed + ");\n";
        } else {
            s += "    return " + object + "(" + construct_.passed + ")(" + call_.passed + ");\n";
        }
        return s + "}\n";
    }

    std::string other_names() const {
        const std::string &name = function_name(r_);
        std::vector<std::string> others = further_names(r_);
        others.push_back(r_.name);
        std::string s;
        for (const std::string &other : others) {
            if (other == name || other == class_name(r_)) continue;
            s += "inline " + result() + " " + other + "(" + all_.declared + ") { return " + name +
                 "(" + all_.passed + "); }\n";
        }
        return s;
    }

    const OpRecord &r_;
    Signature signature_;
    size_t outputs_;
    bool in_place_ = false, promotes_ = false, is_unary_ = false;
    Parameters construct_, call_, all_;
    std::string tensors_, with_;
};

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
        std::string tunables;
        for (auto &[name, value] : k.tunables)
            tunables += (tunables.empty() ? "" : " ") + name + " " + std::to_string(value);
        s += "    {" + in_quotes(k.op) + ", " + in_quotes(k.backend) + ", " + in_quotes(k.dtypes);
        s += ", " + in_quotes(k.variant) + ", Isa::" + name_of(k.isa) + ", " +
             std::to_string(k.lanes);
        s += ", " + in_quotes(tunables) + ", " + symbol(k) + "_argv},\n";
    }
    return s + "};\n";
}

}  // namespace

std::string records_source(const std::string &file, const std::string &family,
                           const std::vector<OpRecord> &ops,
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
    return s + ",\n    .family = " + in_quotes(family) + ",\n};\n\n}  // namespace halyard\n";
}

std::string face_source(const std::vector<OpRecord> &ops) {
    std::string s =
        "// Generated from the ops' records.\n#pragma once\n#include <limits>\n\n#include "
        "\"primitives/operators.h\"\n#include \"primitives/primitive.h\"\n\nnamespace halyard "
        "{\n\n";
    std::set<std::string> classes;
    for (auto &r : ops) {
        for (const AttrSpec &a : r.attrs) {
            if (a.kind == AttrKind::choice && classes.insert(choice_class(a)).second)
                s += choice_class(a);
        }
    }
    for (auto &r : ops)
        s += r.internal ? Wrapper(r).kernel_function() : Wrapper(r).public_functions();
    return s + "}  // namespace halyard\n";
}

void write_if_new(const std::filesystem::path &path, const std::string &text) {
    std::ifstream old(path);
    std::stringstream s;
    s << old.rdbuf();
    if (old && s.str() == text) return;
    write_file(path.string(), text, Durability::to_system);
}

}  // namespace halyard

#include "tools/halyard/example.h"

#include <algorithm>
#include <sstream>

#include "bench/harness/case.h"
#include "bench/harness/variadic_ops.h"
#include "dsl/all_ops.h"
#include "primitives/library.h"
#include "primitives/primitive.h"
#include "registry/base/error.h"
#include "registry/base/text.h"

namespace halyard::command {
using namespace bench;
namespace {

// Returns sizes as an argument: "2, 3" in C++, "2,3" on a command line.
std::string extents_of(const Shape &s, const char *between) {
    std::string text;
    for (int64_t e : s)
        text += (text.empty() ? "" : between) + std::to_string(e);
    return text;
}
std::string number(double v) {
    std::ostringstream s;
    s << v;
    return s.str();
}

// One input: a random tensor of its shape and dtype.
struct Input {
    std::string name;
    Shape shape;
    DType dtype = DType::f32;
    int64_t end = 0;    // > 0: of integers
    double least = -2;  // of floats
    bool narrow() const {
        return dtype == DType::boolean || dtype == DType::i8 || dtype == DType::u8 ||
               bytes_of(dtype) == 2;
    }
    int64_t low() const { return end || dtype == DType::boolean || dtype == DType::u8 ? 0 : -20; }
    int64_t high() const { return dtype == DType::boolean ? 2 : end ? end : 21; }

    std::string cpp() const {
        const std::string sizes = "{" + extents_of(shape, ", ") + "}";
        if (is_float(dtype)) {
            const std::string made = "F::uniform(" + sizes + ", " + number(least) + ", " +
                                     number(least + 4);
            return narrow() ? "F::cast(" + made + "), DType::" + name_of(dtype) + ")"
                            : made + (dtype == DType::f64 ? ", -1, -1, DType::f64)" : ")");
        }
        const std::string made = "F::randint(" + std::to_string(low()) + ", " +
                                 std::to_string(high()) + ", " + sizes;
        if (narrow()) {
            return "F::cast(" + made +
                   "), DType::" + (dtype == DType::boolean ? "boolean" : name_of(dtype)) + ")";
        }
        return made + (dtype == DType::i32 ? ", -1, -1, DType::i32)" : ")");
    }
    // Each input has an offset of its own, because the generator of every program starts at the
    // same one.
    std::string shell(size_t offset) const {
        const std::string at = " --attr offset=" + std::to_string(offset);
        const std::string to = " --out-dir " + name + "\n";
        const DType made = narrow() ? (is_float(dtype) ? DType::f32 : DType::i64) : dtype;
        const std::string type = made == DType::f32 || made == DType::i64
                                     ? ""
                                     : std::string(" --attr dtype=") + name_of(made);
        std::string line = is_float(dtype)
                               ? "halyard run uniform --attr shape=" + extents_of(shape, ",") +
                                     " --attr minval=" + number(least) +
                                     " --attr maxval=" + number(least + 4)
                               : "halyard run randint --attr size=" + extents_of(shape, ",") +
                                     " --attr low=" + std::to_string(low()) +
                                     " --attr high=" + std::to_string(high());
        line += at + type + to;
        if (narrow()) {
            line += "halyard run cast --in " + name + "/out_0.npy --attr dtype=" + name_of(dtype) +
                    to;
        }
        return line;
    }
};

using Texts = std::map<std::string, std::string>;

std::string literal(const AttrSpec &a, const std::string &text, bool named) {
    if (a.kind == AttrKind::choice) {
        const auto k = std::ranges::find(a.choices, text) - a.choices.begin();
        return "F::" + choice_type(a) + "::" + choice_constants(a)[size_t(k)];
    }
    if (a.kind == AttrKind::text) return "\"" + text + "\"";
    if (a.kind == AttrKind::boolean) return text == "1" || text == "true" ? "true" : "false";
    if (a.kind == AttrKind::dtype) return "DType::" + (text == "bool" ? "boolean" : text);
    if (a.kind == AttrKind::real)
        return text == "inf" ? "INFINITY" : text == "-inf" ? "-INFINITY" : text;
    if (a.kind != AttrKind::ints) return text;
    std::string list;
    for (char c : text)
        list += c == ',' ? std::string(", ") : std::string(1, c);
    return (named ? "Ints{" : "{") + list + "}";
}

// Returns the arguments of these attributes, up to the last one that isn't the default.
std::vector<std::string> arguments(const std::vector<const AttrSpec *> &attrs, const Texts &given,
                                   bool named) {
    std::vector<std::string> all;
    size_t needed = 0;
    for (const AttrSpec *a : attrs) {
        const auto it = given.find(a->name);
        all.push_back(literal(*a, it == given.end() ? default_of(*a) : it->second, named));
        if (it != given.end()) needed = all.size();
    }
    all.resize(needed);
    return all;
}

// Returns the calls in both forms, as tools/emit.cpp generates them: call-time attributes follow
// the tensors, the others are arguments of the constructor.
std::string calls_of(const OpRecord &r, const std::vector<std::string> &tensors,
                     const std::vector<std::string> &outputs, bool in_place, const Texts &given) {
    std::vector<const AttrSpec *> at_call, constructor;
    for (auto &a : r.attrs)
        (a.at_call ? at_call : constructor).push_back(&a);
    std::vector<const AttrSpec *> both = at_call;
    both.insert(both.end(), constructor.begin(), constructor.end());
    auto with = [&](const std::vector<std::string> &attrs) {
        std::vector<std::string> all = tensors;
        all.insert(all.end(), attrs.begin(), attrs.end());
        return join(all);
    };
    const std::string function = "F::" + function_name(r) + "(" +
                                 with(arguments(both, given, false)) + ");\n";
    const std::string object = "ops::" + class_name(r) + "(" +
                               join(arguments(constructor, given, true)) + ")(" +
                               with(arguments(at_call, given, false)) + ");\n";
    if (in_place) return function + object;  // otherwise a second step of the same update
    const std::string result = outputs.size() == 1 ? "const Tensor " + outputs[0]
                                                   : "const auto [" + join(outputs) + "]";
    return result + " = " + function + "const auto same = " + object;
}

// Returns the first sample that has more than one element and is short enough to print; else the
// first.
check::Case case_of(const Op &op) {
    for (auto &sample : op.samples) {
        check::Case c(op, sample, op.dtypes[0], 1);
        int64_t most = 0;
        for (const Tensor &t : c.in)
            most = std::max(most, t.elements());
        if (most > 1 && most <= 1024) return c;
    }
    return {op, op.samples[0], op.dtypes[0], 1};
}
OpPtr op_of(const OpInfo &op) {
    list_kit_ops();
    return op_table().make(op.record->name);
}

// Returns the example of a variadic op.
Example variadic_example(const OpRecord &r) {
    const bool many = r.signature.find("... ->") != std::string::npos;
    const bool split = r.signature.ends_with("...");
    const Shape shape = r.signature.starts_with("x[n]") ? Shape{3} : Shape{2, 3};
    Example e;
    std::vector<std::string> names = many ? std::vector<std::string>{"a", "b"}
                                          : std::vector<std::string>{"x"};
    std::string files;
    for (size_t k = 0; k < names.size(); k++) {
        const Input in{names[k], shape};
        e.cpp += "const Tensor " + names[k] + " = " + in.cpp() + ";\n";
        e.shell += in.shell(k);
        files += " --in " + names[k] + "/out_0.npy";
    }
    const std::string tensors = many ? "{" + join(names) + "}" : names[0];
    const std::string equation = r.name == "einsum" ? "ij,kj->ik" : "";
    const std::string quoted = equation.empty() ? "" : "\"" + equation + "\"";
    e.cpp += (split ? "const std::vector<Tensor> y = F::" : "const Tensor y = F::") + r.name + "(" +
             quoted + (quoted.empty() ? "" : ", ") + tensors + ");\n";
    e.cpp += "const auto same = ops::" + class_name(r) + "{" + quoted + "}(" + tensors + ");\n";
    e.shell += "halyard run " + r.name + files +
               (quoted.empty() ? "" : " --attr 'equation=" + equation + "'") +
               " --out-dir result\n";
    return e;
}

}  // namespace

Example example_of(const OpInfo &info) {
    const OpRecord &r = *info.record;
    const OpPtr op = op_of(info);
    if (!op) return variadic_example(r);
    const check::Case c = case_of(*op);
    const Texts given = check::parse_sample(r, c.sample).attrs;
    Example e;
    std::vector<std::string> tensors, outputs;
    std::string files;
    bool in_place = true;
    for (size_t k = 0; k < c.in.size(); k++) {
        Input in{op->sig.inputs[k].name, c.in[k].shape(), c.in[k].dtype()};
        const auto let = [&](const char *what, double otherwise) {
            const auto it = c.problem.dims.find(in.name + what);
            return it == c.problem.dims.end() ? otherwise : double(it->second);
        };
        const bool variable = op->sig.inputs[k].dtype.size() == 1;
        in.end = int64_t(let("_end", variable || in.dtype == DType::boolean ? 0 : 7));
        in.least = let("_least", -2);
        e.cpp += "const Tensor " + in.name + " = " + in.cpp() + ";\n";
        e.shell += in.shell(k);
        tensors.push_back(in.name);
        files += " --in " + in.name + "=" + in.name + "/out_0.npy";
    }
    for (auto &t : op->sig.outputs) {
        outputs.push_back(t.name);
        in_place &= std::any_of(tensors.begin(), tensors.end(),
                                [&](const std::string &name) { return name + "_out" == t.name; });
    }
    e.cpp += calls_of(r, tensors, outputs, in_place, given);
    std::string attrs;
    for (auto &[name, text] : given)
        attrs += " --attr " + name + "=" + text;
    e.shell += "halyard run " + r.name + files + attrs + " --out-dir result\n";
    return e;
}

namespace {

// Collects the messages of rejected calls, each once.
class Refusals {
public:
    // Returns true if the call is rejected.
    template<class Call> bool is_rejected(const Call &call) {
        try {
            call();
        } catch (const DispatchError &) {
            return false;  // depends on this build, not on the op
        } catch (const Error &e) {
            const char *kind = dynamic_cast<const ShapeError *>(&e)   ? "ShapeError"
                               : dynamic_cast<const DTypeError *>(&e) ? "DTypeError"
                               : dynamic_cast<const AttrError *>(&e)  ? "AttrError"
                                                                      : "Error";
            std::string line = std::string(kind) + ": " + e.what();
            line = line.substr(0, line.find('\n'));
            if (std::find(lines.begin(), lines.end(), line) == lines.end()) lines.push_back(line);
            return true;
        }
        return false;
    }
    // Calls the op with wrong values of each attribute, until one is rejected.
    template<class Call>
    void try_attributes(const OpRecord &r, const Attrs &right, const Call &call) {
        for (size_t k = 0; k < r.attrs.size(); k++) {
            for (const AttrValue &value : wrong_values(r.attrs[k].kind)) {
                Attrs attrs = right;
                if (is_rejected([&] {
                        attrs.set(k, value);
                        call(attrs);
                    }))
                    break;
            }
        }
    }

    static std::vector<AttrValue> wrong_values(AttrKind kind) {
        switch (kind) {
        case AttrKind::integer: return {-7, 1 << 30};
        case AttrKind::ints: return {Ints{-7}, Ints(9, 1)};
        case AttrKind::real: return {-1.0, 7.0};
        case AttrKind::choice: return {"none"};
        case AttrKind::text: return {"?"};
        default: return {};
        }
    }
    std::vector<std::string> lines;
};

std::vector<std::string> variadic_refusals(const VariadicOp &op) {
    std::map<std::string, std::string> required;
    for (auto &a : op.record.attrs)
        if (a.kind == AttrKind::text) required[a.name] = "ij,kj";
    const Attrs attrs(op.record, required);
    Refusals refusals;
    const Tensor x = Tensor::zeros({2, 3});
    for (const std::vector<Tensor> &in :
         {std::vector<Tensor>{}, {x, Tensor::zeros({4, 5})}, {x, x.to(DType::i32)}})
        refusals.is_rejected([&] { (void)op.run(in, attrs); });
    const bool one = op.record.signature.find("... ->") == std::string::npos;
    refusals.try_attributes(op.record, attrs, [&](const Attrs &wrong) {
        (void)op.run(one ? std::vector{x} : std::vector{x, x}, wrong);
    });
    return refusals.lines;
}

}  // namespace

std::vector<std::string> refusals_of(const OpInfo &info) {
    const OpPtr op = op_of(info);
    if (!op) return variadic_refusals(*variadic_op(info.record->name));
    const check::Case c = case_of(*op);
    Refusals refusals;
    const auto given = [&] {
        std::vector<Tensor> in;
        for (const Tensor &t : c.in)
            in.push_back(t.copy());  // some ops write to their inputs
        return in;
    };
    for (size_t k = 0; k < c.in.size(); k++) {
        auto instead = [&](const Tensor &t) {
            std::vector<Tensor> in = given();
            in[k] = t;
            return refusals.is_rejected([&] { (void)Primitive(c.registered, c.attrs).run(in); });
        };
        const DType own = c.in[k].dtype();
        Shape longer = c.in[k].shape();
        Shape deeper = longer;
        if (longer.rank() > 0) {
            longer[longer.rank() - 1]++;
            instead(Tensor::zeros(longer, own));
        }
        deeper.push_back(2);
        if (!instead(Tensor::zeros({}, own))) instead(Tensor::zeros(deeper, own));
        for (DType other : {DType::boolean, DType::i32, DType::f16, DType::f64})
            if (other != own && instead(Tensor::zeros(c.in[k].shape(), other))) break;
    }
    refusals.try_attributes(*info.record, c.attrs, [&](const Attrs &wrong) {
        (void)Primitive(c.registered, wrong).run(given());
    });
    return refusals.lines;
}

}  // namespace halyard::command

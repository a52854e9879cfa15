#include "tools/export/c99_project.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <memory>
#include <set>

#include "bench/harness/case.h"
#include "bench/harness/op_call.h"
#include "dsl/c99/functions.h"
#include "primitives/primitive.h"
#include "registry/base/error.h"
#include "registry/base/program.h"
#include "registry/base/text.h"
#include "registry/base/version.h"
#include "tools/c99/elements.h"
#include "tools/c99/graph_source.h"
#include "tools/export/cases.h"
#include "tools/export/selection.h"
#include "tools/export/target.h"
#include "tools/templates.h"

namespace halyard::exporting {
namespace {
namespace fs = std::filesystem;

constexpr int64_t max_elements_of_default = 5'000;
constexpr int64_t max_elements_of_test = int64_t(1) << 22;  // of inputs: the test has them as text

// Returns the op's largest sample of at most max_elements_of_default; its smallest if all are
// larger.
std::string default_sample(const Op &op, const std::string &dtypes) {
    std::string best;
    int64_t of_best = -1;
    for (const std::string &sample : op.samples) {
        const int64_t n = elements_of(check::Case(op, sample, dtypes, 1));
        const bool fits = n <= max_elements_of_default;
        const bool best_fits = of_best >= 0 && of_best <= max_elements_of_default;
        const bool is_better = fits ? !best_fits || n > of_best : !best_fits && n < of_best;
        if (of_best < 0 || is_better) {
            best = sample;
            of_best = n;
        }
    }
    return best;
}

// A call with its values and its source.
struct Exported {
    OpPtr op;
    std::unique_ptr<check::Case> sample;
    c99::CallSource source;
};

// Returns the number of elements of a call's inputs; 0 if there is no such call, which making it
// reports.
int64_t elements_of_inputs(const Op &op, const std::string &shape, const std::string &dtypes) {
    int64_t elements = 0;
    try {
        const auto inputs = check::call_of(op, check::parse_sample(op, shape), dtypes).second;
        for (const OperandMeta &m : inputs)
            elements += m.shape.elements();
    } catch (const Error &) {
        return 0;
    }
    return elements;
}

// Throws ShapeError if a test in C would be too long. The call isn't made: it might not fit memory.
void require_few_elements(const Op &op, const std::string &shape, const std::string &dtypes) {
    const int64_t elements = elements_of_inputs(op, shape, dtypes);
    if (elements <= max_elements_of_test) return;
    throw ShapeError(op.name, "'" + shape + "' has " + std::to_string(elements) +
                                  " elements of inputs, expected at most " +
                                  std::to_string(max_elements_of_test) + " for a test in C");
}

// Solves the problem. Throws AttrError if the kit's kernel has other results: the text isn't a
// problem of the reference, which knows of no other axis than the record's.
void solve(const Op &op, check::Case &c) {
    c.solve(op);
    const std::vector<Tensor> results = Primitive(c.registered, c.attrs).run(c.in);
    for (size_t k = 0; k < results.size(); k++) {
        const TensorSpec &spec = op.sig.outputs[k];
        const Tensor got = c.as_in_signature(spec, results[k]);
        const std::string error = check::compare(op, spec.name, got, c.problem);
        if (error.empty()) continue;
        throw AttrError(op.name, "'" + c.sample +
                                     "' isn't a problem of the op's reference, which gives other "
                                     "results than its kernel; write dimensions in the record's "
                                     "order, and no axis: " +
                                     error);
    }
}

Exported exported(const Project &project, const FixedOp &call, std::set<std::string> &names) {
    const RegisteredOp &registered = op_called(call.op);
    Exported e;
    e.op = op_table().make(registered.record.name);
    if (!e.op)
        throw DispatchError(call.op, "can't be exported as C99: its source isn't in the kit");
    const std::string dtypes = bench::dtype_set(registered.record, call.dtypes);
    const std::string shape = call.shape.empty() ? default_sample(*e.op, dtypes) : call.shape;
    require_few_elements(*e.op, shape, dtypes);
    e.sample = std::make_unique<check::Case>(*e.op, shape, dtypes, 1);
    std::string name = project.name + "_" + registered.record.name;
    while (name.back() == '_')
        name.pop_back();
    const std::string first = name;
    for (int n = 2; !names.insert(name).second; n++)
        name = first + "_" + std::to_string(n);
    e.source = c99::source_of_call(registered, e.sample->in, e.sample->attrs, name);
    return e;
}

// Returns a comment with the call: the tensors' shapes and the attributes.
std::string comment_of(const Exported &e) {
    const auto listed = [&](bool outputs) {
        std::string s;
        for (const c99::Parameter &p : e.source.parameters) {
            if (p.is_output != outputs) continue;
            s += (s.empty() ? "" : " ") + p.name + p.shape.text() + ":" + name_of(p.dtype);
        }
        return s;
    };
    std::string s = "/* " + e.op->name + ": " + listed(false) + " -> " + listed(true);
    std::string attributes;
    for (const auto &[name, value] :
         check::parse_sample(e.sample->registered.record, e.sample->sample).attrs)
        attributes += (attributes.empty() ? "; " : " ") + name + "=" + value;
    return s + attributes + " */\n";
}

std::string header_of(const Project &project, const std::vector<Exported> &all) {
    std::string guard = project.name + "_h";
    std::ranges::transform(guard, guard.begin(), [](unsigned char c) { return std::toupper(c); });
    std::string s =
        "/* Operators for one call each, exported by Halyard " + std::string(version()) +
        ". Tensors are dense, the last\n * dimension innermost; 16-bit floats are their "
        "bits, and truth values 0 or 1. Results don't\n * overlap inputs. The functions "
        "share static memory: call one at a time. */\n#ifndef " +
        guard + "\n#define " + guard +
        "\n\n#include <stdint.h>\n\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n";
    for (const Exported &e : all)
        s += "\n" + comment_of(e) + c99::prototype_of(e.source) + ";\n";
    return s + "\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n";
}

// Returns the test of one call: its tensors, and a function that compares.
std::string test_of(const Exported &e) {
    const std::string &name = e.source.name;
    std::string arrays, arguments, comparisons;
    size_t input = 0, output = 0;
    for (const c99::Parameter &p : e.source.parameters) {
        const std::string array = name + "_" + p.name;
        arguments += (arguments.empty() ? "" : ", ") + array;
        const std::string type = c99::c_type_of(p.dtype);
        if (!p.is_output) {
            const Tensor &t = e.sample->in[input++];
            arrays += c99::array_text((p.is_written ? "static " : "static const ") + type + " " +
                                          array,
                                      t.raw(), t.elements(), p.dtype);
            continue;
        }
        const TensorSpec &spec = e.op->sig.outputs[output++];
        const check::ExpectedOutput expected = check::expected_output(*e.op, spec.name, p.dtype,
                                                                      e.sample->problem);
        const auto doubles = [&](const std::string &what, const std::vector<double> &values) {
            Array a(e.sample->problem.tensors.at(spec.name).shape);
            a.v = values;
            const Tensor t = e.sample->as_called(spec, check::tensor_of(a, DType::f64));
            return c99::array_text("static const double " + array + what, t.raw(), t.elements(),
                                   DType::f64);
        };
        arrays += "static " + type + " " + array + "[" + std::to_string(p.shape.elements()) +
                  "];\n";
        arrays += doubles("_expected", expected.values) + doubles("_allowed", expected.allowed);
        const std::string element = array + "[i]";
        const std::string value = p.dtype == DType::f16    ? "hy_f32_of_f16(" + element + ")"
                                  : p.dtype == DType::bf16 ? "hy_f32_of_bf16(" + element + ")"
                                                           : "(double)" + element;
        comparisons += "    for (i = 0; i < " + std::to_string(p.shape.elements()) +
                       "; i++)\n        compare(\"" + name + ", " + p.name + "\", i, " + value +
                       ", " + array + "_expected[i],\n                " + array + "_allowed[i]);\n";
    }
    return "\n" + arrays + "\nstatic void test_" + name + "(void) {\n    int32_t i;\n    " + name +
           "(" + arguments + ");\n" + comparisons + "}\n";
}

// Returns the bytes of the test's tensors, with expected results and bounds, and of what the
// functions need.
int64_t bytes_of_test(const std::vector<c99::CallSource> &calls) {
    int64_t bytes = 0;
    for (const c99::CallSource &call : calls) {
        bytes += call.arena_bytes + call.constant_bytes;
        for (const c99::Parameter &p : call.parameters)
            bytes += p.shape.elements() * (int64_t(bytes_of(p.dtype)) + (p.is_output ? 16 : 0));
    }
    return bytes;
}

std::string test_source(const Project &project, const std::vector<Exported> &all) {
    std::set<std::string> helpers;
    for (const Exported &e : all) {
        for (const c99::Parameter &p : e.source.parameters) {
            if (p.is_output && p.dtype == DType::f16) helpers.insert("hy_f32_of_f16");
            if (p.is_output && p.dtype == DType::bf16) helpers.insert("hy_f32_of_bf16");
        }
    }
    std::string s = "/* Runs each function on a sample and compares its results with those of the "
                    "op's definition,\n * within the op's error bounds. */\n#include \"" +
                    project.name +
                    ".h\"\n\n#include <math.h>\n#include <stdio.h>\n\nstatic int failures;\n\n";
    if (!helpers.empty()) s += c99::helper_texts(helpers) + "\n";
    s += "static void compare(const char *what, int32_t i, double got, double expected, double "
         "allowed) {\n    if (isinf(allowed) || got == expected || (got != got && expected != "
         "expected)) return;\n    if (fabs(got - expected) <= allowed) return;\n    if (failures++ "
         "< "
         "10)\n        printf(\"%s[%ld] is %.17g, expected %.17g, by at most %g\\n\", what, "
         "(long)i, got,\n               expected, allowed);\n}\n";
    std::string calls;
    for (const Exported &e : all) {
        s += test_of(e);
        calls += "    test_" + e.source.name + "();\n";
    }
    return s + "\nint main(void) {\n" + calls + "    printf(\"%s: " + std::to_string(all.size()) +
           " functions, %d elements are wrong\\n\", failures ? \"FAILED\" : \"ok\", failures);\n   "
           " "
           "return failures != 0;\n}\n";
}

}  // namespace

WrittenCalls write_c99_project(const Project &project, const std::vector<FixedOp> &calls) {
    std::vector<Exported> all;
    std::set<std::string> names;
    std::vector<std::string> op_names;
    for (const FixedOp &call : calls) {
        all.push_back(exported(project, call, names));
        op_names.push_back(all.back().op->name);
    }
    WrittenCalls written;
    std::vector<c99::CallSource> sources;
    for (Exported &e : all) {
        solve(*e.op, *e.sample);
        sources.push_back(e.source);
        written.functions.push_back(c99::prototype_of(e.source));
        written.arena_bytes = std::max(written.arena_bytes, e.source.arena_bytes);
    }
    const std::map<std::string, std::string> words = {
        {"@name@", project.name},
        {"@version@", version()},
        {"@ops@", join(op_names)},
        {"@arena@", std::to_string(written.arena_bytes)}};
    const fs::path parts = installed("share/halyard/export");
    const fs::path &folder = project.folder;
    const std::string source = c99::unit_of(sources, "#include \"" + project.name + ".h\"\n\n");
    const std::string test = test_source(project, all);
    fs::create_directories(folder);
    fs::copy_file(parts / "LICENSE", folder / "LICENSE");
    write_build_files(project, words, bytes_of_test(sources));
    write_text(folder / "README.md", filled(text_of(parts / "project/c99/README.md"), words));
    write_text(folder / "include" / (project.name + ".h"), header_of(project, all));
    write_text(folder / "src" / (project.name + ".c"), source);
    write_text(folder / "test/test.c", test);
    return written;
}

}  // namespace halyard::exporting

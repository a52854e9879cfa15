#include "tools/export/step_project.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <set>

#include "graph/description.h"
#include "graph/draw_words.h"
#include "graph/graph_error.h"
#include "graph/memory_plan.h"
#include "graph/standalone.h"
#include "primitives/composites/host_steps.h"
#include "registry/base/program.h"
#include "registry/base/text.h"
#include "registry/base/version.h"
#include "tools/c99/elements.h"
#include "tools/templates.h"

namespace halyard::exporting {
namespace {
using graph::Buffer;
using graph::Graph;
using graph::Node;
using graph::Role;
using graph::View;

[[noreturn]] void refuse(const Graph &g, const std::string &what) {
    throw GraphError("compile", g.name + ": " + what);
}

const Buffer &buffer_of(const Graph &g, const View &v) {
    return g.buffers[size_t(v.buffer)];
}

bool is_held(const Buffer &b) {
    return b.role == Role::captured || b.role == Role::constant;
}

void check_views(const Graph &g, const Node &n) {
    for (const auto &views : {n.in, n.out}) {
        for (const View &v : views) {
            if (v.buffer < 0) refuse(g, n.name + " has an input that is left out");
        }
    }
}

void check_call(const Graph &g, const Node &n) {
    for (size_t k = 0; k < n.attrs->op().attrs.size(); k++) {
        const std::string text = n.attrs->exact_text(k);
        if (text.find_first_of(" \t\n\"\\") != std::string::npos)
            refuse(g,
                   "attribute " + n.attrs->op().attrs[k].name + " of " + n.name + " has a space");
    }
}

void check_host_step(const Graph &g, const Node &n) {
    if (!host_steps::settings_of_place_step(n.function))
        refuse(g, "the step '" + n.name + "' on the host can't be compiled");
}

void check_node(const Graph &g, const Node &n) {
    check_views(g, n);
    if (n.kind == Node::Kind::call) check_call(g, n);
    if (n.kind == Node::Kind::host) check_host_step(g, n);
}

void check_result(const Graph &g, const View &v) {
    const bool is_own = v.buffer >= 0 && buffer_of(g, v).role == Role::output && v.offset == 0 &&
                        v.strides == dense_strides(v.shape);
    if (!is_own) refuse(g, "a result is no dense tensor of its own");
}

void check(const Graph &g) {
    for (const Node &n : g.nodes)
        check_node(g, n);
    std::set<int> results;
    for (const View &v : g.outputs) {
        check_result(g, v);
        if (!results.insert(v.buffer).second) refuse(g, "two results are one tensor");
    }
    for (size_t k = 0; k < g.buffers.size(); k++)
        if (g.buffers[k].role == Role::output && !results.count(int(k)))
            refuse(g, "a result is made that isn't returned");
}

// Where the graph's buffers lie: in the block of the library, or in an argument of the call, -1 -
// its number.
struct Places {
    std::vector<int64_t> at;  // by buffer
    size_t block = 0;         // bytes
    int arguments = 0, inputs = 0;
};

size_t aligned(size_t bytes) {
    constexpr size_t line = 128;
    return (bytes + line - 1) / line * line;
}

Places places_of(const Graph &g) {
    const graph::MemoryPlan plan = plan_memory(g, true);
    Places p;
    p.block = aligned(plan.bytes);
    for (size_t k = 0; k < g.buffers.size(); k++) {
        const Buffer &b = g.buffers[k];
        p.at.push_back(b.role == Role::temporary ? int64_t(plan.offsets[k]) : 0);
        if (b.role == Role::input) {
            p.at[k] = -1 - b.input;
            p.inputs = std::max(p.inputs, b.input + 1);
        }
        if (!is_held(b) && b.role != Role::host) continue;
        p.at[k] = int64_t(p.block);
        p.block += aligned(b.bytes);
    }
    p.block = std::max(p.block, aligned(1));
    for (size_t k = 0; k < g.outputs.size(); k++)
        p.at[size_t(g.outputs[k].buffer)] = -1 - p.inputs - int64_t(k);
    p.arguments = p.inputs + int(g.outputs.size());
    return p;
}

std::string dtype_in_c(DType t) {
    const std::string bits = std::to_string(8 * bytes_of(t));
    if (t == DType::boolean) return "{HY_BOOL, 8, 1}";
    if (t == DType::bf16) return "{HY_BFLOAT, 16, 1}";
    const char *code = is_float(t) ? "HY_FLOAT" : t == DType::u8 ? "HY_UINT" : "HY_INT";
    return "{" + std::string(code) + ", " + bits + ", 1}";
}

std::string list_in_c(const Shape &s) {
    return s.rank() ? "{" + join(s.vec(), ", ") + "}" : "{0}";
}

std::string view_in_c(const View &v) {
    return "    {" + std::to_string(v.buffer) + ", " + std::to_string(v.offset) + ", " +
           dtype_in_c(v.dtype) + ", " + std::to_string(v.shape.rank()) + ", " + list_in_c(v.shape) +
           ", " + list_in_c(v.strides) + "},\n";
}

struct Table {
    std::string rows;
    size_t count = 0;
    void add(const std::string &row) {
        rows += row;
        count++;
    }
    // A table without rows gets an empty one, because C has no arrays without elements.
    std::string text(const std::string &type, const std::string &name,
                     const std::string &size) const {
        return "#define " + size + " " + std::to_string(count) + "\nstatic const " + type + " " +
               name + "[] = {\n" + (count ? rows : "    {0},\n") + "};\n\n";
    }
};

std::string number_in_c(double v) {
    if (std::isnan(v)) return "__builtin_nan(\"\")";
    if (std::isinf(v)) return v > 0 ? "__builtin_inf()" : "-__builtin_inf()";
    return fmt::format("{:a}", v);
}

bool is_of_draw(const Node &n, const std::string &attribute) {
    return n.draw >= 0 && std::ranges::count(graph::draw_attributes, attribute) > 0;
}

// Returns the attributes that don't change from step to step.
std::string fixed_attributes(const Node &n) {
    std::vector<std::string> words;
    for (size_t k = 0; k < n.attrs->op().attrs.size(); k++) {
        const auto is_here = [k](const graph::NumberPlace &p) { return p.attribute == k; };
        if (std::ranges::any_of(n.numbers, is_here)) continue;
        const AttrSpec &a = n.attrs->op().attrs[k];
        if (is_of_draw(n, a.name)) continue;
        words.push_back(a.name + "=" + n.attrs->exact_text(k));
    }
    return join(words, " ");
}

// Returns true for buffers whose elements are there before the first call of a run.
std::vector<char> are_there_before_calls(const Graph &g) {
    std::vector<char> before;
    for (const Buffer &b : g.buffers)
        before.push_back(is_held(b) || b.role == Role::input);
    for (const Node &n : g.nodes)
        for (const View &v : n.out)
            before[size_t(v.buffer)] = 0;
    return before;
}

struct Calls {
    Table calls, views, places, host_steps;
    size_t attribute_bytes = 1;

    // `operation` is the kind, the op and its attributes; `rest` what follows the numbers of views.
    void add_row(const std::string &operation, const Node &n, const std::string &rest) {
        calls.add("    {" + operation + ", " + std::to_string(n.in.size()) + ", " +
                  std::to_string(n.out.size()) + ", " + rest + "},  /* " + n.part + " */\n");
        for (const auto &some : {n.in, n.out})
            for (const View &v : some)
                views.add(view_in_c(v));
    }

    void add_call(const Node &n) {
        const std::string attributes = fixed_attributes(n);
        for (const graph::NumberPlace &p : n.numbers) {
            places.add("    {" + std::to_string(calls.count) + ", \"" +
                       n.attrs->op().attrs[p.attribute].name + "\", " + std::to_string(p.number) +
                       "},\n");
        }
        constexpr size_t of_number = 96;  // a name and 17 digits
        constexpr size_t of_draw = 96;    // four names and integers
        attribute_bytes = std::max(attribute_bytes,
                                   attributes.size() + 1 + of_draw + of_number * n.numbers.size());
        add_row("CALL_OP, \"" + n.name + "\", \"" + attributes + "\"", n,
                std::to_string(n.draw) + ", 0, -1, -1");
    }

    void add_fill(const Node &n) {
        const std::string number = n.numbers.empty() ? "-1" : std::to_string(n.numbers[0].number);
        add_row("CALL_FILL, 0, 0", n, fmt::format("-1, {}, {}, -1", number_in_c(n.value), number));
    }

    void add_host_step(const Node &n, bool early) {
        const auto settings = host_steps::settings_of_place_step(n.function);
        std::vector<std::string> words;
        for (const std::string &word : settings->words)
            words.push_back("\"" + word + "\"");
        add_row("CALL_HOST, 0, 0", n, "-1, 0, -1, " + std::to_string(host_steps.count));
        host_steps.add(fmt::format("    {{{}, \"{}\", {{{}}}, {}, {{{}}}, {}}},\n", int(early),
                                   n.name, join(words, ", "), words.size(),
                                   join(settings->numbers, ", "), settings->numbers.size()));
    }
};

Calls calls_of(const Graph &g) {
    Calls all;
    const std::vector<char> before = are_there_before_calls(g);
    for (const Node &n : g.nodes) {
        switch (n.kind) {
        case Node::Kind::call: all.add_call(n); break;
        case Node::Kind::copy: all.add_row("CALL_COPY, 0, 0", n, "-1, 0, -1, -1"); break;
        case Node::Kind::fill: all.add_fill(n); break;
        case Node::Kind::host:
            all.add_host_step(n, std::ranges::all_of(n.in, [&](const View &v) {
                                  return before[size_t(v.buffer)];
                              }));
            break;
        }
    }
    return all;
}

bool is_zero(const Tensor &t) {
    const char *bytes = t.impl()->data;
    return std::all_of(bytes, bytes + t.bytes(), [](char c) { return c == 0; });
}

// The tensors that the library holds, and their first values.
struct Held {
    Table initials, names, named;
    std::string values;
    size_t bytes = 0;

    void add(const Places &p, size_t k, const Buffer &b) {
        if (!b.name.empty()) {
            names.add("    \"" + b.name + "\",\n");
            View whole;
            whole.buffer = int(k);
            whole.shape = b.held.shape();
            whole.strides = b.held.strides();
            whole.dtype = b.held.dtype();
            named.add(view_in_c(whole));
        }
        if (is_zero(b.held)) return;
        initials.add("    {" + std::to_string(p.at[k]) + ", " + std::to_string(b.bytes) + ", " +
                     std::to_string(bytes) + "},\n");
        values.append(b.held.impl()->data, b.bytes);
        bytes += b.bytes;
    }
};

Held held_of(const Graph &g, const Places &p) {
    Held held;
    for (size_t k = 0; k < g.buffers.size(); k++)
        if (is_held(g.buffers[k])) held.add(p, k, g.buffers[k]);
    return held;
}

std::string tables_of(const Graph &g, const Places &p, const Calls &calls, const Held &held) {
    Table buffers;
    for (const int64_t at : p.at)
        buffers.add("    " + std::to_string(at) + ",\n");
    std::string s = "/* The calls of " + g.name +
                    ". Buffers are offsets in the block, or -1 - the "
                    "number of an argument. */\n";
    s += "#define NUMBERS " + std::to_string(number_count(g)) + "\n";
    s += "#define DRAWS " + std::to_string(g.draws) + "\n";
    s += "#define ARGUMENTS " + std::to_string(p.arguments) + "\n";
    s += "#define BLOCK_BYTES " + std::to_string(p.block) + "\n";
    s += "#define ATTRIBUTE_BYTES " + std::to_string(calls.attribute_bytes) + "\n\n";
    s += buffers.text("int64_t", "buffers", "BUFFERS") + calls.calls.text("call", "calls", "CALLS");
    s += calls.views.text("view", "views", "VIEWS") +
         calls.places.text("place", "places", "PLACES");
    s += calls.host_steps.text("host_step", "host_steps", "HOST_STEPS");
    s += held.initials.text("initial", "initials", "INITIALS");
    s += held.names.text("char *const", "names", "TENSORS") +
         held.named.text("view", "named", "NAMED");
    return s;
}

// The function that runs the step: its parameters, and what it passes on.
struct Function {
    std::string parameters, arguments, comment;
};

std::string comment_of(const Graph &g, const Node &n, const graph::NumberPlace &place) {
    const bool is_fill = n.kind == Node::Kind::fill;
    const std::string what = is_fill ? "the elements" : n.attrs->op().attrs[place.attribute].name;
    const double value = is_fill ? n.value : n.attrs->real(place.attribute);
    const std::string &name = buffer_of(g, n.out[0]).name;
    return fmt::format(" * numbers[{}]: {} of {}, {:.9g} in the step that was saved\n",
                       place.number, what, name.empty() ? "a tensor" : name, value);
}

Function function_of(const Graph &g, const Places &p) {
    std::map<int, const Buffer *> inputs;
    for (const Buffer &b : g.buffers)
        if (b.role == Role::input) inputs[b.input] = &b;
    Function f;
    for (const auto &[k, b] : inputs) {
        const std::string x = "x" + std::to_string(k);
        f.parameters += "const " + std::string(c99::c_type_of(b->dtype)) + " *" + x + ", ";
        f.comment += " * " + x + ": " + name_of(b->dtype) + b->shape.text() + "\n";
    }
    for (int k = 0; k < p.inputs; k++)
        f.arguments += (inputs.count(k) ? "x" + std::to_string(k) : "\"\"") + ", ";
    if (number_count(g)) f.parameters += "const double *numbers, ";
    for (size_t k = 0; k < g.outputs.size(); k++) {
        const std::string y = "y" + std::to_string(k);
        const View &v = g.outputs[k];
        f.parameters += std::string(c99::c_type_of(v.dtype)) + " *" + y + ", ";
        f.arguments += y + ", ";
        f.comment += " * " + y + ": " + name_of(v.dtype) + v.shape.text() + ", which is written\n";
    }
    for (const Node &n : g.nodes)
        for (const graph::NumberPlace &place : n.numbers)
            f.comment += comment_of(g, n, place);
    return f;
}

constexpr const char *header_text = R"(
#ifdef __cplusplus
extern "C" {
#endif

/* @graph@, captured and compiled: its tensors, such as parameters, live in an object. Objects are
 * independent; calls with one object are made one at a time. */
typedef struct @name@_step @name@_step;

#define @NAME@_NUMBERS @numbers@

/* Returns a new object, whose tensors have the values that the graph was saved with; null on an
 * error. @name@_close() releases it; null is allowed. */
@name@_step *@name@_open(hy_error *error);
void @name@_close(@name@_step *step);

/* Returns the name of tensor k, counted from 0; null if there are fewer. */
const char *@name@_tensor_name(int32_t k);

/* Sets `tensor` to the tensor of this name, which is dense and may be read and written between
 * runs. Returns the error's code. */
int32_t @name@_tensor(@name@_step *step, const char *name, hy_tensor *tensor, hy_error *error);

@random_header@/* Runs the graph, which writes its results and the tensors that it updates. After an error in
 * the arguments' labels and indices, or in numbers, nothing is written. Returns the error's code.
 * All tensors are dense:
@comment@ */
int32_t @name@_run(@name@_step *step, @parameters@hy_error *error);

#ifdef __cplusplus
}
#endif
)";

// Of graphs that draw random numbers.
constexpr const char *random_header =
    R"(/* Set and return the state of the generator of random numbers, {0, 0} at first, as the kit's
 * set_rng_state() does. A run makes @draws@ draws: they increase the offset by that. */
void @name@_set_rng_state(@name@_step *step, uint64_t seed, uint64_t offset);
void @name@_get_rng_state(const @name@_step *step, uint64_t *seed, uint64_t *offset);

)";

constexpr const char *random_source = R"(
void @name@_set_rng_state(@name@_step *step, uint64_t seed, uint64_t offset) {
    step->seed = seed;
    step->offset = offset;
}

void @name@_get_rng_state(const @name@_step *step, uint64_t *seed, uint64_t *offset) {
    *seed = step->seed;
    *offset = step->offset;
}
)";

std::vector<std::string> functions_of(const Graph &g) {
    std::vector<std::string> all = {"close", "open", "run", "tensor", "tensor_name"};
    if (g.draws > 0) all.insert(all.end(), {"get_rng_state", "set_rng_state"});
    return all;
}

std::string upper(std::string s) {
    std::ranges::transform(s, s.begin(), [](unsigned char c) { return std::toupper(c); });
    return s;
}

}  // namespace

Written write_step_project(const Project &project, const Graph &graph, size_t jobs) {
    check(graph);
    std::vector<std::string> ops;
    for (const Node &n : graph.nodes)
        if (n.kind == Node::Kind::call) ops.push_back(n.op->record.name);
    if (ops.empty()) refuse(graph, "it calls no kernel");
    Selection selection = selection_of_kernels(ops);
    for (const Node &n : graph.nodes)
        for (const auto &views : {n.in, n.out})
            for (const View &v : views)
                if (n.op) selection.dtypes[n.op].insert(v.dtype);
    const Places places = places_of(graph);
    const Held held = held_of(graph, places);
    const Function f = function_of(graph, places);
    Project with_step = project;
    with_step.step_functions = functions_of(graph);
    Written written = write_project(with_step, selection,
                                    KernelArchive(kernels_of(selection), jobs));

    const std::filesystem::path templates = installed("share/halyard/export") / "project";
    const std::string has_numbers = number_count(graph) ? "numbers" : "NULL";
    const std::map<std::string, std::string> words = {
        {"@run@", "int32_t " + project.name + "_run(" + project.name + "_step *step, " +
                      f.parameters + "hy_error *error) {\n    const void *const arguments[] = {" +
                      f.arguments + "};\n    return run(step, arguments, " + has_numbers +
                      ", error);\n}"},
        {"@random@", graph.draws > 0 ? filled(random_source, {{"@name@", project.name}}) : ""},
        {"@random_header@", graph.draws > 0
                                ? filled(random_header, {{"@name@", project.name},
                                                         {"@draws@", std::to_string(graph.draws)}})
                                : ""},
        {"@graph@", graph.name},
        {"@numbers@", std::to_string(number_count(graph))},
        {"@comment@", f.comment},
        {"@parameters@", f.parameters},
        {"@isas@", written.isas},
        {"@version@", version()},
        {"@NAME@", upper(project.name)},
        {"@name@", project.name}};
    const std::filesystem::path header = project.folder / "include" / (project.name + ".h");
    write_text(header, text_of(header) + filled(header_text, words));
    write_text(project.folder / "README.md", filled(text_of(templates / "step/README.md"), words));
    write_text(project.folder / "src/step.c", filled(text_of(templates / "step/step.c"), words));
    write_text(project.folder / "src/hy_step.h", text_of(templates / "step/hy_step.h"));
    write_text(project.folder / "src/step_tables.h",
               tables_of(graph, places, calls_of(graph), held));
    write_text(project.folder / "src/step_values.bin", held.values);
    return written;
}

}  // namespace halyard::exporting

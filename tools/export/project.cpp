#include "tools/export/project.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>

#include "dsl/kernel.h"
#include "dsl/kernel_cache.h"
#include "registry/base/atomic_file.h"
#include "registry/base/error.h"
#include "registry/base/process_pool.h"
#include "registry/base/program.h"
#include "registry/base/run_program.h"
#include "registry/base/temporary_folder.h"
#include "registry/base/text.h"
#include "registry/base/version.h"
#include "tools/emit.h"
#include "tools/export/cases.h"
#include "tools/export/dtype_choice.h"
#include "tools/export/mindspore_module.h"
#include "tools/templates.h"

namespace halyard::exporting {
namespace {
namespace fs = std::filesystem;

Instance instance_of(const KernelEntry &k) {
    Instance i;
    i.dtypes = k.dtypes;
    i.variant = k.variant;
    i.isa = k.isa;
    return i;
}

std::string symbol_of(const KernelEntry &k) {
    return instance_of(k).symbol(k.op);
}

// Writes the objects of the kernels to `folder`. Each is made in a process of its own.
std::vector<fs::path> make_objects(const std::vector<KernelEntry> &kernels, const fs::path &folder,
                                   size_t jobs) {
    kernel_cache();      // opened here, so that all processes share a private one
    op_table().names();  // learned here, once for all of them
    std::vector<fs::path> objects;
    for (const KernelEntry &k : kernels)
        objects.push_back(folder / (symbol_of(k) + ".o"));
    ProcessPool(jobs).run(
        kernels.size(),
        [&](size_t i, const ProcessPool::Send &) {
            Kernel kernel(op_table().make(kernels[i].op), instance_of(kernels[i]));
            write_file(objects[i].string(), kernel.object(symbol_of(kernels[i])),
                       Durability::to_system);
        },
        [&](size_t i, const JobResult &result) { result.require_return(kernels[i].op); });
    return objects;
}

void make_archive(const fs::path &to, const std::vector<fs::path> &objects) {
    std::vector<std::string> words = {"ar", "qcsD", to.string()};
    for (const fs::path &object : objects)
        words.push_back(object.string());
    const Ended ar = run_program(words, Keep::output_and_errors);
    if (ar.status != 0) throw Error("export", "ar can't write " + to.string() + ": " + ar.text);
}

bool has_composites(const Selection &selection) {
    return std::ranges::any_of(
        selection.ops, [](const RegisteredOp *op) { return op->record.form == Form::composite; });
}

// Returns the source of host::composer().
std::string composer_source(const Selection &selection) {
    std::string declarations;
    std::vector<std::string> lists;
    for (const std::string &file : selection.files) {
        lists.push_back("halyard_composites_" + file);
        declarations += "void " + lists.back() + "(CompositeTable &);\n";
    }
    return declarations +
           "\nconst host::Composer &host::composer() {\n    static const Composer all = {" +
           (has_composites(selection) ? "run_composed" : "nullptr") + ", {" + join(lists, ", ") +
           "}};\n    return all;\n}\n\n";
}

// Returns the archive of what composites are made of, where link.cmake lists archives.
std::string compositions_of(const Selection &selection) {
    return has_composites(selection) ? " \"${lib}/compositions.a\"" : "";
}

// Returns the source of the records and the table of kernels, without what only checks and
// benchmarks read.
std::string ops_source(const std::string &name, const Selection &selection,
                       const std::vector<KernelEntry> &kernels) {
    std::vector<OpRecord> records;
    for (const RegisteredOp *op : selection.ops) {
        records.push_back(op->record);
        records.back().dtypes = dtypes_of(selection, *op);
        records.back().samples.clear();
        records.back().bench.clear();
    }
    return "// The records of the ops and the table of their kernels.\n#include "
           "\"registry/op/op_files.h\"\n#include \"tools/export/runtime/composer.h\"\n" +
           records_source(name, "", records, kernels, symbol_of, "") +
           "\nnamespace halyard {\n\nstd::vector<const OpFile *> op_files() {\n    return "
           "{&op_file_" +
           name + "};\n}\n\n" + composer_source(selection) + "}  // namespace halyard\n";
}

// Returns a text that lists the ops, a few lines each, which begin with `margin`.
std::string list_of(const std::vector<const RegisteredOp *> &ops, const std::string &margin) {
    std::string s;
    for (const RegisteredOp *op : ops) {
        const OpRecord &r = op->record;
        s += margin + r.name + ": " + r.signature + "\n";
        s += margin + "    dtypes: " + join(r.dtypes, " ") + "\n";
        std::string attributes;
        for (const AttrSpec &a : r.attrs) {
            attributes += " " + a.name + (a.is_required() ? " (required)" : "=" + a.value);
            if (!a.choices.empty()) attributes += " (" + join(a.choices, ", ") + ")";
        }
        if (!attributes.empty()) s += margin + "    attributes:" + attributes + "\n";
    }
    return s;
}

std::string header_of(const Project &project, const Selection &selection) {
    return "/* lib" + project.name + ".so, exported by Halyard " + version() + ":\n *\n" +
           list_of(selection.ops, " * ") + " */\n";
}

const char *name_of_kind(AttrKind kind) {
    switch (kind) {
    case AttrKind::integer: return "integer";
    case AttrKind::real: return "real";
    case AttrKind::boolean: return "boolean";
    case AttrKind::choice: return "choice";
    case AttrKind::ints: return "ints";
    case AttrKind::dtype: return "dtype";
    case AttrKind::text: break;
    }
    return "text";
}

// Returns what the tests in Python read of the records, as JSON. Names need no quoting.
std::string ops_json(const Project &project, const Selection &selection) {
    std::string ops;
    for (const RegisteredOp *op : selection.ops) {
        std::string inputs, attributes, gradients;
        for (const TensorSpec &t : op->signature.inputs)
            inputs += (inputs.empty() ? "\"" : ", \"") + t.name + "\"";
        for (const AttrSpec &a : op->record.attrs) {
            attributes += (attributes.empty() ? "\"" : ", \"") + a.name + "\": \"" +
                          name_of_kind(a.kind) + "\"";
        }
        for (const std::string &input : selection.gradient_inputs.at(op))
            gradients += (gradients.empty() ? "\"" : ", \"") + input + "\"";
        ops += (ops.empty() ? "  \"" : ",\n  \"") + op->record.name + "\": {\"inputs\": [" +
               inputs + "], \"attributes\": {" + attributes + "}, \"gradients\": [" + gradients +
               "], \"chooses_dtype\": " + (chooses_dtype(*op) ? "true" : "false") + "}";
    }
    return "{\"library\": \"" + project.name + "\", \"ops\": {\n" + ops + "\n}}\n";
}

std::string isas_of(const std::vector<KernelEntry> &kernels) {
    std::set<Isa> levels;
    for (const KernelEntry &k : kernels)
        levels.insert(k.isa);
    std::vector<std::string> names;
    for (const Isa isa : levels)
        names.emplace_back(name_of(isa));
    return join(names);
}

}  // namespace

void write_text(const fs::path &path, const std::string &text) {
    fs::create_directories(path.parent_path());
    write_file(path.string(), text, Durability::to_system);
}

Host host_of(const std::string &name) {
    if (name == "c") return Host::c;
    if (name == "c99") return Host::c99;
    if (name == "mindspore") return Host::mindspore;
    if (name == "onnxruntime") return Host::onnxruntime;
    if (name == "torch") return Host::torch;
    throw AttrError("export", "--for " + name +
                                  " doesn't exist; there are c, c99, mindspore, onnxruntime and "
                                  "torch");
}

void check_place(const Project &project) {
    const std::string &name = project.name;
    const auto fits = [](unsigned char c) { return std::isalnum(c) || c == '_'; };
    if (name.empty() || !std::isalpha(static_cast<unsigned char>(name[0])) ||
        !std::ranges::all_of(name, fits)) {
        throw AttrError("export", "'" + name +
                                      "' can't name a library: letters, digits and _, a letter "
                                      "first (--name)");
    }
    const std::set<std::string> targets = {"all",     "clean",         "edit_cache",
                                           "help",    "install",       "list_install_components",
                                           "package", "rebuild_cache", "test"};
    if (targets.count(name))
        throw AttrError("export", "'" + name + "' is a target of CMake's own (--name)");
    // Programs link -lNAME, and would find the project's library in place of the system's.
    const std::set<std::string> systems = {
        "asan",    "atomic",   "c",      "dl", "gcc",  "gcc_s", "gomp", "m", "nsl",
        "pthread", "quadmath", "resolv", "rt", "tsan", "ubsan", "util", "z"};
    if (systems.count(name)) {
        throw AttrError("export", "'" + name + "' would make lib" + name +
                                      ", which is a library of the system's own (--name)");
    }
    // Their files or namespaces are the host's.
    const std::set<std::string> hosts = {"aten",      "c10",         "higher_order", "load_library",
                                         "mindspore", "onnxruntime", "prim",         "prims",
                                         "torch",     "torch_cpu"};
    if (project.host != Host::c && project.host != Host::c99 && hosts.count(name))
        throw AttrError("export", "'" + name + "' is a name of the host's own (--name)");
    const fs::path &folder = project.folder;
    if (fs::exists(folder) && !(fs::is_directory(folder) && fs::is_empty(folder)))
        throw IoError(folder, "is there already, and isn't an empty folder");
}

namespace {

// The folder of a host's templates, below those that are common to all.
const char *folder_of(Host host) {
    switch (host) {
    case Host::mindspore: return "mindspore";
    case Host::onnxruntime: return "onnxruntime";
    case Host::torch: return "torch";
    case Host::c:
    case Host::c99: break;
    }
    return "";
}

void write_mindspore_files(const Project &project, const Selection &selection,
                           const fs::path &templates) {
    const fs::path own = templates / folder_of(project.host);
    write_text(project.folder / "src/hy.h", text_of(templates / "hy.h"));
    write_text(project.folder / "src/mindspore.cpp",
               text_of(own / "mindspore.cpp") + "\n" + mindspore_entries(selection));
    write_text(project.folder / (project.name + ".py"),
               filled(text_of(own / "module.py"), {{"@name@", project.name}}) +
                   mindspore_functions(selection));
}

// Writes the files that only projects of one host have.
void write_files_of_host(const Project &project, const Selection &selection,
                         const fs::path &parts) {
    const fs::path &folder = project.folder, templates = parts / "project";
    if (project.host == Host::c) {
        write_text(folder / "include" / (project.name + ".h"),
                   header_of(project, selection) + text_of(templates / "hy.h"));
        write_text(folder / "test/test.c", text_of(templates / "test.c"));
        return;
    }
    write_text(folder / "OPS.md",
               "# " + project.name + "\n\n```\n" + list_of(selection.ops, "") + "```\n");
    write_text(folder / "test/ops.json", ops_json(project, selection));
    write_text(folder / "test/cases.py", text_of(templates / "cases.py"));
    const fs::path own = templates / folder_of(project.host);
    write_text(folder / "test/test.py", text_of(own / "test.py"));
    if (project.host == Host::mindspore) write_mindspore_files(project, selection, templates);
    if (project.host != Host::torch) return;
    write_text(folder / "src/torch.cpp", text_of(own / "torch.cpp"));
    fs::copy(parts / "torch_headers", folder / "src",
             fs::copy_options::recursive | fs::copy_options::overwrite_existing);
}

// Returns the sources of a library for C.
std::string sources_of(const Project &project) {
    return project.step_functions.empty() ? "src/ops.cpp" : "src/ops.cpp src/step.c";
}

// Returns how src/step.c finds the first values that the assembler includes.
std::string values_of(const Project &project) {
    if (project.step_functions.empty()) return "";
    const std::string folder = "${CMAKE_CURRENT_SOURCE_DIR}/src";
    return "\nset_source_files_properties(src/step.c PROPERTIES COMPILE_OPTIONS \"-Wa,-I" + folder +
           "\" OBJECT_DEPENDS \"" + folder + "/step_values.bin\")";
}

// Returns the functions that a library for C shows beside those of ops, as a version script's
// lines.
std::string functions_of(const Project &project) {
    std::string s;
    for (const std::string &function : project.step_functions)
        s += "\n        " + project.name + "_" + function + ";";
    return s;
}

}  // namespace

KernelArchive::KernelArchive(const std::vector<KernelEntry> &kernels, size_t jobs)
    : folder_("halyard_export") {
    make_archive(path(), make_objects(kernels, folder_.path, jobs));
}

Written write_project(const Project &project, const Selection &selection,
                      const KernelArchive &archive) {
    const std::vector<KernelEntry> kernels = kernels_of(selection);
    const Cases cases = cases_of(selection);

    const fs::path parts = installed("share/halyard/export");
    const fs::path &folder = project.folder;
    std::vector<std::string> names;
    for (const RegisteredOp *op : selection.ops)
        names.push_back(op->record.name);
    Written written{kernels.size(), cases.count, isas_of(kernels)};
    const std::map<std::string, std::string> words = {
        {"@name@", project.name},
        {"@version@", version()},
        {"@ops@", join(names)},
        {"@isas@", written.isas},
        {"@python@", project.python},
        {"@sources@", sources_of(project)},
        {"@functions@", functions_of(project)},
        {"@compositions@", compositions_of(selection)},
        {"@values@", values_of(project)}};
    fs::create_directories(folder);
    fs::copy(parts / "src", folder / "src", fs::copy_options::recursive);
    fs::copy(parts / "lib", folder / "lib", fs::copy_options::recursive);
    fs::copy_file(archive.path(), folder / "lib/kernels.a");
    fs::copy_file(parts / "LICENSE", folder / "LICENSE");
    fs::copy_file(parts / "project/CMakePresets.json", folder / "CMakePresets.json");
    write_text(folder / "link.cmake", filled(text_of(parts / "project/link.cmake"), words));
    for (const char *file : {"CMakeLists.txt", "README.md", "exports.map"})
        write_text(folder / file,
                   filled(text_of(parts / "project" / folder_of(project.host) / file), words));
    write_files_of_host(project, selection, parts);
    write_text(folder / "src/ops.cpp", ops_source(project.name, selection, kernels));
    write_text(folder / "test/cases.bin", cases.bytes);
    return written;
}

}  // namespace halyard::exporting

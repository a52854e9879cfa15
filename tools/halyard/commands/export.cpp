// halyard export: ops as a library for other programs.
#include <cstdio>
#include <filesystem>

#include "dsl/all_ops.h"
#include "dsl/op.h"
#include "registry/base/error.h"
#include "registry/base/parallel.h"
#include "registry/base/text.h"
#include "tools/export/project.h"
#include "tools/export/selection.h"
#include "tools/halyard/command.h"

namespace halyard::command {
namespace {
namespace fs = std::filesystem;

struct ExportOptions {
    std::vector<std::string> ops;
    std::string host = "c", out, name, python;
};

// Returns the folder's own name, also of "dir/" and ".".
std::string name_of_folder(const fs::path &folder) {
    const fs::path whole = fs::absolute(folder).lexically_normal();
    return whole.has_filename() ? whole.filename() : whole.parent_path().filename();
}

// Returns the interpreter that the project names. It is found anew where the project is built, if
// it was given as a name without a folder.
std::string python_of(const ExportOptions &o) {
    if (o.python.empty()) return "python3";
    if (o.host == "c") throw AttrError("export", "--python has no effect on --for c");
    if (o.python.find('/') == std::string::npos) return o.python;
    if (!fs::exists(o.python)) throw IoError(o.python, "isn't there (--python)");
    return fs::absolute(o.python).lexically_normal();
}

int run_export(const ExportOptions &o) {
    const exporting::Project project{o.out, o.name.empty() ? name_of_folder(o.out) : o.name,
                                     exporting::host_of(o.host), python_of(o)};
    exporting::check_place(project);
    list_all_ops(op_table());
    const exporting::Selection selection = exporting::selection_of(o.ops);
    const exporting::Written written = exporting::write_project(project, selection,
                                                                size_t(threads()));
    std::vector<std::string> names;
    for (const RegisteredOp *op : selection.ops)
        names.push_back(op->record.name);
    std::printf("wrote %s: %s; %zu kernels for %s, %zu samples\n", o.out.c_str(),
                join(names).c_str(), written.kernels, written.isas.c_str(), written.samples);
    for (const std::string &note : selection.notes)
        std::printf("%s\n", note.c_str());
    std::printf("next:\n  cd %s && cmake --workflow --preset all\n", o.out.c_str());
    return 0;
}

}  // namespace

void add_export(CLI::App &app, Run &selected) {
    auto o = std::make_shared<ExportOptions>();
    CLI::App *sub = app.add_subcommand(
        "export", "Write ops and their gradients as a library for a program without the kit");
    sub->add_option("ops", o->ops, "The ops' names")->required();
    sub->add_option("--for", o->host,
                    "The host: c (default), a C library; onnxruntime, custom ops; torch, a "
                    "library of PyTorch")
        ->check(CLI::IsMember({"c", "mindspore", "onnxruntime", "torch"}));
    sub->add_option("--out,-o", o->out, "The folder to write, which is empty or doesn't exist")
        ->required();
    sub->add_option("--name", o->name,
                    "The library's name, and its domain or namespace; default: the folder's");
    sub->add_option("--python", o->python,
                    "The Python that has onnxruntime or torch; default: python3");
    sub->callback([o, &selected] { selected = [o] { return run_export(*o); }; });
}

}  // namespace halyard::command

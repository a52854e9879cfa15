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
    std::string host = "c", out, name;
};

// Returns the folder's own name, also of "dir/" and ".".
std::string name_of_folder(const fs::path &folder) {
    const fs::path whole = fs::absolute(folder).lexically_normal();
    return whole.has_filename() ? whole.filename() : whole.parent_path().filename();
}

int run_export(const ExportOptions &o) {
    if (o.host != "c") {
        throw AttrError("export", "--for " + o.host +
                                      " doesn't exist in this version; --for c writes a C library");
    }
    const std::string name = o.name.empty() ? name_of_folder(o.out) : o.name;
    exporting::check_place(o.out, name);
    list_all_ops(op_table());
    const exporting::Selection selection = exporting::selection_of(o.ops);
    const exporting::Written written = exporting::write_project(o.out, name, selection,
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
        "export", "Write ops and their gradients as a library without the kit");
    sub->add_option("ops", o->ops, "The ops' names")->required();
    sub->add_option("--for", o->host, "The host: c (default), a C library with its build and test")
        ->check(CLI::IsMember({"c", "mindspore", "onnxruntime", "torch"}));
    sub->add_option("--out,-o", o->out, "The folder to write, which is empty or doesn't exist")
        ->required();
    sub->add_option("--name", o->name, "The library's name; default: the folder's");
    sub->callback([o, &selected] { selected = [o] { return run_export(*o); }; });
}

}  // namespace halyard::command

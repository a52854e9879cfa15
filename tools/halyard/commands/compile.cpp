// halyard compile: a saved graph, such as a training step, as a library.
#include <cstdio>
#include <filesystem>
#include <memory>

#include "dsl/all_ops.h"
#include "dsl/op.h"
#include "graph/standalone.h"
#include "registry/base/parallel.h"
#include "tools/export/step_project.h"
#include "tools/halyard/command.h"
#include "train/checkpoint/saved_graph.h"

namespace halyard::command {
namespace {
namespace fs = std::filesystem;

struct CompileOptions {
    std::string graph, out, name;
};

int run_compile(const CompileOptions &o) {
    list_kit_ops();
    exporting::Project project;
    project.folder = o.out;
    project.name = o.name;
    if (o.name.empty()) {
        const fs::path whole = fs::absolute(o.out).lexically_normal();
        project.name = whole.has_filename() ? whole.filename() : whole.parent_path().filename();
    }
    exporting::check_place(project);
    const graph::Graph graph = load_graph(o.graph);
    const exporting::Written written = exporting::write_step_project(project, graph,
                                                                     size_t(threads()));
    std::printf("wrote %s: %s, %zu nodes, %zu numbers of a step; %zu kernels for %s\n",
                o.out.c_str(), graph.name.c_str(), graph.nodes.size(), graph::number_count(graph),
                written.kernels, written.isas.c_str());
    std::printf("next:\n  cd %s && cmake --workflow --preset all\n", o.out.c_str());
    return 0;
}

}  // namespace

void add_compile(CLI::App &app, Run &selected) {
    auto o = std::make_shared<CompileOptions>();
    CLI::App *sub = app.add_subcommand("compile", "Write a saved graph, such as a training step, "
                                                  "as a library with the kernels that it calls");
    sub->add_option("graph", o->graph, "A file that export_step() or export_graph() wrote")
        ->required()
        ->check(CLI::ExistingFile);
    sub->add_option("--out,-o", o->out, "The folder to write, which is empty or doesn't exist")
        ->required();
    sub->add_option("--name", o->name,
                    "The library's name, which its functions begin with; default: the folder's");
    sub->callback([o, &selected] { selected = [o] { return run_compile(*o); }; });
}

}  // namespace halyard::command

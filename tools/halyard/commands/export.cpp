// halyard export: ops and networks as a library for other programs.
#include <cstdio>
#include <filesystem>
#include <limits>

#include "dsl/all_ops.h"
#include "dsl/op.h"
#include "examples/recipes.h"
#include "registry/base/error.h"
#include "registry/base/parallel.h"
#include "registry/base/text.h"
#include "tools/export/c99_project.h"
#include "tools/export/project.h"
#include "tools/export/selection.h"
#include "tools/halyard/command.h"
#include "tools/halyard/commands/export_network.h"
#include "tools/halyard/option.h"

namespace halyard::command {
namespace {
namespace fs = std::filesystem;

struct ExportOptions {
    std::vector<std::string> ops, shapes;
    std::string host = "c", out, name, python, dtype, target = "x86";
    NetworkRequest network;
};

// Options of networks, and those of calls.
const std::vector<std::string> for_networks = {
    "--weights", "--batch-size", "--image-size", "--classes",   "--seed",
    "--unfused", "--fold-norms", "--int8",       "--int8-rows", "--int8-io"};
const std::vector<std::string> for_calls = {"--shape"};

// Returns the folder's own name, also of "dir/" and ".".
std::string name_of_folder(const fs::path &folder) {
    const fs::path whole = fs::absolute(folder).lexically_normal();
    return whole.has_filename() ? whole.filename() : whole.parent_path().filename();
}

// Returns the interpreter that the project names. It is found anew where the project is built, if
// it was given as a name without a folder.
std::string python_of(const ExportOptions &o) {
    if (o.python.empty()) return "python3";
    if (o.host == "c" || o.host == "c99")
        throw AttrError("export", "--python has no effect on --for " + o.host);
    if (o.python.find('/') == std::string::npos) return o.python;
    if (!fs::exists(o.python)) throw IoError(o.python, "isn't there (--python)");
    return fs::absolute(o.python).lexically_normal();
}

// Returns the calls to export as C99: each op with its shape, in their order.
std::vector<exporting::FixedOp> calls_of(const ExportOptions &o) {
    if (o.shapes.size() > o.ops.size()) {
        throw AttrError("export", "--shape is given " + std::to_string(o.shapes.size()) +
                                      " times, expected at most once for each of " +
                                      std::to_string(o.ops.size()) + " ops");
    }
    std::vector<exporting::FixedOp> calls;
    for (size_t k = 0; k < o.ops.size(); k++)
        calls.push_back({o.ops[k], o.dtype, k < o.shapes.size() ? o.shapes[k] : ""});
    return calls;
}

void print_next(const ExportOptions &o) {
    std::printf("next:\n  cd %s && cmake --workflow --preset all\n", o.out.c_str());
}

int export_c99(const ExportOptions &o, const exporting::Project &project) {
    const exporting::WrittenCalls written = exporting::write_c99_project(project, calls_of(o));
    std::printf("wrote %s: %zu functions with %lld bytes of static memory\n", o.out.c_str(),
                written.functions.size(), static_cast<long long>(written.arena_bytes));
    for (const std::string &function : written.functions)
        std::printf("  %s;\n", function.c_str());
    print_next(o);
    return 0;
}

// Returns true if a network is exported. Throws AttrError for several, and for other hosts.
bool exports_network(const ExportOptions &o) {
    for (const std::string &name : o.ops) {
        if (!examples::has_recipe(name) || op_table().make(name)) continue;
        if (o.ops.size() > 1) {
            throw AttrError("export", name + " is a network, which is exported alone; there are " +
                                          std::to_string(o.ops.size()) + " names");
        }
        if (o.host != "c99")
            throw AttrError("export", name + " is a network, which needs --for c99");
        return true;
    }
    return false;
}

void check_options(const ExportOptions &o, const CLI::App &sub, bool is_of_network) {
    if (o.host != "c99") refuse(sub, "with --for " + o.host, {"--shape", "--dtype", "--target"});
    if (is_of_network)
        refuse(sub, "with the network " + o.ops[0], for_calls);
    else
        refuse(sub, "with ops", for_networks);
    if (o.network.int8.data.empty() && sub.count("--int8") > 0)
        throw AttrError("export", "--int8 names no data, expected a folder or a .npy file");
    if (o.network.int8.data.empty())
        refuse(sub, "without --int8", {"--int8-rows", "--int8-io"});
    else
        refuse(sub, "with --int8, which folds and fuses", {"--fold-norms", "--unfused"});
}

std::string project_name(const ExportOptions &o, bool is_of_network) {
    if (!o.name.empty()) return o.name;
    return is_of_network ? o.ops[0] : name_of_folder(o.out);
}

int run_export(const ExportOptions &o, const CLI::App &sub) {
    list_kit_ops();
    const bool is_of_network = exports_network(o);
    check_options(o, sub, is_of_network);
    const exporting::Project project{o.out, project_name(o, is_of_network),
                                     exporting::host_of(o.host), python_of(o),
                                     c99::target_of(o.target, "export")};
    exporting::check_place(project);
    if (is_of_network) {
        NetworkRequest request = o.network;
        request.network = o.ops[0];
        request.dtype = o.dtype;
        export_network(request, project);
        print_next(o);
        return 0;
    }
    if (project.host == exporting::Host::c99) return export_c99(o, project);
    const exporting::KernelArchive archive(exporting::kernels_selected_by(o.ops),
                                           size_t(threads()));
    const exporting::Selection selection = exporting::selection_of(o.ops);
    const exporting::Written written = exporting::write_project(project, selection, archive);
    std::vector<std::string> names;
    for (const RegisteredOp *op : selection.ops)
        names.push_back(op->record.name);
    std::printf("wrote %s: %s; %zu kernels for %s, %zu samples\n", o.out.c_str(),
                join(names).c_str(), written.kernels, written.isas.c_str(), written.samples);
    for (const std::string &note : selection.notes)
        std::printf("%s\n", note.c_str());
    print_next(o);
    return 0;
}

void add_network_options(CLI::App &sub, NetworkRequest &r) {
    sub.add_option(
        "--weights", r.weights,
        "network: its checkpoint, or the folder with checkpoints of a training; default: "
        "initial weights");
    sub.add_option("--batch-size", r.batch_size, "network: rows of the input; default 1")
        ->check(CLI::Range(1, 65536));
    sub.add_option("--image-size,--length", r.size,
                   "network: height and width of images, bytes of a text, or readings of a row; "
                   "default: the training's")
        ->check(CLI::Range(1, 4096));
    sub.add_option("--classes", r.classes, "network: classes, without weights; default 10")
        ->check(CLI::Range(1, 1'000'000));
    sub.add_option("--seed", r.seed, "network: of initial weights")
        ->check(whole_number(std::numeric_limits<uint64_t>::max()));
    sub.add_flag("--unfused", r.unfused,
                 "network: every op is a loop of its own, with its result in memory");
    sub.add_flag("--fold-norms", r.folds_norms,
                 "network: scales of normalisations are multiplied into the weights of "
                 "convolutions, which changes bits of the results within the ops' error bounds");
    sub.add_option("--int8", r.int8.data,
                   "network: weights and activations are integers of 8 bits, with the ranges that "
                   "activations have on this data: the folder of a training, or a .npy file of "
                   "rows of the input, f32");
    sub.add_option("--int8-rows", r.int8.rows, "int8: rows of the data that give ranges")
        ->check(CLI::Range(1, 1'000'000))
        ->capture_default_str();
    sub.add_flag("--int8-io", r.int8.takes_i8,
                 "int8: input and output are integers too; default: floats");
}

}  // namespace

void add_export(CLI::App &app, Run &selected) {
    auto o = std::make_shared<ExportOptions>();
    CLI::App *sub = app.add_subcommand(
        "export",
        "Write ops and their gradients, or a network, as a library for a program without the kit");
    sub->add_option("ops", o->ops, "The ops' names, or one network of `halyard train`")->required();
    sub->add_option(
           "--for", o->host,
           "The host: c (default), a C library; c99, functions in C99 for one call each, or a "
           "network; onnxruntime, custom ops; torch, a library of PyTorch; mindspore, operators "
           "of MindSpore")
        ->check(CLI::IsMember({"c", "c99", "mindspore", "onnxruntime", "torch"}));
    sub->add_option("--out,-o", o->out, "The folder to write, which is empty or doesn't exist")
        ->required();
    sub->add_option(
        "--name", o->name,
        "The library's name, and its domain or namespace; default: the folder's, or the "
        "network's");
    sub->add_option(
           "--shape,-s", o->shapes,
           "c99: the call of an op, \"n=8 c=10 axis=1\"; once for each op, in their order; "
           "default: one of its samples")
        ->allow_extra_args(false);
    sub->add_option("--dtype", o->dtype,
                    "c99: f32, f16, ... (f32,i32 where an op has two); default: each op's first");
    sub->add_option("--python", o->python,
                    "The Python that has onnxruntime or torch; default: python3");
    sub->add_option("--target", o->target,
                    "c99: the machine that its build is for: x86 (default), ARM64, ARM32A "
                    "(Cortex-A) or ARM32M (Cortex-M)");
    add_network_options(*sub, o->network);
    sub->callback([o, sub, &selected] { selected = [o, sub] { return run_export(*o, *sub); }; });
}

}  // namespace halyard::command

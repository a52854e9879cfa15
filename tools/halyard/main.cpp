// halyard: the command for kernel authors. Exit status: 0 = done, 1 = an op, a file or a check
// failed, 2 = the command line is wrong.
#include <cstdio>
#include <filesystem>
#include <sstream>

#include "bench/harness/progress.h"
#include "dsl/kernel_cache.h"
#include "dsl/reference_location.h"
#include "registry/base/error.h"
#include "registry/base/parallel.h"
#include "registry/base/version.h"
#include "registry/dispatch/device.h"
#include "registry/op/author_location.h"
#include "tools/gpu/cuda_kernels.h"
#include "tools/halyard/command.h"
#include "tools/halyard/kernels.h"
#include "tools/halyard/own_process.h"
#include "tools/halyard/printable.h"
#include "tools/halyard/standard_output.h"

namespace {

// Returns an error's text as one line without control characters, because names come from files and
// from the command line.
std::string one_line(const std::string &text) {
    std::string s;
    bool gap = false;
    for (char c : text) {
        if (c == '\n') {
            s += s.empty() || s.back() == ':' ? "" : ";";
            gap = true;
        } else if (!gap || c != ' ') {
            if (gap) s += ' ';
            s += halyard::command::printable(c);
            gap = false;
        }
    }
    return s;
}

// Returns an exception's text. Filesystem errors get the kit's form.
std::string text_of(const std::exception &e) {
    const auto *file = dynamic_cast<const std::filesystem::filesystem_error *>(&e);
    return file ? "[" + file->path1().string() + "] can't be used: " + file->code().message()
                : e.what();
}

void complain(const std::exception &e) {
    std::fprintf(stderr, "%s\n", one_line(text_of(e)).c_str());
}

// Prints CLI11's message about a wrong command line, or its help.
int explain(const CLI::App &app, const CLI::ParseError &error) {
    std::ostringstream out, err;
    const int status = app.exit(error, out, err) == 0 ? 0 : 2;
    std::fputs(out.str().c_str(), stdout);
    std::string message;
    for (char c : err.str())
        message += c == '\n' ? std::string(1, c) : halyard::command::printable(c);
    std::fputs(message.c_str(), stderr);
    return status;
}

// Runs the subcommand and flushes its output.
int finished(const halyard::command::Run &run) {
    const int status = run();
    halyard::release_devices();
    halyard::command::flush_standard_output();
    return status;
}

void add_subcommands(CLI::App &app, halyard::command::Run &run) {
    using namespace halyard::command;
    add_ops(app, run);
    add_run(app, run);
    add_explain(app, run);
    add_devices(app, run);
    add_docs(app, run);
    add_graph(app, run);
    add_lower(app, run);
    add_check(app, run);
    add_bench(app, run);
    add_profile(app, run);
    add_ablate(app, run);
    add_report(app, run);
    add_roofs(app, run);
    add_train(app, run);
    add_tune(app, run);
    add_new(app, run);
    add_export(app, run);
    add_compile(app, run);
    add_fuse(app, run);
    add_cache(app, run);
}

}  // namespace

int main(int argc, char **argv) {
    using namespace halyard;
    CLI::App app{"Halyard: operators for CPU, GPU and Ascend, each from one file.", "halyard"};
    app.footer("halyard SUBCOMMAND --help lists a subcommand's options. Environment: HALYARD_ISA, "
               "HALYARD_MODE, HALYARD_THREADS.");
    app.set_version_flag("--version", std::string("halyard ") + version(),
                         "Print the kit's version");
    app.require_subcommand(0, 1);
    app.fallthrough();  // --threads may follow the subcommand
    int threads = -1;
    std::vector<std::string> libraries;
    app.add_option("--threads", threads, "Threads of the pool; 0 = all cores")
        ->check(CLI::Range(0, 1024));
    app.add_option("--kernels", libraries,
                   "A library of ops from outside of the kit, as halyard_library() builds it")
        ->allow_extra_args(false);
    command::Run run;
    add_subcommands(app, run);
    try {
        try {
            app.parse(argc, argv);
        } catch (const CLI::ParseError &e) {
            const int status = explain(app, e);
            command::flush_standard_output();
            return status;
        }
        if (!run) {
            std::fputs(app.help().c_str(), stdout);
            command::flush_standard_output();
            return 0;
        }
        provide_opencl_cache();
        make_cuda_kernels();
        set_author_location(reference_location);
        if (threads >= 0)
            set_threads(threads);
        else
            halyard::threads();  // throws for a bad HALYARD_THREADS, even if no loop needs it
        for (auto &path : libraries)
            command::load_kernels(path);
        check::print_progress_on_death();
        if (libraries.empty()) return finished(run);
        return command::in_own_process(app.get_subcommands()[0]->get_name(), [&] {
            try {
                return finished(run);
            } catch (const std::exception &e) {
                complain(e);
                return 1;
            }
        });
    } catch (const std::exception &e) {
        complain(e);
        return 1;
    }
}

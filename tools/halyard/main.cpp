// halyard: what a kernel author types. Exit status: 0 = done, 1 = an op, a file or a check refused, 2 = the command line is wrong.
#include <cstdio>

#include "registry/device.h"
#include "registry/error.h"
#include "registry/parallel.h"
#include "tools/halyard/command.h"
#include "tools/halyard/kernels.h"

namespace {

// One line, whatever the error's text was.
std::string one_line(const std::string &text) {
    std::string s;
    bool gap = false;
    for (char c : text) {
        if (c == '\n') {
            s += s.empty() || s.back() == ':' ? "" : ";";
            gap = true;
        } else if (!gap || c != ' ') {
            if (gap) s += ' ';
            s += c, gap = false;
        }
    }
    return s;
}

}  // namespace

int main(int argc, char **argv) {
    using namespace halyard;
    CLI::App app{"Halyard: operators for CPU, GPU and Ascend, each from one file.", "halyard"};
    app.footer("halyard SUBCOMMAND --help lists a subcommand's options. Environment: HALYARD_ISA, HALYARD_THREADS.");
    app.require_subcommand(0, 1);
    app.fallthrough();  // --threads may follow the subcommand
    int threads = -1;
    std::vector<std::string> libraries;
    app.add_option("--threads", threads, "Threads of the pool; 0 = all cores")->check(CLI::Range(0, 1024));
    app.add_option("--kernels", libraries, "A library of ops from outside of the kit, as halyard_library() builds it")->allow_extra_args(false);
    command::Run run;
    command::add_ops(app, run);
    command::add_run(app, run);
    command::add_explain(app, run);
    command::add_docs(app, run);
    command::add_lower(app, run);
    command::add_check(app, run);
    command::add_bench(app, run);
    command::add_profile(app, run);
    command::add_ablate(app, run);
    command::add_report(app, run);
    command::add_roofs(app, run);
    command::add_train(app, run);
    command::add_tune(app, run);
    command::add_new(app, run);
    try {
        app.parse(argc, argv);
        if (!run) {
            std::fputs(app.help().c_str(), stdout);
            return 0;
        }
        if (threads >= 0) set_threads(threads);
        else halyard::threads();  // a bad HALYARD_THREADS is refused also where no loop is long enough to need it
        for (auto &path : libraries) command::load_kernels(path);
        const int status = run();
        release_devices();
        return status;
    } catch (const CLI::ParseError &e) { return app.exit(e) == 0 ? 0 : 2; } catch (const std::exception &e) {
        std::fprintf(stderr, "%s\n", one_line(e.what()).c_str());
        return 1;
    }
}

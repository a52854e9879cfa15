// halyard report: one page of files that other subcommands saved.
#include <cstdio>
#include <filesystem>

#include "registry/base/atomic_file.h"
#include "registry/base/error.h"
#include "registry/base/program.h"
#include "tools/halyard/command.h"
#include "tools/halyard/page.h"
#include "tools/report/page.h"

namespace halyard::command {
namespace {
namespace fs = std::filesystem;

struct PageOptions {
    std::vector<std::string> files;
    std::string out = "report.html", title = "Halyard report";
};

int report_of(const PageOptions &o) {
    for (auto &run : write_page(o.files, o.out, o.title)) {
        std::printf("%-9s %s\n", run["kind"].get<std::string>().c_str(),
                    run["file"].get<std::string>().c_str());
    }
    std::error_code no_size;  // for a device
    const std::uintmax_t bytes = fs::file_size(o.out, no_size);
    std::printf("wrote %s%s\n", o.out.c_str(),
                no_size ? "" : (", " + std::to_string((bytes + 1023) / 1024) + " KB").c_str());
    return 0;
}

}  // namespace

std::vector<report::Json> write_page(const std::vector<std::string> &files, const std::string &out,
                                     const std::string &title) {
    std::vector<report::Json> runs;
    for (auto &path : files)
        runs.push_back(report::read_run(path));
    const fs::path parts = installed("share/halyard/report");
    const std::string page = report::page_of(title, runs, parts);
    write_file(out, page, Durability::to_system);
    return runs;
}

void add_report(CLI::App &app, Run &selected) {
    auto o = std::make_shared<PageOptions>();
    CLI::App *sub = app.add_subcommand("report", "Make one HTML page of saved runs");
    sub->footer("Takes the --json files of bench, check and explain, the run files of train, "
                "and the files of roofs and tune, in any order. The page needs "
                "no network.");
    sub->add_option("files", o->files, "Saved runs")->required();
    sub->add_option("--out,-o", o->out, "The page")->capture_default_str();
    sub->add_option("--title", o->title, "Its title")->capture_default_str();
    sub->callback([o, &selected] { selected = [o] { return report_of(*o); }; });
}

}  // namespace halyard::command

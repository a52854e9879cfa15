// halyard cache: the kernels that checks and tools compiled, which are kept for later runs.
#include <cstdio>

#include "dsl/kernel_cache.h"
#include "tools/halyard/command.h"

namespace halyard::command {
namespace {

void print_sum(const std::vector<CacheEntry> &entries, const char *what) {
    std::printf("%s: %zu kernels, %.1f MB%s\n", kernel_cache().c_str(), entries.size(),
                1e-6 * double(bytes_of(entries)), what);
}

int list() {
    for (const CacheEntry &e : cache_entries()) {
        const auto used = std::chrono::file_clock::to_sys(e.used);
        const std::time_t seconds = std::chrono::system_clock::to_time_t(
            std::chrono::time_point_cast<std::chrono::system_clock::duration>(used));
        char date[32];
        std::strftime(date, sizeof date, "%Y-%m-%d %H:%M", std::localtime(&seconds));
        std::printf("%9.1f kB  %s  %s\n", 1e-3 * double(e.bytes), date, e.path.filename().c_str());
    }
    return 0;
}

int verify() {
    const std::vector<CacheEntry> damaged = damaged_entries();
    for (const CacheEntry &e : damaged)
        std::printf("%s is damaged\n", e.path.c_str());
    print_sum(damaged, " damaged");
    return damaged.empty() ? 0 : 1;
}

int remove(const std::vector<CacheEntry> &entries) {
    print_sum(remove_entries(entries), " removed");
    return 0;
}

int show() {
    char most[48];
    std::snprintf(most, sizeof most, " of at most %.1f MB", 1e-6 * double(cache_limit()));
    print_sum(cache_entries(), most);
    return 0;
}

}  // namespace

void add_cache(CLI::App &app, Run &selected) {
    struct Request {
        bool list = false, verify = false, repair = false, clean = false;
    };
    auto o = std::make_shared<Request>();
    CLI::App *sub = app.add_subcommand("cache",
                                       "Show, verify or empty the cache of compiled kernels");
    CLI::Option_group *what = sub->add_option_group("what");
    what->add_flag("--list", o->list, "Print size, last use and name of each, latest use first");
    what->add_flag("--verify", o->verify,
                   "Name the damaged ones; the exit status is 1 if there are");
    what->add_flag("--repair", o->repair,
                   "Remove the damaged ones; they are compiled again when they are needed");
    what->add_flag("--clean", o->clean,
                   "Remove all kernels; they are compiled again when they are needed");
    what->require_option(0, 1);
    sub->callback([&selected, o] {
        selected = [o] {
            if (o->list) return list();
            if (o->verify) return verify();
            if (o->repair) return remove(damaged_entries());
            if (o->clean) return remove(cache_entries());
            return show();
        };
    });
}

}  // namespace halyard::command

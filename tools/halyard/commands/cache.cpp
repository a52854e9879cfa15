// halyard cache: the kernels that checks and tools compiled, which are kept until they are removed.
#include <cstdio>

#include "dsl/kernel_cache.h"
#include "tools/halyard/command.h"

namespace halyard::command {

void add_cache(CLI::App &app, Run &selected) {
    auto clean = std::make_shared<bool>(false);
    CLI::App *sub = app.add_subcommand("cache", "Show or empty the cache of compiled kernels");
    sub->add_flag("--clean", *clean,
                  "Remove all kernels; they are compiled again when they are needed");
    sub->callback([&selected, clean] {
        selected = [clean] {
            const std::string folder = kernel_cache().string();
            const CacheSize size = *clean ? clean_cache() : cache_size();
            std::printf("%s: %lld kernels, %.1f MB%s\n", folder.c_str(), (long long)size.entries,
                        1e-6 * double(size.bytes), *clean ? " removed" : "");
            return 0;
        };
    });
}

}  // namespace halyard::command

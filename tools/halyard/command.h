// The halyard command: one function per subcommand. Each declares its options. If its subcommand is
// selected, it sets `run` to what main() calls after parsing. The result of `run` is the exit
// status: 0, or 1 for a failed check.
#pragma once
#include <CLI/CLI.hpp>
#include <functional>

namespace halyard::command {

using Run = std::function<int()>;

void add_ablate(CLI::App &app, Run &run);
void add_ops(CLI::App &app, Run &run);
void add_run(CLI::App &app, Run &run);
void add_explain(CLI::App &app, Run &run);
void add_export(CLI::App &app, Run &run);
void add_fuse(CLI::App &app, Run &run);
void add_graph(CLI::App &app, Run &run);
void add_devices(CLI::App &app, Run &run);
void add_docs(CLI::App &app, Run &run);
void add_lower(CLI::App &app, Run &run);
void add_compile(CLI::App &app, Run &run);
void add_cache(CLI::App &app, Run &run);
void add_check(CLI::App &app, Run &run);
void add_bench(CLI::App &app, Run &run);
void add_profile(CLI::App &app, Run &run);
void add_report(CLI::App &app, Run &run);
void add_roofs(CLI::App &app, Run &run);
void add_train(CLI::App &app, Run &run);
void add_tune(CLI::App &app, Run &run);
void add_new(CLI::App &app, Run &run);

}  // namespace halyard::command

// The steps before the first op: the op files are loaded and the environment is read.
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string>

#include "primitives/composition.h"
#include "primitives/context.h"
#include "primitives/library.h"
#include "registry/base/edit_distance.h"
#include "registry/base/log.h"
#include "registry/op/op_files.h"

namespace halyard {
namespace {

constexpr const char *variables[] = {"HALYARD_MODE",
                                     "HALYARD_ENABLE_GRAPH_KERNEL",
                                     "HALYARD_NUMERICS",
                                     "HALYARD_COMMAND",
                                     "HALYARD_DEVICE_TARGET",
                                     "HALYARD_DEVICE_ID",
                                     "HALYARD_PRECISION_MODE",
                                     "HALYARD_MAX_DEVICE_MEMORY",
                                     "HALYARD_SAVE_GRAPHS",
                                     "HALYARD_THREADS",
                                     "HALYARD_SAVE_GRAPHS_PATH",
                                     "HALYARD_PRINT_FILE_PATH",
                                     "HALYARD_ENABLE_PROFILING",
                                     "HALYARD_PROFILING_OPTIONS",
                                     "HALYARD_REPRODUCIBLE",
                                     "HALYARD_ISA",
                                     "HALYARD_ISAS"};  // the last is a build option

// Warns of variables whose names are similar to an option's: they are probably misspelt and have no
// effect. Other names that begin with HALYARD_ may belong to other programs.
void warn_of_misspelt_variables() {
    for (char **entry = environ; *entry; entry++) {
        const std::string text = *entry;
        const std::string name = text.substr(0, text.find('='));
        if (!name.starts_with("HALYARD_") ||
            std::ranges::find(variables, name) != std::end(variables))
            continue;
        for (const std::string ours : variables) {
            const int most_typos = ours.size() > 14 ? 2 : 1;
            if (edit_distance(name, ours) <= most_typos) {
                log(LogLevel::warning, "context",
                    name + " in the environment does nothing, did you mean " + ours + "?");
            }
        }
    }
}

std::optional<std::string> variable(const char *name) {
    const char *value = std::getenv(name);
    if (!value || !*value) return std::nullopt;
    return value;
}

std::optional<bool> flag(const char *name) {
    const auto text = variable(name);
    if (!text) return std::nullopt;
    if (*text != "0" && *text != "1")
        throw AttrError("context", std::string(name) + " is '" + *text + "', expected 0 or 1");
    return *text == "1";
}

}  // namespace

void set_context_from_environment() {
    warn_of_misspelt_variables();
    ContextOptions o;
    if (const auto mode = variable("HALYARD_MODE")) {
        if (*mode != "GRAPH_MODE" && *mode != "PYNATIVE_MODE") {
            throw AttrError("context", "HALYARD_MODE is '" + *mode +
                                           "', expected GRAPH_MODE or PYNATIVE_MODE");
        }
        o.mode = *mode == "GRAPH_MODE" ? GRAPH_MODE : PYNATIVE_MODE;
    }
    o.enable_graph_kernel = flag("HALYARD_ENABLE_GRAPH_KERNEL");
    o.numerics = variable("HALYARD_NUMERICS");
    o.device_target = variable("HALYARD_DEVICE_TARGET");
    if (const auto id = variable("HALYARD_DEVICE_ID")) {
        if (id->find_first_not_of("0123456789") != std::string::npos || id->size() > 9)
            throw AttrError("context", "HALYARD_DEVICE_ID is '" + *id + "', expected 0 or more");
        o.device_id = std::atoi(id->c_str());
    }
    o.precision_mode = variable("HALYARD_PRECISION_MODE");
    o.max_device_memory = variable("HALYARD_MAX_DEVICE_MEMORY");
    o.save_graphs = flag("HALYARD_SAVE_GRAPHS");
    o.save_graphs_path = variable("HALYARD_SAVE_GRAPHS_PATH");
    o.print_file_path = variable("HALYARD_PRINT_FILE_PATH");
    o.enable_profiling = flag("HALYARD_ENABLE_PROFILING");
    o.profiling_options = variable("HALYARD_PROFILING_OPTIONS");
    apply_options(o);
}

Registry &library() {
    static const bool loaded = [] {
        registry().add(op_files());
        registry().add(composite_files());
        return true;
    }();
    static const bool set = [] {
        set_context_from_environment();
        return true;
    }();
    (void)loaded;
    (void)set;
    return registry();
}

}  // namespace halyard

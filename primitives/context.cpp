#include "primitives/context.h"

#include <atomic>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <mutex>
#include <nlohmann/json.hpp>

#include "primitives/library.h"
#include "primitives/profiler.h"
#include "registry/device.h"
#include "registry/error.h"
#include "registry/log.h"
#include "registry/memory.h"
#include "registry/reproducible.h"

namespace halyard {
namespace {
namespace fs = std::filesystem;

struct State {
    std::mutex mutex;
    Context now;
    std::atomic<bool> saves_graphs = false;
};
State &state() {
    static State s;
    return s;
}

void set_mode(ExecutionMode mode) {
    static std::once_flag said;
    if (mode != GRAPH_MODE && mode != PYNATIVE_MODE)
        throw AttrError("context", "mode is " + std::to_string(mode) + ", expected GRAPH_MODE (0) or PYNATIVE_MODE (1)");
    if (mode == GRAPH_MODE)
        std::call_once(said, [] {
            log(LogLevel::warning, "context", "mode is GRAPH_MODE: graphs aren't compiled, ops run one by one as in PYNATIVE_MODE, with the same results");
        });
}

bool has_device_kernels() {
    for (const RegisteredOp *op : registry().ops())
        for (const KernelEntry &k : op->kernels)
            if (k.backend == "opencl") return true;
    return false;
}

void choose_device(const std::string &target) {
    if (target == "CPU") return set_device("cpu");
    if (target == "Ascend") return set_device("ascend");  // simulated; DeviceError where its library isn't installed
    const bool gpu = has_device_kernels();
    if (target == "GPU" && gpu) return set_device("opencl");
    const std::string there = std::string("this build has kernels for CPU") + (gpu ? " and GPU" : " only");
    if (target == "GPU") throw DeviceError("context", "device_target is '" + target + "', " + there);
    throw AttrError("context", "device_target is '" + target + "', expected CPU, GPU or Ascend; " + there);
}

int64_t bytes_of(const std::string &text) {
    if (text.empty()) return 0;
    char *end = nullptr;
    const double amount = std::strtod(text.c_str(), &end);
    const std::string unit = end;
    const double factor = unit == "GB" ? 1 << 30 : unit == "MB" ? 1 << 20 : 0;
    const bool digit = text[0] == '.' || (text[0] >= '0' && text[0] <= '9');
    if (!digit || factor == 0 || !(amount * factor >= 1) || amount * factor > 0x1p62)
        throw AttrError("context", "max_device_memory is '" + text + "', expected a number above 0 with GB or MB, as 2GB or 0.5GB");
    return (int64_t)(amount * factor);
}

std::string free_name(const std::string &path) {
    if (fs::is_directory(path)) throw IoError(path, "is a folder, print_file_path is that of a file");
    if (path.empty() || !fs::exists(path)) return path;
    std::time_t stamp = std::time(nullptr);
    while (fs::exists(path + "." + std::to_string(stamp))) stamp++;
    return path + "." + std::to_string(stamp);
}

// {"result_path": "out", "training_trace": "on"}: what other devices can be asked for is taken and means nothing here.
std::string profile_folder(const std::string &options) {
    if (options.empty()) return ".";
    try {
        const nlohmann::json all = nlohmann::json::parse(options);
        for (const char *key : {"output", "result_path"})
            if (all.contains(key)) return all[key].get<std::string>();
        if (all.is_object()) return ".";
    } catch (const nlohmann::json::exception &) {}
    throw AttrError("context", "profiling_options is '" + options + R"(', expected JSON as {"output": "folder"})");
}

void make_folder(const std::string &path) {
    std::error_code failed;
    fs::create_directories(path, failed);
    if (failed) throw IoError(path, "can't be made: " + failed.message());
}

void apply(const ContextOptions &o) {
    State &s = state();
    const std::lock_guard lock(s.mutex);
    Context &now = s.now;
    if (o.mode) set_mode(*o.mode), now.mode = *o.mode;
    if (o.device_target) choose_device(*o.device_target), now.device_target = *o.device_target;
    if (o.device_id) {
        if (*o.device_id < 0) throw AttrError("context", "device_id is " + std::to_string(*o.device_id) + ", expected 0 or more");
        set_device_id(*o.device_id), now.device_id = *o.device_id;
    }
    if (o.max_device_memory) memory::set_limit(bytes_of(*o.max_device_memory)), now.max_device_memory = *o.max_device_memory;
    if (o.save_graphs_path) now.save_graphs_path = *o.save_graphs_path;
    if (o.save_graphs) s.saves_graphs = now.save_graphs = *o.save_graphs;
    if (now.save_graphs && (o.save_graphs || o.save_graphs_path)) make_folder(now.save_graphs_path);
    if (o.print_file_path) now.print_file_path = free_name(*o.print_file_path);
    if (o.profiling_options) profile_folder(*o.profiling_options), now.profiling_options = *o.profiling_options;
    if (o.enable_profiling && *o.enable_profiling) profiler::start(profile_folder(now.profiling_options));
    else if (o.enable_profiling) profiler::stop();
    if (o.enable_profiling) now.enable_profiling = *o.enable_profiling;
    if (o.reproducible) set_reproducible(*o.reproducible);
}

std::optional<std::string> variable(const char *name) {
    const char *value = std::getenv(name);
    if (!value || !*value) return std::nullopt;
    return value;
}

std::optional<bool> flag(const char *name) {
    const auto text = variable(name);
    if (!text) return std::nullopt;
    if (*text != "0" && *text != "1") throw AttrError("context", std::string(name) + " is '" + *text + "', expected 0 or 1");
    return *text == "1";
}

}  // namespace

void set_context(const ContextOptions &options) {
    library();  // the environment's options first, these over them
    apply(options);
}

Context get_context() {
    library();
    State &s = state();
    const std::lock_guard lock(s.mutex);
    Context now = s.now;
    now.reproducible = reproducible();
    return now;
}

bool saves_graphs() { return state().saves_graphs.load(std::memory_order_relaxed); }

void set_context_from_environment() {
    ContextOptions o;
    if (const auto mode = variable("HALYARD_MODE")) {
        if (*mode != "GRAPH_MODE" && *mode != "PYNATIVE_MODE")
            throw AttrError("context", "HALYARD_MODE is '" + *mode + "', expected GRAPH_MODE or PYNATIVE_MODE");
        o.mode = *mode == "GRAPH_MODE" ? GRAPH_MODE : PYNATIVE_MODE;
    }
    o.device_target = variable("HALYARD_DEVICE_TARGET");
    if (const auto id = variable("HALYARD_DEVICE_ID")) {
        if (id->find_first_not_of("0123456789") != std::string::npos || id->size() > 9)
            throw AttrError("context", "HALYARD_DEVICE_ID is '" + *id + "', expected 0 or more");
        o.device_id = std::atoi(id->c_str());
    }
    o.max_device_memory = variable("HALYARD_MAX_DEVICE_MEMORY");
    o.save_graphs = flag("HALYARD_SAVE_GRAPHS"), o.save_graphs_path = variable("HALYARD_SAVE_GRAPHS_PATH");
    o.print_file_path = variable("HALYARD_PRINT_FILE_PATH");
    o.enable_profiling = flag("HALYARD_ENABLE_PROFILING"), o.profiling_options = variable("HALYARD_PROFILING_OPTIONS");
    apply(o);
}

}  // namespace halyard

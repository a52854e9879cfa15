#include "primitives/context.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <mutex>
#include <nlohmann/json.hpp>

#include "primitives/library.h"
#include "primitives/profiler.h"
#include "primitives/settings_fingerprint.h"
#include "registry/base/error.h"
#include "registry/base/fork.h"
#include "registry/base/log.h"
#include "registry/dispatch/device.h"
#include "registry/dispatch/reproducible.h"
#include "registry/tensor/memory.h"

namespace halyard {
namespace {
namespace fs = std::filesystem;

struct State {
    State() { hold_over_fork(mutex, LockRank::outer); }
    std::mutex mutex;
    Context now;
    std::atomic<bool> saves_graphs = false;
    std::atomic<bool> runs_graphs = false;
    std::atomic<bool> enables_graph_kernel = false;
    std::atomic<bool> allows_contract = false;
};
State &state() {
    // It is never destroyed: threads that outlive main() may still call ops.
    static State &s = *new State;
    return s;
}

void check_mode(ExecutionMode mode) {
    if (mode == GRAPH_MODE || mode == PYNATIVE_MODE) return;
    throw AttrError("context", "mode is " + std::to_string(mode) +
                                   ", expected GRAPH_MODE (0) or PYNATIVE_MODE (1)");
}

bool is_ascend(const std::string &target) {
    return target.starts_with("Ascend");
}

bool has_device_kernels() {
    for (const RegisteredOp *op : registry().ops()) {
        for (const KernelEntry &k : op->kernels)
            if (k.backend == "opencl") return true;
    }
    return false;
}

// Selects a simulated chip. Throws DeviceError if the simulator's library isn't installed.
void choose_chip(const std::string &target) {
    static constexpr std::pair<const char *, const char *> chips[] = {{"Ascend", "ascend"},
                                                                      {"Ascend310", "ascend310"},
                                                                      {"Ascend910", "ascend910"},
                                                                      {"Ascend910B", "ascend910b"}};
    for (const auto &[name, device] : chips)
        if (target == name) return set_device(device);
    throw AttrError("context", "device_target is '" + target +
                                   "', expected Ascend (which is Ascend910), Ascend310, Ascend910 "
                                   "or Ascend910B");
}

void choose_device(const std::string &target) {
    if (target == "CPU") return set_device("cpu");
    if (is_ascend(target)) return choose_chip(target);
    const bool gpu = has_device_kernels();
    if (target == "GPU" && gpu) return set_device("opencl");
    const std::string there = std::string("this build has kernels for CPU") +
                              (gpu ? " and GPU" : " only");
    if (target == "GPU")
        throw DeviceError("context", "device_target is '" + target + "', " + there);
    throw AttrError("context",
                    "device_target is '" + target + "', expected CPU, GPU or Ascend; " + there);
}

void choose_device_id(int id, const std::string &target) {
    constexpr int max_device_id = 4096;  // MindSpore's limit
    const std::string is = "device_id is " + std::to_string(id);
    if (id < 0 || id >= max_device_id)
        throw AttrError("context", is + ", expected 0 to " + std::to_string(max_device_id - 1));
    if (target != "GPU") {
        if (id > 0) {
            log(LogLevel::warning, "context",
                is + ": device_target " + target +
                    " is one device; the id counts from a change to GPU on");
        }
        return;
    }
    const int devices = opencl_devices();
    if (id >= devices) {
        throw AttrError("context", is + ", expected 0 to " + std::to_string(devices - 1) +
                                       ": OpenCL has " + std::to_string(devices) + " here");
    }
    set_device_id(id);
}

void choose_precision(const std::string &mode, const std::string &target) {
    if (mode != "must_keep_origin_dtype" && mode != "allow_fp32_to_fp16") {
        throw AttrError("context", "precision_mode is '" + mode +
                                       "', expected must_keep_origin_dtype or allow_fp32_to_fp16");
    }
    const bool narrows = mode == "allow_fp32_to_fp16";
    set_narrows_on_ascend(narrows);
    if (narrows && !is_ascend(target)) {
        log(LogLevel::warning, "context",
            "precision_mode is " + mode +
                ": it counts from a change of device_target to Ascend on");
    }
}

std::string free_name(const std::string &path) {
    std::error_code unknown;
    if (fs::is_directory(path, unknown))
        throw IoError(path, "is a folder, print_file_path is that of a file");
    if (path.empty() || !fs::exists(path, unknown)) return path;
    std::time_t stamp = std::time(nullptr);
    while (fs::exists(path + "." + std::to_string(stamp), unknown))
        stamp++;
    return path + "." + std::to_string(stamp);
}

using Json = nlohmann::json;

[[noreturn]] void refuse_profiling(const std::string &why) {
    throw AttrError("context", "profiling_options: " + why);
}

// MindSpore's options for other devices. Values that turn a feature off are accepted.
void check_trace_option(const std::string &key, const Json &value) {
    static constexpr const char *traces[] = {"training_trace",
                                             "task_trace",
                                             "aicpu_trace",
                                             "aic_metrics",
                                             "fp_point",
                                             "bp_point",
                                             "op_trace",
                                             "profile_memory",
                                             "profile_communication",
                                             "parallel_strategy",
                                             "data_process",
                                             "l2_cache",
                                             "hccl",
                                             "pcie"};
    if (std::ranges::find(traces, key) == std::end(traces)) {
        refuse_profiling("no option '" + key +
                         "', expected output (or result_path, its older name)");
    }
    const bool is_empty = value.is_string() && value.get<std::string>().empty();
    const bool is_off = value == "off" || is_empty || value == false || value.is_null();
    if (!is_off) {
        refuse_profiling(
            key + " is " + value.dump() +
            ", but there is nothing of that kind to trace: expected \"off\", or leave it out");
    }
}

// Reads {"output": "out"}.
std::string profile_folder(const std::string &options) {
    std::optional<std::string> folder;
    if (options.empty()) return ".";
    const Json all = Json::parse(options, nullptr, false);
    if (!all.is_object()) {
        throw AttrError("context", "profiling_options is '" + options +
                                       R"(', expected JSON as {"output": "folder"})");
    }
    for (const auto &[key, value] : all.items()) {
        if (key != "output" && key != "result_path") {
            check_trace_option(key, value);
            continue;
        }
        if (!value.is_string())
            refuse_profiling(key + " is " + value.dump() + ", expected the name of a folder");
        const std::string own = value.get<std::string>();
        if (folder && *folder != own) {
            refuse_profiling("output and result_path, its older name, are '" + *folder + "' and '" +
                             own + "', expected one folder");
        }
        folder = own;
    }
    return folder.value_or(".");
}

void make_folder(const std::string &path) {
    std::error_code failed;
    fs::create_directories(path, failed);
    if (failed) throw IoError(path, "can't be made: " + failed.message());
}

void choose_mode(ExecutionMode mode, State &s) {
    check_mode(mode);
    s.now.mode = mode;
    s.runs_graphs = mode == GRAPH_MODE;
}

// Says that an option of graph mode was set in another mode.
void wait_for_graph_mode(const std::string &option, const State &s) {
    if (s.now.mode == GRAPH_MODE) return;
    log(LogLevel::warning, "context", option + " counts from a change of mode to GRAPH_MODE on");
}

void choose_graph_kernel(bool on, State &s) {
    s.now.enable_graph_kernel = on;
    s.enables_graph_kernel = on;
    if (on) wait_for_graph_mode("enable_graph_kernel", s);
}

void choose_numerics(const std::string &numerics, State &s) {
    if (numerics != "same" && numerics != "contract")
        throw AttrError("context", "numerics is '" + numerics + "', expected same or contract");
    if (s.now.numerics != numerics) settings_changed();  // graphs are captured anew
    s.now.numerics = numerics;
    s.allows_contract = numerics == "contract";
    if (s.allows_contract) wait_for_graph_mode("numerics contract", s);
}

}  // namespace

void apply_options(const ContextOptions &o) {
    State &s = state();
    const std::lock_guard lock(s.mutex);
    Context &now = s.now;
    if (o.mode) choose_mode(*o.mode, s);
    if (o.enable_graph_kernel) choose_graph_kernel(*o.enable_graph_kernel, s);
    if (o.numerics) choose_numerics(*o.numerics, s);
    if (o.device_target) {
        if (*o.device_target == "GPU" && !o.device_id && now.device_id > 0)
            choose_device_id(now.device_id, "GPU");
        choose_device(*o.device_target);
        now.device_target = *o.device_target;
    }
    if (o.device_id) choose_device_id(*o.device_id, now.device_target);
    if (o.device_id) now.device_id = *o.device_id;
    if (o.precision_mode) {
        choose_precision(*o.precision_mode, now.device_target);
        now.precision_mode = *o.precision_mode;
    }
    if (o.max_device_memory) {
        memory::set_limit(memory::limit_from(*o.max_device_memory));
        now.max_device_memory = *o.max_device_memory;
    }
    if (o.save_graphs_path) now.save_graphs_path = *o.save_graphs_path;
    if (o.save_graphs) s.saves_graphs = now.save_graphs = *o.save_graphs;
    if (now.save_graphs && (o.save_graphs || o.save_graphs_path)) make_folder(now.save_graphs_path);
    if (o.print_file_path) now.print_file_path = free_name(*o.print_file_path);
    if (o.profiling_options) {
        profile_folder(*o.profiling_options);
        now.profiling_options = *o.profiling_options;
    }
    if (o.enable_profiling && *o.enable_profiling)
        profiler::start(profile_folder(now.profiling_options));
    else if (o.enable_profiling)
        profiler::stop();
    if (o.enable_profiling) now.enable_profiling = *o.enable_profiling;
    if (o.reproducible) set_reproducible(*o.reproducible);
}

void set_context(const ContextOptions &options) {
    library();  // sets the environment's options first, which `options` then override
    apply_options(options);
}

Context get_context() {
    library();
    State &s = state();
    const std::lock_guard lock(s.mutex);
    Context now = s.now;
    now.reproducible = reproducible();
    return now;
}

bool saves_graphs() {
    return state().saves_graphs.load(std::memory_order_relaxed);
}

bool enables_graph_kernel() {
    return state().enables_graph_kernel.load(std::memory_order_relaxed);
}

bool allows_contract() {
    return state().allows_contract.load(std::memory_order_relaxed);
}

bool runs_graphs() {
    return state().runs_graphs.load(std::memory_order_relaxed);
}

}  // namespace halyard

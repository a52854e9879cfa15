// set_context: how this process runs, in MindSpore's words.
//
//   set_context({.mode = PYNATIVE_MODE, .device_target = "CPU", .max_device_memory = "2GB"});
//
// Each option has a variable in the environment, HALYARD_ and its name in capitals
// (HALYARD_MAX_DEVICE_MEMORY=2GB; MODE is GRAPH_MODE or PYNATIVE_MODE, flags are 0 or 1), which is
// read when the first op or set_context() runs. Of one that is nearly such a name the log says that
// it does nothing.
#pragma once
#include <optional>
#include <string>

namespace halyard {

enum ExecutionMode { GRAPH_MODE = 0, PYNATIVE_MODE = 1 };

// What isn't said stays as it is.
struct ContextOptions {
    // There are no compiled graphs: with GRAPH_MODE ops run one by one too, with the same results,
    // and a line of the log says so once.
    std::optional<ExecutionMode> mode = {};
    // "CPU", "GPU" where this build has such kernels: by OpenCL, or "Ascend", simulated
    std::optional<std::string> device_target = {};
    // Of several GPUs the one that kernels run on, before the first of them does. The CPU and
    // Ascend are one: below 4096, for when device_target changes; the log says so.
    std::optional<int> device_id = {};
    // Of Ascend: "must_keep_origin_dtype", as at first, or "allow_fp32_to_fp16": calls of f32 that
    // it has no program for, as its cube unit multiplies f16, are computed in f16 there, and not by
    // the CPU.
    std::optional<std::string> precision_mode = {};
    // "2GB", "0.5GB", "512MB": limit of the memory pool; "" is none, as at first
    std::optional<std::string> max_device_memory = {};
    // the ops of each new graph that gradients are taken of, as graph_0000.dot, ...
    std::optional<bool> save_graphs = {};
    // a folder, "." at first; made when it isn't there
    std::optional<std::string> save_graphs_path = {};
    // Where ops::Print writes; "": to standard output. Where the file exists a time stamp is
    // appended to the name: get_context() has it.
    std::optional<std::string> print_file_path = {};
    // a slice per op for Chrome's trace viewer (primitives/profiler.h)
    std::optional<bool> enable_profiling = {};
    // JSON: {"output": FOLDER}, or result_path as older versions call it; "." at first. What
    // MindSpore's devices can trace beside ops isn't there to be traced: asking for it is refused.
    std::optional<std::string> profiling_options = {};
    std::optional<bool> reproducible =
        {};  // the same bits on every CPU (registry/dispatch/reproducible.h)
};

struct Context {
    ExecutionMode mode = PYNATIVE_MODE;
    std::string device_target = "CPU";
    int device_id = 0;
    std::string precision_mode = "must_keep_origin_dtype";
    std::string max_device_memory;
    bool save_graphs = false;
    std::string save_graphs_path = ".", print_file_path;
    bool enable_profiling = false;
    std::string profiling_options;
    bool reproducible = false;
};

// In the order above; what comes before an option that is refused is set, the rest isn't. Throws
// AttrError for a value out of range, DeviceError for a device that this build or this machine
// hasn't got, naming those it has, IoError for a folder that can't be.
void set_context(const ContextOptions &options);
Context get_context();
bool saves_graphs();  // get_context().save_graphs for the price of a load

// The environment's options. library() calls it once, before the first op.
void set_context_from_environment();

}  // namespace halyard

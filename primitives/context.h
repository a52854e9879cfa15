// set_context: the options of this process, by MindSpore's names.
//
//   set_context({.mode = PYNATIVE_MODE, .device_target = "CPU", .max_device_memory = "2GB"});
//
// Each option has an environment variable, HALYARD_ and its name in capitals
// (HALYARD_MAX_DEVICE_MEMORY=2GB). MODE is GRAPH_MODE or PYNATIVE_MODE, and flags are 0 or 1. The
// variables are read when the first op or set_context() runs. A warning is logged for a variable
// whose name is similar to one of these.
#pragma once
#include <optional>
#include <string>

namespace halyard {

enum ExecutionMode { GRAPH_MODE = 0, PYNATIVE_MODE = 1 };

// Options without a value are left as they are.
struct ContextOptions {
    // With GRAPH_MODE a training step's forward and backward pass, and a cell that is called
    // outside of a tape, are captured in their first call, and run as a program after it
    // (graph/replay.h). The results are the same to the last bit. What can't be captured runs op by
    // op, as all does in PYNATIVE_MODE, and a message says why.
    std::optional<ExecutionMode> mode = {};
    // In GRAPH_MODE, computes neighbouring elementwise calls of a graph in one kernel where that
    // has the same bits and is faster. Kernels are compiled by the command `halyard` while the
    // program goes on (graph/fused_kernels.h). Takes effect with the next change to GRAPH_MODE if
    // the mode is another one, which a message says.
    std::optional<bool> enable_graph_kernel = {};
    // "same", the default: GRAPH_MODE has the bits of calls op by op. "contract": passes may change
    // how results round, within what the ops' contracts allow of their true values: normalizations
    // of inference are folded into the convolutions before them. Counts in GRAPH_MODE, and for
    // graphs that are exported; calls op by op are the same, which a message says.
    std::optional<std::string> numerics = {};
    // "CPU", "GPU" (OpenCL, if this build has such kernels), or a simulated chip: "Ascend910" (also
    // "Ascend"), "Ascend910B" or "Ascend310".
    std::optional<std::string> device_target = {};
    // The GPU that kernels run on; to be set before the first kernel runs. For the CPU and Ascend
    // any number below 4096 is accepted, for a later change of device_target, and a message is
    // logged.
    std::optional<int> device_id = {};
    // For Ascend: "must_keep_origin_dtype", the default, or "allow_fp32_to_fp16". The latter
    // computes calls in f32 without an Ascend program in f16 there, since its cube unit multiplies
    // f16; else the CPU computes them.
    std::optional<std::string> precision_mode = {};
    // The limit of the memory pool: "2GB", "0.5GB", "512MB"; "", the default, is no limit.
    std::optional<std::string> max_device_memory = {};
    // Saves the ops of each new graph that gradients are computed from, as graph_0000.dot, ... and
    // in GRAPH_MODE each captured graph as captured_0000.ir, ...
    std::optional<bool> save_graphs = {};
    // The folder for them, "." by default; it is created if it doesn't exist.
    std::optional<std::string> save_graphs_path = {};
    // The file that ops::Print writes; "": standard output. If the file exists, a time stamp is
    // appended to the name, which get_context() returns.
    std::optional<std::string> print_file_path = {};
    // Records a slice per op for Chrome's trace viewer (primitives/profiler.h).
    std::optional<bool> enable_profiling = {};
    // JSON: {"output": FOLDER}, or result_path as in older versions; "." by default. Options for
    // traces of MindSpore's devices other than ops are rejected.
    std::optional<std::string> profiling_options = {};
    // Gives the same bits on every CPU (registry/dispatch/reproducible.h).
    std::optional<bool> reproducible = {};
};

struct Context {
    ExecutionMode mode = PYNATIVE_MODE;
    bool enable_graph_kernel = false;
    std::string numerics = "same";
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

// Sets the options in the order above; when one throws, those before it are set and those after it
// are not. Throws AttrError for a value out of range, DeviceError for a device that this build or
// machine doesn't have, naming those it has, and IoError for a folder that can't be created.
void set_context(const ContextOptions &options);
Context get_context();
bool saves_graphs();          // get_context().save_graphs, in one load
bool runs_graphs();           // get_context().mode == GRAPH_MODE, in one load
bool enables_graph_kernel();  // get_context().enable_graph_kernel, in one load
bool allows_contract();       // get_context().numerics == "contract", in one load

// As set_context(), but does not read the environment first. For library(), which reads it.
void apply_options(const ContextOptions &options);

}  // namespace halyard

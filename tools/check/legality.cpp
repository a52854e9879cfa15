// Checks legality with external tools, in child processes. The GPU kernel's calls run under
// oclgrind, without a device, which reports races between work items, accesses out of bounds and
// uninitialised values. With Options::legality CPU kernels run under the address and the thread
// sanitizer. sandbox.h looks for the same faults of CPU kernels within this process.
#include <sys/wait.h>

#include <filesystem>
#include <set>
#include <sstream>
#include <tuple>

#include "dsl/gpu/gpu_kernels.h"
#include "registry/base/atomic_file.h"
#include "registry/base/program.h"
#include "registry/base/run_program.h"
#include "registry/base/temporary_folder.h"
#include "registry/op/extension.h"
#include "tools/check/check.h"
#include "tools/check/record.h"
#include "tools/check/stages.h"

namespace halyard::check {
namespace {
namespace fs = std::filesystem;

// Limits for the elements and operations of a sample, because an interpreter runs them.
constexpr int64_t device_work = 4000;
constexpr int64_t host_work = 1 << 20;
// The same for GPU kernels with --quick: of the smallest sample, and how many samples.
constexpr int64_t quick_smallest = 1 << 20;
constexpr size_t quick_calls = 8;

// The runners are installed in libexec/halyard.
fs::path runner(const std::string &sanitizer) {
    return installed("libexec/halyard") /
           ("kernel_runner" + (sanitizer.empty() ? "" : "_" + sanitizer));
}

bool has_oclgrind() {
    // oclgrind finds its own files through /proc.
    static const bool has = has_program("oclgrind") && fs::exists("/proc/self/exe");
    return has;
}

struct Finding {
    size_t call = 0;
    std::string what, where;  // "data race", the name of a kernel or a function
    bool operator<(const Finding &o) const {
        return std::tie(call, what, where) < std::tie(o.call, o.what, o.where);
    }
};

// Reads a line of oclgrind's report: a heading, then indented lines, one of which names the kernel.
void read_oclgrind(const std::string &line, Finding &open, std::set<Finding> &found) {
    if (line.find("data race at") != std::string::npos || line.starts_with("Invalid ") ||
        line.starts_with("Uninitialized ") || line.starts_with("Controlflow ")) {
        open.what = line.substr(0, line.find(" at "));
        for (const char *detail : {" memory address", " address"}) {
            if (const size_t at = open.what.find(detail); at != std::string::npos)
                open.what.resize(at);
        }
    } else if (const size_t at = line.find("Kernel: ");
               at != std::string::npos && !open.what.empty()) {
        open.where = line.substr(at + 8);
        found.insert(open);
        open.what.clear();
    }
}

// Reads a line of a sanitizer's report: "==1==ERROR: AddressSanitizer: heap-buffer-overflow on ..."
// or "WARNING: ThreadSanitizer: data race (pid=1)", then stacks, innermost first.
void read_sanitizer(const std::string &line, Finding &open, std::set<Finding> &found) {
    const size_t name = line.find("Sanitizer: ");
    if (name != std::string::npos && line.find("SUMMARY") == std::string::npos) {
        open.what = line.substr(name + 11);
        for (const char *detail : {" on ", " ("}) {
            if (const size_t at = open.what.find(detail); at != std::string::npos)
                open.what.resize(at);
        }
    } else if (const size_t at = line.find('#'); at != std::string::npos && !open.what.empty() &&
                                                 line.find("hy_") != std::string::npos) {
        std::istringstream words(line.substr(line.find("hy_")));
        words >> open.where;
        found.insert(open);
        open.what.clear();
    }
}

// Repeats the calls under `tool` and returns its findings. Output that no report explains is a
// finding too.
std::set<Finding> run(const SampleCalls &calls, const std::vector<std::string> &tool,
                      const fs::path &runner) {
    const bool oclgrind = !tool.empty();
    const TemporaryFolder folder("halyard_legality");
    const fs::path file = folder.path / "recording";
    std::ostringstream to;
    RecordingWriter writer(to);
    Recording r = calls.recording;
    archive(writer, r);
    write_file(file.string(), to.str(), Durability::to_system);
    std::vector<std::string> words = {"timeout", "300"};
    words.insert(words.end(), tool.begin(), tool.end());
    words.insert(words.end(), {runner.string(), file.string()});
    const auto [status, output] = run_program(words, Keep::output_and_errors);
    std::set<Finding> found;
    Finding open;
    std::istringstream text(output);
    std::string last;
    for (std::string line; std::getline(text, line);) {
        if (line.starts_with("call "))
            open.call = std::stoul(line.substr(5));
        else if (line.starts_with("kernel: "))
            found.insert({open.call, line.substr(8), ""});
        else
            oclgrind ? read_oclgrind(line, open, found) : read_sanitizer(line, open, found);
        if (!line.empty()) last = line;
    }
    if (status != 0 && found.empty()) {
        found.insert({open.call,
                      "the calls ended with " +
                          std::to_string(WIFEXITED(status) ? WEXITSTATUS(status) : status) + ": " +
                          last,
                      ""});
    }
    return found;
}

void check_kernel(const Op &op, const Instance &i, const SampleLimits &limits,
                  const std::vector<std::string> &tool, Report &r) {
    Kernel kernel(op_table().make(op.name), i);
    const SampleCalls calls = record_samples(op, kernel, limits);
    const std::vector<Stage> stages = stages_of(kernel);
    const std::string place = (i.backend == "cpu" ? std::string(name_of(i.isa)) + "/" + i.sanitizer
                                                  : i.backend) +
                              (i.variant.empty() ? "" : "/" + i.variant);
    if (calls.samples.empty() && limits.smallest < INT64_MAX)
        return r.skip("legality of " + place + ": its samples take minutes; only without --quick");
    const std::set<Finding> found = run(calls, tool, runner(i.sanitizer));
    // Each finding once, with the smallest sample that has it.
    std::set<std::pair<std::string, std::string>> reported;
    std::set<size_t> bad;
    for (auto &f : found) {
        bad.insert(f.call);
        if (!reported.emplace(f.what, f.where).second) continue;
        const std::string sample = f.call < calls.samples.size() ? calls.samples[f.call] : "";
        r.fail("legality/" + place + " '" + sample + "'",
               f.what + (f.where.empty() ? "" : " in " + explained(stages, f.where)));
    }
    for (size_t k = 0; k < calls.samples.size(); k++)
        if (!bad.count(k)) r.pass();
}

}  // namespace

void check_sanitized(const Op &op, const Instance &kernel, Report &r) {
    if (!fs::exists(runner("")))
        return r.skip("legality: this build is instrumented itself, or not whole");
    for (const char *sanitizer : {"address", "thread"}) {
        Instance i = kernel;
        i.sanitizer = sanitizer;
        check_kernel(op, i, {host_work}, {}, r);
    }
}

void check_opencl_legality(const Op &op, const Options &o, Report &r) {
    if (!fs::exists(runner("")))
        return r.skip("legality: this build is instrumented itself, or not whole");
    const std::vector<std::string> on_gpu = opencl_dtypes(op);
    if (on_gpu.empty()) return;
    if (!has_oclgrind()) return r.skip("legality of the GPU kernel: there is no oclgrind");
    SampleLimits limits{device_work};
    if (o.quick) {
        limits.smallest = quick_smallest;
        limits.samples = quick_calls;
    }
    for (const std::string &variant : gpu::variants(op)) {
        Instance i;
        i.backend = "opencl";
        i.dtypes = on_gpu[0];
        i.variant = variant;
        check_kernel(op, i, limits,
                     {"oclgrind", "--data-races", "--uninitialized", "--max-errors", "100"}, r);
    }
}

void check_legality(const Op &op, const Options &o, Report &r) {
    check_opencl_legality(op, o, r);
    if (!o.legality || !fs::exists(runner(""))) return;
    for (auto &v : op.variants) {
        if (v.extension != Extension::none) continue;  // those need AVX-512
        for (const char *sanitizer : {"address", "thread"}) {
            Instance i;
            i.dtypes = op.dtypes[0];
            i.variant = v.name;
            i.sanitizer = sanitizer;
            i.isa = i.sanitizer == "address" ? std::min(host_isa(), Isa::avx2) : Isa::baseline;
            check_kernel(op, i, {host_work}, {}, r);
        }
    }
}

}  // namespace halyard::check

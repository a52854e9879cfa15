#include "tools/halyard/commands/bench_cuda.h"

#include <algorithm>
#include <cstdio>
#include <sstream>

#include "bench/harness/expected.h"
#include "bench/harness/op_call.h"
#include "bench/harness/problem_instance.h"
#include "gpu/model/gpu_profile.h"
#include "registry/dispatch/cuda_driver.h"
#include "registry/dispatch/dispatch.h"
#include "registry/dispatch/force.h"
#include "registry/op/op_record.h"
#include "tools/check/cuda_model.h"

namespace halyard::command {
namespace {

constexpr int label_width = 48;

struct Launch {
    double microseconds = 0;
    int blocks = 0;
    double occupancy = 0, dram_share = 0;
    std::string kernel, bound;
};

// Returns the launches since the last call. Throws DeviceError if the driver is no model.
std::vector<Launch> launches_on(const std::string &gpu) {
    const auto times = reinterpret_cast<const char *(*)(const char *)>(
        cuda_symbol("halyard_cuda_model_times"));
    if (!times) throw DeviceError("bench", "the CUDA driver is a real one, --model has no use");
    std::istringstream text(times(gpu.c_str()));
    std::vector<Launch> all;
    for (std::string line; std::getline(text, line);) {
        std::istringstream words(line);
        Launch l;
        words >> l.microseconds >> l.blocks >> l.occupancy >> l.dram_share >> l.kernel >> std::ws;
        std::getline(words, l.bound);
        all.push_back(l);
    }
    return all;
}

double bytes_of(const std::vector<Tensor> &all) {
    double sum = 0;
    for (const Tensor &t : all)
        sum += double(t.bytes());
    return sum;
}

// Prints the line of a call's launches. The longest one says what binds.
void print_row(const std::string &label, const std::vector<Launch> &launches, double traffic) {
    double sum = 0, dram = 0;
    for (const Launch &l : launches) {
        sum += l.microseconds;
        dram += l.dram_share * l.microseconds;
    }
    const Launch &longest = *std::ranges::max_element(launches, {}, &Launch::microseconds);
    std::printf("%-*s %8zu %10.2f %6.0f %% %7.2f %7d %6.0f %%  %s", label_width, label.c_str(),
                launches.size(), sum, 100 * dram / sum, traffic, longest.blocks,
                100 * longest.occupancy, longest.bound.c_str());
}

std::string label_of(const bench::ProblemInstance &t, const std::string &variant) {
    return (variant.empty() ? "" : variant + ": ") + t.text;
}

// Makes the call, prints its line, and returns whether it is right. `variant` is forced unless it
// is empty. Throws DispatchError if that variant doesn't take the call.
bool time_problem(const bench::ProblemInstance &t, const std::string &variant,
                  const std::string &gpu) {
    launches_on(gpu);
    check::cuda_bytes_moved();
    std::vector<Tensor> out = outputs_of(t);
    const bench::Expected expected(t, out);
    {
        const Force force(host_isa(), variant, "cuda");
        dispatch_into(t.op, t.in, t.attrs, out);
    }
    std::string wrong = expected.known() ? expected.judge(out).violation : "";
    const std::vector<std::string> found = check::cuda_findings();
    if (wrong.empty() && !found.empty()) wrong = found[0];
    const std::vector<Launch> launches = launches_on(gpu);
    const double traffic = check::cuda_bytes_moved() / (bytes_of(t.in) + bytes_of(out));
    const std::string label = label_of(t, variant);
    if (launches.empty())
        std::printf("%-*s no launch", label_width, label.c_str());
    else
        print_row(label, launches, traffic);
    std::printf("%s%s\n", wrong.empty() ? "" : "  ", wrong.c_str());
    return wrong.empty();
}

// Makes the call once with each of the variants that takes it. Returns whether all were right.
// Throws DispatchError if none takes it.
bool time_variants(const bench::ProblemInstance &t, const std::vector<std::string> &variants,
                   const std::string &gpu) {
    bool is_right = true;
    size_t refused = 0;
    for (const std::string &variant : variants) {
        try {
            is_right &= time_problem(t, variant, gpu);
        } catch (const DispatchError &) {
            if (++refused == variants.size()) throw;
            std::printf("%-*s refused\n", label_width, label_of(t, variant).c_str());
        }
    }
    return is_right;
}

}  // namespace

bool bench_cuda(const std::string &name, const std::vector<std::string> &problems,
                const std::string &dtype, const std::string &variant, const std::string &gpu) {
    const ptx::GpuProfile &profile = ptx::GpuProfile::named(gpu);
    const RegisteredOp &op = bench::op_with_kernels(name);
    const std::string dtypes = bench::dtype_set(op.record, dtype);
    const std::vector<std::string> variants = bench::variants_to_time(op.record, variant, "cuda");
    check::open_cuda_model();
    std::printf("%-*s %8s %10s %8s %7s %7s %8s  %s\n", label_width,
                (name + " " + dtypes + ", " + profile.description).c_str(), "launches", "us",
                "of DRAM", "traffic", "blocks", "threads", "bound by");
    bool is_right = true;
    for (const std::string &problem : problems)
        is_right &= time_variants(bench::ProblemInstance(op, problem, dtypes), variants, gpu);
    std::printf("Microseconds are a model's (docs/gpu.md), from what the PTX machine counted: no "
                "GPU was measured, and launches by the host are not part of them.\n"
                "of DRAM: the share of that time which the least traffic with DRAM needs. traffic: "
                "bytes that loads and stores move, in sectors, over those of all tensors. Of the "
                "longest launch: blocks at once on a multiprocessor, the share of its threads, and "
                "what takes longest.\n");
    return is_right;
}

}  // namespace halyard::command

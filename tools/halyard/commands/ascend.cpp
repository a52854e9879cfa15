#include "tools/halyard/commands/ascend.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "ascend/simulator/metrics.h"
#include "bench/harness/benchmark_case.h"
#include "bench/harness/expected.h"
#include "bench/harness/op_call.h"
#include "dsl/ascend/least.h"
#include "dsl/work.h"
#include "registry/base/atomic_file.h"
#include "registry/dispatch/dispatch.h"
#include "registry/dispatch/planner.h"
#include "registry/dispatch/run_plan.h"
#include "tools/ascend/device.h"

namespace halyard::command {
using namespace bench;
namespace {

Plan plan_for_ascend(const ProblemInstance &t, const std::string &variant) {
    simulated_device();
    const Force force(host_isa(), variant, "ascend");
    return make_plan(t.op, metas_of(t), t.attrs);
}

// A call of the op on the device.
struct Simulated {
    Simulated(const ProblemInstance &t, const std::string &dtypes, const std::string &variant,
              const dv::SimOptions &options)
        : plan(plan_for_ascend(t, variant)), out(outputs_of(t)) {
        std::vector<halide_buffer_t> buffers(plan.inputs.size() + plan.outputs.size());
        std::vector<double> numbers(plan.scalars.size());
        std::vector<void *> args;
        for (size_t k = 0; k < plan.inputs.size(); k++) {
            in.push_back(plan.inputs[k].copy_order.empty() ? t.in[k]
                                                           : gathered(t.in[k], plan.inputs[k]));
            buffers[k].host = static_cast<uint8_t *>(in[k].raw());
            args.push_back(&buffers[k]);
        }
        for (size_t k = 0; k < numbers.size(); k++) {
            if (plan.scalars[k].attr >= 0) numbers[k] = t.attrs.real(size_t(plan.scalars[k].attr));
            args.push_back(&numbers[k]);
        }
        for (size_t k = 0; k < out.size(); k++) {
            device_out.push_back(
                plan.outputs[k].copy_order.empty() ? out[k] : gathered(out[k], plan.outputs[k]));
            buffers[plan.inputs.size() + k].host = static_cast<uint8_t *>(device_out[k].raw());
            args.push_back(&buffers[plan.inputs.size() + k]);
        }
        results = ascend::simulate(plan, dtypes, args.data(), options);
        for (size_t k = 0; k < out.size(); k++)
            if (!plan.outputs[k].copy_order.empty()) out[k].assign(device_out[k]);
    }
    Plan plan;
    std::vector<Tensor> in, out, device_out;  // device_out: out as the device writes it
    std::vector<dv::SimResult> results;

    double cycles() const {
        double sum = 0;
        for (auto &r : results)
            sum += r.cycles;
        return sum;
    }
};

// The least number of cycles that the chip's roofs allow: all tensors once through global memory,
// all products in the cubes, or all other arithmetic in the vector units.
struct Roof {
    double cycles = 0;
    const char *binds = "gm";
};
Roof roof_of(const ProblemInstance &t, const Simulated &s, const std::string &dtypes) {
    double bytes = 0;
    for (const Tensor &x : t.in)
        bytes += double(x.bytes());
    for (const Tensor &y : s.out)
        bytes += double(y.bytes());
    const dv::Profile &chip = ascend::programs_of(s.plan, dtypes).lowered.programs[0].chip();
    Roof r{bytes / chip.at("gm.chip"), "gm"};
    Instance algorithm = ascend_call(t, dtypes, "");
    algorithm.scheduled = false;
    const double vector = ascend::min_vector_cycles(
        Kernel(op_table().make(t.op.record.name), algorithm));
    if (vector > r.cycles) r = {vector, "vec"};
    double cube = 0;
    for (auto &result : s.results) {
        for (auto &core : result.stats)
            cube += core.cube_fp16;
    }
    if (cube == 0) return r;
    const OpPtr op = op_table().make(t.op.record.name);
    constexpr double products_per_cycle = 16 * 16 * 16;
    const double products = double(work_of(*op, s.plan.dims, "").arithmetic) / 2 /
                            products_per_cycle / chip.at("cores");
    if (products > r.cycles) r = {products, "cube"};
    return r;
}

double busy(const Simulated &s, dv::Pipe pipe) {
    double sum = 0, all = 0;
    for (auto &r : s.results) {
        for (auto &core : r.stats) {
            sum += core.busy[size_t(pipe)];
            all += core.cycles;
        }
    }
    return all > 0 ? sum / all : 0;
}

bool row(const ProblemInstance &t, const std::string &label, const Simulated &s,
         const std::string &dtypes) {
    const Roof roof = roof_of(t, s, dtypes);
    int cores = 0;
    double us = 0;
    for (auto &r : s.results) {
        cores = std::max(cores, r.cores);
        us += r.us;
    }
    std::printf("%-40s %10.0f %10.1f %6d %3.0f %% %-4s", label.c_str(), s.cycles(), us, cores,
                100 * roof.cycles / s.cycles(), roof.binds);
    for (const dv::Pipe pipe :
         {dv::Pipe::s, dv::Pipe::v, dv::Pipe::m, dv::Pipe::mte1, dv::Pipe::mte2, dv::Pipe::mte3})
        std::printf(" %5.2f", busy(s, pipe));
    const std::string violation = Expected(t, s.out).judge(s.out).violation;
    std::printf("%s%s\n", violation.empty() ? "" : "  ", violation.c_str());
    return violation.empty();
}

}  // namespace

Instance ascend_call(const ProblemInstance &t, const std::string &dtypes,
                     const std::string &variant) {
    Instance i;
    i.backend = "ascend";
    i.dtypes = dtypes;
    i.variant = variant;
    i.call = std::make_shared<FixedCall>(ascend::call_of(plan_for_ascend(t, variant)));
    return i;
}

Instance ascend_instance(const ProblemInstance &t, const std::string &dtypes,
                         const std::string &variant, const Tunables &tunables, bool strict) {
    Instance i = ascend_call(t, dtypes, variant);
    i.tunables.chosen = tunables.chosen;
    i.tunables.chosen = ascend::compile(op_table(), t.op.record.name, i, strict).tunables.chosen;
    return i;
}

bool bench_ascend(const std::string &name, const std::vector<std::string> &problems,
                  const std::string &dtype) {
    const RegisteredOp &op = op_with_kernels(name);
    const std::string dtypes = dtype_set(op.record, dtype);
    bool kept = true;
    std::printf("%-40s %10s %10s %6s %8s  %5s %5s %5s %5s %5s %5s\n",
                (name + " " + dtypes + ", " + simulated_device().chip()).c_str(), "cycles", "us",
                "cores", "of roof", "S", "V", "M", "MTE1", "MTE2", "MTE3");
    for (auto &problem : problems) {
        const ProblemInstance t(op, problem, dtypes);
        dv::SimOptions options;
        options.races = false;
        kept &= row(t, problem, Simulated(t, dtypes, "", options), dtypes);
        for (auto &variant : ascend::programs_of(plan_for_ascend(t, ""), dtypes).handwritten)
            kept &= row(t, "  by hand: " + variant, Simulated(t, dtypes, variant, options), dtypes);
    }
    std::printf("%sOf the roof: all tensors once through global memory, all products in the cubes, "
                "or all other arithmetic in the vector units.\n"
                "A pipe: the share of its core's cycles.\n",
                ascend_note);
    return kept;
}

void profile_ascend(const std::string &name, const std::string &problem, const std::string &dtype,
                    const std::string &variant, const std::string &trace) {
    const RegisteredOp &op = op_with_kernels(name);
    const std::string dtypes = dtype_set(op.record, dtype);
    const ProblemInstance t(op, problem.empty() ? problems_of(op.record).front() : problem, dtypes);
    const Simulated s(t, dtypes, variant, {});
    const auto &programs = ascend::programs_of(s.plan, dtypes).lowered.programs;
    for (size_t k = 0; k < programs.size(); k++) {
        std::printf("%s %s on %s: %.0f cycles, %.1f us, %d cores\n", programs[k].name.c_str(),
                    t.text.c_str(), programs[k].profile.c_str(), s.results[k].cycles,
                    s.results[k].us, s.results[k].cores);
        std::printf("%s%s", dv::metrics_csv(dv::metrics(programs[k], s.results[k])).c_str(),
                    dv::to_text(s.results[k].issues).c_str());
    }
    std::fputs(ascend_note, stdout);
    if (trace.empty()) return;
    const auto longest = std::max_element(s.results.begin(), s.results.end(),
                                          [](auto &a, auto &b) { return a.cycles < b.cycles; });
    const dv::Program &p = programs[size_t(longest - s.results.begin())];
    write_file(trace,
               trace.ends_with(".svg") ? dv::timeline_svg(p, *longest)
                                       : dv::chrome_trace(p, *longest),
               Durability::to_system);
}

}  // namespace halyard::command

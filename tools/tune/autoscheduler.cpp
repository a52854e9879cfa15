#include "tools/tune/autoscheduler.h"

#include <dlfcn.h>

#include <algorithm>
#include <filesystem>

#include "dsl/name_counters.h"
#include "registry/base/process_pool.h"
#include "tools/tune/algorithm.h"

namespace halyard::tune {
namespace {
namespace fs = std::filesystem;

// Returns the path of a plugin, in the folder of libHalide.
std::string plugin(const std::string &name) {
    Dl_info info = {};
    dladdr((void *)static_cast<void (*)(const std::string &)>(&Halide::load_plugin), &info);
    const fs::path path = fs::path(info.dli_fname ? info.dli_fname : "").parent_path() /
                          ("libautoschedule_" + name + ".so");
    if (!fs::exists(path)) throw Error(name, "no such plugin: " + path.string());
    return path;
}

Halide::AutoschedulerParams parameters_of(const Job &job) {
    std::map<std::string, std::string> extra = {
        {"parallelism", std::to_string(job.backend == "cpu" ? job.threads : 80)}};
    // The size of L2, a core's own cache.
    if (job.autoscheduler == "mullapudi2016") extra["last_level_cache_size"] = "1048576";
    // Its default of 32 takes minutes.
    if (job.autoscheduler == "adams2019") extra["beam_size"] = "1";
    std::string name = job.autoscheduler;
    name[0] = char(std::toupper((unsigned char)name[0]));  // Mullapudi2016
    return {name, extra};
}

Instance unscheduled(const Job &job, const std::string &dtypes) {
    Instance i;
    i.backend = job.backend;
    i.dtypes = dtypes;
    i.variant = job.variant;
    i.isa = job.isa;
    i.scheduled = false;
    return i;
}

std::map<std::string, Halide::Internal::Function> stages_of(const Halide::Pipeline &p) {
    std::vector<Halide::Internal::Function> roots;
    for (const Halide::Func &f : p.outputs())
        roots.push_back(f.function());
    return Halide::Internal::build_environment(roots);
}

// Sets the shapes that the kernel is scheduled for, and removes directives that unscheduled kernels
// have for memory: autoschedulers reject Funcs with a schedule.
void prepare(Kernel &k, const Layouts &l) {
    for (size_t m = 0; m < k.op->memory.size(); m++) {
        for (int d = 0; d < k.op->memory[m].dimensions(); d++) {
            k.op->memory[m].dim(d).set_min(0).set_estimate(0, int(l.inputs[m][size_t(d)]));
            if (d == 0 && l.dense_inputs[m]) k.op->memory[m].dim(0).set_stride(1);
        }
    }
    for (auto &[name, value] : l.scalars) {
        Halide::Parameter p = k.op->parameters.at(name);
        p.set_estimate(p.type().is_float() ? Halide::Expr(value) : Halide::Expr(int(value)));
    }
    std::vector<Halide::Func> outputs = k.pipeline.outputs();
    for (auto &[name, stage] : stages_of(k.pipeline)) {
        stage.schedule().compute_level() = stage.schedule().store_level() =
            Halide::LoopLevel::inlined();
    }
    for (size_t o = 0; o < outputs.size(); o++) {
        for (int d = 0; d < outputs[o].dimensions(); d++) {
            outputs[o].set_estimate(outputs[o].args()[size_t(d)], 0, int(l.outputs[o][size_t(d)]));
            outputs[o].output_buffer().dim(d).set_min(0);
            if (d == 0 && l.dense_outputs[o]) outputs[o].output_buffer().dim(0).set_stride(1);
        }
    }
}

std::string scheduled_by(const Job &job, Kernel &k) {
    if (job.autoscheduler == "anderson2021" && job.backend == "cpu")
        throw Error(job.autoscheduler, "schedules for GPUs only");
    Halide::load_plugin(plugin(job.autoscheduler));
    prepare(k, job.layouts);
    return k.pipeline.apply_autoscheduler(k.target, parameters_of(job)).schedule_source;
}

}  // namespace

const std::vector<std::string> &autoschedulers() {
    static const std::vector<std::string> all = {"mullapudi2016", "adams2019", "li2018",
                                                 "anderson2021"};
    return all;
}

Built autoschedule(const Job &job) {
    Kernel k(op_table().make(job.op), unscheduled(job, job.dtypes));
    Built b;
    b.lanes = k.lanes;
    const OpWords words(k);
    b.source = words.of(scheduled_by(job, k));
    if (job.backend != "cpu") return b;
    b.symbol = k.instance.symbol(k.op->name);
    k.load();
    b.library = k.library();
    return b;
}

namespace {

// Schedules in a child process. Names depend on what was built before, so they are the same in both
// processes.
std::vector<uint8_t> scheduled_pipeline(const Job &job) {
    const std::string text = run_in_child(
        job.op,
        [&] {
            std::vector<uint8_t> data;
            Kernel k(op_table().make(job.op), unscheduled(job, job.dtypes));
            try {
                scheduled_by(job, k);
            } catch (const Halide::Error &e) {  // it is no std::exception
                throw Error(job.autoscheduler, e.what());
            }
            Halide::serialize_pipeline(k.pipeline, data);
            return std::string(data.begin(), data.end());
        },
        0, job.autoscheduler);
    return {text.begin(), text.end()};
}

void take_schedule(Halide::Internal::Definition &to, const Halide::Internal::Definition &from) {
    const auto own = to.schedule().rvars();  // their bounds are of this pipeline's buffers
    to.schedule() = from.schedule().get_copy();
    to.schedule().rvars() = own;
}

}  // namespace

KernelFn exact_autoscheduled(const Job &job, std::string &why) {
    const std::vector<uint8_t> data = scheduled_pipeline(job);
    Kernel k(op_table().make(job.op), unscheduled(job, "exact"));
    prepare(k, job.layouts);
    const auto from = stages_of(Halide::deserialize_pipeline(data, {}));
    auto to = stages_of(k.pipeline);
    for (auto &[name, stage] : from) {
        if (!to.count(name) || to.at(name).updates().size() != stage.updates().size()) {
            why = job.autoscheduler +
                  (to.count(name) ? " factors the reduction of " : " adds stage ") +
                  without_counters(name);
            return nullptr;
        }
    }
    for (auto &[name, stage] : to) {
        const auto at = from.find(name);
        // It was inlined, as stages without a schedule are.
        if (at == from.end()) continue;
        stage.schedule() = at->second.schedule();
        take_schedule(stage.definition(), at->second.definition());
        for (int u = 0; u < int(stage.updates().size()); u++)
            take_schedule(stage.update(u), at->second.update(u));
    }
    return k.load();
}

}  // namespace halyard::tune

#include "tools/tune/compiler.h"

#include <dlfcn.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "dsl/kernel_cache.h"
#include "registry/base/error.h"
#include "registry/base/parallel.h"
#include "registry/base/process_pool.h"
#include "registry/base/text.h"
#include "tools/check/check.h"
#include "tools/tune/algorithm.h"
#include "tools/tune/autoscheduler.h"

namespace halyard::tune {
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Layouts, inputs, outputs, dense_inputs, dense_outputs, scalars)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Job, op, dtypes, variant, backend, isa, tunables, autoscheduler,
                                   layouts, threads, problem, seconds)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Built, error, algorithm, code, library, symbol, lanes, tunables,
                                   offered, source)

namespace {
using nlohmann::json;

std::string short_line(const std::string &text) {
    constexpr size_t max_length = 300;
    const std::string line = one_line(text);
    return line.size() > max_length ? line.substr(0, max_length) + "..." : line;
}

Instance instance_of(const Job &job) {
    Instance i;
    i.backend = job.backend;
    i.dtypes = job.dtypes;
    i.variant = job.variant;
    i.isa = job.isa;
    i.tunables.chosen = job.tunables;
    return i;
}

std::string proof(const Job &job) {
    check::Options o;
    o.isas = {job.isa};
    o.variant = job.variant;
    o.tunables.chosen = job.tunables;
    if (!job.autoscheduler.empty()) {
        std::string why;
        o.kernel = exact_autoscheduled(job, why);
        if (!o.kernel) return why;
    }
    const OpPtr op = op_table().make(job.op);
    if (!job.problem.empty()) op->samples.push_back(job.problem);
    check::Report r;
    r.op = job.op;
    check::check_exact(*op, o, r);
    if (r.failed) return r.failures[0];
    return r.passed ? "" : r.notes.empty() ? "no sample reaches it" : r.notes[0];
}

Built work(const std::string &what, const Job &job) {
    Built b;
    const Instance i = instance_of(job);
    if (what == "prove") {
        b.error = proof(job);
        return b;
    }
    if (!job.autoscheduler.empty())
        b = autoschedule(job);
    else {
        Kernel k(op_table().make(job.op), i);
        b.lanes = k.lanes;
        for (auto &[name, value] : k.instance.tunables.values())
            b.tunables[name] = int(value);
        b.offered = k.instance.tunables.offered;
        if (what == "build") {
            k.load();
            b.symbol = i.symbol(k.op->name);
            b.library = k.library();
        }
    }
    b.code = b.library.empty() ? ""
                               : std::filesystem::path(b.library).stem().string().substr(0, 16);
    b.algorithm = algorithm_of(job.op, i);
    return b;
}

// Returns the answer, which also has the error, as JSON.
std::string answer_of(const std::string &what, const Job &job) {
    Built b;
    try {
        b = work(what, job);
    } catch (const Halide::Error &e) {
        b.error = short_line(e.what());
    } catch (const std::exception &e) {
        b.error = short_line(e.what());
    }
    return json(b).dump();
}

// Returns the last line that names an error or an assertion, else the last line.
std::string telling_line(const std::string &text) {
    std::string last, telling;
    std::stringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        if (line.empty()) continue;
        last = line;
        if (line.find("rror") != std::string::npos || line.find("ssert") != std::string::npos)
            telling = line;
    }
    return short_line(telling.empty() ? last : telling);
}

Built in_child(const std::string &what, const Job &job) {
    const JobResult result = run_job(
        [&](const ProcessPool::Send &send) { send(answer_of(what, job)); }, {job.seconds, 0},
        ProcessPool::Output::keep_all);
    if (result.has_returned()) return json::parse(result.text()).get<Built>();
    Built b;
    b.error = (job.autoscheduler.empty() ? "the code generator" : job.autoscheduler) + " " +
              result.how;
    if (result.ending == JobResult::Ending::died) b.error += ": " + telling_line(result.output);
    return b;
}

// Answers a request of Compiler::ask().
std::string answer(const std::string &request) {
    set_threads(1);
    Built b;
    try {
        const json j = json::parse(request);
        const std::string what = j.at("what");
        b = in_child(what, j.at("job").get<Job>());
        if (what == "prove" && !b.error.empty() && !b.error.starts_with("exact/"))
            b.error = "not proved: " + b.error;
    } catch (const std::exception &e) {
        b.error = e.what();
    }
    return json(b).dump();
}

}  // namespace

Compiler::Compiler() {
    kernel_cache();  // this process opens kernels that its children put there
    server_ = std::make_unique<bench::LineProcess>(answer);
}

Built Compiler::ask(const char *what, const Job &job) {
    const std::string line = server_->answer(json{{"what", what}, {"job", job}}.dump());
    if (line.empty()) throw Error("tune", "the compiling process is gone");
    return json::parse(line).get<Built>();
}

KernelFn load(const Built &built) {
    void *handle = dlopen(built.library.c_str(), RTLD_NOW | RTLD_LOCAL);
    const auto fn = handle ? reinterpret_cast<KernelFn>(
                                 dlsym(handle, (built.symbol + "_argv").c_str()))
                           : nullptr;
    if (!fn) throw DispatchError(built.symbol, std::string("can't be opened: ") + dlerror());
    return fn;
}

}  // namespace halyard::tune

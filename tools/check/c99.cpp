// Checks ops as functions in C99 against the references. `halyard check --device c` runs it.
//
// All calls of an op stand in one source file, so that the compiler is started once. On another
// machine (Options::target) they run in an emulator, many cases at a time, without guard pages.
#include <dlfcn.h>

#include <algorithm>
#include <memory>

#include "bench/harness/case.h"
#include "bench/harness/progress.h"
#include "registry/base/atomic_file.h"
#include "registry/base/run_program.h"
#include "registry/base/temporary_folder.h"
#include "tools/c99/graph_source.h"
#include "tools/check/c99_remote.h"
#include "tools/check/check.h"
#include "tools/check/fills.h"
#include "tools/check/guard.h"
#include "tools/check/other_values.h"

namespace halyard::check {
namespace {

constexpr int64_t few_elements = 20'000;     // of calls that are repeated with other values
constexpr int64_t bytes_at_once = 32 << 20;  // of tensors that an emulated program is given

struct Call {
    std::string dtypes, sample;
    c99::CallSource source;
};

std::string name_of_call(const Call &c) {
    return "c " + c.dtypes + " '" + c.sample + "'";
}

// Returns the text of an error without the op's name.
std::string reason(const Error &e) {
    const std::string what = e.what();
    return what.starts_with("[") ? what.substr(what.find("] ") + 2) : what;
}

std::vector<Call> calls_of(const Op &op, const Options &o, Report &r) {
    std::vector<Call> calls;
    for (auto &dtypes : op.dtypes) {
        if (!o.dtypes.empty() && dtypes != o.dtypes) continue;
        for (auto &sample : o.quick ? quick_samples_of(op, dtypes) : op.samples) {
            begin_step("c " + dtypes + " '" + sample + "', its source");
            const Case c(op, sample, dtypes, 6);
            try {
                const std::string name = "call_" + std::to_string(calls.size());
                calls.push_back(
                    {dtypes, sample, c99::source_of_call(c.registered, c.in, c.attrs, name)});
            } catch (const Error &e) {
                r.skip(dtypes + ": " + reason(e));
            }
        }
    }
    return calls;
}

// Returns a function that takes a call's tensors as one array.
std::string entry_of(const c99::CallSource &call) {
    std::string arguments;
    for (size_t k = 0; k < call.parameters.size(); k++)
        arguments += (k ? ", tensors[" : "tensors[") + std::to_string(k) + "]";
    return "\nvoid entry_" + call.name + "(void **tensors) {\n    " + call.name + "(" + arguments +
           ");\n}\n";
}

std::string source_of(const std::vector<Call> &calls) {
    std::vector<c99::CallSource> sources;
    std::string entries;
    for (const Call &c : calls) {
        sources.push_back(c.source);
        entries += entry_of(c.source);
    }
    return c99::unit_of(sources, "") + entries;
}

// A call with values.
struct Run {
    std::string where;
    Case c;
    std::vector<Tensor> in, out;
};

Run run_of(const Case &c, const std::string &where) {
    Run run{where, c, c.in, {}};
    for (size_t k = 0; k < c.out_dtypes.size(); k++) {
        const Shape shape = c.output_shape(k);
        run.out.push_back(poisoned(shape.elements(), c.out_dtypes[k]).reshape(shape));
    }
    return run;
}

// `outside` is the access outside of the tensors, or "".
void judge(const Op &op, const Run &run, const std::string &outside, Report &r) {
    if (!outside.empty()) r.fail(run.where, outside);
    for (size_t k = 0; k < run.out.size(); k++) {
        const TensorSpec &y = op.sig.outputs[k];
        r.expect(run.where,
                 compare(op, y.name, run.c.as_in_signature(y, run.out[k]), run.c.problem));
    }
}

// The calls of one op, compiled for a machine.
class CompiledCalls {
public:
    virtual ~CompiledCalls() = default;
    // Runs call `k` of the op, now or at the end, and judges it.
    virtual void run(size_t k, Run run, Report &r) = 0;
    virtual void end(Report &) {}
};

class LocalCalls : public CompiledCalls {
public:
    // Throws Error with the compiler's messages.
    LocalCalls(const Op &op, const std::vector<Call> &calls) : op_(op) {
        const std::string source = (folder_.path / (op.name + ".c")).string();
        const std::string library = (folder_.path / "calls.so").string();
        write_file(source, source_of(calls), Durability::to_system);
        const Ended cc = run_program({"cc", "-std=c99", "-O1", "-Wall", "-Wextra", "-Werror",
                                      "-ffp-contract=off", "-fPIC", "-shared", "-o", library,
                                      source, "-lm"},
                                     Keep::output_and_errors);
        if (cc.status != 0) throw Error(op.name, "cc fails: " + cc.text);
        void *handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
        if (!handle) throw Error(op.name, dlerror());
        for (const Call &c : calls) {
            entries_.push_back(
                reinterpret_cast<Entry>(dlsym(handle, ("entry_" + c.source.name).c_str())));
        }
    }

    void run(size_t k, Run run, Report &r) override {
        Guards guards(Guards::after);
        guards.move(op_, run.in, run.out);
        std::vector<void *> tensors;
        for (const std::vector<Tensor> *all : {&run.in, &run.out}) {
            for (const Tensor &t : *all)
                tensors.push_back(t.raw());
        }
        entries_[k](tensors.data());
        judge(op_, run, guards.finding(), r);
    }

private:
    using Entry = void (*)(void **);
    const Op &op_;
    const TemporaryFolder folder_{"halyard_c99"};
    std::vector<Entry> entries_;
};

class EmulatedCalls : public CompiledCalls {
public:
    EmulatedCalls(const Op &op, c99::Target target, const std::vector<Call> &calls)
        : op_(op), program_(op.name, target, source_of(calls), sources_of(calls)) {
        for (const Call &c : calls)
            bytes_.push_back(remote_bytes(c.source));
    }

    void run(size_t k, Run run, Report &r) override {
        calls_.push_back({k, run.in, run.out});
        runs_.push_back(std::move(run));
        waiting_ += bytes_[k];
        if (waiting_ > bytes_at_once) end(r);
    }

    void end(Report &r) override {
        if (runs_.empty()) return;
        begin_step(runs_[0].where + " and " + std::to_string(runs_.size() - 1) +
                   " more in the emulator");
        const std::vector<RemoteCalls::Outcome> outcomes = program_.run(calls_);
        for (size_t k = 0; k < runs_.size(); k++) {
            if (outcomes[k].has_ended)
                judge(op_, runs_[k], outcomes[k].error, r);
            else
                r.fail(runs_[k].where, outcomes[k].error);
        }
        calls_.clear();
        runs_.clear();
        waiting_ = 0;
    }

private:
    static std::vector<c99::CallSource> sources_of(const std::vector<Call> &calls) {
        std::vector<c99::CallSource> sources;
        for (const Call &c : calls)
            sources.push_back(c.source);
        return sources;
    }

    const Op &op_;
    const RemoteCalls program_;
    std::vector<int64_t> bytes_;
    std::vector<RemoteCase> calls_;
    std::vector<Run> runs_;
    int64_t waiting_ = 0;
};

// Returns the calls whose tensors, constants and static memory fit the emulated board together.
std::vector<Call> fitting(const Op &op, const std::vector<Call> &calls, Report &r) {
    std::vector<Call> few;
    int64_t constants = 0, static_bytes = 0, tensors = 0;
    for (const Call &c : calls) {
        const int64_t all_constants = constants + c.source.constant_bytes;
        const int64_t arena = std::max(static_bytes, c.source.arena_bytes);
        const int64_t pool = std::max(tensors, remote_bytes(c.source));
        if (all_constants + arena + pool > c99::board_bytes) {
            r.skip(op.name + " " + c.dtypes + " '" + c.sample + "' doesn't fit the emulated " +
                   "Cortex-M4's " + std::to_string(c99::board_bytes) + " bytes");
            continue;
        }
        constants = all_constants;
        static_bytes = arena;
        tensors = pool;
        few.push_back(c);
    }
    return few;
}

void run_call(const Op &op, const std::vector<Call> &calls, size_t k, CompiledCalls &compiled,
              Report &r) {
    const std::string name = name_of_call(calls[k]);
    begin_step(name);
    const auto run = [&](const Case &c, const std::string &where) {
        compiled.run(k, run_of(c, where), r);
    };
    Case c(op, calls[k].sample, calls[k].dtypes, 6);
    c.solve(op);
    run(c, name);
    if (input_elements(c) > few_elements) return;
    for (const int seed : {1, 2})
        run(with_values(op, c, true, seed), name + ", numbers where it bends");
    for (const int seed : {11, 12})
        run(with_values(op, c, false, seed), name + ", values " + std::to_string(seed));
}

std::unique_ptr<CompiledCalls> compiled_calls(const Op &op, const Options &o,
                                              const std::vector<Call> &calls) {
    if (o.target == c99::Target::x86) return std::make_unique<LocalCalls>(op, calls);
    return std::make_unique<EmulatedCalls>(op, o.target, calls);
}

}  // namespace

void check_c99(const Op &op, const Options &o, Report &r) {
    std::vector<Call> calls = calls_of(op, o, r);
    if (o.target == c99::Target::arm32m) calls = fitting(op, calls, r);
    if (calls.empty()) return;
    std::unique_ptr<CompiledCalls> compiled;
    try {
        compiled = compiled_calls(op, o, calls);
    } catch (const Error &e) {
        return r.fail(e.what());
    }
    for (size_t k = 0; k < calls.size(); k++)
        run_call(op, calls, k, *compiled, r);
    compiled->end(r);
}

}  // namespace halyard::check

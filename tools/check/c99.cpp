// Checks ops as functions in C99 against the references. `halyard check --device c` runs it.
//
// All calls of an op stand in one source file, so that the compiler is started once.
#include <dlfcn.h>

#include <algorithm>
#include <optional>

#include "bench/harness/case.h"
#include "bench/harness/progress.h"
#include "registry/base/atomic_file.h"
#include "registry/base/run_program.h"
#include "registry/base/temporary_folder.h"
#include "tools/c99/graph_source.h"
#include "tools/check/check.h"
#include "tools/check/fills.h"
#include "tools/check/guard.h"
#include "tools/check/other_values.h"

namespace halyard::check {
namespace {

constexpr int64_t few_elements = 20'000;  // of calls that are repeated with other values

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

// The calls of one op, compiled.
class CompiledCalls {
public:
    // Throws Error with the compiler's messages.
    CompiledCalls(const Op &op, const std::vector<Call> &calls) {
        std::vector<c99::CallSource> sources;
        std::string head, entries;
        for (const Call &c : calls) {
            sources.push_back(c.source);
            entries += entry_of(c.source);
        }
        const std::string source = (folder_.path / (op.name + ".c")).string();
        const std::string library = (folder_.path / "calls.so").string();
        write_file(source, c99::unit_of(sources, "") + entries, Durability::to_system);
        const Ended cc = run_program({"cc", "-std=c99", "-O1", "-Wall", "-Wextra", "-Werror",
                                      "-ffp-contract=off", "-fPIC", "-shared", "-o", library,
                                      source, "-lm"},
                                     Keep::output_and_errors);
        if (cc.status != 0) throw Error(op.name, "cc fails: " + cc.text);
        handle_ = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
        if (!handle_) throw Error(op.name, dlerror());
    }

    using Entry = void (*)(void **);
    Entry entry(const Call &c) const {
        return reinterpret_cast<Entry>(dlsym(handle_, ("entry_" + c.source.name).c_str()));
    }

private:
    const TemporaryFolder folder_{"halyard_c99"};
    void *handle_ = nullptr;
};

void run_case(const Op &op, const Case &c, const std::string &where, CompiledCalls::Entry entry,
              Report &r) {
    begin_step(where);
    std::vector<Tensor> in = c.in;
    std::vector<Tensor> out;
    for (size_t k = 0; k < c.out_dtypes.size(); k++) {
        const Shape shape = c.output_shape(k);
        out.push_back(poisoned(shape.elements(), c.out_dtypes[k]).reshape(shape));
    }
    Guards guards(Guards::after);
    guards.move(op, in, out);
    std::vector<void *> tensors;
    for (const std::vector<Tensor> *all : {&in, &out}) {
        for (const Tensor &t : *all)
            tensors.push_back(t.raw());
    }
    entry(tensors.data());
    if (const std::string outside = guards.finding(); !outside.empty()) r.fail(where, outside);
    for (size_t k = 0; k < out.size(); k++) {
        const TensorSpec &y = op.sig.outputs[k];
        r.expect(where, compare(op, y.name, c.as_in_signature(y, out[k]), c.problem));
    }
}

void run_call(const Op &op, const Call &call, CompiledCalls::Entry entry, Report &r) {
    Case c(op, call.sample, call.dtypes, 6);
    c.solve(op);
    run_case(op, c, name_of_call(call), entry, r);
    int64_t elements = 0;
    for (const Tensor &t : c.in)
        elements += t.elements();
    if (elements > few_elements) return;
    for (const int seed : {1, 2}) {
        run_case(op, with_values(op, c, true, seed),
                 name_of_call(call) + ", numbers where it bends", entry, r);
    }
    for (const int seed : {11, 12}) {
        run_case(op, with_values(op, c, false, seed),
                 name_of_call(call) + ", values " + std::to_string(seed), entry, r);
    }
}

}  // namespace

void check_c99(const Op &op, const Options &o, Report &r) {
    const std::vector<Call> calls = calls_of(op, o, r);
    if (calls.empty()) return;
    std::optional<CompiledCalls> compiled;
    try {
        compiled.emplace(op, calls);
    } catch (const Error &e) {
        return r.fail(e.what());
    }
    for (const Call &call : calls)
        run_call(op, call, compiled->entry(call), r);
}

}  // namespace halyard::check

#include "tools/check/composes.h"

#include <fmt/core.h>

#include <algorithm>
#include <deque>
#include <map>
#include <memory>

#include "bench/harness/case.h"
#include "bench/harness/progress.h"
#include "dsl/all_ops.h"
#include "dsl/chain.h"
#include "dsl/kernel.h"
#include "primitives/library.h"
#include "registry/base/text.h"
#include "registry/dispatch/planner.h"
#include "registry/dispatch/run_plan.h"
#include "registry/op/extension.h"
#include "tools/check/different_numbers.h"

namespace halyard::check {
namespace {

constexpr const char *other_op = "neg";  // of one tensor, and defined on all dtypes with a sign

struct Composition {
    std::string name, op, body;
    int fed = -1;  // the input that the other op computes; -1: the other op takes the result
};

std::map<std::string, Composition> &compositions() {
    static std::map<std::string, Composition> all;
    return all;
}

// Returns the call of `op`, with other names for one input and for the result.
std::string call_of(const Op &op, const std::string &result, int renamed, const std::string &name) {
    std::vector<std::string> arguments;
    for (size_t k = 0; k < op.sig.inputs.size(); k++)
        arguments.push_back(int(k) == renamed ? name : op.sig.inputs[k].name);
    return fmt::format("{} = {}({})", result, op.name, join(arguments));
}

std::vector<Composition> compositions_of(const Op &op) {
    std::vector<Composition> all;
    if (op.form == Form::composite || op.sig.outputs.size() != 1) return all;
    const std::string &result = op.sig.outputs[0].name;
    for (size_t k = 0; k < op.sig.inputs.size(); k++) {
        const TensorSpec &x = op.sig.inputs[k];
        if (x.dtype != "T") continue;
        all.push_back({op.name + "_fed_" + x.name, op.name,
                       fmt::format("computed = {}({}); ", other_op, x.name) +
                           call_of(op, result, int(k), "computed"),
                       int(k)});
    }
    if (op.sig.outputs[0].dtype == "T") {
        all.push_back(
            {op.name + "_then_" + other_op, op.name,
             call_of(op, "computed", -1, "") + fmt::format("; {} = {}(computed)", result, other_op),
             -1});
    }
    return all;
}

// The ops that compositions are made of. The process's table makes compositions to learn their
// names, and can't be asked meanwhile.
const OpTable &parts() {
    static const OpTable table = [] {
        OpTable all;
        list_all_ops(all);
        all.names();
        return all;
    }();
    return table;
}

OpPtr chain_of(const Composition &c) {
    const OpPtr op = parts().make(c.op);
    auto chain = std::make_unique<Chain>(parts(), c.name, op->signature, c.body);
    // The other op has no attributes, so the record is the op's.
    static_cast<OpRecord &>(*chain) = *op;
    chain->has_edges = true;
    chain->name = c.name;
    chain->alias = chain->functional = "";
    chain->other_names = {};
    chain->internal = true;
    return chain;
}

// The composition as a file of generated records, with the op's kernels without their code, from
// which calls are planned.
OpFile file_of(const Composition &c) {
    OpFile file;
    file.name = c.name;
    file.ops = {*chain_of(c)};
    for (KernelEntry k : library().at(c.op).kernels) {
        if (k.backend != "cpu" || k.isa != host_isa() ||
            !host_has(extension_of(file.ops[0], k.variant)))
            continue;
        k.op = c.name;
        k.fn = nullptr;
        file.kernels.push_back(k);
    }
    return file;
}

// Calls one kernel, and returns its results. Throws DispatchError if it doesn't take the call.
std::vector<Tensor> results_of(const RegisteredOp &op, const KernelEntry &kernel,
                               std::span<const Tensor> in, const Attrs &attrs) {
    RegisteredOp single = op;
    single.kernels = {kernel};
    const std::vector<OperandMeta> metas = metas_of(in);
    const Plan plan = make_plan(single, metas, attrs);
    std::vector<Tensor> out;
    for (const Plan::Output &output : plan.outputs)
        out.push_back(Tensor::empty(output.shape, output.dtype));
    run_plan(plan, in, attrs, out);
    return out;
}

// Returns the result of the two ops, one after the other, with the same kernel of the op.
Tensor apart(const Composition &c, const Case &call, const KernelEntry &entry) {
    const RegisteredOp &other = library().at(other_op);
    const auto negated = [&](const Tensor &t) {
        const std::vector<Tensor> in{t};
        return dispatch1(other, in, Attrs(other.record));
    };
    const RegisteredOp &op = library().at(c.op);
    const auto same = std::ranges::find_if(op.kernels, [&](const KernelEntry &k) {
        return k.backend == "cpu" && k.isa == entry.isa && k.dtypes == entry.dtypes &&
               k.variant == entry.variant;
    });
    std::vector<Tensor> in = call.in;
    if (c.fed >= 0) in[size_t(c.fed)] = negated(in[size_t(c.fed)]);
    const Attrs attrs(op.record, parse_sample(op.record, call.sample).attrs);
    const Tensor out = results_of(op, *same, in, attrs)[0];
    return c.fed < 0 ? negated(out) : out;
}

// Compares the bits of one kernel of a composition with those of its ops.
void compare_bits(const Op &op, const KernelEntry &entry, const Options &o, Report &r) {
    const Composition &c = compositions().at(op.name);
    Instance instance;
    instance.dtypes = entry.dtypes;
    instance.variant = entry.variant;
    instance.isa = entry.isa;
    KernelEntry k = entry;
    k.fn = Kernel(op_table().make(op.name), instance).load();
    for (const std::string &sample : o.quick ? quick_samples_of(op, entry.dtypes) : op.samples) {
        const Case call(op, sample, entry.dtypes, 3);
        const std::string where = fmt::format("{}/{} '{}'", entry.dtypes, entry.variant, sample);
        begin_step(where);
        Tensor together;
        try {
            together = results_of(library().at(op.name), k, call.in, call.attrs)[0];
        } catch (const DispatchError &) {
            continue;  // this variant doesn't take this sample
        }
        if (first_different_number(together, apart(c, call, entry)) < 0)
            r.pass();
        else
            r.skip("other bits than one after the other: variant '" + entry.variant + "'");
    }
}

}  // namespace

std::vector<std::string> add_compositions(const std::vector<std::string> &ops) {
    static std::deque<OpFile> &files = *new std::deque<OpFile>;  // the registry reads them
    std::vector<const OpFile *> added;
    std::vector<Composition> all;
    for (const std::string &name : ops)
        for (const Composition &c : compositions_of(*parts().make(name)))
            all.push_back(c);
    std::vector<std::string> names;
    for (const Composition &c : all) {
        compositions()[c.name] = c;
        op_table().insert([c] { return chain_of(c); });
        files.push_back(file_of(c));
        added.push_back(&files.back());
        names.push_back(c.name);
    }
    library().add(added);
    return names;
}

void check_composes(const Op &op, const Options &o, Report &r) {
    Options best = o;
    best.isas = {host_isa()};
    best.own_algorithms = true;  // that variants agree is a matter of the op's own checks
    try {
        check_exact(op, best, r);
        for (const KernelEntry &k : library().at(op.name).kernels) {
            const bool is_f32 = k.dtypes.starts_with("f32");
            if (is_f32 || op.dtypes[0] == k.dtypes) compare_bits(op, k, o, r);
        }
    } catch (const std::exception &e) {
        r.skip(std::string("refuses: ") + one_line(e.what()));
    }
}

}  // namespace halyard::check

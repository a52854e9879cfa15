// halyard lower: the code that an op becomes, for one of its kernels.
#include <cstdio>

#include "bench/harness/op_call.h"
#include "bench/harness/tunables.h"
#include "dsl/all_ops.h"
#include "dsl/gpu/gpu_kernels.h"
#include "dsl/lower.h"
#include "registry/base/atomic_file.h"
#include "registry/base/process_pool.h"
#include "registry/base/temporary_folder.h"
#include "registry/base/text.h"
#include "registry/dispatch/simulated.h"
#include "registry/op/extension.h"
#include "tools/halyard/command.h"
#include "tools/halyard/commands/ascend.h"
#include "tools/halyard/option.h"

namespace halyard::command {
using namespace bench;
namespace {

struct LowerOptions {
    std::string op, to = "loops", device, isa, variant, dtype, shape, fault, out;
    std::vector<std::string> tunables;
    bool strict = false;
};

const TextForm &text_form(const std::string &name) {
    for (auto &f : text_forms())
        if (f.name == name) return f;
    throw AttrError("lower", "no form '" + name + "'");
}

// Parses "tile=2". A schedule for the call is tried with these values as they are.
Tunables tunables_as_typed(const std::string &op, const std::vector<std::string> &texts) {
    Tunables tunables;
    for (auto &text : texts) {
        const auto [name, value] = assignment(op, text);
        tunables.chosen[name] = std::stoi(value);
    }
    return tunables;
}

void refuse_isa(const OpRecord &op, const std::string &backend, const std::string &isa) {
    if (!isa.empty())
        throw DispatchError(op.name, "--isa is a level of the CPU, the kernel is for " + backend);
}

Instance ascend_instance_of(const OpRecord &op, const TextForm &form, const LowerOptions &o,
                            const std::string &dtypes) {
    refuse_isa(op, "ascend", o.isa);
    simulated_device().use_chip(o.device.empty() ? "ascend" : o.device);
    const ProblemInstance t(op_with_kernels(op.name),
                            o.shape.empty() ? problems_of(op).front() : o.shape, dtypes);
    if (form.name != "tbe") {
        return ascend_instance(t, dtypes, o.variant, tunables_as_typed(op.name, o.tunables),
                               o.strict);
    }
    if (!o.variant.empty() || !o.tunables.empty() || o.strict) {
        throw AttrError(op.name, std::string(!o.variant.empty() ? "--variant"
                                             : o.strict         ? "--strict"
                                                                : "--picks") +
                                     " does nothing for --to tbe");
    }
    Instance i = ascend_call(t, dtypes);
    i.scheduled = false;
    return i;
}

// Returns the variant that --variant names; without it the first that every CPU of a level can run.
// "unnamed" is the one without a name beside others with names.
std::string cpu_variant(const OpRecord &op, const std::string &variant) {
    const bool has_unnamed = std::ranges::count(op.variants, "", &VariantSpec::name) > 0;
    if (variant == "unnamed" && has_unnamed) return "";
    if (!variant.empty()) return variant_called(op, variant);
    return std::ranges::find(op.variants, Extension::none, &VariantSpec::extension)->name;
}

// Returns the variant of the op's GPU kernel that --variant names; without it the last one, which
// takes every shape.
std::string gpu_variant(const Op &op, const std::string &dtypes, const std::string &variant) {
    const std::string why = gpu::no_kernel_reason(op, dtypes);
    if (!why.empty()) throw DTypeError(op.name, "no GPU kernel for " + dtypes + ": " + why);
    const std::vector<std::string> all = gpu::variants(op);
    if (variant.empty()) return all.back();
    if (std::ranges::find(all, variant) == all.end()) {
        throw AttrError(op.name, "no GPU kernel of variant '" + variant + "', there " +
                                     (all.size() == 1 ? "is " : "are ") + join(all, ", "));
    }
    return variant;
}

// Returns the kernel that was asked for, of those the kit builds. Its ISA may be missing in this
// build or on this CPU, because nothing runs.
Instance instance_of(const OpRecord &op, const TextForm &form, const LowerOptions &o) {
    Instance i;
    i.backend = o.device.empty() ? form.backends[0] : is_ascend(o.device) ? "ascend" : o.device;
    if (std::find(form.backends.begin(), form.backends.end(), i.backend) == form.backends.end()) {
        throw DispatchError(op.name, "--to " + form.name + " is for " + join(form.backends) +
                                         ", not for " + i.backend);
    }
    i.dtypes = dtype_set(op, o.dtype);
    if (i.backend == "ascend") return ascend_instance_of(op, form, o, i.dtypes);
    if (!o.shape.empty() || o.strict) {
        throw AttrError(op.name, std::string(o.strict ? "--strict" : "--shape") +
                                     " does nothing for " + i.backend);
    }
    if (i.backend != "cpu") {
        refuse_isa(op, i.backend, o.isa);
        i.variant = gpu_variant(*op_table().make(op.name), i.dtypes, o.variant);
        return i;
    }
    i.variant = cpu_variant(op, o.variant);
    i.isa = o.isa.empty() ? host_isa() : isa_of(o.isa);
    return i;
}

// Lowers in a child process, because LLVM aborts on errors.
std::string text_in_child(Kernel &k, const std::string &form) {
    const TemporaryFolder folder("halyard_lower");
    return run_in_child(k.op->name,
                        [&] { return text_of(k, form, (folder.path / "scratch").string()); });
}

// Returns "4, 2" or "0 to 47".
std::string choices(const std::vector<int> &values) {
    for (size_t k = 1; k < values.size(); k++)
        if (values[k] != values[k - 1] + 1) return join(values);
    return values.size() < 4
               ? join(values)
               : std::to_string(values.front()) + " to " + std::to_string(values.back());
}

// Returns what the text is for: "x86-64-linux-avx2-...", the features of a GPU such as
// "cuda-cuda_capability_80", or the name of a chip.
std::string target_text(const Kernel &k) {
    const Instance &i = k.instance;
    if (i.backend == "ascend") return i.call->chip;
    if (i.backend == "cpu") return k.target.to_string();
    std::istringstream host_and_features(k.target.to_string());
    std::string features;
    for (std::string word; std::getline(host_and_features, word, '-');) {
        if (word.starts_with("cuda") || word.starts_with("opencl") || word.starts_with("cl_"))
            features += (features.empty() ? "" : "-") + word;
    }
    return features;
}

// Returns "// matmul f32 direct avx512: x86-64-linux-...; cols=4 of 4, 2".
std::string headline(const Kernel &k, const std::string &comment) {
    if (comment.empty()) return "";
    const Instance &i = k.instance;
    std::string s = comment + " " + k.op->name + " " + i.dtypes +
                    (i.variant.empty() ? "" : " " + i.variant) + " ";
    s += (i.backend == "cpu" ? name_of(i.isa) : i.backend) + ": " + target_text(k);
    for (auto &[name, values] : i.tunables.offered)
        s += "; " + name + "=" + std::to_string(i.tunables(name, values)) + " of " +
             choices(values);
    return s + "\n";
}

int lower(const LowerOptions &o) {
    const OpRecord &op = op_with_kernels(o.op).record;
    const TextForm &form = text_form(o.to);
    list_kit_ops();
    Instance i = instance_of(op, form, o);
    if (i.backend != "ascend") i.tunables = tunables_from(op.name, i, o.tunables);
    i.fault = o.fault;
    Kernel k(op_table().make(op.name), i);
    const std::string text = headline(k, form.comment) + text_in_child(k, form.name);
    if (o.out.empty()) {
        std::fwrite(text.data(), 1, text.size(), stdout);
        return 0;
    }
    write_file(o.out, text, Durability::to_system);
    return 0;
}

}  // namespace

void add_lower(CLI::App &app, Run &selected) {
    auto o = std::make_shared<LowerOptions>();
    std::vector<std::string> names;
    std::string forms = "What to show. ";
    for (auto &f : text_forms()) {
        names.push_back(f.name);
        forms += f.name + ": " + f.doc + (&f == &text_forms().back() ? "" : "; ");
    }
    CLI::App *sub = app.add_subcommand(
        "lower", "Show the code that an op becomes: loops, statement, assembly, device code");
    sub->add_option("op", o->op, "Name of the op")->required();
    sub->add_option("--to,-t", o->to, forms + ". Default: loops")->check(CLI::IsMember(names));
    sub->add_option(
        "--shape,-s", o->shape,
        "ascend: the problem that the program is for, \"n=64 c=1000\"; default: the op's first");
    sub->add_flag("--strict", o->strict,
                  "ascend: fail if the scalar unit is needed, which works element by element");
    sub->add_option("--device,--backend", o->device,
                    "cpu, opencl, cuda, " + ascend_names() + ", if the form has several");
    sub->add_option(
        "--isa", o->isa,
        "baseline, avx2 or avx512; default: this CPU's best. Nothing runs, so any is possible");
    sub->add_option("--variant", o->variant,
                    "One of the op's variants, \"unnamed\" for the one without a name; default: "
                    "its first, on a "
                    "GPU the one that takes every shape");
    sub->add_option("--dtype", o->dtype,
                    "f32, f16, ... (f32,i32 where the op has two); default: the op's first");
    sub->add_option("--picks", o->tunables, "A value for a tunable of the schedule: rows=4")
        ->allow_extra_args(false);
    sub->add_option("--fault", o->fault,
                    "Plant a fault, as check --mutants prints it: \"dropped-tail: loop y.s0.n\"");
    sub->add_option("--out,-o", o->out, "Write to this file instead of standard output");
    sub->callback([o, &selected] { selected = [o] { return lower(*o); }; });
}

}  // namespace halyard::command

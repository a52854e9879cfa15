// halyard run: a primitive on .npy files, called as a program calls it.
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <functional>

#include "bench/harness/op_call.h"
#include "bench/harness/progress.h"
#include "bench/harness/variadic_ops.h"
#include "primitives/autograd/tape.h"
#include "primitives/autograd/views.h"
#include "primitives/library.h"
#include "primitives/primitive.h"
#include "registry/tensor/npy.h"
#include "tools/halyard/command.h"
#include "tools/halyard/option.h"

namespace halyard::command {
using namespace bench;
namespace {
namespace fs = std::filesystem;

struct RunOptions {
    std::string op, out_dir, device, isa, variant;
    std::vector<std::string> in, attrs, dtypes, grads;
};

// Writes files. They appear under their names only when all of them are complete.
class Writer {
public:
    explicit Writer(const std::string &dir) : dir_(dir) {
        std::error_code failed;
        fs::create_directories(dir_, failed);
        if (failed) throw IoError(dir, "can't be created: " + failed.message());
    }
    ~Writer() {
        std::error_code ignored;
        for (auto &name : names_)
            fs::remove(part(name), ignored);
    }
    Writer(const Writer &) = delete;
    Writer &operator=(const Writer &) = delete;
    void add(const std::string &name, const Tensor &t) {
        names_.push_back(name);
        save_npy(part(name).string(), t);
        lines_ += (dir_ / name).string() + "  " + name_of(t.dtype()) + t.shape().text() + "\n";
    }
    void finish() {
        for (auto &name : names_) {
            std::error_code failed;
            fs::rename(part(name), dir_ / name, failed);
            if (failed)
                throw IoError((dir_ / name).string(), "can't be written: " + failed.message());
        }
        names_.clear();
        std::fputs(lines_.c_str(), stdout);
    }

private:
    fs::path part(const std::string &name) const { return dir_ / ("." + name + ".part"); }
    fs::path dir_;
    std::vector<std::string> names_;
    std::string lines_;
};

// Throws IoError unless the path is a regular file: bytes are read in any order, and a pipe without
// a writer would block the command.
void require_file(const std::string &path) {
    std::error_code ignored;
    const fs::file_status status = fs::status(path, ignored);
    if (!fs::exists(status) || fs::is_regular_file(status)) return;
    throw IoError(path, std::string("is a ") +
                            (fs::is_directory(status) ? "folder"
                             : fs::is_fifo(status)    ? "pipe"
                                                      : "device") +
                            ", expected a .npy file");
}

Tensor load(const std::string &path, const std::optional<std::string> &dtype) {
    require_file(path);
    return dtype ? load_npy(path, dtype_of(*dtype)) : load_npy(path);
}

struct Results {
    std::vector<std::pair<std::string, Tensor>> files;  // name and content

    void add_outputs(const std::vector<Tensor> &out) {
        for (size_t k = 0; k < out.size(); k++)
            files.emplace_back("out_" + std::to_string(k) + ".npy", out[k]);
    }
    void save(const std::string &dir) const {
        Writer writer(dir);
        for (auto &[name, t] : files)
            writer.add(name, t);
        writer.finish();
    }
};

// Tensors with their names in the op's signature or on the command line.
struct Named {
    std::vector<std::string> names;
    std::vector<Tensor> tensors;

    void add(const std::string &name, const Tensor &t) {
        names.push_back(name);
        tensors.push_back(t);
    }
};

using Call = std::function<std::vector<Tensor>()>;

// Writes the call's outputs under output_names(), and the gradients in `x` under the inputs' names:
// d_x.npy.
void run_with_gradients(const RunOptions &o, const Named &x, const Call &call,
                        const std::function<std::vector<std::string>(size_t)> &output_names,
                        Results &results) {
    if (x.tensors.empty()) throw GradError(o.op, "has no gradient in any of its inputs");
    Tape tape;
    for (const Tensor &t : x.tensors)
        tape.watch(t);
    const auto out = call();
    results.add_outputs(out);
    std::vector<TensorSpec> specs(out.size());
    const std::vector<std::string> names = output_names(out.size());
    std::vector<std::string> grads = o.grads;
    for (size_t k = 0; k < out.size(); k++) {
        specs[k].name = names[k];
        for (auto &g : grads)  // dy=... and y=... are the same
            if (g.starts_with("d" + names[k] + "=")) g.erase(0, 1);
    }
    const auto paths = values_by_tensor(o.op, "output", specs, grads);
    Named y;
    std::vector<Tensor> sens;
    for (size_t k = 0; k < out.size(); k++) {
        if (!paths[k]) continue;
        y.add(names[k], out[k]);
        sens.push_back(load(*paths[k], name_of(out[k].dtype())));
    }
    const auto dx = tape.gradient(y.tensors, x.tensors, sens);
    for (size_t k = 0; k < dx.size(); k++)
        results.files.emplace_back("d_" + x.names[k] + ".npy", dx[k]);
}

// Runs a variadic op. All inputs are called x, so their order counts. Several outputs are numbered:
// y0, y1, ...
void run_variadic(const VariadicOp &op, const RunOptions &o, Results &results) {
    std::vector<TensorSpec> specs(o.in.size());
    for (size_t k = 0; k < specs.size(); k++)
        specs[k].name = "x" + std::to_string(k);
    const auto dtypes = values_by_tensor(op.record.name, "input", specs, o.dtypes);
    std::vector<Tensor> in;
    Named x;
    for (size_t k = 0; k < o.in.size(); k++) {
        const size_t at = o.in[k].find('=');
        in.push_back(load(at == std::string::npos ? o.in[k] : o.in[k].substr(at + 1), dtypes[k]));
        if (is_float(in[k].dtype())) x.add(specs[k].name, in[k]);
    }
    const Attrs attrs = attrs_from(op.record, o.attrs);
    const Call call = [&] { return op.run(in, attrs); };
    if (o.grads.empty()) return results.add_outputs(call());
    const bool one = !op.record.signature.ends_with("...");
    const auto output_names = [&](size_t count) {
        std::vector<std::string> names;
        for (size_t k = 0; k < count; k++)
            names.push_back(one ? "y" : "y" + std::to_string(k));
        return names;
    };
    run_with_gradients(o, x, call, output_names, results);
}

// Keeps copies of the inputs and afterwards returns those that the call changed, as batch_norm does
// with its running statistics: mean_out.npy.
class ChangedInputs {
public:
    ChangedInputs(const Signature &signature, const std::vector<Tensor> &in)
        : signature_(signature), in_(in) {
        for (const Tensor &t : in)
            before_.push_back(t.defined() ? t.copy() : t);
    }
    void add_to(Results &results) const {
        for (size_t k = 0; k < in_.size(); k++) {
            if (!in_[k].defined()) continue;
            const Tensor now = in_[k].copy();
            if (std::memcmp(now.raw(), before_[k].raw(), now.bytes()) == 0) continue;
            results.files.emplace_back(signature_.inputs[k].name + "_out.npy", now);
        }
    }

private:
    const Signature &signature_;
    const std::vector<Tensor> &in_;
    std::vector<Tensor> before_;
};

std::vector<Tensor> inputs_of(const RegisteredOp &op, const RunOptions &o) {
    const auto &specs = op.signature.inputs;
    const auto paths = values_by_tensor(o.op, "input", specs, o.in);
    const auto dtypes = values_by_tensor(o.op, "input", specs, o.dtypes);
    std::vector<Tensor> in;
    for (size_t k = 0; k < specs.size(); k++) {
        const std::string &name = specs[k].name;
        if (!paths[k] && !is_optional(o.op, name)) {
            throw AttrError(o.op, "input " + name + " is missing: --in " + name + "=FILE.npy (" +
                                      op.record.signature + ")");
        }
        in.push_back(paths[k] ? load(*paths[k], dtypes[k]) : Tensor());
    }
    return in;
}

void run_signature(const RegisteredOp &op, const RunOptions &o, Results &results) {
    const Primitive primitive(op, attrs_from(op.record, o.attrs));
    const std::vector<Tensor> in = inputs_of(op, o);
    const ChangedInputs changed(op.signature, in);
    const bool is_unary = op.record.form == Form::elementwise && in.size() == 1;
    const Call call = [&] { return is_unary ? primitive.run_unary(in[0]) : primitive.run(in); };
    check::begin_step(o.op);
    if (o.grads.empty()) {
        results.add_outputs(call());
    } else {
        Named x;
        for (size_t k : differentiable_inputs(op)) {
            if (in[k].defined() && is_float(in[k].dtype()))
                x.add(op.signature.inputs[k].name, in[k]);
        }
        const auto output_names = [&](size_t count) {
            std::vector<std::string> names;
            for (size_t k = 0; k < count; k++)
                names.push_back(op.signature.outputs[k].name);
            return names;
        };
        run_with_gradients(o, x, call, output_names, results);
    }
    changed.add_to(results);
}

int run(const RunOptions &o) {
    const VariadicOp *variadic = variadic_op(o.op);
    // On Ascend a variant is a handwritten program.
    const bool is_kernel_variant = !variadic && !is_ascend(o.device);
    const std::string variant = is_kernel_variant
                                    ? variant_called(library().at(o.op).record, o.variant, o.device)
                                    : o.variant;
    const Target target(o.device, o.isa, variant);
    Results results;
    if (variadic)
        run_variadic(*variadic, o, results);
    else
        run_signature(library().at(o.op), o, results);
    results.save(o.out_dir);
    return 0;
}

}  // namespace

void add_run(CLI::App &app, Run &selected) {
    auto o = std::make_shared<RunOptions>();
    CLI::App *sub = app.add_subcommand("run", "Run an op on .npy files");
    sub->footer("Writes DIR/out_0.npy, DIR/out_1.npy, ..., DIR/x_out.npy for each input x that the "
                "op writes into, and, with --grad, "
                "DIR/d_x.npy for each input x that has a gradient.");
    sub->add_option("op", o->op, "Name of the op, as `halyard ops` lists it")->required();
    sub->add_option(
           "--in,-i", o->in,
           "x=FILE.npy by the signature's names, x0=FILE.npy by place, or FILE.npy in order")
        ->allow_extra_args(false);
    sub->add_option("--attr,-a", o->attrs, "Attribute: axis=1, stride=2,2, pad_mode=same")
        ->allow_extra_args(false);
    sub->add_option("--out-dir,-o", o->out_dir, "Where the results go")->required();
    sub->add_option("--grad,-g", o->grads,
                    "Gradient of an output: dy=FILE.npy (or y=FILE.npy); dy0=FILE.npy where an op "
                    "has any number of them")
        ->allow_extra_args(false);
    sub->add_option("--dtype", o->dtypes,
                    "Read an input as this dtype: x=bf16 takes uint16 files as the bits of bf16")
        ->allow_extra_args(false);
    sub->add_option("--device,--backend", o->device,
                    "cpu, opencl, cuda, or simulated: " + ascend_names());
    sub->add_option("--isa", o->isa, "Only kernels of this level: baseline, avx2, avx512");
    sub->add_option("--variant", o->variant, "Only kernels of this variant");
    sub->callback([o, &selected] { selected = [o] { return run(*o); }; });
}

}  // namespace halyard::command

// halyard run: a primitive on .npy files, as a program would call it.
#include <cstdio>
#include <filesystem>

#include "primitives/library.h"
#include "primitives/primitive.h"
#include "primitives/tape.h"
#include "registry/npy.h"
#include "tools/halyard/call.h"
#include "tools/halyard/command.h"
#include "tools/halyard/joined.h"

namespace halyard::command {
namespace {
namespace fs = std::filesystem;

struct Options {
    std::string op, out_dir, device, isa, variant;
    std::vector<std::string> in, attrs, dtypes, grads;
};

// Files appear under their names only when all of them are complete.
class Writer {
public:
    explicit Writer(const std::string &dir) : dir_(dir) {
        std::error_code failed;
        fs::create_directories(dir_, failed);
        if (failed) throw IoError(dir, "can't be created: " + failed.message());
    }
    ~Writer() {
        std::error_code ignored;
        for (auto &name : names_) fs::remove(part(name), ignored);
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
            if (failed) throw IoError((dir_ / name).string(), "can't be written: " + failed.message());
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

Tensor load(const std::string &path, const std::optional<std::string> &dtype) { return dtype ? load_npy(path, dtype_of(*dtype)) : load_npy(path); }

std::vector<Tensor> run_joined(const JoinedOp &op, const Options &o) {
    if (!o.grads.empty()) throw GradError(op.record.name, "run doesn't differentiate ops of any number of tensors");
    std::vector<Tensor> in;
    std::vector<TensorSpec> specs(o.in.size());
    for (size_t k = 0; k < specs.size(); k++) specs[k].name = "x" + std::to_string(k);
    const auto dtypes = by_tensor(op.record.name, "input", specs, o.dtypes);
    for (size_t k = 0; k < o.in.size(); k++) {
        const size_t at = o.in[k].find('=');  // every one is called x, so their order counts
        in.push_back(load(at == std::string::npos ? o.in[k] : o.in[k].substr(at + 1), dtypes[k]));
    }
    return op.run(in, attrs_from(op.record, o.attrs));
}

struct Results {
    std::vector<std::pair<std::string, Tensor>> files;  // name and content
    void add_outputs(const std::vector<Tensor> &out) {
        for (size_t k = 0; k < out.size(); k++) files.emplace_back("out_" + std::to_string(k) + ".npy", out[k]);
    }
    void save(const std::string &dir) const {
        Writer writer(dir);
        for (auto &[name, t] : files) writer.add(name, t);
        writer.finish();
    }
};

// The gradient files' names are those of inputs: d_x.npy.
void run_with_gradients(const Primitive &primitive, const Options &o, const std::vector<Tensor> &in, Results &results) {
    const RegisteredOp &op = primitive.op();
    std::vector<Tensor> x;
    std::vector<std::string> names, grads = o.grads;
    for (size_t k : differentiable_inputs(op))
        if (is_float(in[k].dtype())) x.push_back(in[k]), names.push_back("d_" + op.signature.inputs[k].name + ".npy");
    if (x.empty()) throw GradError(o.op, "has no gradient in any of its inputs");
    for (auto &g : grads)  // dy=... and y=... are the same
        for (auto &t : op.signature.outputs)
            if (g.starts_with("d" + t.name + "=")) g.erase(0, 1);
    const auto paths = by_tensor(o.op, "output", op.signature.outputs, grads);
    Tape tape;
    for (const Tensor &t : x) tape.watch(t);
    const auto out = primitive.run(in);
    results.add_outputs(out);
    std::vector<Tensor> y, sens;
    for (size_t k = 0; k < out.size(); k++)
        if (paths[k]) y.push_back(out[k]), sens.push_back(load_npy(*paths[k], out[k].dtype()));
    const auto dx = tape.gradient(y, x, sens);
    for (size_t k = 0; k < dx.size(); k++) results.files.emplace_back(names[k], dx[k]);
}

int run(const Options &o) {
    const Target target(o.device, o.isa, o.variant);
    Results results;
    if (const JoinedOp *joined = joined_op(o.op)) {
        results.add_outputs(run_joined(*joined, o));
    } else {
        const RegisteredOp &op = library().at(o.op);
        if (o.device != "ascend") check_variant(op.record, o.variant);  // there it is a program written by hand
        const auto &specs = op.signature.inputs;
        const Primitive primitive(op, attrs_from(op.record, o.attrs));
        const auto paths = by_tensor(o.op, "input", specs, o.in), dtypes = by_tensor(o.op, "input", specs, o.dtypes);
        std::vector<Tensor> in;
        for (size_t k = 0; k < specs.size(); k++) {
            if (!paths[k]) throw AttrError(o.op, "input " + specs[k].name + " is missing: --in " + specs[k].name + "=FILE.npy (" + op.record.signature + ")");
            in.push_back(load(*paths[k], dtypes[k]));
        }
        if (o.grads.empty()) results.add_outputs(primitive.run(in));
        else run_with_gradients(primitive, o, in, results);
    }
    results.save(o.out_dir);
    return 0;
}

}  // namespace

void add_run(CLI::App &app, Run &chosen) {
    auto o = std::make_shared<Options>();
    CLI::App *sub = app.add_subcommand("run", "Run an op on .npy files");
    sub->footer("Writes DIR/out_0.npy, DIR/out_1.npy, ... and, with --grad, DIR/d_x.npy for each input x that has a gradient.");
    sub->add_option("op", o->op, "Name of the op, as `halyard ops` lists it")->required();
    sub->add_option("--in,-i", o->in, "x=FILE.npy by the signature's names, x0=FILE.npy by place, or FILE.npy in order")->allow_extra_args(false);
    sub->add_option("--attr,-a", o->attrs, "Attribute: axis=1, stride=2,2, pad_mode=same")->allow_extra_args(false);
    sub->add_option("--out-dir,-o", o->out_dir, "Where the results go")->required();
    sub->add_option("--grad,-g", o->grads, "Gradient of an output: dy=FILE.npy (or y=FILE.npy)")->allow_extra_args(false);
    sub->add_option("--dtype", o->dtypes, "Read an input as this dtype: x=bf16 takes uint16 files as the bits of bf16")->allow_extra_args(false);
    sub->add_option("--device,--backend", o->device, "cpu, opencl or ascend (simulated)");
    sub->add_option("--isa", o->isa, "Only kernels of this level: baseline, avx2, avx512");
    sub->add_option("--variant", o->variant, "Only kernels of this variant");
    sub->callback([o, &chosen] { chosen = [o] { return run(*o); }; });
}

}  // namespace halyard::command

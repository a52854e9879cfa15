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

Tensor load(const std::string &path, const std::optional<std::string> &dtype) {
    return dtype ? load_npy(path, dtype_of(*dtype)) : load_npy(path);
}

void run_joined(const JoinedOp &op, const Options &o) {
    if (!o.grads.empty()) throw GradError(op.record.name, "run doesn't differentiate ops of any number of tensors");
    std::vector<Tensor> in;
    std::vector<TensorSpec> specs(o.in.size());
    for (size_t k = 0; k < specs.size(); k++) specs[k].name = "x" + std::to_string(k);
    const auto dtypes = by_tensor(op.record.name, "input", specs, o.dtypes);
    for (size_t k = 0; k < o.in.size(); k++) {
        const size_t at = o.in[k].find('=');  // every one is called x, so their order counts
        in.push_back(load(at == std::string::npos ? o.in[k] : o.in[k].substr(at + 1), dtypes[k]));
    }
    const auto out = op.run(in, attrs_from(op.record, o.attrs));
    Writer files(o.out_dir);
    for (size_t k = 0; k < out.size(); k++) files.add("out_" + std::to_string(k) + ".npy", out[k]);
    files.finish();
}

// The gradient files' names are those of inputs: d_x.npy.
void differentiate(const RegisteredOp &op, Tape &tape, const Options &o, const std::vector<Tensor> &in, const std::vector<size_t> &wanted, const std::vector<Tensor> &out, Writer &files) {
    const std::string &name = op.record.name;
    std::vector<TensorSpec> outputs = op.signature.outputs;
    std::vector<std::string> grads = o.grads;
    for (auto &g : grads)  // dy=... and y=... are the same
        for (auto &t : outputs)
            if (g.starts_with("d" + t.name + "=")) g.erase(0, 1);
    const auto paths = by_tensor(name, "output", outputs, grads);
    std::vector<Tensor> y, sens, x;
    for (size_t k = 0; k < out.size(); k++)
        if (paths[k]) y.push_back(out[k]), sens.push_back(load_npy(*paths[k], out[k].dtype()));
    for (size_t k : wanted) x.push_back(in[k]);
    const auto dx = tape.gradient(y, x, sens);
    for (size_t i = 0; i < wanted.size(); i++) files.add("d_" + op.signature.inputs[wanted[i]].name + ".npy", dx[i]);
}

int run(const Options &o) {
    const Target target(o.device, o.isa, o.variant);
    if (const JoinedOp *joined = joined_op(o.op)) return run_joined(*joined, o), 0;
    const RegisteredOp &op = library().at(o.op);
    check_variant(op.record, o.variant);
    const auto &specs = op.signature.inputs;
    const Primitive primitive(op, attrs_from(op.record, o.attrs));
    const auto paths = by_tensor(o.op, "input", specs, o.in), dtypes = by_tensor(o.op, "input", specs, o.dtypes);
    std::vector<Tensor> in;
    for (size_t k = 0; k < specs.size(); k++) {
        if (!paths[k]) throw AttrError(o.op, "input " + specs[k].name + " is missing: --in " + specs[k].name + "=FILE.npy (" + op.record.signature + ")");
        in.push_back(load(*paths[k], dtypes[k]));
    }
    if (o.grads.empty()) {
        const auto out = primitive.run(in);
        Writer files(o.out_dir);
        for (size_t k = 0; k < out.size(); k++) files.add("out_" + std::to_string(k) + ".npy", out[k]);
        files.finish();
        return 0;
    }
    std::vector<size_t> wanted;
    for (size_t k : differentiable_inputs(op))
        if (is_float(in[k].dtype())) wanted.push_back(k);
    if (wanted.empty()) throw GradError(o.op, "has no gradient in any of its inputs");
    Tape tape;
    for (size_t k : wanted) tape.watch(in[k]);
    const auto out = primitive.run(in);
    Writer files(o.out_dir);
    for (size_t k = 0; k < out.size(); k++) files.add("out_" + std::to_string(k) + ".npy", out[k]);
    differentiate(op, tape, o, in, wanted, out, files);
    files.finish();
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
    sub->add_option("--device", o->device, "cpu or opencl");
    sub->add_option("--isa", o->isa, "Only kernels of this level: baseline, avx2, avx512");
    sub->add_option("--variant", o->variant, "Only kernels of this variant");
    sub->callback([o, &chosen] { chosen = [o] { return run(*o); }; });
}

}  // namespace halyard::command

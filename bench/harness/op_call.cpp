#include "bench/harness/op_call.h"

#include <algorithm>
#include <cctype>
#include <sstream>

#include "bench/harness/variadic_ops.h"
#include "dsl/gpu/gpu_kernels.h"
#include "primitives/autograd/adjoint.h"
#include "primitives/library.h"
#include "registry/base/text.h"
#include "registry/op/renamed_variants.h"
#include "registry/op/signature.h"

namespace halyard::bench {
namespace {

std::vector<std::string> split(const std::string &text, char at) {
    std::vector<std::string> words;
    std::stringstream s(text);
    for (std::string w; std::getline(s, w, at);)
        words.push_back(w);
    return words;
}

}  // namespace

std::pair<std::string, std::string> assignment(const std::string &op, const std::string &text) {
    const size_t at = text.find('=');
    if (at == std::string::npos || at == 0)
        throw AttrError(op, "'" + text + "', expected name=value");
    return {text.substr(0, at), text.substr(at + 1)};
}

Attrs attrs_from(const OpRecord &op, const std::vector<std::string> &texts) {
    std::map<std::string, std::string> given;
    for (auto &t : texts) {
        if (!given.insert(assignment(op.name, t)).second) {
            throw AttrError(op.name,
                            "attribute '" + assignment(op.name, t).first + "' is given twice");
        }
    }
    return Attrs(op, given);
}

namespace {

// Returns the position in "x0", or `otherwise` if `name` isn't of that form.
size_t position_in_name(const std::string &name, size_t otherwise) {
    const bool is_position = name.size() > 1 && name.size() < 4 && name[0] == 'x' &&
                             std::all_of(name.begin() + 1, name.end(),
                                         [](unsigned char c) { return std::isdigit(c); });
    return is_position ? size_t(std::stoi(name.substr(1))) : otherwise;
}

}  // namespace

std::vector<std::optional<std::string>> values_by_tensor(const std::string &op, const char *what,
                                                         const std::vector<TensorSpec> &specs,
                                                         const std::vector<std::string> &texts) {
    std::vector<std::optional<std::string>> values(specs.size());
    std::string names;
    for (auto &s : specs)
        names += (names.empty() ? "" : ", ") + s.name;
    const auto position_of = [&](const std::string &name) {
        for (size_t k = 0; k < specs.size(); k++)
            if (specs[k].name == name) return k;
        const size_t k = position_in_name(name, specs.size());
        if (k < specs.size()) return k;
        throw AttrError(op, std::string("no ") + what + " '" + name + "', expected " +
                                (names.empty() ? "none" : names));
    };
    for (auto &text : texts) {
        const bool named = text.find('=') != std::string::npos;
        const size_t open = size_t(std::find(values.begin(), values.end(), std::nullopt) -
                                   values.begin());
        if (!named && open == values.size()) {
            throw AttrError(op, std::string("one ") + what + " too many: '" + text +
                                    "', it takes " + std::to_string(specs.size()) +
                                    (names.empty() ? "" : ": " + names));
        }
        const size_t k = named ? position_of(assignment(op, text).first) : open;
        if (values[k])
            throw AttrError(op, std::string(what) + " " + specs[k].name + " is given twice");
        values[k] = named ? assignment(op, text).second : text;
    }
    return values;
}

Shape shape_from(const std::string &op, const std::string &text) {
    Shape s;
    if (text == "scalar") return s;
    for (auto &w : split(text, 'x')) {
        if (w.empty() || w.size() > 12 ||
            !std::all_of(w.begin(), w.end(), [](unsigned char c) { return std::isdigit(c); }))
            throw ShapeError(op, "shape '" + text + "', expected extents such as 2x3x8x8");
        s.push_back(std::stoll(w));
    }
    if (s.empty() || text.back() == 'x')
        throw ShapeError(op, "shape '" + text + "', expected extents such as 2x3x8x8, or scalar");
    checked_elements(op.c_str(), s);
    return s;
}

std::string dtype_set(const OpRecord &op, const std::string &given) {
    if (given.empty()) return op.dtypes.empty() ? "f32" : op.dtypes[0];
    std::string all;
    for (auto &d : op.dtypes) {
        if (d == given || d.starts_with(given + ",")) return d;
        all += (all.empty() ? "" : " ") + d;
    }
    throw DTypeError(op.name, "no kernels for " + given + ", there are " + all);
}

std::vector<DType> dtypes_from(const RegisteredOp &op, const std::string &set) {
    const std::vector<std::string> bound = split(dtype_set(op.record, set), ',');
    std::map<std::string, DType> variables;
    std::vector<DType> dtypes;
    for (auto *list : {&op.signature.inputs, &op.signature.outputs}) {
        for (auto &t : *list) {
            if (is_type_variable(t.dtype) && !variables.count(t.dtype))
                variables[t.dtype] = dtype_of(bound[std::min(variables.size(), bound.size() - 1)]);
            dtypes.push_back(is_type_variable(t.dtype) ? variables[t.dtype] : dtype_of(t.dtype));
        }
    }
    return dtypes;
}

std::vector<size_t> differentiable_inputs(const RegisteredOp &op) {
    if (op.signature.outputs[0].name.ends_with("_out")) return {};  // in place: never on a tape
    const bool composite = op.record.form == Form::composite;
    const std::vector<Adjoint> adjoints = composite ? std::vector<Adjoint>() : adjoints_of(op);
    std::vector<size_t> places;
    for (size_t k = 0; k < op.signature.inputs.size(); k++)
        if (composite || adjoints[k].op || adjoints[k].compose) places.push_back(k);
    return places;
}

bool is_gpu(const std::string &device) {
    return device == "opencl" || device == "cuda";
}

namespace {

// Returns the names of the op's variants on a device, best first. An op without variants has one
// called "".
std::vector<std::string> variants_on(const OpRecord &op, const std::string &device) {
    if (is_gpu(device) && !op.variants.empty()) return gpu::variants(op);
    std::vector<std::string> names;
    for (const VariantSpec &v : op.variants)
        names.push_back(v.name);
    return names;
}

}  // namespace

std::string variant_called(const OpRecord &op, const std::string &variant,
                           const std::string &device) {
    if (variant.empty()) return "";
    std::string present = present_variant_name(op.name, variant);
    const std::vector<std::string> all = variants_on(op, device);
    if (std::ranges::find(all, present) != all.end()) return present;
    const bool only_unnamed = all.empty() || all == std::vector<std::string>{""};
    const std::string where = device == "cpu" || device.empty() ? "" : " on " + device;
    throw AttrError(op.name, "no variant '" + variant + "'" + where + ", there " +
                                 (only_unnamed      ? "is only one, without a name"
                                  : all.size() == 1 ? "is only " + all[0]
                                                    : "are " + join(all)));
}

std::vector<std::string> variants_to_time(const OpRecord &op, const std::string &variant,
                                          const std::string &gpu) {
    if (variant.empty() && !op.gpu_variants.empty()) return variants_on(op, gpu);
    return {variant_called(op, variant, gpu)};
}

const RegisteredOp &op_with_kernels(const std::string &name) {
    if (variadic_op(name))
        throw DispatchError(name, "has no kernels of its own: it is made of views and copies");
    const RegisteredOp &op = library().at(name);
    if (op.record.form == Form::composite)
        throw DispatchError(name, "has no kernels of its own: it is composed of other ops");
    return op;
}

namespace {

// Returns the highest level that may be used on this CPU and that has a kernel.
Isa best_built() {
    const Isa limit = active_isa();
    Isa best = Isa::baseline;
    for (const RegisteredOp *op : library().ops()) {
        for (const KernelEntry &k : op->kernels)
            if (k.backend == "cpu" && k.isa <= limit) best = std::max(best, k.isa);
    }
    return best;
}

}  // namespace

Target::Target(const std::string &device_name, const std::string &isa, const std::string &variant) {
    if (!device_name.empty()) set_device(device_name);
    const std::string &backend = device();
    if (backend != "cpu" && !isa.empty())
        throw DispatchError("isa", isa + " is a level of the CPU, the device is " + backend);
    const Isa level = isa.empty() ? best_built() : isa_of(isa);
    if (!host_runs(level)) {
        throw DispatchError("isa",
                            isa + " was asked for, this CPU has up to " + name_of(host_isa()));
    }
    if (!isa.empty() || !variant.empty()) force_.emplace(level, variant, backend);
}

}  // namespace halyard::bench

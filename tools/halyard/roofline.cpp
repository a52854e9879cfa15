#include "tools/halyard/roofline.h"

#include <cstdio>
#include <filesystem>

#include "dsl/all_ops.h"
#include "dsl/kernel.h"

namespace halyard::command {

const roofs::Roofs &machine_roofs(bool again) {
    static roofs::Roofs r;
    if (!again && !r.machine.empty()) return r;
    bool measured = false;
    r = roofs::of_this_machine(std::filesystem::path(kernel_cache()).parent_path(), again, [&](const std::string &what) {
        std::fprintf(stderr, "\33[2K\rmeasuring this machine's roofs: %s ...", what.c_str());
        measured = true;
    });
    if (measured) std::fprintf(stderr, "\33[2K\r");
    return r;
}

Roofline::Roofline(const Trial &t, const std::vector<Tensor> &outputs, bool cold) : trial_(t), cold_(cold) {
    if (op_table().names().empty()) list_all_ops(op_table());
    plain_ = work_of(op_table(), t.op.record.name, t.dims);
    const auto bytes = [](const Tensor &x, const std::map<std::string, int64_t> &elements, const std::string &name) {
        return (double)std::min(elements.at(name), x.elements()) * (double)bytes_of(x.dtype());  // a broadcast operand has fewer than the problem
    };
    for (size_t k = 0; k < t.in.size(); k++) read_ += bytes(t.in[k], plain_.read, t.op.signature.inputs[k].name), held_ += (double)t.in[k].bytes();
    for (size_t k = 0; k < outputs.size(); k++)
        written_ += bytes(outputs[k], plain_.written, t.op.signature.outputs[k].name), held_ += (double)outputs[k].bytes();
}

roofs::Bound Roofline::bound(const std::string &variant, Isa isa, int lanes, int threads) const {
    const roofs::Roofs &r = machine_roofs();
    double operations = this->operations();
    const OpPtr op = op_table().make(trial_.op.record.name);
    if (!variant.empty() && variant != op->variants.back().name) operations = (double)work_of(*op, trial_.dims, variant, lanes).operations();
    const DType arithmetic = !trial_.in.empty() && trial_.in[0].dtype() == DType::f64 ? DType::f64 : DType::f32;
    const roofs::Level &level = cold_ ? r.memory(threads) : r.level(threads, (int64_t)held_);
    return roofs::bound_of(operations, read_, written_, level, r.peak(threads, isa, arithmetic), std::string(name_of(arithmetic)) + " " + name_of(isa));
}

}  // namespace halyard::command

#include "nn/amp.h"

#include <algorithm>

#include "primitives/context.h"
#include "primitives/ops/cast.h"
#include "registry/base/error.h"

namespace halyard::nn {
namespace {

bool is_in(const std::vector<std::string> &list, const Cell &cell) {
    return std::find(list.begin(), list.end(), cell.cls_name()) != list.end();
}

std::vector<Tensor> in_f32(Tensors outputs) {
    std::vector<Tensor> all;
    for (const Tensor &y : outputs) {
        const bool narrow = y.defined() && (y.dtype() == DType::f16 || y.dtype() == DType::bf16);
        all.push_back(narrow ? F::cast(y, DType::f32) : y);
    }
    return all;
}

void return_f32(const Cell &cell) {
    cell.register_forward_hook(
        [](const Cell &, Tensors, Tensors outputs) { return in_f32(outputs); });
}

void narrow_products(const Cell &network, DType dtype) {
    for (const auto &[name, cell] : network.cells_and_names()) {
        if (!is_in(amp_white_list(), cell)) continue;
        cell.to_float(dtype);
        return_f32(cell);
    }
}

void narrow_all(const Cell &network, DType dtype, bool keep_norms) {
    network.to_float(dtype);
    return_f32(network);
    if (!keep_norms) return;
    for (const auto &[name, cell] : network.cells_and_names())
        if (is_in(amp_black_list(), cell)) cell.to_float(DType::f32);
}

}  // namespace

const std::vector<std::string> &amp_white_list() {
    static const std::vector<std::string> all = {
        "Dense",           "Conv1d",          "Conv2d",  "Conv3d",  "Conv1dTranspose",
        "Conv2dTranspose", "Conv3dTranspose", "RNNCell", "GRUCell", "LSTMCell"};
    return all;
}

const std::vector<std::string> &amp_black_list() {
    static const std::vector<std::string> all = {"BatchNorm1d", "BatchNorm2d", "BatchNorm3d",
                                                 "LayerNorm"};
    return all;
}

std::string resolved_amp_level(const std::string &level) {
    if (level == "O0" || level == "O1" || level == "O2" || level == "O3") return level;
    if (level != "auto")
        throw AttrError("amp", "level is '" + level + "', expected O0, O1, O2, O3 or auto");
    const std::string target = get_context().device_target;
    return target.starts_with("Ascend") ? "O3" : target == "GPU" ? "O2" : "O0";
}

void auto_mixed_precision(const Cell &network, const std::string &level,
                          std::optional<bool> keep_batchnorm_fp32, DType dtype) {
    if (dtype != DType::f16 && dtype != DType::bf16) {
        throw DTypeError("amp",
                         std::string("dtype is ") + name_of(dtype) + ", expected f16 or bf16");
    }
    const std::string resolved = resolved_amp_level(level);
    const bool narrows_norms = resolved == "O2" || resolved == "O3";
    if (keep_batchnorm_fp32 && !narrows_norms) {
        throw AttrError("amp", "keep_batchnorm_fp32 is given at level " + resolved +
                                   ", which leaves norms in f32 anyhow; expected O2 or O3");
    }
    if (resolved == "O1") narrow_products(network, dtype);
    if (narrows_norms) narrow_all(network, dtype, keep_batchnorm_fp32.value_or(resolved == "O2"));
}

}  // namespace halyard::nn

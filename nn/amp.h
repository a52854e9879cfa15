// Automatic mixed precision: MindSpore's levels choose the cells of a network that compute in 16
// bits. At every level the network returns f32.
//
//   O0    No cell does.
//   O1    Cells that multiply matrices do (amp_white_list()); each returns f32.
//   O2    All cells do but norms, whose statistics need f32 (amp_black_list()).
//   O3    All cells do.
//   auto  The context's device_target chooses: O3 for "Ascend", O2 for "GPU", O0 for "CPU".
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "nn/cell.h"

namespace halyard::nn {

// Both return names of classes, as Cell::cls_name() does.
const std::vector<std::string> &amp_white_list();
const std::vector<std::string> &amp_black_list();

// Returns the level that `level` stands for on the context's device: "auto" becomes "O0", "O2" or
// "O3". Throws AttrError if it is not a level.
std::string resolved_amp_level(const std::string &level);

// Calls to_float() of the network's cells. It is called once, before training. keep_batchnorm_fp32
// overrides whether the cells of the black list stay in f32 (O2: yes, O3: no). Throws AttrError if
// `level` is not a level or if keep_batchnorm_fp32 is given at O0 or O1, where norms always stay in
// f32; DTypeError unless dtype is f16 or bf16.
void auto_mixed_precision(const Cell &network, const std::string &level,
                          std::optional<bool> keep_batchnorm_fp32 = {}, DType dtype = DType::f16);

}  // namespace halyard::nn

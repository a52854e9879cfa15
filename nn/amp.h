// Automatic mixed precision: which cells of a network compute in 16 bits, by MindSpore's levels.
//
//   O0  none of them.
//   O1  those whose work is products (amp_white_list()); what they return is f32 again.
//   O2  all but norms whose statistics want f32 (amp_black_list()); what the network returns is
//   f32. O3  all of them; what the network returns is f32. auto  the level of the context's
//   device_target: O3 for "Ascend", O2 for "GPU", O0 for "CPU".
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "nn/cell.h"

namespace halyard::nn {

// Names of classes, as cls_name() says them.
const std::vector<std::string> &amp_white_list();
const std::vector<std::string> &amp_black_list();

// "O2" for "auto" on a GPU, any other level as it is. Throws AttrError for what is no level.
std::string resolved_amp_level(const std::string &level);

// Calls to_float() of the network's cells, once, before it is trained. keep_batchnorm_fp32
// overrides whether O2 (yes) and O3 (no) leave out the cells of the black list. Throws AttrError
// for what is no level, and for keep_batchnorm_fp32 at O0 and O1, which leave norms in f32 anyhow;
// DTypeError for a dtype that is neither f16 nor bf16.
void auto_mixed_precision(const Cell &network, const std::string &level,
                          std::optional<bool> keep_batchnorm_fp32 = {}, DType dtype = DType::f16);

}  // namespace halyard::nn

// Sets of dtypes that are common to several ops.
#pragma once
#include <string>
#include <vector>

namespace halyard {

inline const std::vector<std::string> all_dtypes = {"f32", "f16", "bf16", "f64", "i64",
                                                    "i32", "i8",  "u8",   "bool"};

}  // namespace halyard

// Proof of the programs of convolutions: which elements of x and of the filters each mmad
// multiplies, and where each sum goes.
//
// A program runs with the number of its element in place of every value, so moves, transposes and
// load3d show what arrives where, and each product of an mmad is compared with the convolution's
// definition. Of large programs not every block runs: the first and the last one, then those
// between, as long as fewer than `max_elements` have been looked at, and of products no more than
// a quarter of that in one block.
#pragma once
#include "dsl/ascend/convolution/convolution.h"
#include "dsl/ascend/convolution/dilate.h"

namespace halyard::ascend {

inline constexpr int64_t max_elements = 1 << 19;

// `p` as it was written, without places. Each throws Error, which names the element, where the
// program isn't what it should be.
void prove(const dv::Program &p, const Filters &f);
void prove(const dv::Program &p, const Dilation &d);
void prove(const dv::Program &p, const Correlation &c, const CorrelationTensors &t);
void prove_taps(const dv::Program &p, const Correlation &c, const std::string &image,
                const std::string &dout, const std::string &dfilters);

}  // namespace halyard::ascend

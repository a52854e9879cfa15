// Proofs of the programs of convolutions: the elements of x and of the filters that each mmad
// multiplies, and the element to which each sum is stored.
//
// A program runs with the numbers of elements instead of their values, so moves, transposes and
// load3d show which element arrives where, and each product of an mmad is compared with the
// definition of the convolution. Of large programs not all blocks run: the first and the last one,
// then those halfway between, as long as fewer than `max_elements` elements have been checked; of
// the products of one block no more than a quarter of that.
#pragma once
#include "dsl/ascend/convolution/convolution.h"
#include "dsl/ascend/convolution/dilate.h"

namespace halyard::ascend {

inline constexpr int64_t max_elements = 1 << 19;

// Prove programs without addresses. They throw Error, which names the element, if a program doesn't
// compute what it should.
void prove(const dv::Program &p, const Filters &f);
void prove(const dv::Program &p, const Dilation &d);
void prove(const dv::Program &p, const Correlation &c, const CorrelationTensors &t);
void prove_taps(const dv::Program &p, const Correlation &c, const std::string &image,
                const std::string &dout, const std::string &dfilters);

}  // namespace halyard::ascend

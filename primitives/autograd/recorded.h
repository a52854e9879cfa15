// How a composition that moves elements tells the tape to pass gradients back.
#pragma once
#include <utility>

#include "primitives/autograd/tape.h"

namespace halyard {

// Remembers that y was made of x alone; `back` maps dy to dx.
template<class Back> Tensor recorded(const Tensor &x, Tensor y, Back back) {
    if (Tape *tape = Tape::current(); tape && is_float(x.dtype())) {
        tape->record({x}, {y}, [back = std::move(back)](std::span<const Tensor> dy) {
            return std::vector<Tensor>{back(dy[0])};
        });
    }
    return y;
}

}  // namespace halyard

// Roofline: what a problem costs at least on this machine, from the work counted in the op's definitions and the measured roofs.
#pragma once
#include "dsl/work.h"
#include "tools/halyard/trial.h"
#include "tools/roofs/roofs.h"

namespace halyard::command {

// Those of this machine, from the cache; measured now, with a note on standard error, when there are none or `again`.
const roofs::Roofs &machine_roofs(bool again = false);

class Roofline {
public:
    // `outputs`: of the trial's call. `cold`: its tensors come from memory.
    Roofline(const Trial &t, const std::vector<Tensor> &outputs, bool cold = false);

    // Of the op as its plainest variant states it; elements that are touched at least once, in bytes.
    double operations() const { return (double)plain_.operations(); }
    double bytes() const { return read_ + written_; }
    const Work &work() const { return plain_; }

    // The least time of a variant's own operations on an ISA, or of the bytes that every kernel has to move. An empty variant is the
    // plainest one.
    roofs::Bound bound(const std::string &variant, Isa isa, int lanes, int threads) const;

private:
    const Trial &trial_;
    Work plain_;
    double read_ = 0, written_ = 0, held_ = 0;  // bytes: touched, and of the tensors as they lie
    bool cold_;
};

}  // namespace halyard::command

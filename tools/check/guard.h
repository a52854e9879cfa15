// Guard pages: the tensors of a call in memory of their own, next to pages that can't be accessed.
//
// A read or write outside faults, in any thread. The handler records the fault and opens the page,
// and the kernel continues, so that one finding doesn't hide others. Masked lanes of a vector
// access don't fault, because they aren't accessed.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "dsl/op.h"
#include "registry/tensor/tensor.h"

namespace halyard::check {

struct GuardedPages;  // one piece of memory between two guards

class Guards {
public:
    // after: tensors end where the guard begins, which fixes their alignment. before: they begin
    // where a guard ends, at most as far from a multiple of 64 bytes as they were.
    enum Side { after, before };
    explicit Guards(Side side) : side_(side) {}
    ~Guards();
    Guards(const Guards &) = delete;
    Guards &operator=(const Guards &) = delete;

    // Replaces tensors by views of guarded copies; tensors that shared memory share it again. The
    // views are invalid after this object's end. Throws MemoryError.
    void move(const Op &op, std::span<Tensor> inputs, std::span<Tensor> outputs);
    // Returns the first violation: "it reads past the end of input x (byte 4 after it)"; "" if
    // there is none.
    std::string finding() const;

private:
    Side side_;
    std::vector<GuardedPages *> pages_;
    std::vector<std::string> names_;  // of the tensors in each
};

}  // namespace halyard::check

// Guard pages: a call's tensors in memory of their own, flush against pages that nobody may touch.
//
// A read or write outside faults, in whatever thread it happens. The fault is noted, its page
// opened, and the kernel goes on, so that one finding doesn't cost the others. Masked lanes of a
// vector access don't fault, and shouldn't: they aren't read.
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
    // After: tensors end where the guard begins, and their alignment is what that makes of it.
    // Before: they begin where a guard ends, as far from a multiple of 64 bytes as they were, at
    // most.
    enum Side { after, before };
    explicit Guards(Side side) : side_(side) {}
    ~Guards();
    Guards(const Guards &) = delete;
    Guards &operator=(const Guards &) = delete;

    // Puts views of copies in their places; what shared memory shares it again. They must not be
    // used when this object is gone. Throws MemoryError.
    void move(const Op &op, std::span<Tensor> inputs, std::span<Tensor> outputs);
    // What went wrong since, "" for nothing: "it reads past the end of input x (byte 4 after it)".
    std::string finding() const;

private:
    Side side_;
    std::vector<GuardedPages *> pages_;
    std::vector<std::string> names_;  // of the tensors in each
};

}  // namespace halyard::check

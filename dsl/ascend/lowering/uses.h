// Uses of the buffers on the chip: their number of readers, and buffers whose memory they can
// reuse. They are derived from Halide's statement before its instructions are emitted.
#pragma once
#include <map>
#include <optional>
#include <string>

#include "Halide.h"

namespace halyard::ascend {

// Returns true for a loop that a schedule keeps, for example "y.s0.n.tile_n".
bool is_tile_loop(const std::string &halide_name);

class Uses {
public:
    struct Buffer {
        // The number of stores that read it, if each of them is lowered once in its lifetime.
        std::optional<int64_t> readers;
        // The buffer whose memory it reuses: the store that writes this one is the last to read the
        // other one, at the same indices.
        std::string reused;
    };
    // Adds an allocation, in the order of the statement. A buffer that is `only_loaded` from global
    // memory has two slots, and no other buffer reuses its memory.
    Buffer add(const Halide::Internal::Allocate *op, bool only_loaded);

private:
    // Statements that lowering makes, as that of a peeled iteration, don't outlive it, so these
    // handles keep them.
    struct Last {
        Halide::Internal::Stmt reader;
        Halide::Internal::Stmt of;
    };
    std::map<std::string, Last> last_;
    static bool can_reuse(const Halide::Internal::Allocate *op,
                          const Halide::Internal::Store *writer, const Last &other);
};

}  // namespace halyard::ascend

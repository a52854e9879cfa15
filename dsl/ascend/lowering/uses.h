// How long stages on the chip are needed: what the statement says of a buffer before its
// instructions are written.
#pragma once
#include <map>
#include <optional>
#include <string>

#include "Halide.h"

namespace halyard::ascend {

// "y.s0.n.tile_n": a loop that a schedule wants to stay one.
bool is_tile_loop(const std::string &halide_name);

// Told every allocation on the way into the statement.
class Uses {
public:
    struct Buffer {
        // stores that read it, where each of them is written once in its life
        std::optional<int64_t> readers;
        // the buffer whose place it takes: read for the last time where this one is written, at the
        // same indices
        std::string place_of;
    };
    // `only_loaded`: it arrives from global memory in two slots, and no other buffer takes its
    // place.
    Buffer meet(const Halide::Internal::Allocate *op, bool only_loaded);

private:
    struct Last {
        const Halide::Internal::Store *reader;
        const Halide::Internal::Allocate *of;
    };
    std::map<std::string, Last> last_;
    static bool takes_place(const Halide::Internal::Allocate *op,
                            const Halide::Internal::Store *writer, const Last &other);
};

}  // namespace halyard::ascend

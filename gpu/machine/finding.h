// What the machine finds wrong in a kernel, and where.
#pragma once
#include <array>
#include <cstdint>
#include <string>

namespace halyard::ptx {

using Index3 = std::array<uint32_t, 3>;  // x, y, z

enum class Fault : uint8_t {
    out_of_bounds,      // an access outside of every buffer, or beyond the end of one
    uninitialised,      // a read of bytes that nobody has written
    misaligned,         // an address that is no multiple of the access's size
    race,               // two threads access a byte without a barrier between, and one writes
    divergent_barrier,  // a barrier that not every thread of the block reaches
    endless,            // more instructions than a launch may execute
};

struct Finding {
    Fault fault = Fault::race;
    std::string kernel, instruction;  // the entry, and the opcode
    int line = 0;                     // in the module's text
    Index3 block{}, thread{};         // the first that it was found in
    std::string what;                 // "4 bytes at 4096 of parameter 1, which has 4096"
    uint64_t times = 1;               // of this fault in this instruction
};

const char *name_of(Fault f);  // "race"
// Returns "race in KERNEL, line 12 (st.global.f32), block (0,0,0), thread (3,0,0): what".
std::string text_of(const Finding &f);

// Returns true if a GPU stops at this fault. The others go unnoticed there.
inline bool ends_launch(Fault f) {
    return f != Fault::race && f != Fault::uninitialised;
}

}  // namespace halyard::ptx

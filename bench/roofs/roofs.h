// Roofs: the measured limits of this machine: multiply-adds for each ISA and dtype, and bytes for
// each cache level and memory.
//
// A roof is the best of several tries that do only this, with ordinary loads and stores, as
// compiled kernels use them (streams.h, peaks.h). A kernel takes at least the time of its
// operations at the peak, and at least the time of its bytes at the level that holds all of them.
#pragma once
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "registry/op/op_record.h"
#include "registry/tensor/dtype.h"

namespace halyard::roofs {

struct Level {
    int threads = 1;
    std::string name;  // "L1", "L2", "L3", "memory"
    // The bytes that it holds for that many threads; INT64_MAX for memory.
    int64_t capacity = 0;
    double read = 0, write = 0, copy = 0, add = 0;  // bytes per second, of all streams together
    // A copy that doesn't read what it overwrites: by non-temporal stores or by memcpy.
    double bypass = 0;
};
struct Peak {
    int threads = 1;
    Isa isa = Isa::baseline;
    // f16 and bf16: each operand is converted to f32 before its multiplication.
    DType dtype = DType::f32;
    double rate = 0;  // operations per second, two for each multiply-add
};

// The work of a call.
struct Demand {
    double operations = 0, read = 0, written = 0;  // read, written: bytes
    // Bytes of all its tensors; INT64_MAX if no cache holds any of them.
    int64_t held = 0;
    // f16 and bf16 compute in f32; integers count as f32.
    DType dtype = DType::f32;
};
// The least time of a demand, and what sets it. Without a measured roof it is 0 seconds and `by` is
// empty.
struct Bound {
    double seconds = 0;
    std::string by;  // "L2", "f32 avx512"
};

struct Roofs {
    std::string machine;  // the key: processor, cores, ISA, version of the kit
    double load = 0;      // the load average when they were measured
    std::vector<Level> levels;
    std::vector<Peak> peaks;
    // A line for each level that could not be measured, with the reason.
    std::vector<std::string> unmeasured;

    // Returns the smallest level that holds `bytes` with `threads` threads, or null if none was
    // measured. Without a measurement for `threads` it takes the next larger number, or the
    // largest.
    const Level *level(int threads, int64_t bytes) const;
    // Returns operations per second, or 0 if they weren't measured.
    double peak(int threads, Isa isa, DType dtype) const;

    // Returns the longer of two times: that of the operations at the peak, and that of the bytes at
    // the level that holds everything. A smaller level may have kept as many of the bytes as it
    // holds.
    Bound bound(const Demand &d, int threads, Isa isa) const;
};

// Returns the key of this machine's roofs: processor, cores, ISA and version of the kit.
std::string machine_key();
double load_average();  // of the last minute; 0 if it isn't known

using Progress = std::function<void(const std::string &)>;  // called with what is measured next

// Measures all roofs, which takes a few seconds. Leaves the pool with the threads it had. Cache
// sizes are read below `root`, which tests replace. A level that can't be measured, because there
// is too little memory for a working set beyond the caches, is in `unmeasured`.
Roofs measure(const Progress &progress, const std::filesystem::path &root = "/");

// The roofs as a text file, one a line. load() returns false if there is no file, if it is damaged
// or if it is another machine's.
void save(const Roofs &r, const std::string &path);  // throws IoError
bool load(Roofs &r, const std::string &path);

// Returns this machine's roofs from their file in `folder`. Measures and saves them if there is
// none, or if `remeasure`.
Roofs of_this_machine(const std::string &folder, bool remeasure, const Progress &progress);

}  // namespace halyard::roofs

// Roofs: what this machine can do at most, measured: multiply-adds of each ISA and dtype, and bytes
// of each cache level and memory.
//
// A roof is the best of some tries to do nothing but that, with ordinary loads and stores, which
// are what compiled kernels have (streams.h, peaks.h). A kernel's time is at least that of its
// operations at the peak, and that of its bytes at the level that holds all of them.
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
    // bytes that it holds for so many threads; of memory INT64_MAX
    int64_t capacity = 0;
    double read = 0, write = 0, copy = 0, add = 0;  // bytes per second, of all streams together
    // copy without reading what is overwritten: by stores that go past the caches, or by memcpy
    double bypass = 0;
};
struct Peak {
    int threads = 1;
    Isa isa = Isa::baseline;
    // f16 and bf16: each operand is converted to f32 before its multiplication
    DType dtype = DType::f32;
    double rate = 0;  // operations per second, two for each multiply-add
};

// What something has to do at least.
struct Demand {
    double operations = 0, read = 0, written = 0;  // bytes
    // bytes of all its tensors; INT64_MAX: no cache has any of them
    int64_t held = 0;
    // f16 and bf16 compute in f32, integers count as f32
    DType dtype = DType::f32;
};
// The least time of that, and what sets it; 0 seconds by nothing where the roof that it takes could
// not be measured.
struct Bound {
    double seconds = 0;
    std::string by;  // "L2", "f32 avx512"
};

struct Roofs {
    std::string machine;  // the key: processor, cores, ISA, version of the kit
    double load = 0;      // the load average when they were measured
    std::vector<Level> levels;
    std::vector<Peak> peaks;
    // a line for each level that could not be measured, with the reason
    std::vector<std::string> unmeasured;

    // Those of `threads`, or of the next larger number that was measured; beyond, those of all
    // cores. the smallest that holds so many; null where none was measured
    const Level *level(int threads, int64_t bytes) const;
    // operations per second; 0 where it wasn't measured
    double peak(int threads, Isa isa, DType dtype) const;

    // Operations take their time at the peak, bytes theirs in the level that holds everything; but
    // a smaller level may have kept as many of them as it holds. The longer of the two binds.
    Bound bound(const Demand &d, int threads, Isa isa) const;
};

std::string machine_key();
double load_average();  // of the last minute; 0 where it isn't known

using Progress = std::function<void(const std::string &)>;  // told what comes next

// Takes a few seconds. Leaves the pool with the threads it had. What the caches hold is read below
// `root`, which is "/" but in tests. A level that cannot be measured, because there is too little
// memory to leave its caches, is listed as unmeasured.
Roofs measure(const Progress &progress, const std::filesystem::path &root = "/");

// A text file, a line per roof. load() gives nothing when there is none or it is another machine's;
// a damaged one counts as none.
void save(const Roofs &r, const std::string &path);  // throws IoError
bool load(Roofs &r, const std::string &path);

// From the file in `folder` that belongs to this machine; measured and kept there when there is
// none.
Roofs of_this_machine(const std::string &folder, bool remeasure, const Progress &progress);

}  // namespace halyard::roofs

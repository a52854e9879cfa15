// The project that `halyard export` writes: a library of some ops for a host, with its build and
// its test.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "registry/base/temporary_folder.h"
#include "tools/c99/target.h"
#include "tools/export/selection.h"

namespace halyard::exporting {

struct Written {
    size_t kernels = 0, samples = 0;
    std::string isas;  // "baseline, avx2, avx512"
};

enum class Host : uint8_t { c, c99, mindspore, onnxruntime, torch };

// Returns the host of a name of --for. Throws AttrError if there is none in this version.
Host host_of(const std::string &name);

using c99::Target;

struct Project {
    std::filesystem::path folder;
    std::string name;  // of the library: its CMake target, and its domain or namespace in a host
    Host host = Host::c;
    std::string python;           // the interpreter that has the host
    Target target = Target::x86;  // of C99; x86 is the machine's own compiler
    // Of a library for C that runs a graph, too: "run" for NAME_run(), and so on.
    std::vector<std::string> step_functions = {};
};

// Throws AttrError unless the project's name can name the library; IoError unless the folder is
// empty or missing.
void check_place(const Project &project);

// Writes a file, and the folders that it stands in.
void write_text(const std::filesystem::path &path, const std::string &text);

// The kernels of a library, compiled or taken from the kernel cache.
class KernelArchive {
public:
    // Makes `jobs` kernels at a time. A program that has made no op before finds what the build
    // compiled: making one advances the counters of Halide's names, which are part of a kernel's
    // key in the cache. Throws if a kernel fails.
    KernelArchive(const std::vector<KernelEntry> &kernels, size_t jobs);
    std::filesystem::path path() const { return folder_.path / "kernels.a"; }

private:
    TemporaryFolder folder_;
};

// Writes the project, with the archive of kernels_of(selection).
Written write_project(const Project &project, const Selection &selection,
                      const KernelArchive &archive);

}  // namespace halyard::exporting

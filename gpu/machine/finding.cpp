#include "gpu/machine/finding.h"

namespace halyard::ptx {
namespace {

std::string text_of(const Index3 &i) {
    return "(" + std::to_string(i[0]) + "," + std::to_string(i[1]) + "," + std::to_string(i[2]) +
           ")";
}

}  // namespace

const char *name_of(Fault f) {
    switch (f) {
    case Fault::out_of_bounds: return "access out of bounds";
    case Fault::uninitialised: return "uninitialised read";
    case Fault::misaligned: return "misaligned access";
    case Fault::race: return "race";
    case Fault::divergent_barrier: return "divergent barrier";
    case Fault::endless: return "endless kernel";
    }
    return "";
}

std::string text_of(const Finding &f) {
    const std::string more = f.times > 1 ? " (" + std::to_string(f.times) + " times)" : "";
    return std::string(name_of(f.fault)) + " in " + f.kernel + ", line " + std::to_string(f.line) +
           " (" + f.instruction + "), block " + text_of(f.block) + ", thread " + text_of(f.thread) +
           ": " + f.what + more;
}

}  // namespace halyard::ptx

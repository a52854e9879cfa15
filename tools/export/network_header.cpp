#include "tools/export/network_header.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "registry/base/version.h"

namespace halyard::exporting {
namespace {

using c99::CallSource;
using c99::Parameter;

std::string upper(std::string s) {
    std::ranges::transform(s, s.begin(), [](unsigned char c) { return std::toupper(c); });
    return s;
}

std::string extents_of(const Shape &shape) {
    std::string s;
    for (int d = 0; d < shape.rank(); d++)
        s += (d ? ", " : "") + std::to_string(shape[d]);
    return s;
}

}  // namespace

std::string tensors_of(const CallSource &call) {
    std::string s;
    bool had_output = false;
    for (const Parameter &p : call.parameters) {
        if (p.is_output && !std::exchange(had_output, true)) s += " ->";
        s += (s.empty() ? "" : " ") + p.name + p.shape.text() + ":" + name_of(p.dtype);
    }
    return s;
}

std::string header_of(const Project &project, const std::string &network, const CallSource &call,
                      const std::vector<Define> &more) {
    const std::string macro = upper(project.name);
    const auto define = [&](const std::string &name, const std::string &value) {
        return "#define " + macro + "_" + name + " " + value + "\n";
    };
    std::string s = "/* The network " + network + ", exported by Halyard " +
                    std::string(version()) + ":\n *     " + tensors_of(call) +
                    "\n * Tensors are dense, the last dimension innermost. Results don't overlap "
                    "inputs. The\n * function uses static memory: call it on one thread at a time. "
                    "*/\n#ifndef " +
                    macro + "_H\n#define " + macro + "_H\n\n#include <stdint.h>\n\n";
    for (const Parameter &p : call.parameters) {
        s += define(upper(p.name) + "_RANK", std::to_string(p.shape.rank()));
        s += define(upper(p.name) + "_SHAPE", "{" + extents_of(p.shape) + "}");
        s += define(upper(p.name) + "_ELEMENTS", std::to_string(p.shape.elements()));
    }
    for (const Define &d : more)
        s += define(d.name, d.value);
    s += define("ARENA_BYTES", std::to_string(call.arena_bytes) + " /* static memory */");
    s += define("CONSTANT_BYTES", std::to_string(call.constant_bytes) + " /* weights */");
    return s + "\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n" + c99::prototype_of(call) +
           ";\n\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n";
}

}  // namespace halyard::exporting

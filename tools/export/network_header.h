// The header of an exported network.
#pragma once
#include <string>
#include <vector>

#include "tools/c99/call_source.h"
#include "tools/export/project.h"

namespace halyard::exporting {

// A macro of the header: its name after the project's, and its value.
struct Define {
    std::string name, value;
};

// Returns "x[1,1,32,32]:f32 -> y[1,10]:f32".
std::string tensors_of(const c99::CallSource &call);

// Returns the header: shapes, bytes, `more` and the function.
std::string header_of(const Project &project, const std::string &network,
                      const c99::CallSource &call, const std::vector<Define> &more = {});

}  // namespace halyard::exporting

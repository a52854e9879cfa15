// Stale records: of an op that computes something else by now, or is gone.
#pragma once
#include "tools/tune/record.h"

namespace halyard::tune {

// The record files that come with the kit: share/halyard/records beside the command's own folder.
std::vector<std::string> committed_files();

// A line for each record of `op` ("" = of any op) that doesn't fit what op_table() has:
// "kernels.records:12: stale: ...".
std::vector<std::string> stale_lines(const RecordFile &file, const std::string &op = "");

}  // namespace halyard::tune

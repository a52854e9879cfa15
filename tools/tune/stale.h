// Stale records: those of an op whose algorithm has changed, or that is gone.
#pragma once
#include "tools/tune/record.h"

namespace halyard::tune {

// Returns the record files of the kit: share/halyard/records.
std::vector<std::string> committed_files();

// Returns a line for each record of `op` ("" is any op) that doesn't match op_table():
// "kernels.records:12: stale: ...".
std::vector<std::string> stale_lines(const RecordFile &file, const std::string &op = "");

}  // namespace halyard::tune

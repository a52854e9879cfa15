// The page of `halyard report`, for subcommands that show what they saved.
#pragma once
#include <string>
#include <vector>

#include "tools/report/run_file.h"

namespace halyard::command {

// Reads the files and writes the page. Returns the runs as they are on the page. Throws IoError.
std::vector<report::Json> write_page(const std::vector<std::string> &files, const std::string &out,
                                     const std::string &title);

}  // namespace halyard::command

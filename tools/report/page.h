// The page of `halyard report`: one HTML file that contains its runs, scripts and styles, and loads
// nothing.
#pragma once
#include <string>
#include <vector>

#include "tools/report/run_file.h"

namespace halyard::report {

// Returns the page. `parts` is the folder of page.html, page.css, the scripts and Chart.js:
// share/halyard/report. Throws IoError.
std::string page_of(const std::string &title, const std::vector<Json> &runs,
                    const std::string &parts);

}  // namespace halyard::report

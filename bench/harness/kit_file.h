// Text files that come with the kit, beside the command: share/halyard/FOLDER/NAME.txt.
#pragma once
#include <fstream>
#include <string>
#include <vector>

namespace halyard::bench {

std::vector<std::string> kit_files(const std::string &folder);  // names, without ".txt", sorted

// One of them, or any other file. Throws IoError for what is neither; `what` it is: "set of
// shapes".
std::ifstream open_kit_file(const std::string &folder, const std::string &name,
                            const std::string &what);

std::string trimmed(const std::string &s);  // without blanks at its ends

}  // namespace halyard::bench

// Text files that are installed with the kit: share/halyard/FOLDER/NAME.txt.
#pragma once
#include <fstream>
#include <string>
#include <vector>

namespace halyard::bench {

std::vector<std::string> kit_files(const std::string &folder);  // names without ".txt", sorted

// Opens a file of the kit by its name, or any file by its path. Throws IoError if there is neither.
// `what` is the kind of file in the message: "set of shapes".
std::ifstream open_kit_file(const std::string &folder, const std::string &name,
                            const std::string &what);

std::string trimmed(const std::string &s);  // without blanks at its ends

}  // namespace halyard::bench

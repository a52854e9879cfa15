// The paths of this program and of the files installed with it.
#pragma once
#include <filesystem>

namespace halyard {

// Returns the file that this process runs. Without /proc it is the name by which the process was
// started. Throws IoError.
std::filesystem::path own_program();

// Returns `place` under the installation's root, the parent of the program's folder bin:
// installed("share/halyard/records").
std::filesystem::path installed(const std::filesystem::path &place);

}  // namespace halyard

// Where this program lies, and what was installed with it.
#pragma once
#include <filesystem>

namespace halyard {

// The file that this process runs. Where there is no /proc it is the one that the process was
// started as. Throws IoError.
std::filesystem::path own_program();

// `place` in the folder that the program's own, bin, is in: installed("share/halyard/records").
std::filesystem::path installed(const std::filesystem::path &place);

}  // namespace halyard

// Text files that the command fills in: pages, and the projects that it writes.
#pragma once
#include <filesystem>
#include <map>
#include <string>

namespace halyard {

// Returns the file's content. Throws IoError, which ends with `hint`, if it can't be read.
std::string text_of(const std::filesystem::path &path, const std::string &hint = "");

// Returns the text with every @WORD@ replaced, in one pass: replacements aren't searched again. The
// keys of `words` have both @.
std::string filled(const std::string &text, const std::map<std::string, std::string> &words);

}  // namespace halyard

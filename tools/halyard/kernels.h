// Ops from outside of the kit: --kernels LIBRARY.
#pragma once
#include <string>
#include <vector>

namespace halyard::command {

// Opens the library and adds its ops to library() and op_table(). Throws IoError where it doesn't
// fit (registry/dispatch/kernel_library.h) and Error where it has an op that exists already.
void load_kernels(const std::string &path);

const std::vector<std::string> &loaded_ops();        // of all libraries so far
const std::vector<std::string> &loaded_libraries();  // their paths, as they were given

// The options of a command that is to run again with the same libraries: " --kernels libmine.so",
// as a shell reads them.
std::string repro_kernel_options();
// in quotes, where a shell would make something else of it
std::string shell_word(const std::string &text);

}  // namespace halyard::command

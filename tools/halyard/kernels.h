// Loads ops from outside of the kit: --kernels LIBRARY.
#pragma once
#include <string>
#include <vector>

namespace halyard::command {

// Opens the library and adds its ops to library() and op_table(). Throws IoError if it doesn't fit
// this kit (registry/dispatch/kernel_library.h) and Error if it has an op that exists already.
void load_kernels(const std::string &path);

const std::vector<std::string> &loaded_ops();        // of all libraries so far
const std::vector<std::string> &loaded_libraries();  // their paths, as they were given

// Returns the options that load the same libraries again, quoted for a shell: " --kernels
// libmine.so".
std::string repro_kernel_options();
// Returns the text in quotes, if a shell would change it.
std::string shell_word(const std::string &text);

}  // namespace halyard::command

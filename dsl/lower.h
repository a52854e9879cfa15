// The stages of a kernel's compilation as text, from its loop nest to its assembly.
#pragma once
#include "dsl/kernel.h"

namespace halyard {

struct TextForm {
    std::string name;  // "asm"
    std::string doc;
    // The backends whose kernels have this form, the default first.
    std::vector<std::string> backends;
    // The beginning of a comment line; "" if the text must not begin with a comment.
    std::string comment;
};
// Returns all forms, from the loop nest on.
const std::vector<TextForm> &text_forms();

// Compiles as far as `form` needs, and returns the text. `scratch` is the path of a file that may
// be written, and is removed. Throws Error for what Halide rejects, and AttrError for an unknown
// form. A code generator may also abort: call this in a child process.
std::string text_of(Kernel &k, const std::string &form, const std::string &scratch);

}  // namespace halyard

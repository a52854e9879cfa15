// Lower: what a kernel is on its way to machine code, as text.
#pragma once
#include "dsl/kernel.h"

namespace halyard {

struct TextForm {
    std::string name;  // "asm"
    std::string doc;
    std::vector<std::string> backends;  // whose kernels have it, the default first
    // what starts a line of comment; "" where a text must not begin with one
    std::string comment;
};
const std::vector<TextForm> &text_forms();

// Compiles as far as `form` needs; `scratch` is a path that may be written and is gone afterwards.
// Throws Error with Halide's words, but a code generator that meets what it can't do may as well
// abort: call it in a child process.
std::string text_of(Kernel &k, const std::string &form, const std::string &scratch);

// Names without the counters that depend on what was compiled before: relu$3 -> relu, and t74, t75
// -> t0, t1. Names that only counters tell apart get one each, in the order in which they occur:
// sum, sum$1.
std::string without_counters(const std::string &text);

}  // namespace halyard

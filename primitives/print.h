// ops::Print and F::print_: print texts, numbers and tensors, each on a line, in MindSpore's
// format. They write to standard output, or to the file of set_context({.print_file_path = ...}).
#pragma once
#include <string>

#include "registry/tensor/tensor.h"

namespace halyard {

// Returns the text of a tensor:
//   Tensor(shape=[2, 1], dtype=Int32, value=
//   [[1],
//    [1]])
std::string printed(const Tensor &t);
inline std::string printed(const std::string &text) {
    return text;
}
inline std::string printed(bool v) {
    return v ? "True" : "False";
}
inline std::string printed(int v) {
    return std::to_string(v);
}
inline std::string printed(int64_t v) {
    return std::to_string(v);
}
std::string printed(double v);
inline std::string printed(const char *text) {
    return text;
}

// Writes lines; those of several threads don't mix. Throws IoError if the file can't be written.
void print_lines(const std::string &lines);

namespace ops {
struct Print {
    template<class... T> void operator()(const T &...values) const {
        print_lines(((printed(values) + "\n") + ... + std::string()));
    }
};
}  // namespace ops
namespace F {
template<class... T> void print_(const T &...values) {
    ops::Print()(values...);
}
}  // namespace F

}  // namespace halyard

// ops::Print and F::print_: words, numbers and tensors, one after the other, each on a line, as
// MindSpore prints them: to standard output, or to the file that set_context({.print_file_path =
// ...}) named, and then not to the screen.
#pragma once
#include <string>

#include "registry/tensor/tensor.h"

namespace halyard {

// Tensor(shape=[2, 1], dtype=Int32, value=
// [[1],
//  [1]])
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

// lines of several threads don't mix; throws IoError when the file can't be written
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

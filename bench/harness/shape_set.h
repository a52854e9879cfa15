// Shape sets: problems of whole networks, as text files: one problem per line, its op first.
//   conv2d n=1 c=64 h=56 w=56 o=64 u=3 v=3 pad_mode=same  # layer1.0.conv2
// In place of an op, `elementwise` and `reduction` mean every op of that form. The line `others
// samples` stands for the samples of every op with kernels that no line before it names.
#pragma once
#include <string>
#include <vector>

namespace halyard::bench {

struct ShapeLine {
    std::string op, problem, note;  // note: what follows '#'
};

// A file, or the name of a set that comes with the kit (bench/shapes). With `op` given, that op's
// lines only; the same problem stands there once, with its first note. Throws IoError for what is
// neither, naming the sets there are, for a line without a problem, and where no line is the op's.
std::vector<ShapeLine> shape_set(const std::string &name, const std::string &op = "");

std::vector<std::string> shape_set_names();

// One line of such a file; of an empty one, or a comment, without an op. Throws IoError, naming the
// file and the line's number.
ShapeLine shape_line(const std::string &file, int number, const std::string &text);

}  // namespace halyard::bench

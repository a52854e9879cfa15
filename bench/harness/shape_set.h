// Shape sets: problems of whole networks as text files, with one problem a line, its op first.
//   conv2d n=1 c=64 h=56 w=56 o=64 u=3 v=3 pad_mode=same  # layer1.0.conv2
// In place of an op, `elementwise` and `reduction` mean every op of that form. The line `others
// samples` means the samples of every op with kernels that no line before it names. A line
// `[resnet18] He et al., arXiv:1512.03385` begins the layers of a network; its source follows.
#pragma once
#include <string>
#include <vector>

namespace halyard::bench {

struct ShapeLine {
    std::string op, problem, note;  // note: the text after '#'
};

// Reads a file, or a set that is installed with the kit (bench/shapes) by its name. With `op`,
// returns only that op's lines, each problem once, with its first note. Throws IoError for an
// unknown name, with the names of the sets, for a line without a problem, and if no line is the
// op's.
std::vector<ShapeLine> shape_set(const std::string &name, const std::string &op = "");

// The layers of one published network, for one image or one sequence.
struct Network {
    std::string set, name, source;  // source: a paper or a model card
    std::vector<ShapeLine> layers;  // each problem once
};

// Returns the networks of a file or of a set that is installed with the kit; none if it has no
// heading. Throws IoError as shape_set() does, and for a heading without a name or a source.
std::vector<Network> networks_of(const std::string &set);

// Returns the networks of all sets that are installed with the kit.
std::vector<Network> all_networks();

// Returns the names of the sets that are installed with the kit.
std::vector<std::string> shape_set_names();

// Parses a line of such a file. An empty line or a comment gives a line without an op. Throws
// IoError with the file and the line's number.
ShapeLine shape_line(const std::string &file, int number, const std::string &text);

}  // namespace halyard::bench

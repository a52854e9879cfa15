// CallSite: where in an op's source file something was written.
#pragma once
#include <string>
#include <vector>

namespace halyard {

// A CallSite holds the return addresses of the calls that were active when it was made, which costs
// microseconds. Its functions ask addr2line (binutils) for files and lines, which takes up to a
// second. Op files are compiled with line numbers for that (cmake/HalyardOp.cmake).
//
// Every function returns "" if the location is unknown, for instance without addr2line.
class CallSite {
public:
    // Returns the calls that are active now.
    static CallSite here();

    // Returns the innermost call in the file that defines the op: "kernels/rowwise/softmax.cpp:41".
    // If that call is a helper's, the helper's line follows in brackets:
    // "kernels/convolution/conv2d.cpp:41 (kernels/convolution/convolution.cpp:20)".
    std::string location() const;

    // Returns the outermost call in an op file: of nested constructors, that of the op itself.
    std::string outermost_location() const;

    // Returns the path of the file in outermost_location(): that in the checkout which this program
    // was built in, or, for the ops of other projects, as it was given to the compiler.
    std::string outermost_file() const;

private:
    struct Frame {
        std::string file;
        int line = 0;
    };
    // Returns the calls in op files, innermost first.
    std::vector<Frame> frames() const;
    std::vector<void *> return_addresses_;
};

// Returns "kernels/rowwise/softmax.cpp:41: message", or `message` if `location` is empty.
std::string at_location(const std::string &location, const std::string &message);

}  // namespace halyard

// Trace: where in an op's source something was written.
#pragma once
#include <string>
#include <vector>

namespace halyard {

// The calls that led to where it was made: addresses, which cost microseconds; place() asks
// addr2line (binutils) what they are, and takes a part of a second. Op files are built with line
// numbers for it (cmake/HalyardOp.cmake).
class Trace {
public:
    static Trace here();

    // "kernels/rowwise/softmax.cpp:41": the innermost call in the file that holds the op's own
    // function. Where that was made through a helper in another file,
    // "kernels/convolution/conv2d.cpp:41 (kernels/convolution/convolution.cpp:20)". "" = unknown.
    std::string place() const;

    // The outermost call instead: of an op's constructors the op's own.
    std::string origin() const;
    std::string file() const;  // of origin(), as the compiler was given it; "" = unknown

private:
    struct Frame {
        std::string file;
        int line = 0;
    };
    std::vector<Frame> frames() const;  // of op files, innermost first
    std::vector<void *> calls_;
};

// "kernels/rowwise/softmax.cpp:41: what", or just `what` where the place is unknown.
std::string placed(const std::string &place, const std::string &what);

}  // namespace halyard

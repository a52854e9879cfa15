// Errors: one exception type per kind of mistake, and one form of message:
//   [op] what is wrong, with the dimension's name and both values
#pragma once
#include <stdexcept>
#include <string>

namespace halyard {

// The base of everything Halyard throws. `op` names the operator, the file or the layer that
// refused.
class Error : public std::runtime_error {
public:
    Error(const std::string &op, const std::string &detail)
        : std::runtime_error("[" + op + "] " + detail), op_length_(op.size()) {}

    // Returns the two parts of what(): "[op] detail".
    std::string op() const { return std::string(what() + 1, op_length_); }
    std::string detail() const { return what() + op_length_ + 3; }

private:
    size_t op_length_;
};

// rank, extent, axis, size limits
struct ShapeError : Error {
    using Error::Error;
};
// a dtype that the op doesn't take, or two that disagree
struct DTypeError : Error {
    using Error::Error;
};
// an attribute out of range, unknown or missing
struct AttrError : Error {
    using Error::Error;
};
// no kernel for this key, or a kernel failed
struct DispatchError : Error {
    using Error::Error;
};
// a device that is absent or failed
struct DeviceError : Error {
    using Error::Error;
};
// a file that is missing, truncated or contradicts itself
struct IoError : Error {
    using Error::Error;
};
// no gradient, or used outside its tape
struct GradError : Error {
    using Error::Error;
};
// an allocation that failed or would overflow
struct MemoryError : Error {
    using Error::Error;
};

}  // namespace halyard

// Calls of ops for another machine, and their results, as files of records: a length of 8 bytes,
// then as many bytes of CBOR. bin/halyard_calls (main.cpp) runs them where there is no compiler, so
// that tools on this machine can judge what a kit for that one computes.
#pragma once
#include <istream>
#include <map>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "registry/tensor/tensor.h"

namespace halyard::calls {

struct Call {
    std::string op;
    std::map<std::string, std::string> attrs;  // as Attrs::exact_texts() gives them
    std::string variant;                       // of the kernel; "" is any
    std::vector<Tensor> in;
    // What the kernel overwrites: its outputs' shapes, and bytes that no kernel may take for
    // results. None for an op that is composed of others.
    std::vector<Tensor> out;
};

struct Result {
    std::vector<Tensor> out;
    std::string error;           // the text of what was thrown, or which memory the call wrote
    bool has_no_kernel = false;  // the error is that no kernel takes the call
};

// Tensors are written row by row, whatever their strides.
void write(std::ostream &file, const Call &call);
void write(std::ostream &file, const Result &result);

// Return nothing at the end of the file, or if the last record is incomplete. Throw IoError for
// what is no record.
std::optional<Call> read_call(std::istream &file);
std::optional<Result> read_result(std::istream &file);

}  // namespace halyard::calls

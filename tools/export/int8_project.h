// The project that `halyard export NETWORK --for c99 --int8 DATA` writes: one function in C99,
// which computes a network's forward pass for one shape, in integers.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "tools/export/code_size.h"
#include "tools/export/int8_accuracy.h"
#include "tools/export/network_project.h"

namespace halyard::exporting {

struct Int8Data {
    std::vector<Tensor> calibration;  // dense f32, each of the network's input's shape
    NextInput test;                   // labelled inputs; empty: there are no labels
};

struct WrittenInt8 {
    std::string function;  // its prototype
    NetworkSizes in_f32;   // without --int8
    NetworkSizes written;
    double error = 0;  // of the output, relative, on the calibration's inputs
    std::optional<Accuracy> accuracy;
    std::optional<CodeSize> code;  // none without a compiler for the project's target
    size_t tested = 0;             // inputs in the project's test
};

// Writes the project. With `is_i8` the function's input and output are integers, not floats. Throws
// Error, with the reason, before anything is written: for an op without an integer form, for
// weights and activations that aren't finite, without data.
WrittenInt8 write_int8_project(const Project &project, const Network &network, const Int8Data &data,
                               bool is_i8);

}  // namespace halyard::exporting

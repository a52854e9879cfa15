// halyard export NETWORK --for c99 --int8 DATA.
#pragma once
#include <cstdint>
#include <string>

#include "examples/recipes.h"
#include "tools/export/int8_project.h"

namespace halyard::command {

struct Int8Request {
    std::string data;        // a folder as `halyard train` reads it, or a .npy file; "" for f32
    int64_t rows = 256;      // that ranges are calibrated on
    bool takes_i8 = false;   // the function's input and output are integers
    bool is_trained = true;  // false: the weights are initial ones
};

// Writes the project and prints what it takes. `settings` are those of the network. Throws Error
// before anything is written: IoError without rows, ShapeError for rows of another shape.
void export_int8(const Int8Request &request, const examples::Recipe &recipe,
                 const examples::Settings &settings, const exporting::Network &network,
                 const exporting::Project &project);

}  // namespace halyard::command

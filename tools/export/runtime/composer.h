// How a library calls composites, if it has any: src/ops.cpp of the project says so.
#pragma once
#include <span>
#include <vector>

namespace halyard {

class Attrs;
class CompositeTable;
class Tensor;
struct RegisteredOp;

namespace host {

struct Composer {
    // Returns the outputs of a call of a composite, or of a gradient that is composed of other ops;
    // null in a library that has neither.
    std::vector<Tensor> (*run)(const RegisteredOp &op, std::span<const Tensor> in,
                               const Attrs &attrs);
    // Each lists the composites and composed gradients of a file.
    std::vector<void (*)(CompositeTable &)> files;
};

const Composer &composer();

// What `run` is in a library with composites.
std::vector<Tensor> run_composed(const RegisteredOp &op, std::span<const Tensor> in,
                                 const Attrs &attrs);

}  // namespace host
}  // namespace halyard

// Queues of rows by name, from which a network takes its inputs itself:
//
//   const dataset::DeviceQueue queue("train", data);
//   const ops::GetNext get_next({DType::f32, DType::i32}, {{32, 1, 32, 32}, {32}}, 2, "train");
//   const std::vector<Tensor> row = get_next();   // in a cell, too
//
// In GRAPH_MODE taking a row is a step of the captured graph: each run takes one.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "train/data/dataset.h"

namespace halyard::dataset {

// The rows of a dataset, in `epochs` passes that follow each other; -1: without end. Copies share
// the rows. The name is free again when the last copy is gone.
class DeviceQueue {
public:
    // Throws AttrError for an empty name, a name that is taken, an empty dataset, and for epochs
    // that are neither -1 nor at least 1.
    DeviceQueue(const std::string &name, Dataset data, int64_t epochs = -1);

    struct State;

private:
    std::shared_ptr<State> state_;
};

}  // namespace halyard::dataset

namespace halyard::ops {

// Takes the next row of a queue.
class GetNext {
public:
    // Throws AttrError unless there are output_num types and shapes.
    GetNext(std::vector<DType> types, std::vector<Shape> shapes, int64_t output_num,
            std::string shared_name);
    // Returns the row's tensors, which nobody else holds. Throws AttrError if there is no queue of
    // the name, IoError if it has no more rows, DTypeError or ShapeError if the row has other
    // tensors than stated, and what the steps of the dataset throw.
    std::vector<Tensor> operator()() const;

private:
    std::vector<DType> types_;
    std::vector<Shape> shapes_;
    std::string name_;
};

}  // namespace halyard::ops

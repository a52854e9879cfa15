#include "tools/halyard/commands/export_int8.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <memory>

#include "registry/base/error.h"
#include "registry/tensor/npy.h"
#include "train/data/dataset.h"

namespace halyard::command {
namespace {

using exporting::Int8Data;
using exporting::LabelledInput;

// Returns rows of a tensor, and rows of zeros if it has fewer than `x`.
Tensor rows_like(const Tensor &x, const Tensor &from, int64_t first) {
    Tensor some = Tensor::zeros(x.shape(), DType::f32);
    const int64_t row = x.elements() / x.shape()[0];
    const int64_t rows = std::min(x.shape()[0], from.shape()[0] - first);
    std::memcpy(some.raw(), static_cast<const float *>(from.raw()) + first * row,
                size_t(rows * row) * sizeof(float));
    return some;
}

// Throws ShapeError unless the rows of `data` are rows of the network's input.
void require_rows_like(const exporting::Network &network, const Tensor &data,
                       const std::string &path) {
    const Shape &expected = network.input.shape(), &shape = data.shape();
    const std::string names = expected.rank() == 4 ? "nchw" : "ncw";
    if (shape.rank() != expected.rank())
        throw ShapeError(network.name, path + " is " + shape.text() + " of rank " +
                                           std::to_string(shape.rank()) + ", expected rank " +
                                           std::to_string(expected.rank()) + ", as x" +
                                           expected.text() + " (--int8)");
    for (int d = 1; d < shape.rank(); d++) {
        if (shape[d] == expected[d]) continue;
        throw ShapeError(network.name, std::string("x.") + names[size_t(d)] + " is " +
                                           std::to_string(shape[d]) + " in " + path +
                                           ", expected " + std::to_string(expected[d]) +
                                           " (--int8)");
    }
    if (data.dtype() != DType::f32)
        throw DTypeError(network.name,
                         path + " is " + name_of(data.dtype()) + ", expected f32 (--int8)");
}

// Returns rows without labels.
Int8Data data_of_file(const Int8Request &r, const exporting::Network &network) {
    const Tensor all = load_npy(r.data, DType::f32);
    require_rows_like(network, all, r.data);
    const int64_t n = network.input.shape()[0];
    if (all.shape()[0] < n)
        throw IoError(r.data, "has " + std::to_string(all.shape()[0]) +
                                  " rows, expected at least " + std::to_string(n) + " (--int8)");
    Int8Data data;
    for (int64_t first = 0; first + n <= std::min(all.shape()[0], std::max(r.rows, n)); first += n)
        data.calibration.push_back(rows_like(network.input, all, first));
    return data;
}

std::vector<int32_t> labels_of(const Tensor &label) {
    const auto *values = static_cast<const int32_t *>(label.raw());
    return {values, values + label.elements()};
}

// Returns inputs of the training's first pass, and those of the test set with their labels.
Int8Data data_of_folder(const Int8Request &r, const examples::Recipe &recipe,
                        examples::Settings settings, const exporting::Network &network) {
    settings.data = r.data;
    const examples::Experiment experiment = recipe.prepare(settings);
    const int64_t n = network.input.shape()[0];
    Int8Data data;
    for (const dataset::Row &row : experiment.train_set.create_dict_iterator()) {
        if (int64_t(data.calibration.size()) * n >= r.rows) break;
        require_rows_like(network, row[0], r.data);
        data.calibration.push_back(row[0].contiguous());
    }
    if (data.calibration.empty())
        throw IoError(r.data,
                      "has no training rows for a batch of " + std::to_string(n) + " (--int8)");
    const auto test = std::make_shared<dataset::RowIterator>(
        experiment.test_set.create_dict_iterator());
    data.test = [=, path = r.data](LabelledInput &in) {
        dataset::Row row;
        if (!test->next(row)) return false;
        require_rows_like(network, row[0], path);
        in = {rows_like(network.input, row[0].contiguous(), 0), labels_of(row[1])};
        return true;
    };
    return data;
}

void print_sizes(const char *how, const exporting::NetworkSizes &s) {
    std::printf("  %-10s %10zu %15lld %15lld\n", how, s.steps, (long long)s.arena_bytes,
                (long long)s.constant_bytes);
}

void print_accuracy(const exporting::Accuracy &a) {
    const double percent = 100 / double(std::max<int64_t>(a.rows, 1));
    const double f32 = double(a.right_in_f32) * percent, i8 = double(a.right_in_i8) * percent;
    std::printf("accuracy on %lld test rows: f32 %.2f %%, int8 %.2f %%, %.2f points %s\n",
                (long long)a.rows, f32, i8, std::abs(f32 - i8), f32 >= i8 ? "lost" : "gained");
}

void print(const Int8Request &r, const exporting::Project &project, const std::string &network,
           size_t rows, const exporting::WrittenInt8 &w) {
    std::printf("wrote %s: %s\n  %s;\n  %-10s %10s %15s %15s\n", project.folder.c_str(),
                network.c_str(), w.function.c_str(), "", "steps", "bytes of arena", "of weights");
    print_sizes("f32", w.in_f32);
    print_sizes("int8", w.written);
    if (w.code)
        std::printf("code: %lld bytes with %s\n", (long long)w.code->bytes,
                    w.code->command.c_str());
    std::printf("calibrated on %zu rows of %s, where outputs differ from those in f32 by %.2g %% "
                "(root mean square)\n",
                rows, r.data.c_str(), 100 * w.error);
    if (w.accuracy) print_accuracy(*w.accuracy);
    if (!r.is_trained)
        std::printf("the weights are initial ones, without --weights: ranges and accuracy are not "
                    "those of a trained network\n");
    std::printf("inputs that the test compares bit for bit: %zu\n", w.tested);
}

}  // namespace

void export_int8(const Int8Request &request, const examples::Recipe &recipe,
                 const examples::Settings &settings, const exporting::Network &network,
                 const exporting::Project &project) {
    if (recipe.input == examples::Input::texts)
        throw DTypeError(network.name, "reads texts, which have no integer form (--int8)");
    const bool is_file = request.data.ends_with(".npy");
    const Int8Data data = is_file ? data_of_file(request, network)
                                  : data_of_folder(request, recipe, settings, network);
    const exporting::WrittenInt8 written = exporting::write_int8_project(project, network, data,
                                                                         request.takes_i8);
    const size_t rows = data.calibration.size() * size_t(network.input.shape()[0]);
    print(request, project, network.name, rows, written);
}

}  // namespace halyard::command

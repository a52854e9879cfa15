#include "primitives/print.h"

#include <cstdio>
#include <fstream>
#include <iostream>
#include <mutex>

#include "primitives/context.h"
#include "registry/base/error.h"
#include "registry/base/fork.h"

namespace halyard {
namespace {

const char *mindspore_name(DType t) {
    switch (t) {
    case DType::f32: return "Float32";
    case DType::f16: return "Float16";
    case DType::bf16: return "BFloat16";
    case DType::f64: return "Float64";
    case DType::i8: return "Int8";
    case DType::u8: return "UInt8";
    case DType::i32: return "Int32";
    case DType::i64: return "Int64";
    case DType::boolean: return "Bool";
    }
    return "?";
}

// Returns the elements in row-major order. 64-bit integers have all digits, which a double couldn't
// hold.
std::vector<std::string> elements(const Tensor &t) {
    std::vector<std::string> all;
    if (t.dtype() == DType::boolean) {
        for (const double v : t.to_vector<double>())
            all.push_back(printed(v != 0));
    } else if (is_integer(t.dtype())) {
        for (const int64_t v : t.to_vector<int64_t>())
            all.push_back(std::to_string(v));
    } else {
        for (const double v : t.to_vector<double>()) {
            char text[40];
            std::snprintf(text, sizeof text, "%.8e", v);
            all.emplace_back(text);
        }
    }
    return all;
}

// Writes each row of the last dimension on a line.
void nested(const std::vector<std::string> &values, const Tensor &t, int depth, size_t &at,
            std::string &out) {
    if (depth == t.rank()) {
        out += values[at++];
        return;
    }
    const bool row = depth + 1 == t.rank();
    out += "[";
    for (int64_t i = 0; i < t.shape()[depth]; i++) {
        if (i) out += row ? ", " : ",\n" + std::string(size_t(depth) + 1, ' ');
        nested(values, t, depth + 1, at, out);
    }
    out += "]";
}

}  // namespace

std::string printed(const Tensor &t) {
    if (!t.defined()) return "None";
    std::string shape, value;
    for (int64_t extent : t.shape())
        shape += (shape.empty() ? "" : ", ") + std::to_string(extent);
    size_t at = 0;
    nested(elements(t), t, 0, at, value);
    return "Tensor(shape=[" + shape + "], dtype=" + mindspore_name(t.dtype()) +
           ", value=" + (t.rank() ? "\n" : " ") + value + ")";
}

std::string printed(double v) {
    char text[40];
    std::snprintf(text, sizeof text, "%.9g", v);
    return text;
}

void print_lines(const std::string &lines) {
    struct Output {
        Output() { hold_over_fork(mutex); }
        std::mutex mutex;
    };
    // It is never destroyed: threads that outlive main() may still call ops.
    static Output &output = *new Output;
    const std::string path = get_context().print_file_path;
    const std::lock_guard lock(output.mutex);
    if (path.empty()) {
        std::cout << lines << std::flush;
        return;
    }
    std::ofstream file(path, std::ios::app);
    file << lines << std::flush;
    if (!file) throw IoError(path, "can't be written");
}

}  // namespace halyard

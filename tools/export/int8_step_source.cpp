#include "tools/export/int8_step_source.h"

#include "tools/export/int8_convolution_source.h"
#include "tools/export/int8_expressions.h"
#include "tools/export/int8_loops.h"

namespace halyard::exporting {
namespace {

using Kind = Int8Step::Kind;

// Writes a row or column of x, which the innermost loop skips if it is padding, and returns it.
std::string place(LoopText &t, const std::string &name, const std::string &value, int64_t extent,
                  bool is_padded) {
    if (!is_padded) return value;
    t.line("const int32_t " + name + " = " + value + ";");
    t.line("if (" + name + " < 0 || " + name + " >= " + std::to_string(extent) + ") continue;");
    return name;
}

StepText pool_text(const Int8Step &step, const Int8Network &network) {
    const Pool &p = step.pool;
    const bool is_sum = step.kind == Kind::sum;
    LoopText t;
    const std::string map = t.loop("c", p.n * p.c);
    const std::string i = t.loop("i", p.y_rows);
    const std::string j = t.loop("j", p.y_columns);
    t.line(is_sum ? "int32_t sum = 0;" : "int8_t largest = -128;");
    const size_t loops = t.loops();
    const std::string r = t.loop("r", p.window.rows, p.is_padded);
    const std::string row = place(
        t, "row", sum_text({{i, p.stride.rows}, {r, p.dilation.rows}}, -p.top), p.h, p.is_padded);
    const std::string s = t.loop("s", p.window.columns, p.is_padded);
    const std::string column = place(
        t, "column", sum_text({{j, p.stride.columns}, {s, p.dilation.columns}}, -p.left), p.w,
        p.is_padded);
    const std::string x = "x[" + sum_text({{map, p.h * p.w}, {row, p.w}, {column}}) + "]";
    if (is_sum)
        t.line("sum += " + x + minus(network.tensors.at(step.x).zero) + ";");
    else
        t.line("if (" + x + " > largest) largest = " + x + ";");
    t.close_loops(loops);
    const std::string at = sum_text({{map, p.y_rows * p.y_columns}, {i, p.y_columns}, {j}});
    const std::string product = "(int64_t)sum * " + std::to_string(step.to_y.multiplier[0]);
    t.line("y[" + at + "] = " + (is_sum ? requantized(step.to_y, product) : "largest") + ";");
    t.close_loops(0);
    return {"const int8_t *x, int8_t *y", t.text()};
}

StepText elementwise_text(const Int8Step &step, const Int8Network &network) {
    LoopText t;
    const Int8Tensor &x = network.tensors.at(step.x);
    const std::string i = sum_text({{t.loop("i", x.shape.elements())}});
    const std::string product = "(int64_t)(x[" + i + "]" + minus(x.zero) + ") * " +
                                std::to_string(step.to_y.multiplier[0]) +
                                shortcut(step, network, i);
    t.line("y[" + i + "] = " + requantized(step.to_y, product) + ";");
    t.close_loops(0);
    return {std::string("const int8_t *x, ") + (step.z < 0 ? "" : "const int8_t *z, ") +
                "int8_t *y",
            t.text()};
}

}  // namespace

StepText step_text(const Int8Step &step, const Int8Network &network, bool takes_floats) {
    switch (step.kind) {
    case Kind::convolution: return convolution_text(step, network, takes_floats);
    case Kind::sum:
    case Kind::largest: return pool_text(step, network);
    case Kind::add:
    case Kind::rescale: break;
    }
    return elementwise_text(step, network);
}

}  // namespace halyard::exporting

#include "tools/export/int8_source.h"

#include <algorithm>
#include <cctype>
#include <set>

#include "tools/c99/elements.h"
#include "tools/export/int8_arena.h"
#include "tools/export/int8_expressions.h"
#include "tools/export/int8_step_source.h"

namespace halyard::exporting {
namespace {

using Kind = Int8Step::Kind;

// The functions that a source may call, in their order.
struct Helper {
    const char *name, *text;
};
constexpr Helper helpers[] = {
    {"hy_i8_of_f32",
     R"(/* Returns x / scale, rounded to the nearest, half away from zero, plus zero, within i8. */
static int8_t hy_i8_of_f32(float x, float reciprocal, int32_t zero) {
    const float v = x * reciprocal;
    int32_t q;
    float part;
    if (!(v > (float)(-128 - zero))) return -128;
    if (v >= (float)(127 - zero)) return 127;
    q = (int32_t)v;
    part = v - (float)q;
    if (part >= 0.5f) q++;
    if (part <= -0.5f) q--;
    return (int8_t)(q + zero);
}
)"},
    {"hy_requantized",
     R"(/* Returns product / 2^shift, rounded to the nearest, half away from zero, plus zero, from low to
 * high. */
static int8_t hy_requantized(int64_t product, int shift, int32_t zero, int32_t low, int32_t high) {
    const int64_t half = INT64_C(1) << (shift - 1);
    const int64_t size = ((product < 0 ? -product : product) + half) >> shift;
    const int64_t q = (product < 0 ? -size : size) + zero;
    return (int8_t)(q < low ? low : q > high ? high : q);
}
)"},
};

class Writer {
public:
    Writer(const Int8Network &network, const std::string &name, bool is_i8)
        : network_(network), is_i8_(is_i8) {
        call_.name = name;
        call_.parameters = {{"x", type(), network.tensors.at(network.input).shape},
                            {"y", type(), network.tensors.at(network.output).shape, true, true}};
    }

    c99::CallSource source() {
        const ArenaPlan arena = arena_of(network_, is_i8_);
        arena_ = &arena;
        call_.arena_bytes = arena.bytes;
        if (!is_i8_ && arena.rows < 0) write_quantize();
        for (const Int8Step &s : network_.steps)
            write_step(s);
        if (!is_i8_) write_dequantize();
        std::string used;
        for (const Helper &h : helpers)
            if ((functions_ + lines_).find(h.name) != std::string::npos)
                used += std::string(h.text) + "\n";
        call_.text = used + functions_ + c99::prototype_of(call_) + " {\n" + lines_ + "}\n";
        return call_;
    }

private:
    const Int8Network &network_;
    const bool is_i8_;
    const ArenaPlan *arena_ = nullptr;
    c99::CallSource call_;
    std::set<std::string> constant_names_;
    std::map<std::string, std::string> known_functions_;  // name by text
    std::string functions_, lines_;

    DType type() const { return is_i8_ ? DType::i8 : DType::f32; }

    std::string address(int buffer) const {
        if (buffer == network_.input && (is_i8_ || arena_->rows >= 0)) return "x";
        if (buffer == network_.output && is_i8_) return "y";
        return in_arena(arena_->offsets.at(buffer));
    }
    static std::string in_arena(int64_t offset) {
        return "(int8_t *)(arena.bytes + " + std::to_string(offset) + ")";
    }

    void line(const std::string &text) { lines_ += "    " + text + "\n"; }

    void write_quantize() {
        const Int8Tensor &x = network_.tensors.at(network_.input);
        line("int8_t *const quantized = " + address(network_.input) + ";");
        line("for (int32_t i = 0; i < " + std::to_string(x.shape.elements()) + "; i++) {");
        line("    quantized[i] = " + quantize_text(x, "x[i]") + ";");
        line("}");
    }

    void write_dequantize() {
        const Int8Tensor &y = network_.tensors.at(network_.output);
        const std::string zero =
            y.zero == 0 ? "" : (y.zero < 0 ? " + " : " - ") + std::to_string(std::abs(y.zero));
        const std::string q = "result[i]" + zero;
        line("const int8_t *const result = " + address(network_.output) + ";");
        line("for (int32_t i = 0; i < " + std::to_string(y.shape.elements()) + "; i++) {");
        line("    y[i] = (float)(" + q + ") * " + c99::number_of(y.scale, DType::f32) + ";");
        line("}");
    }

    // Writes the elements as a constant, and returns its name.
    std::string constant(const std::string &what, const void *data, size_t elements, DType t) {
        std::string name = call_.name + "_" + what;
        for (char &c : name)
            if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
        while (!constant_names_.insert(name).second)
            name += "_";
        call_.constants += c99::array_text("static const " + std::string(c99::c_type_of(t)) + " " +
                                               name,
                                           data, int64_t(elements), t) +
                           "\n";
        call_.constant_bytes += int64_t(elements) * int64_t(bytes_of(t));
        return name;
    }

    void write_step(const Int8Step &s) {
        const bool takes_floats = s.x == network_.input && arena_->rows >= 0;
        StepText step = step_text(s, network_, takes_floats);
        std::string arguments = address(s.x);
        if (takes_floats) arguments += ", " + in_arena(arena_->rows);
        if (s.z >= 0) arguments += ", " + address(s.z);
        if (s.kind == Kind::convolution) {
            const std::string what = s.convolution.name.empty() ? s.name : s.convolution.name;
            const std::vector<int32_t> bias = bias_of(s, network_.tensors.at(s.x));
            arguments += ", " + constant(what, s.convolution.weight.data(),
                                         s.convolution.weight.size(), DType::i8);
            arguments += ", " + constant(what + "_bias", bias.data(), bias.size(), DType::i32);
            arguments += ", " + constant(what + "_multiplier", s.to_y.multiplier.data(),
                                         s.to_y.multiplier.size(), DType::i32);
        }
        line(function_of(step, s.name) + "(" + arguments + ", " + address(s.y) + ");");
    }

    // Returns the name of a function with this text, which is written once.
    std::string function_of(const StepText &step, const std::string &ops) {
        std::string &name = known_functions_[step.parameters + step.body];
        if (!name.empty()) return name;
        name = call_.name + "_" + std::to_string(known_functions_.size()) + "_" + ops;
        functions_ += "static void " + name + "(" + step.parameters + ") {\n" + step.body + "}\n\n";
        return name;
    }
};

}  // namespace

c99::CallSource source_of(const Int8Network &network, const std::string &name, bool is_i8) {
    return Writer(network, name, is_i8).source();
}

}  // namespace halyard::exporting

#include "tools/c99/elements.h"

#include "dsl/c99/expressions.h"
#include "registry/tensor/tensor.h"

namespace halyard::c99 {
namespace {

constexpr size_t columns = 100;

bool is_16_bit_float(DType t) {
    return t == DType::f16 || t == DType::bf16;
}

}  // namespace

const char *c_type_of(DType t) {
    switch (t) {
    case DType::f64: return "double";
    case DType::f32: return "float";
    case DType::f16:
    case DType::bf16: return "uint16_t";
    case DType::i64: return "int64_t";
    case DType::i32: return "int32_t";
    case DType::i8: return "int8_t";
    case DType::u8:
    case DType::boolean: break;
    }
    return "uint8_t";
}

std::string element_text(const void *data, int64_t i, DType t) {
    const auto integer = [&](auto zero) {
        return std::to_string(static_cast<const decltype(zero) *>(data)[i]);
    };
    switch (t) {
    case DType::f64: return number_text(Halide::Float(64), static_cast<const double *>(data)[i]);
    case DType::f32: return number_text(Halide::Float(32), static_cast<const float *>(data)[i]);
    case DType::f16:
    case DType::bf16: return integer(uint16_t());
    case DType::i64: {
        const int64_t v = static_cast<const int64_t *>(data)[i];
        return v == INT64_MIN ? "INT64_MIN" : "INT64_C(" + integer(int64_t()) + ")";
    }
    case DType::i32: {
        const int32_t v = static_cast<const int32_t *>(data)[i];
        return v == INT32_MIN ? "INT32_MIN" : integer(int32_t());
    }
    case DType::i8: return integer(int8_t());
    case DType::u8:
    case DType::boolean: break;
    }
    return integer(uint8_t());
}

std::string number_of(double value, DType t) {
    const Tensor one = Tensor::empty({1}, t);
    one.fill(value);
    return element_text(one.raw(), 0, t);
}

std::string array_text(const std::string &declaration, const void *data, int64_t elements,
                       DType t) {
    std::string s = declaration + "[" + std::to_string(elements) + "] = {";
    std::string line;
    for (int64_t i = 0; i < elements; i++) {
        const std::string word = element_text(data, i, t) + ",";
        if (line.empty() || line.size() + word.size() + 1 > columns) {
            s += line;
            line = "\n    " + word;
        } else {
            line += " " + word;
        }
    }
    return s + line + "\n};\n";
}

std::string converted_text(const std::string &element, DType from, DType to,
                           std::set<std::string> &helpers) {
    const auto call = [&](const std::string &name, const std::string &argument) {
        helpers.insert(name);
        return name + "(" + argument + ")";
    };
    if (from == to) return element;
    if (is_16_bit_float(from)) {
        const bool is_f16 = from == DType::f16;
        const std::string value = call(is_f16 ? "hy_f32_of_f16" : "hy_f32_of_bf16", element);
        return converted_text(value, DType::f32, to, helpers);
    }
    if (to == DType::boolean) return element + " != 0";
    if (is_16_bit_float(to)) {
        const std::string value = from == DType::i64 ? call("hy_odd_of_i64", element) : element;
        return call(to == DType::f16 ? "hy_f16_of" : "hy_bf16_of", value);
    }
    if (is_float(from) && !is_float(to)) return call(std::string("hy_to_") + name_of(to), element);
    return "(" + std::string(c_type_of(to)) + ")" + element;
}

}  // namespace halyard::c99

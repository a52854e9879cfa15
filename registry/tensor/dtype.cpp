#include "registry/tensor/dtype.h"

#include <utility>

#include "registry/base/error.h"

namespace halyard {
namespace {

struct Names {
    const char *name, *numpy;
    size_t bytes;
};
constexpr Names table[dtype_count] = {
    {"f64", "float64", 8},   {"f32", "float32", 4}, {"f16", "float16", 2},
    {"bf16", "bfloat16", 2}, {"i64", "int64", 8},   {"i32", "int32", 4},
    {"i8", "int8", 1},       {"u8", "uint8", 1},    {"bool", "bool_", 1}};

}  // namespace

size_t bytes_of(DType t) {
    return table[static_cast<int>(t)].bytes;
}

const char *name_of(DType t) {
    return table[static_cast<int>(t)].name;
}

DType dtype_of(const std::string &name) {
    for (int i = 0; i < dtype_count; i++)
        if (name == table[i].name || name == table[i].numpy) return (DType)i;
    std::string all;
    for (const Names &n : table)
        all += std::string(" ") + n.name;
    throw DTypeError("dtype", "unknown dtype '" + name + "', expected one of" + all);
}

bool is_float(DType t) {
    return t <= DType::bf16;
}

bool is_integer(DType t) {
    return t >= DType::i64 && t <= DType::u8;
}

DType promote(DType a, DType b) {
    if (a == b || b == DType::boolean) return a;
    if (a == DType::boolean) return b;
    if (is_float(a) != is_float(b)) return is_float(a) ? a : b;
    if (a > b) std::swap(a, b);  // the enum goes from wide to narrow
    if (a == DType::f16 && b == DType::bf16) return DType::f32;
    if (a == DType::i8 && b == DType::u8) return DType::i32;
    return a;
}

}  // namespace halyard

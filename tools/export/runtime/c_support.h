// What the C functions of an exported library have in common: errors as codes, dtypes of DLPack.
#pragma once
#include <cstdio>
#include <new>
#include <optional>
#include <string>

#include "registry/base/error.h"
#include "registry/tensor/dtype.h"

#pragma GCC visibility push(default)  // all else is hidden
#include "tools/export/project/hy.h"
#pragma GCC visibility pop

namespace halyard::c {

// A refusal that is no error of the kit's.
struct Refusal : Error {
    Refusal(hy_code kind, const std::string &op, const std::string &detail)
        : Error(op, detail), code(kind) {}
    hy_code code;
};

inline int32_t fill(hy_error *error, hy_code code, const char *text) {
    if (error) {
        error->code = code;
        if (*text)
            std::snprintf(error->text, sizeof error->text, "%s", text);
        else
            error->text[0] = 0;
    }
    return code;
}

inline hy_code code_of(const Error &e) {
    if (const auto *refusal = dynamic_cast<const Refusal *>(&e)) return refusal->code;
    if (dynamic_cast<const ShapeError *>(&e)) return HY_SHAPE;
    if (dynamic_cast<const DTypeError *>(&e)) return HY_DTYPE;
    if (dynamic_cast<const AttrError *>(&e)) return HY_ATTRIBUTE;
    if (dynamic_cast<const DeviceError *>(&e)) return HY_DEVICE;
    if (dynamic_cast<const MemoryError *>(&e)) return HY_MEMORY;
    if (dynamic_cast<const DispatchError *>(&e)) return HY_KERNEL;
    return HY_OTHER;
}

// Runs `work`, through which no exception passes, and returns the error's code.
template<class Work> int32_t guarded(hy_error *error, const Work &work) noexcept {
    try {
        work();
        return fill(error, HY_OK, "");
    } catch (const Error &e) {
        return fill(error, code_of(e), e.what());
    } catch (const std::bad_alloc &) {
        return fill(error, HY_MEMORY, "[hy] out of memory");
    } catch (const std::exception &e) {
        return fill(error, HY_OTHER, e.what());
    } catch (...) {
        return fill(error, HY_OTHER, "[hy] an unknown exception");
    }
}

struct DTypeCode {
    DType dtype;
    uint8_t code, bits;
};
constexpr DTypeCode dtype_codes[] = {
    {DType::f32, HY_FLOAT, 32}, {DType::f64, HY_FLOAT, 64},   {DType::f16, HY_FLOAT, 16},
    {DType::i32, HY_INT, 32},   {DType::i64, HY_INT, 64},     {DType::i8, HY_INT, 8},
    {DType::u8, HY_UINT, 8},    {DType::bf16, HY_BFLOAT, 16}, {DType::boolean, HY_BOOL, 8},
};
static_assert(std::size(dtype_codes) == dtype_count);

inline std::optional<DType> dtype_of(const hy_dtype &t) {
    for (const DTypeCode &c : dtype_codes)
        if (c.code == t.code && c.bits == t.bits && t.lanes == 1) return c.dtype;
    return std::nullopt;
}

}  // namespace halyard::c

// Compositions without inputs: eye, tri, arange, linspace (records: kernels/layout/creation.cpp).
#include <algorithm>
#include <cmath>

#include "primitives/composites/composite.h"
#include "primitives/composites/composition.h"
#include "registry/tensor/convert.h"

namespace halyard {
namespace {

DType dtype_of_call(const Attrs &a) {
    return (DType)integer(a, "dtype");
}

// A number that is what it claims to be: neither NaN nor infinite.
double number(const Attrs &a, const char *name) {
    const double v = real(a, name);
    if (!std::isfinite(v)) {
        throw AttrError(a.op().name, std::string(name) + " is " + std::to_string(v) +
                                         ", expected a finite number");
    }
    return v;
}

// [n,m] of eye and tri
Shape rows_and_columns(const Attrs &a) {
    const int64_t n = integer(a, "n");
    const int64_t m = integer(a, "m");
    if (n < 0) throw AttrError(a.op().name, "n is " + std::to_string(n) + ", expected 0 or more");
    if (m < -1) throw AttrError(a.op().name, "m is " + std::to_string(m) + ", expected -1 or more");
    return {n, m < 0 ? n : m};
}

template<class Value> Tensor filled(const Shape &shape, DType dtype, Value value) {
    const Tensor y = Tensor::empty(shape, dtype);
    visit_dtype(dtype, [&](auto zero) {
        using T = decltype(zero);
        for (int64_t i = 0, n = shape.elements(); i < n; i++)
            y.data<T>()[i] = convert<T>(value(i));
    });
    return y;
}

Result eye(Tensors, const Attrs &a) {
    const Shape s = rows_and_columns(a);
    const Tensor y = Tensor::zeros(s, dtype_of_call(a));
    const Tensor diagonal = diagonal_of(y, {integer(a, "k"), 0, 1});
    diagonal.assign(Tensor::ones(diagonal.shape(), y.dtype()));
    return {y};
}

Result tri(Tensors, const Attrs &a) {
    const Shape s = rows_and_columns(a);
    const int64_t k = std::clamp<int64_t>(integer(a, "k"), -INT32_MAX, INT32_MAX);
    const Tensor y = Tensor::zeros(s, dtype_of_call(a));
    visit_dtype(y.dtype(), [&](auto zero) {
        using T = decltype(zero);
        for (int64_t i = 0; i < s[0]; i++) {
            std::fill_n(y.data<T>() + i * s[1], std::clamp<int64_t>(i + k + 1, 0, s[1]),
                        convert<T>(1));
        }
    });
    return {y};
}

Result arange(Tensors, const Attrs &a) {
    const double start = number(a, "start");
    const double end = number(a, "end");
    const double step = number(a, "step");
    if (step == 0) throw AttrError("arange", "step is 0, expected another number");
    const double count = std::ceil((end - start) / step);
    if (count < 0) {
        throw AttrError("arange", "start is " + std::to_string(start) + " and end " +
                                      std::to_string(end) + ", not reached by step " +
                                      std::to_string(step));
    }
    if (count > INT32_MAX) {
        throw ShapeError("arange", std::to_string(count) + " elements, the limit is " +
                                       std::to_string(INT32_MAX));
    }
    return {filled({int64_t(count)}, dtype_of_call(a),
                   [&](int64_t i) { return start + double(i) * step; })};
}

Result linspace(Tensors, const Attrs &a) {
    const double start = number(a, "start");
    const double end = number(a, "end");
    const int64_t n = integer(a, "steps");
    if (n < 0)
        throw AttrError("linspace", "steps is " + std::to_string(n) + ", expected 0 or more");
    const double gaps = double(std::max<int64_t>(1, n - 1));
    return {filled({n}, dtype_of_call(a), [&](int64_t i) {
        return i == 0 ? start : (start * double(n - 1 - i) + end * double(i)) / gaps;
    })};
}

}  // namespace

Family creation_family() {
    static const Family::value_type all[] = {
        {"eye", eye}, {"tri", tri}, {"arange", arange}, {"linspace", linspace}};
    return all;
}

}  // namespace halyard

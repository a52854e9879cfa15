// Problem: one sample of an op with its tensors in double, which a reference reads and fills.
#pragma once
#include <string>
#include <vector>

#include "registry/op/signature.h"
#include "registry/tensor/dtype.h"

namespace halyard {

// Array: a dense tensor of doubles. Indices are outermost first, as in signatures: a(i, j).
struct Array {
    Shape shape;
    std::vector<double> v;

    Array() = default;
    explicit Array(const Shape &s, double fill = 0) : shape(s), v(size_t(s.elements()), fill) {}
    // Returns an element. Throws ShapeError for a wrong number of indices or an element beyond the
    // end, such as any of an array without columns.
    template<class... I> double &operator()(I... i) { return v[offset_of({int64_t(i)...})]; }
    template<class... I> double operator()(I... i) const { return v[offset_of({int64_t(i)...})]; }

private:
    size_t offset_of(std::initializer_list<int64_t> index) const {
        if (int(index.size()) != shape.rank()) throw_no_element(index);
        int64_t offset = 0;
        int d = 0;
        for (int64_t i : index)
            offset = offset * shape[d++] + i;
        if (uint64_t(offset) >= v.size()) throw_no_element(index);
        return size_t(offset);
    }
    [[noreturn]] void throw_no_element(std::initializer_list<int64_t> index) const;
};

struct Problem {
    // The dtype to which T is bound. References of integer ops divide and wrap as that dtype does.
    DType dtype = DType::f64;
    // The values of dimensions, lets, integer attributes and integer scalars.
    Dims dims;
    Named<double> reals;  // real attributes
    // The inputs, with their values, and the outputs, with their shapes.
    Named<Array> tensors;
    // For ops with Contract::products: the sum of the absolute values of the terms of each element,
    // by output. Errors of the kernel are measured against it.
    Named<Array> abs_sum;

    // Return a dimension or integer attribute, a real attribute, a tensor. Throw AttrError, which
    // lists the names that exist, for any other name.
    int64_t operator[](std::string_view dim) const {
        return found(dims, dim, "dimension or integer attribute");
    }
    double real(std::string_view attr) const { return found(reals, attr, "real attribute"); }
    Array &operator()(std::string_view tensor) {
        return const_cast<Array &>(found(tensors, tensor, "tensor"));
    }

private:
    template<class T>
    static const T &found(const Named<T> &all, std::string_view name, const char *kind) {
        const auto it = all.find(name);
        if (it != all.end()) return it->second;
        std::vector<std::string> names;
        for (auto &[other, value] : all)
            names.push_back(other);
        throw_unknown(name, kind, names);
    }
    [[noreturn]] static void throw_unknown(std::string_view name, const char *kind,
                                           const std::vector<std::string> &names);
};

}  // namespace halyard

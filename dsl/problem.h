// Problem: one sample of one op with its tensors in double, for references.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "registry/dtype.h"
#include "registry/signature.h"

namespace halyard {

// A dense array of doubles: r(i, j, ...) outermost first, as in signatures.
struct Array {
    Shape shape;
    std::vector<double> v;

    Array() = default;
    explicit Array(const Shape &s, double fill = 0) : shape(s), v((size_t)s.elements(), fill) {}
    template<class... I> double &operator()(I... i) { return v[place({(int64_t)i...})]; }
    template<class... I> double operator()(I... i) const { return v[place({(int64_t)i...})]; }

private:
    size_t place(std::initializer_list<int64_t> index) const {
        int64_t at = 0;
        int d = 0;
        for (int64_t i : index) at = at * shape[d++] + i;
        return (size_t)at;
    }
};

struct Problem {
    DType dtype = DType::f64;             // what T is bound to: integers divide and overflow in their own way
    Dims dims;                            // dimensions, lets, integer attributes, scalars
    std::map<std::string, double> reals;  // real attributes
    std::map<std::string, Array> tensors;
    std::map<std::string, Array> magnitude;  // for Contract::products: sum of |terms| of each output element

    int64_t operator[](const std::string &dim) const { return dims.at(dim); }
    double real(const std::string &attr) const { return reals.at(attr); }
    Array &operator()(const std::string &tensor) { return tensors.at(tensor); }
};

}  // namespace halyard

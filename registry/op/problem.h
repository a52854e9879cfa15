// Problem: one sample of one op with its tensors in double, for references.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "registry/op/signature.h"
#include "registry/tensor/dtype.h"

namespace halyard {

// A dense array of doubles: r(i, j, ...) outermost first, as in signatures.
struct Array {
    Shape shape;
    std::vector<double> v;

    Array() = default;
    explicit Array(const Shape &s, double fill = 0) : shape(s), v(size_t(s.elements()), fill) {}
    // Throws ShapeError for a wrong number of indices, and past the end: a row of an array without
    // columns has no element.
    template<class... I> double &operator()(I... i) { return v[place({int64_t(i)...})]; }
    template<class... I> double operator()(I... i) const { return v[place({int64_t(i)...})]; }

private:
    size_t place(std::initializer_list<int64_t> index) const {
        if (int(index.size()) != shape.rank()) refuse(index);
        int64_t at = 0;
        int d = 0;
        for (int64_t i : index)
            at = at * shape[d++] + i;
        if (uint64_t(at) >= v.size()) refuse(index);
        return size_t(at);
    }
    [[noreturn]] void refuse(std::initializer_list<int64_t> index) const;
};

struct Problem {
    // what T is bound to: integers divide and overflow in their own way
    DType dtype = DType::f64;
    Dims dims;                            // dimensions, lets, integer attributes, scalars
    std::map<std::string, double> reals;  // real attributes
    std::map<std::string, Array> tensors;
    // for Contract::products: sum of |terms| of each output element
    std::map<std::string, Array> abs_sum;

    // Each throws AttrError, with the names there are, for one that the problem doesn't have.
    int64_t operator[](const std::string &dim) const {
        return found(dims, dim, "dimension or integer attribute");
    }
    double real(const std::string &attr) const { return found(reals, attr, "real attribute"); }
    Array &operator()(const std::string &tensor) {
        return const_cast<Array &>(found(tensors, tensor, "tensor"));
    }

private:
    template<class T> static const T &found(const std::map<std::string, T> &all,
                                            const std::string &name, const char *kind) {
        const auto it = all.find(name);
        if (it != all.end()) return it->second;
        std::string known;
        for (auto &[other, value] : all)
            known += (known.empty() ? "" : ", ") + other;
        refuse(name, kind, known);
    }
    [[noreturn]] static void refuse(const std::string &name, const char *kind,
                                    const std::string &known);
};

}  // namespace halyard

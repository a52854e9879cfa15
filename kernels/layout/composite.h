// Ops without a kernel of their own: primitives/ states them in terms of views and of other ops.
// Their records are here so that faces, documentation and checks treat all ops alike.
//
// An extent that depends on a list of integers is no expression of a signature, so these say x[*]
// -> y[*]. References get a list attribute in Problem::dims as perm0, perm1, ..., and set their
// outputs' shapes themselves.
#pragma once
#include "dsl/dtypes.h"
#include "dsl/op.h"

namespace halyard {

struct Composite : Op {
    Composite(const std::string &n, const std::string &sig_text, const std::string &formula)
        : Op(n, sig_text) {
        doc = formula;
        form = Form::composite;
        dtypes = all_dtypes;
        contract = {Contract::elementwise, 0};
    }
    void at_call(const std::string &attr_name, AttrKind kind, const std::string &value) {
        attrs.push_back({attr_name, kind, value, {}, {}, true});
    }

    // negative places count from the end
    static int wrapped(int64_t place, int64_t n) { return int(place < 0 ? place + n : place); }

    static Shape list(const Problem &p, const std::string &attr_name) {
        Shape s;
        for (auto it = p.dims.end();
             (it = p.dims.find(attr_name + std::to_string(s.rank()))) != p.dims.end();)
            s.push_back(it->second);
        return s;
    }
    // y gets `shape`; its element at an index is x's at source(index).
    template<class Source> static void gather(Problem &p, const Shape &shape, Source source) {
        const Array &x = p("x");
        Array y(shape);
        Shape index(shape);
        for (int64_t i = 0; i < int64_t(y.v.size()); i++) {
            int64_t rest = i;
            for (int d = shape.rank(); d-- > 0;) {
                index[d] = rest % shape[d];
                rest /= shape[d];
            }
            const Shape from = source(index);
            int64_t at = 0;
            for (int d = 0; d < x.shape.rank(); d++)
                at = at * x.shape[d] + from[d];
            y.v[size_t(i)] = x.v[size_t(at)];
        }
        p.tensors["y"] = y;
    }
    static void same_elements(Problem &p, const Shape &shape) {
        Array y(shape);
        y.v = p("x").v;
        p.tensors["y"] = y;
    }
};

}  // namespace halyard

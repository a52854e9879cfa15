// Products under the names that NumPy, PyTorch and MindSpore give their special cases;
// primitives/composites/contraction.cpp states them by matmul.
#include <cmath>

#include "kernels/layout/composite.h"

namespace halyard {
namespace {

// Of axes named by letters, over those that the result lacks: c["mn"] = sum over k of a["mk"]
// b["kn"]; `terms` sums their sizes.
void sum_of_products(const Array &a, const std::string &a_axes, const Array &b,
                     const std::string &b_axes, const std::string &c_axes, Array &c, Array &terms) {
    std::map<char, int64_t> extents, at;
    for (int d = 0; d < a.shape.rank(); d++)
        extents[a_axes[size_t(d)]] = a.shape[d];
    for (int d = 0; d < b.shape.rank(); d++)
        extents[b_axes[size_t(d)]] = b.shape[d];
    Shape s;
    for (char letter : c_axes)
        s.push_back(extents[letter]);
    c = terms = Array(s);
    const auto place = [&](const Array &t, const std::string &axes) {
        int64_t index = 0;
        for (int d = 0; d < t.shape.rank(); d++)
            index = index * t.shape[d] + at[axes[size_t(d)]];
        return size_t(index);
    };
    int64_t total = 1;
    for (auto &[letter, extent] : extents)
        total *= extent;
    for (int64_t i = 0; i < total; i++) {
        int64_t rest = i;
        for (auto &[letter, extent] : extents) {
            at[letter] = rest % extent;
            rest /= extent;
        }
        const double product = a.v[place(a, a_axes)] * b.v[place(b, b_axes)];
        c.v[place(c, c_axes)] += product;
        terms.v[place(c, c_axes)] += std::fabs(product);
    }
}

struct ProductName : Composite {
    std::string a, b, c;  // their axes' letters
    ProductName(const std::string &name, const std::string &signature, const std::string &formula,
                std::string as, std::string bs, std::string cs, std::vector<std::string> problems)
        : Composite(name, signature, formula), a(std::move(as)), b(std::move(bs)),
          c(std::move(cs)) {
        dtypes = {"f32", "f16", "bf16", "f64"};
        contract = {Contract::products, 16};
        samples = std::move(problems);
    }
    void reference(Problem &p) const override {
        sum_of_products(p("a"), a, p("b"), b, c, p.tensors["y"], p.abs_sum["y"]);
    }
};

struct TensorDot : Composite {
    TensorDot()
        : Composite(
              "tensor_dot", "a[*] b[*] -> y[*]",
              "y = sum of a b over a's axes axes_a and b's axes axes_b; a's other axes, then b's") {
        at_call("axes_a", AttrKind::ints, "");
        at_call("axes_b", AttrKind::ints, "");
        dtypes = {"f32", "f16", "bf16", "f64"};
        contract = {Contract::products, 16};
        samples = {"d0=2 d1=3 d2=5 axes_a=1,2 axes_b=-2,-1", "d0=2 d1=3 d2=3 axes_a=1 axes_b=2"};
    }
    void reference(Problem &p) const override {
        std::string a = "abc", b = "def", c = "abcdef";
        const Shape x = list(p, "axes_a");
        const Shape y = list(p, "axes_b");
        for (int k = 0; k < x.rank(); k++) {
            char &letter = b[size_t(y[k] < 0 ? y[k] + 3 : y[k])];
            const char own = a[size_t(x[k] < 0 ? x[k] + 3 : x[k])];
            for (char gone : {letter, own})
                c.erase(c.find(gone), 1);
            letter = own;
        }
        sum_of_products(p("a"), a, p("b"), b, c, p.tensors["y"], p.abs_sum["y"]);
    }
};

struct VecDot : ProductName {
    VecDot()
        : ProductName("vecdot", "a[*] b[*] -> y[*]",
                      "y = sum of a b along axis; the others broadcast", "abc", "abc", "ab",
                      {"d0=2 d1=3 d2=9"}) {
        attr("axis", -1);
    }
};

// y = beta x + alpha product
struct AddProduct : ProductName {
    AddProduct(const std::string &name, const std::string &signature, const std::string &formula,
               const std::string &as, const std::string &bs, const std::string &cs,
               const std::vector<std::string> &problems)
        : ProductName(name, signature, formula, as, bs, cs, problems) {
        attrs.push_back({"beta", AttrKind::real, "1", {}, {}, true});
        attrs.push_back({"alpha", AttrKind::real, "1", {}, {}, true});
    }
    void reference(Problem &p) const override {
        ProductName::reference(p);
        Array &y = p("y");
        Array &size = p.abs_sum["y"];
        const Array &x = p("x");
        for (size_t e = 0; e < y.v.size(); e++) {
            const double added = p.real("beta") * x.v[e % x.v.size()];
            const double product = p.real("alpha") * y.v[e];
            size.v[e] = std::fabs(p.real("alpha")) * size.v[e] + std::fabs(added);
            y.v[e] = product + added;
        }
    }
};

}  // namespace

HALYARD_OPS {
    ops.add<ProductName>("bmm", "a[g,m,k] b[g,k,n] -> y[g,m,n]", "y = a b, matrix by matrix", "gmk",
                         "gkn", "gmn",
                         std::vector<std::string>{"g=3 m=5 k=7 n=4", "g=1 m=1 k=1 n=1"});
    ops.add<ProductName>("mv", "a[m,k] b[k] -> y[m]", "y = a b, a matrix and a vector", "mk", "k",
                         "m", std::vector<std::string>{"m=5 k=7", "m=33 k=70"});
    ops.add<ProductName>("outer", "a[m] b[n] -> y[m,n]", "y = a_m b_n", "m", "n", "mn",
                         std::vector<std::string>{"m=5 n=7"});
    ops.add<ProductName>("dot", "a[*] b[*] -> y[*]",
                         "y = sum of a b over a's last axis and b's last but one, or only one",
                         "abk", "dkf", "abdf", std::vector<std::string>{"d0=2 d1=5 d2=5"});
    ops.add<ProductName>("inner", "a[*] b[*] -> y[*]", "y = sum of a b over the last axis of both",
                         "abk", "dek", "abde", std::vector<std::string>{"d0=2 d1=3 d2=5"});
    ops.add<VecDot>();
    ops.add<TensorDot>();
    ops.add<AddProduct>("addmm", "x[m,n] a[m,k] b[k,n] -> y[m,n]",
                        "y = beta x + alpha a b; x broadcasts", "mk", "kn", "mn",
                        std::vector<std::string>{"m=5 k=7 n=4", "m=9 k=20 n=17 beta=0.5 alpha=-2"});
    ops.add<AddProduct>("addmv", "x[m] a[m,k] b[k] -> y[m]", "y = beta x + alpha a b; x broadcasts",
                        "mk", "k", "m",
                        std::vector<std::string>{"m=5 k=7", "m=9 k=20 beta=0.5 alpha=-2"});
    ops.add<AddProduct>(
        "baddbmm", "x[g,m,n] a[g,m,k] b[g,k,n] -> y[g,m,n]",
        "y = beta x + alpha a b, matrix by matrix; x broadcasts", "gmk", "gkn", "gmn",
        std::vector<std::string>{"g=3 m=5 k=7 n=4", "g=2 m=9 k=20 n=17 beta=0.5 alpha=-2"});
}

}  // namespace halyard

// Ops that create tensors from numbers.
#include "primitives/composites/composite.h"

#include <algorithm>
#include <cmath>

#include "registry/tensor/convert.h"

namespace halyard {
namespace {

DType dtype_of_call(const Call &call) {
    return (DType)call.integer("dtype");
}

// Returns attribute `name`. Throws AttrError if it is NaN or infinite.
double number(const Call &call, const char *name) {
    const double v = call.real(name);
    if (!std::isfinite(v)) {
        throw AttrError(call.op(), std::string(name) + " is " + std::to_string(v) +
                                       ", expected a finite number");
    }
    return v;
}

// Returns the shape [n,m] of eye and tri.
Shape rows_and_columns(const Call &call) {
    const int64_t n = call.integer("n");
    const int64_t m = call.integer("m");
    if (n < 0) throw AttrError(call.op(), "n is " + std::to_string(n) + ", expected 0 or more");
    if (m < -1) throw AttrError(call.op(), "m is " + std::to_string(m) + ", expected -1 or more");
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

struct Eye : Composite {
    Eye()
        : Composite("eye", "-> y:U[r,c]",
                    "y[i, j] = 1 where j - i is k, else 0: n rows and m columns; m -1: n") {
        required_at_call("n", AttrKind::integer);
        at_call("m", AttrKind::integer, "-1");
        at_call("k", AttrKind::integer, "0");
        at_call("dtype", AttrKind::dtype, "f32");
        samples = {"n=1", "n=7 m=5", "n=3 m=17 k=2", "n=5 k=-1", "n=2 k=9", "n=0 m=3"};
    }
    Result compose(const Call &call) const override {
        const Shape s = rows_and_columns(call);
        const Tensor y = Tensor::zeros(s, dtype_of_call(call));
        const Tensor diagonal = diagonal_of(y, {call.integer("k"), 0, 1});
        diagonal.assign(Tensor::ones(diagonal.shape(), y.dtype()));
        return {y};
    }
    void reference(Problem &p) const override {
        Array y({p["n"], p["m"] < 0 ? p["n"] : p["m"]});
        for (int64_t i = 0; i < y.shape[0]; i++) {
            for (int64_t j = 0; j < y.shape[1]; j++)
                y(i, j) = j - i == p["k"];
        }
        p.tensors["y"] = y;
    }
};

struct Tri : Composite {
    Tri()
        : Composite("tri", "-> y:U[r,c]",
                    "y[i, j] = 1 where j - i <= k, else 0: n rows and m columns; m -1: n") {
        required_at_call("n", AttrKind::integer);
        at_call("m", AttrKind::integer, "-1");
        at_call("k", AttrKind::integer, "0");
        at_call("dtype", AttrKind::dtype, "f32");
        samples = {"n=1", "n=7 m=5", "n=3 m=17 k=2", "n=5 k=-9", "n=2 k=9"};
    }
    Result compose(const Call &call) const override {
        const Shape s = rows_and_columns(call);
        const int64_t k = std::clamp<int64_t>(call.integer("k"), -INT32_MAX, INT32_MAX);
        const Tensor y = Tensor::zeros(s, dtype_of_call(call));
        visit_dtype(y.dtype(), [&](auto zero) {
            using T = decltype(zero);
            for (int64_t i = 0; i < s[0]; i++) {
                std::fill_n(y.data<T>() + i * s[1], std::clamp<int64_t>(i + k + 1, 0, s[1]),
                            convert<T>(1));
            }
        });
        return {y};
    }
    void reference(Problem &p) const override {
        Array y({p["n"], p["m"] < 0 ? p["n"] : p["m"]});
        for (int64_t i = 0; i < y.shape[0]; i++) {
            for (int64_t j = 0; j < y.shape[1]; j++)
                y(i, j) = j - i <= p["k"];
        }
        p.tensors["y"] = y;
    }
};

void truncate(const Problem &p, Array &y) {
    for (double &v : y.v)
        v = is_integer((DType)p["dtype"]) ? std::trunc(v) : v;
}

struct Arange : Composite {
    Arange()
        : Composite("arange", "-> y:U[n]",
                    "y[i] = start + i step, for all that are before end; each computed in double "
                    "and rounded once") {
        other_names = {"range"};
        required_at_call("start", AttrKind::real);
        required_at_call("end", AttrKind::real);
        at_call("step", AttrKind::real, "1");
        at_call("dtype", AttrKind::dtype, "i64");
        dtypes.pop_back();  // bool
        contract = {Contract::elementwise, 0.5};
        samples = {"start=0 end=1", "start=0 end=17", "start=1 end=2 step=0.1",
                   "start=5 end=-3 step=-2", "start=2 end=2"};
    }
    Result compose(const Call &call) const override {
        const double start = number(call, "start");
        const double end = number(call, "end");
        const double step = number(call, "step");
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
        return {filled({int64_t(count)}, dtype_of_call(call),
                       [&](int64_t i) { return start + double(i) * step; })};
    }
    void reference(Problem &p) const override {
        std::vector<double> v;
        const double step = p.real("step");
        for (double at = p.real("start"); step > 0 ? at < p.real("end") : at > p.real("end");) {
            v.push_back(at);
            at = p.real("start") + double(v.size()) * step;
        }
        Array y({int64_t(v.size())});
        y.v = v;
        truncate(p, y);
        p.tensors["y"] = y;
    }
};

struct Linspace : Composite {
    Linspace()
        : Composite("linspace", "-> y:U[n]",
                    "y[i] = start + i (end - start) / (steps - 1), end itself last; each computed "
                    "in double and rounded once") {
        required_at_call("start", AttrKind::real);
        required_at_call("end", AttrKind::real);
        required_at_call("steps", AttrKind::integer);
        at_call("dtype", AttrKind::dtype, "f32");
        dtypes.pop_back();  // bool
        contract = {Contract::elementwise, 0.5};
        samples = {"start=2 end=5 steps=1", "start=-1 end=1 steps=7", "start=10 end=-3 steps=17",
                   "start=0 end=1 steps=0", "start=0 end=64 steps=5"};
    }
    Result compose(const Call &call) const override {
        const double start = number(call, "start");
        const double end = number(call, "end");
        const int64_t n = call.integer("steps");
        if (n < 0)
            throw AttrError("linspace", "steps is " + std::to_string(n) + ", expected 0 or more");
        const double gaps = double(std::max<int64_t>(1, n - 1));
        return {filled({n}, dtype_of_call(call), [&](int64_t i) {
            return i == 0 ? start : (start * double(n - 1 - i) + end * double(i)) / gaps;
        })};
    }
    void reference(Problem &p) const override {
        const int64_t n = p["steps"];
        Array y({n}, p.real("start"));
        for (int64_t i = 1; i < n; i++) {
            y(i) = (p.real("start") * double(n - 1 - i) + p.real("end") * double(i)) /
                   double(n - 1);
        }
        truncate(p, y);
        p.tensors["y"] = y;
    }
};

struct Like : Composite {
    const double value;
    Like(const std::string &n, double v)
        : Composite(n, "x[*] -> y[*]",
                    v == 0 ? "y = 0, of x's shape and dtype" : "y = 1, of x's shape and dtype"),
          value(v) {
        samples = {"d0=2 d1=3 d2=4"};
    }
    Result compose(const Call &call) const override {
        return {Tensor::full(call[0].shape(), value, call[0].dtype())};
    }
    void reference(Problem &p) const override { p.tensors["y"] = Array(p("x").shape, value); }
};

struct Fill : Composite {
    Fill()
        : Composite("fill", "-> y:U[n]", "y = value, of `shape`, which has any rank, and `dtype`") {
        at_call("dtype", AttrKind::dtype, "f32");
        at_call("shape", AttrKind::ints, "");
        at_call("value", AttrKind::real, "0");
        samples = {"shape=2,3 value=1", "shape=4 dtype=i32"};
    }
    Result compose(const Call &call) const override {
        return {Tensor::full(Shape(call.ints("shape")), call.real("value"),
                             (DType)call.integer("dtype"))};
    }
    void reference(Problem &p) const override {
        p.tensors["y"] = Array(list(p, "shape"), p.real("value"));
    }
};

}  // namespace

HALYARD_COMPOSITES {
    composites.add<Like>("zeros_like", 0.0);
    composites.add<Like>("ones_like", 1.0);
    composites.add<Fill>();
    composites.add<Eye>();
    composites.add<Tri>();
    composites.add<Arange>();
    composites.add<Linspace>();
}

}  // namespace halyard

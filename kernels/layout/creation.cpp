// Tensors made of numbers: primitives/composites/creation.cpp.
#include <cmath>

#include "kernels/layout/composite.h"

namespace halyard {
namespace {

struct Eye : Composite {
    Eye()
        : Composite("eye", "-> y:U[r,c]",
                    "y[i, j] = 1 where j - i is k, else 0: n rows and m columns; m -1: n") {
        at_call("n", AttrKind::integer, "!");
        at_call("m", AttrKind::integer, "-1");
        at_call("k", AttrKind::integer, "0");
        at_call("dtype", AttrKind::dtype, "f32");
        samples = {"n=1", "n=7 m=5", "n=3 m=17 k=2", "n=5 k=-1", "n=2 k=9", "n=0 m=3"};
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
        at_call("n", AttrKind::integer, "!");
        at_call("m", AttrKind::integer, "-1");
        at_call("k", AttrKind::integer, "0");
        at_call("dtype", AttrKind::dtype, "f32");
        samples = {"n=1", "n=7 m=5", "n=3 m=17 k=2", "n=5 k=-9", "n=2 k=9"};
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
        at_call("start", AttrKind::real, "!");
        at_call("end", AttrKind::real, "!");
        at_call("step", AttrKind::real, "1");
        at_call("dtype", AttrKind::dtype, "i64");
        dtypes.pop_back();  // bool
        contract = {Contract::elementwise, 0.5};
        samples = {"start=0 end=1", "start=0 end=17", "start=1 end=2 step=0.1",
                   "start=5 end=-3 step=-2", "start=2 end=2"};
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
        at_call("start", AttrKind::real, "!");
        at_call("end", AttrKind::real, "!");
        at_call("steps", AttrKind::integer, "!");
        at_call("dtype", AttrKind::dtype, "f32");
        dtypes.pop_back();  // bool
        contract = {Contract::elementwise, 0.5};
        samples = {"start=2 end=5 steps=1", "start=-1 end=1 steps=7", "start=10 end=-3 steps=17",
                   "start=0 end=1 steps=0", "start=0 end=64 steps=5"};
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

}  // namespace

HALYARD_OPS {
    ops.add<Eye>();
    ops.add<Tri>();
    ops.add<Arange>();
    ops.add<Linspace>();
}

}  // namespace halyard

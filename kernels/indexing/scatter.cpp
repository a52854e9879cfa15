// Elements written to positions that a tensor gives. One kernel applies the updates in their order,
// so the bits don't depend on the number of threads. The ops are composed of it
// (primitives/composites/indexing.cpp).
#include <cmath>

#include "kernels/layout/composite.h"

namespace halyard {
namespace {

using Halide::Expr;

// How an update is combined with the element, in the order of the attribute's choices.
constexpr const char *reductions[] = {"none", "add", "max", "min", "mul"};
enum ReductionChoice : int { replace_element, add_update, take_max, take_min, multiply };

// Returns the element after an update. NaN is beyond all numbers.
double combined(int64_t reduction, double old, double update) {
    switch (reduction) {
    case replace_element: return update;
    case add_update: return old + update;
    case multiply: return old * update;
    default: break;
    }
    if (std::isnan(old) || std::isnan(update)) return NAN;
    return reduction == take_max ? std::fmax(old, update) : std::fmin(old, update);
}

// y = x; then y[o,index[m],i] is combined with updates[o,m,i], for m = 0, 1, ... An update whose
// index is outside [0, n) is ignored.
struct Scatter : Op {
    Scatter() : Op("scatter_kernel", "x[o,n,i] index:i32[m] updates[o,m,i] -> y[o,n,i]") {
        internal = true;
        choice("reduction", {std::begin(reductions), std::end(reductions)});
        let("index_end", "n");
        dtypes.insert(dtypes.end(), {"i64", "i32"});
        add({"columns", Dim("i") == 1, {.schedule = [this](const Cpu &cpu) {
                 schedule_columns(cpu);
             }}});
        add({"", DimExpr::always()});
        samples = {"o=1 n=1 m=1 i=1",
                   "o=2 n=3 m=5 i=7 reduction=add",
                   "o=3 n=17 m=31 i=1 reduction=max",
                   "o=1 n=5 m=9 i=65 reduction=min",
                   "o=5 n=7 m=3 i=129 reduction=mul",
                   "o=2 n=7 m=4 i=33",
                   "o=1 n=1000 m=4009 i=1 reduction=add",
                   "o=1 n=5 m=0 i=3"};
        bench = {"o=1 n=1000000 m=1000000 i=1 reduction=add",
                 "o=1 n=30522 m=4096 i=768 reduction=add"};
        contract = {Contract::products, 8};
    }
    Func x = input("x"), index = input("index"), updates = input("updates");
    Func y = output("y");
    Func result{"result"};
    Expr reduction = derived("mode", "reduction");
    Var i{"i"}, k{"k"}, o{"o"};
    RDom r;

    void algorithm() override {
        r = RDom(0, size("m"));
        const Expr at = index(r);
        const Expr place = clamp(at, 0, size("n") - 1);
        const Expr update = updates(i, r, o);
        r.where(at >= 0 && at < size("n"));
        result(i, k, o) = x(i, k, o);
        const Expr old = result(i, place, o);
        result(i, place, o) = select(reduction == int(replace_element), update,
                                     reduction == int(add_update), old + update,
                                     reduction == int(take_max), max(old, update),
                                     reduction == int(take_min), min(old, update), old * update);
        y(i, k, o) = result(i, k, o);
    }
    // A task has a range of i to itself, so tasks never write the same elements. "columns" is for
    // i = 1, where a task is one o.
    void schedule(const Cpu &cpu) override {
        Func last = store();
        Var piece("piece"), ii("ii"), lane("lane"), vec("vec"), task("task");
        last.split(var(0), piece, ii, 4 * cpu.lanes, Tail::GuardWithIf)
            .reorder(ii, var(1), piece, var(2))
            .fuse(piece, var(2), task)
            .parallel(task);
        last.split(ii, vec, lane, cpu.lanes, Tail::GuardWithIf).vectorize(lane);
        result.compute_at(last, task)
            .split(i, vec, lane, cpu.lanes, Tail::GuardWithIf)
            .vectorize(lane);
        Halide::Stage updating = result.update();
        updating.split(i, vec, lane, cpu.lanes, Tail::GuardWithIf)
            .reorder(lane, vec, r, o)
            .vectorize(lane);
        for (int usual : {replace_element, add_update})
            updating.specialize(reduction == usual);
    }
    void schedule_columns(const Cpu &cpu) {
        Func last = store();
        Var lane("lane"), vec("vec"), task("task");
        last.reorder(var(1), var(0), var(2))
            .fuse(var(0), var(2), task)
            .parallel(task)
            .split(var(1), vec, lane, cpu.lanes, Tail::GuardWithIf)
            .vectorize(lane);
        result.compute_at(last, task)
            .reorder_storage(k, i, o)
            .reorder(k, i, o)
            .split(k, vec, lane, cpu.lanes, Tail::GuardWithIf)
            .vectorize(lane);
        for (int usual : {replace_element, add_update})
            result.update().specialize(reduction == usual);
        last.specialize(last.output_buffer().dim(1).stride() == 1 &&
                        memory[0].dim(1).stride() == 1);
    }
    void reference(Problem &p) const override {
        const int64_t mode = p["reduction"];
        p("y") = p("x");
        Array &abs_sum = p.abs_sum["y"] = Array(p("y").shape);
        Array terms(p("y").shape);
        for (size_t e = 0; e < abs_sum.v.size(); e++)
            abs_sum.v[e] = std::fabs(p("x").v[e]);
        for (int64_t a = 0; a < p["o"]; a++) {
            for (int64_t b = 0; b < p["m"]; b++) {
                for (int64_t c = 0; c < p["i"]; c++) {
                    const int64_t at = int64_t(p("index")(b));
                    if (at < 0 || at >= p["n"]) continue;
                    const double update = p("updates")(a, b, c);
                    p("y")(a, at, c) = combined(mode, p("y")(a, at, c), update);
                    abs_sum(a, at, c) = mode == add_update ? abs_sum(a, at, c) + std::fabs(update)
                                                           : std::fabs(p("y")(a, at, c));
                    terms(a, at, c)++;
                }
            }
        }
        // Every 16 terms add a rounding error.
        for (size_t e = 0; e < abs_sum.v.size(); e++)
            abs_sum.v[e] *= std::fmax(1, terms.v[e] / 16);
    }
};

// Where element `e` of a tensor of `shape` stands when its coordinate along `axis` is `at`, as a
// place in a tensor of `in`.
int64_t place_along(int64_t e, const Shape &shape, const Shape &in, int axis, int64_t at) {
    Shape index = shape;
    for (int d = shape.rank(); d-- > 0; e /= shape[d])
        index[d] = e % shape[d];
    index[axis] = at < 0 ? at + in[axis] : at;
    int64_t place = 0;
    for (int d = 0; d < in.rank(); d++)
        place = place * in[d] + index[d];
    return place;
}

struct GatherElements : Composite {
    GatherElements()
        : Composite("gather_elements", "x[*] index:i32[*] -> y[*]",
                    "y[i, j, ...] = x[index[i, j, ...], j, ...], of index's shape, where index "
                    "takes i's place for dim 0, j's for dim 1, ...; index may be "
                    "smaller than x; negative ones count from the end") {
        alias = "GatherD";
        at_call("dim", AttrKind::integer, "!");
        let("index_end", "min(d0,min(d1,d2))");
        samples = {"d0=1 d1=1 d2=1 dim=0", "d0=2 d1=3 d2=5 dim=0", "d0=4 d1=3 d2=17 dim=1",
                   "d0=7 d1=2 d2=33 dim=-1"};
    }
    void reference(Problem &p) const override {
        const Array &x = p("x"), &index = p("index");
        Array y(index.shape);
        for (size_t e = 0; e < y.v.size(); e++) {
            y.v[e] =
                x.v[size_t(place_along(int64_t(e), index.shape, x.shape,
                                       wrapped(p["dim"], x.shape.rank()), int64_t(index.v[e])))];
        }
        p.tensors["y"] = y;
    }
};

// The dtypes of scatter_kernel.
struct Scattering : Composite {
    Scattering(const std::string &n, const std::string &signature, const std::string &formula)
        : Composite(n, signature, formula) {
        dtypes = {"f32", "f16", "bf16", "f64", "i64", "i32"};
        contract = {Contract::products, 8};
    }
    // Element `at` of y meets element `from` of `updates`.
    static void meet(Problem &p, int64_t reduction, int64_t at, double update) {
        double &y = p("y").v[size_t(at)];
        double &size = p.abs_sum.at("y").v[size_t(at)];
        y = combined(reduction, y, update);
        size = reduction == add_update ? size + std::fabs(update) : std::fabs(y);
    }
    static void start(Problem &p, const Array &x) {
        p.tensors["y"] = p.abs_sum["y"] = x;
        for (double &v : p.abs_sum["y"].v)
            v = std::fabs(v);
    }
};

struct ScatterElements : Scattering {
    const std::string updates;
    const bool adds;
    ScatterElements(const std::string &n, const std::string &update_name, bool only_adds)
        : Scattering(n, "x[*] index:i32[*] " + update_name + "[*] -> y[*]",
                     std::string("y = x; then y[index[i, j, ...], j, ...] ") +
                         (only_adds ? "+=" : "meets") + " " + update_name +
                         "[i, j, ...], in order, where index takes i's place for axis 0, j's for "
                         "axis 1, ...; negative ones count from the end"),
          updates(update_name), adds(only_adds) {
        at_call("axis", AttrKind::integer, "0");
        if (!adds) {
            attrs.push_back({"reduction",
                             AttrKind::choice,
                             "none",
                             {std::begin(reductions), std::end(reductions)},
                             {},
                             true});
        }
        let("index_end", "min(d0,min(d1,d2))");
        samples = {"d0=1 d1=1 d2=1", "d0=4 d1=3 d2=5", "d0=7 d1=2 d2=17 axis=-1",
                   "d0=3 d1=7 d2=33 axis=1"};
        if (adds) return;
        for (const char *reduction : {"add", "max", "min"})
            samples.push_back(std::string("d0=5 d1=3 d2=5 axis=1 reduction=") + reduction);
        samples.push_back("d0=3 d1=4 d2=3 reduction=mul");
    }
    void reference(Problem &p) const override {
        start(p, p("x"));
        const Array &index = p("index");
        for (size_t e = 0; e < index.v.size(); e++) {
            const Shape &x = p("x").shape;
            const int64_t at = place_along(int64_t(e), index.shape, x, wrapped(p["axis"], x.rank()),
                                           int64_t(index.v[e]));
            meet(p, adds ? int64_t(add_update) : p["reduction"], at, p(updates).v[e]);
        }
    }
};

// Samples have indices of one number, so of rows of x.
struct GatherNd : Composite {
    GatherNd()
        : Composite("gather_nd", "x[*] indices:i32[m,q] -> y[*]",
                    "y[i, ...] = x[indices[i, 0], indices[i, 1], ..., ...]; negative ones count "
                    "from the end") {
        let("indices_end", "d0");
        samples = {"d0=1 d1=1 d2=1 m=1 q=1", "d0=5 d1=3 d2=4 m=7 q=1", "d0=3 d1=1 d2=17 m=2 q=1"};
    }
    void reference(Problem &p) const override {
        Shape s = p("x").shape;
        s[0] = p["m"];
        gather(p, s, [&](const Shape &index) {
            Shape from = index;
            from[0] = int64_t(p("indices")(index[0], int64_t(0)));
            return from;
        });
    }
};

struct ScatterNd : Scattering {
    ScatterNd()
        : Scattering("scatter_nd", "indices:i32[m,q] updates[*] -> y[*]",
                     "y = 0, of `shape`; then y[indices[i, 0], indices[i, 1], ...] += updates[i, "
                     "...], in order") {
        at_call("shape", AttrKind::ints, "!");
        samples = {"m=1 q=1 d0=1 d1=1 d2=1 shape=7,1,1", "m=13 q=1 d0=13 d1=3 d2=2 shape=7,3,2",
                   "m=2 q=1 d0=2 d1=1 d2=17 shape=8,1,17"};
    }
    void reference(Problem &p) const override {
        start(p, Array(list(p, "shape")));
        const Array &updates = p("updates");
        const int64_t inner = updates.shape[1] * updates.shape[2];
        for (int64_t e = 0; e < int64_t(updates.v.size()); e++) {
            meet(p, add_update, int64_t(p("indices")(e / inner, int64_t(0))) * inner + e % inner,
                 updates.v[size_t(e)]);
        }
    }
};

struct TensorScatter : Scattering {
    const int64_t reduction;
    const double sign;
    TensorScatter(const std::string &n, const std::string &what, int64_t mode, double factor)
        : Scattering(n, "x[*] indices:i32[m,q] updates[*] -> y[*]",
                     "y = x; then y[indices[i, 0], indices[i, 1], ...] " + what +
                         " updates[i, ...], in order"),
          reduction(mode), sign(factor) {
        let("indices_end", "d0");
        samples = {"d0=1 d1=1 d2=1 m=1 q=1", "d0=5 d1=3 d2=4 m=5 q=1", "d0=3 d1=1 d2=17 m=3 q=1"};
    }
    void reference(Problem &p) const override {
        start(p, p("x"));
        const Array &updates = p("updates");
        const int64_t inner = updates.shape[1] * updates.shape[2];
        for (int64_t e = 0; e < int64_t(updates.v.size()); e++) {
            meet(p, reduction, int64_t(p("indices")(e / inner, int64_t(0))) * inner + e % inner,
                 sign * updates.v[size_t(e)]);
        }
    }
};

struct IndexAdd : Scattering {
    IndexAdd()
        : Scattering("index_add", "x[*] indices:i32[m] y[*] -> out[*]",
                     "out = x; then out's slice indices[k] along axis += y's slice k, in order") {
        at_call("axis", AttrKind::integer, "!");
        let("indices_end", "min(d0,min(d1,d2))");
        samples = {"d0=1 d1=1 d2=1 m=1 axis=0", "d0=5 d1=3 d2=2 m=5 axis=0",
                   "d0=3 d1=4 d2=17 m=4 axis=1", "d0=2 d1=3 d2=33 m=33 axis=-1"};
    }
    void reference(Problem &p) const override {
        const Array x = p("x"), added = p("y");
        const int axis = wrapped(p["axis"], x.shape.rank());
        Array out = x;
        Array size = x;
        for (double &v : size.v)
            v = std::fabs(v);
        for (size_t e = 0; e < added.v.size(); e++) {
            int64_t k = int64_t(e);
            for (int d = x.shape.rank(); d-- > axis + 1;)
                k /= added.shape[d];
            const size_t at = size_t(place_along(int64_t(e), added.shape, x.shape, axis,
                                                 int64_t(p("indices")(k % added.shape[axis]))));
            out.v[at] += added.v[e];
            size.v[at] += std::fabs(added.v[e]);
        }
        p.tensors["out"] = out;
        p.abs_sum["out"] = size;
    }
};

struct UnsortedSegmentSum : Scattering {
    UnsortedSegmentSum()
        : Scattering("unsorted_segment_sum", "x[*] segment_ids:i32[*] -> y[*]",
                     "y[s, ...] = the sum of x[i, ...] over the i whose segment_ids[i] is s, in "
                     "order; a negative id is in no segment") {
        at_call("num_segments", AttrKind::integer, "!");
        let("segment_ids_end", "num_segments");
        samples = {"d0=1 d1=1 d2=1 num_segments=1", "d0=7 d1=3 d2=2 num_segments=5",
                   "d0=2 d1=1 d2=17 num_segments=40"};
    }
    void reference(Problem &p) const override {
        start(p, Array({p["num_segments"]}));
        for (size_t e = 0; e < p("x").v.size(); e++)
            meet(p, add_update, int64_t(p("segment_ids").v[e]), p("x").v[e]);
    }
};

}  // namespace

HALYARD_OPS {
    ops.add<Scatter>();
    ops.add<GatherElements>();
    ops.add<GatherNd>();
    ops.add<ScatterElements>("tensor_scatter_elements", "updates", false);
    ops.add<ScatterElements>("scatter", "src", false);
    ops.add<ScatterElements>("scatter_add", "src", true);
    ops.add<ScatterNd>();
    ops.add<TensorScatter>("tensor_scatter_update", "=", replace_element, 1.0);
    ops.add<TensorScatter>("tensor_scatter_add", "+=", add_update, 1.0);
    ops.add<TensorScatter>("tensor_scatter_sub", "-=", add_update, -1.0);
    ops.add<TensorScatter>("tensor_scatter_max", "= the larger of it and", take_max, 1.0);
    ops.add<TensorScatter>("tensor_scatter_min", "= the smaller of it and", take_min, 1.0);
    ops.add<TensorScatter>("tensor_scatter_mul", "*=", multiply, 1.0);
    ops.add<IndexAdd>();
    ops.add<UnsortedSegmentSum>();
}

}  // namespace halyard

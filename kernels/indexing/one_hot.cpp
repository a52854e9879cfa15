// one_hot: adds a dimension of `depth` elements at `axis` of the result.
#include "dsl/op.h"

namespace halyard {
namespace {

struct OneHot : Op {
    OneHot() : Op("one_hot", "indices:i32[..n] on[] off[] -> y[..n,depth]") {
        doc =
            "y = on where the position along axis is the index, else off; for an index outside [0, "
            "depth) all are off";
        required("depth", AttrKind::integer);
        attr("axis", -1);
        axis = "depth";
        any_strides = true;
        dtypes = {"f32", "f16", "bf16", "f64", "i32", "i64"};
        conditions = {"depth>=0"};
        samples = {"n=1 depth=1",   "n=3 depth=7",    "n=5 depth=16", "n=7 depth=17",
                   "n=65 depth=10", "n=2 depth=1000", "n=67 depth=33"};
        bench = {"n=32 depth=10", "n=4096 depth=1000"};
        contract = {Contract::elementwise, 0};
    }
    Func indices = input("indices"), on = input("on"), off = input("off");
    Func y = output("y");
    Var n{"n"}, d{"d"};

    void algorithm() override { y(d, n) = select(indices(n) == d, on(), off()); }
    void schedule(const Cpu &cpu) override {
        Func last = store();
        Var task("task"), row("row");
        const int rows = cpu.pick("rows", {64, 16});
        last.split(var(1), task, row, rows, Tail::GuardWithIf)
            .parallel(task)
            .vectorize(var(0), cpu.lanes, Tail::GuardWithIf);
        last.specialize(last.output_buffer().dim(0).stride() == 1);
    }
    void reference(Problem &p) const override {
        for (int64_t i = 0; i < p["n"]; i++) {
            for (int64_t j = 0; j < p["depth"]; j++)
                p("y")(i, j) = p("indices")(i) == double(j) ? p("on")() : p("off")();
        }
    }
};

}  // namespace

HALYARD_OPS {
    ops.add<OneHot>();
}

}  // namespace halyard

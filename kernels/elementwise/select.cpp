// Elementwise choices: select, masked_fill, clip_by_value.
#include "dsl/dtypes.h"
#include "kernels/elementwise/elementwise.h"

namespace halyard {
namespace {

struct Select : Elementwise {
    Func condition = input("condition"), a = input("a"), b = input("b");
    Func y = output("y");
    Select() : Elementwise("select", "condition:bool[*] a[*] b[*] -> y[*]") {
        doc = "y = a where condition, else b";
        other_names = {"where"};
        dtypes = all_dtypes;
        contract = {Contract::elementwise, 0};
        copies_bits = true;
        task_elements = cheap_task;
    }
    void algorithm() override {
        y(Halide::_) = select(condition(Halide::_), a(Halide::_), b(Halide::_));
    }
    void reference(Problem &p) const override {
        each(p, [](const double *in, double *o) { o[0] = in[0] != 0 ? in[1] : in[2]; });
    }
};

struct SelectGradient : Elementwise {
    const bool in_a;
    Func condition = input("condition"), dy = input("dy");
    Func d;
    explicit SelectGradient(bool a_side)
        : Elementwise(a_side ? "select_da" : "select_db", a_side
                                                              ? "condition:bool[*] dy[*] -> da[*]"
                                                              : "condition:bool[*] dy[*] -> db[*]"),
          in_a(a_side) {
        internal = copies_bits = true;
        task_elements = cheap_task;
        contract = {Contract::elementwise, 0};
        d = output(a_side ? "da" : "db");
    }
    void algorithm() override {
        d(Halide::_) = in_a ? select(condition(Halide::_), dy(Halide::_), 0_r)
                            : select(condition(Halide::_), 0_r, dy(Halide::_));
    }
    void reference(Problem &p) const override {
        each(p, [&](const double *in, double *o) { o[0] = (in[0] != 0) == in_a ? in[1] : 0; });
    }
};

struct MaskedFill : Elementwise {
    Func x = input("x"), mask = input("mask"), value = input("value");
    Func y = output("y");
    MaskedFill() : Elementwise("masked_fill", "x[*] mask:bool[*] value[*] -> y[*]") {
        doc = "y = value where mask, else x";
        dtypes = all_dtypes;
        contract = {Contract::elementwise, 0};
        copies_bits = true;
        task_elements = cheap_task;
    }
    void algorithm() override {
        y(Halide::_) = select(mask(Halide::_), value(Halide::_), x(Halide::_));
    }
    void reference(Problem &p) const override {
        each(p, [](const double *in, double *o) { o[0] = in[1] != 0 ? in[2] : in[0]; });
    }
};

struct MaskedFillGradient : Elementwise {
    const bool in_x;
    Func mask = input("mask"), dy = input("dy");
    Func d;
    explicit MaskedFillGradient(bool x_side)
        : Elementwise(x_side ? "masked_fill_dx" : "masked_fill_dvalue",
                      std::string("mask:bool[*] dy[*] -> ") + (x_side ? "dx[*]" : "dvalue[*]")),
          in_x(x_side) {
        internal = copies_bits = true;
        task_elements = cheap_task;
        contract = {Contract::elementwise, 0};
        d = output(x_side ? "dx" : "dvalue");
    }
    void algorithm() override {
        d(Halide::_) = in_x ? select(mask(Halide::_), 0_r, dy(Halide::_))
                            : select(mask(Halide::_), dy(Halide::_), 0_r);
    }
    void reference(Problem &p) const override {
        each(p, [&](const double *in, double *o) { o[0] = (in[0] == 0) == in_x ? in[1] : 0; });
    }
};

struct Clip : Elementwise {
    Func x = input("x"), low = input("clip_value_min"), high = input("clip_value_max");
    Func y = output("y");
    Clip() : Elementwise("clip_by_value", "x[*] clip_value_min[*] clip_value_max[*] -> y[*]") {
        doc = "y = min(max(x, clip_value_min), clip_value_max)";
        other_names = {"clip", "clamp"};
        dtypes = {"f32", "f16", "bf16", "f64", "i64", "i32", "i8", "u8"};
        contract = {Contract::elementwise, 0};
    }
    void algorithm() override {
        y(Halide::_) = min(max(x(Halide::_), low(Halide::_)), high(Halide::_));
    }
    void reference(Problem &p) const override {
        each(p, [](const double *in, double *o) {
            const double raised = in[0] > in[1] || std::isnan(in[0]) ? in[0] : in[1];
            o[0] = raised < in[2] || std::isnan(raised) ? raised : in[2];
        });
    }
};

// Only x has a gradient; the bounds are taken as constants.
struct ClipDx : Elementwise {
    Func x = input("x"), low = input("clip_value_min"), high = input("clip_value_max"),
         dy = input("dy");
    Func dx = output("dx");
    ClipDx()
        : Elementwise("clip_by_value_dx",
                      "x[*] clip_value_min[*] clip_value_max[*] dy[*] -> dx[*]") {
        internal = true;
        contract = {Contract::elementwise, 0};
    }
    void algorithm() override {
        const Expr v = x(Halide::_);
        dx(Halide::_) = select(v >= low(Halide::_) && v <= high(Halide::_), dy(Halide::_), 0_r);
    }
    void reference(Problem &p) const override {
        each(p, [](const double *in, double *o) {
            o[0] = in[0] >= in[1] && in[0] <= in[2] ? in[3] : 0;
        });
    }
};

}  // namespace

HALYARD_OPS {
    ops.add<Select>();
    ops.add<SelectGradient>(true);
    ops.add<SelectGradient>(false);
    ops.add<MaskedFill>();
    ops.add<MaskedFillGradient>(true);
    ops.add<MaskedFillGradient>(false);
    ops.add<Clip>();
    ops.add<ClipDx>();
}

}  // namespace halyard

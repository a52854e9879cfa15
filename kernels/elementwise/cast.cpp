// cast: from every dtype to every other. dsl/convert.h describes conversions out of range.
#include "dsl/dtypes.h"
#include "kernels/elementwise/elementwise.h"

namespace halyard {
namespace {

struct Cast : Elementwise {
    Func x = input("x");
    Func y = output("y");
    Cast() : Elementwise("cast", "x:T[*] -> y:U[*]") {
        doc = "y = x in another dtype; floats to integers truncate, saturate, and take NaN to 0; "
              "integers wrap; bool is x != 0";
        at_call("dtype", AttrKind::dtype, "f32");
        contract = {Contract::elementwise, 0.5};
        task_elements = cheap_task;
        dtypes.clear();
        for (auto &from : all_dtypes) {
            for (auto &to : all_dtypes)
                dtypes.push_back(from + "," + to);
        }
    }
    void algorithm(const Build &build) override {
        const auto to = build.types.find("U");
        Expr v = x(Halide::_);
        const auto from = build.types.find("T");
        // Halide would join the conversions from bf16 to f32 and from f32 to f16 into one of its
        // own, which takes NaN to infinity. The product keeps them apart.
        if (from != build.types.end() && from->second == DType::bf16 && to != build.types.end() &&
            to->second == DType::f16)
            v = strict_float(v * 1_r);
        y(Halide::_) = to != build.types.end() && to->second == DType::boolean ? v != 0_r : v;
    }
    // Doesn't wrap integers; the comparison with the kernel does.
    void reference(Problem &p) const override {
        const auto to = static_cast<DType>(p["dtype"]);
        const bool is_signed = to != DType::u8;
        const double values = std::ldexp(1.0, 8 * int(bytes_of(to)));
        const double low = is_signed ? -values / 2 : 0;
        const double high = (is_signed ? values / 2 : values) - 1;
        each(p, [&](const double *in, double *o) {
            if (to == DType::boolean)
                o[0] = in[0] != 0;
            else if (is_float(to) || !is_float(p.dtype))
                o[0] = in[0];
            else
                o[0] = std::isnan(in[0]) ? 0 : std::fmin(std::fmax(std::trunc(in[0]), low), high);
        });
    }
};

}  // namespace

HALYARD_OPS {
    ops.add<Cast>();
}

}  // namespace halyard

// Depthwise convolution, a filter per channel: maps, or strips of one, lie in L1 with zeros around them while results are made, some rows at a time.
#pragma once
#include "kernels/padded_map.h"

namespace halyard {

// sum over taps of filter(v, u, k) * map(x * stride + v * dilation, ..); also the gradient in the map, of dy and the filters turned.
class Depthwise {
public:
    struct Taps {
        Halide::Expr extent, dilation;
    };
    // `side`: of a square filter without dilation, or 0 for any. width: of the result.
    void define(const PaddedMap &map, const Halide::Func &filter, int stride, int side, const Taps &across, const Taps &down, const Halide::Expr &width);
    Halide::Expr at(const Halide::Expr &x, const Halide::Expr &y, const Halide::Expr &k, const Halide::Expr &n) const;
    void schedule(const Cpu &cpu, Halide::Func o) const;  // o: the stored Func, which is at(...)

private:
    using Func = Halide::Func;
    using Var = Halide::Var;
    // With AVX-512: several maps are padded before their sums are made, or strips of a large one. Otherwise map by map.
    void by_strips(const Cpu &cpu, Func o) const;
    void by_maps(const Cpu &cpu, Func o) const;
    void sums(const Func &o, const Var &at, int lanes, int rows) const;

    static constexpr int narrow_width_ = 16;  // of a row of a narrow map, in results
    int side_ = 0, stride_ = 1;
    PaddedMap map_;
    Func sum_{"sum"}, narrow_sum_{"narrow_sum"};
    Halide::Expr narrow_;  // a row of the map fits into so many elements, padding included; undefined where the map isn't made by rows
    Halide::RDom r_;
    Var x{"x"}, y{"y"}, k{"k"}, n{"n"};
};

// The gradient in the filters, square ones of `side` without dilation: sum over images and pixels of dy(x, y) * map(x * stride + v, ..).
class DepthwiseTaps {
public:
    // dy: without zeros in front of it. w, h: its extents.
    void define(const PaddedMap &map, const PaddedMap &dy, int stride, int side, const Halide::Expr &w, const Halide::Expr &h, const Halide::Expr &images,
                int lanes);
    Halide::Expr at(const Halide::Expr &v, const Halide::Expr &u, const Halide::Expr &k) const { return total_(v, u, k); }
    void schedule(const Cpu &cpu, Halide::Func o) const;  // o(v, u, 0, k)

private:
    using Func = Halide::Func;
    using Var = Halide::Var;
    PaddedMap map_, dy_;
    Func sum_{"sum"}, total_{"total"};
    Halide::RDom r_, lane_;
    Var l{"l"}, v{"v"}, u{"u"}, k{"k"};
};

}  // namespace halyard

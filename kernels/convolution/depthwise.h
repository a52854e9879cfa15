// Depthwise convolution, a filter per channel: results are made some rows at a time, of a map's
// lines in registers or of a copy in L1 with zeros around.
#pragma once
#include "kernels/convolution/padded_map.h"

namespace halyard {

// sum over taps of filter(v, u, k) * map(x * stride + v * dilation, ..); also the gradient in the
// map, of dy and the filters turned.
class Depthwise {
public:
    struct Taps {
        Halide::Expr extent, dilation;
    };
    // `side`: of a square filter without dilation, or 0 for any. lanes: of a vector.
    void define(const PaddedMap &map, const Halide::Func &filter, int stride, int side,
                const Taps &across, const Taps &down, int lanes);
    Halide::Expr at(const Halide::Expr &x, const Halide::Expr &y, const Halide::Expr &k,
                    const Halide::Expr &n) const;
    // o: the stored Func, which is at(...). alone: it reads nothing else that ends where it ends.
    void schedule(const Cpu &cpu, Halide::Func o, bool alone = true) const;

private:
    using Func = Halide::Func;
    using Var = Halide::Var;
    // Of lines that are read under masks, where `side` is known: nothing is copied. Otherwise with
    // AVX-512 several maps are padded before their sums are made, or strips of a large one; without
    // it map by map.
    void by_tiles(const Cpu &cpu, Func o, bool alone) const;
    void by_strips(const Cpu &cpu, Func o) const;
    void by_maps(const Cpu &cpu, Func o) const;
    void sums(const Func &o, const Var &at, int lanes, int rows) const;

    int side_ = 0, stride_ = 1, lanes_ = 0;
    int tile_ = 0;  // by tiles: results in a vector
    PaddedMap map_;
    // line(l, j, b, ..): vector j of the lines, one line after the other, of tile b of a row
    Func sum_{"sum"}, tile_sum_{"tile_sum"}, line_{"line"};
    Halide::RDom r_;
    Var x{"x"}, y{"y"}, k{"k"}, n{"n"}, l{"l"}, j{"j"}, b{"b"};
};

// The gradient in the filters, square ones of `side` without dilation: sum over images and pixels
// of dy(x, y) * map(x * stride + v, ..).
class DepthwiseTaps {
public:
    // dy: without zeros in front of it. w, h: its extents.
    void define(const PaddedMap &map, const PaddedMap &dy, int stride, int side,
                const Halide::Expr &w, const Halide::Expr &h, const Halide::Expr &images,
                int lanes);
    Halide::Expr at(const Halide::Expr &v, const Halide::Expr &u, const Halide::Expr &k) const {
        return total_(v, u, k);
    }
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

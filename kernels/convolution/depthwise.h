// Depthwise convolution, a filter per channel. Results are made some rows at a time, from a map's
// lines in registers or from a copy in L1 with zeros around.
#pragma once
#include "kernels/convolution/padded_map.h"

namespace halyard {

// The sum over taps of filter(v, u, k) * map(x * stride + v * dilation, ..). The gradient in the
// map is the same of dy and of filters that are rotated by 180 degrees.
class Depthwise {
public:
    struct Taps {
        Halide::Expr extent, dilation;
    };
    // `side` is that of a square filter without dilation, or 0 for any filter. A vector has `lanes`
    // elements.
    void define(const PaddedMap &map, const Halide::Func &filter, int stride, int side,
                const Taps &across, const Taps &down, int lanes);
    Halide::Expr at(const Halide::Expr &x, const Halide::Expr &y, const Halide::Expr &k,
                    const Halide::Expr &n) const;
    // Schedules o, the stored Func, which is at(...). `alone` is true if it reads no other tensor
    // with its extents.
    void schedule(const Cpu &cpu, Halide::Func o, bool alone = true) const;

private:
    using Func = Halide::Func;
    using Var = Halide::Var;
    // by_tiles() reads lines under masks and copies nothing; it needs `side`. With AVX-512,
    // by_strips() pads several maps, or strips of a large one, before it sums. Without AVX-512,
    // by_maps() pads map by map.
    void by_tiles(const Cpu &cpu, Func o, bool alone) const;
    void by_strips(const Cpu &cpu, Func o) const;
    void by_maps(const Cpu &cpu, Func o) const;
    void sums(const Func &o, const Var &at, int lanes, int rows) const;

    int side_ = 0, stride_ = 1, lanes_ = 0;
    Taps across_, down_;
    int tile_ = 0;  // results in a vector of by_tiles(), else 0
    PaddedMap map_;
    // line(l, j, b, ..) is lane l of vector j of the lines, one line after the other, of tile b of
    // a row.
    Func sum_{"sum"}, tile_sum_{"tile_sum"}, line_{"line"};
    Halide::RDom r_;
    Var x{"x"}, y{"y"}, k{"k"}, n{"n"}, l{"l"}, j{"j"}, b{"b"};
};

// The gradient in filters: the sum over images and pixels of
// dy(x, y) * map(x * stride + v * dilation, ..).
class DepthwiseTaps {
public:
    // dy has no zeros in front of it.
    struct Pixels {
        Halide::Expr w, h, images;  // the extents of dy
    };
    // Defines the gradient in square filters of `side` without dilation.
    void define(const PaddedMap &map, const PaddedMap &dy, int stride, int side,
                const Pixels &pixels, int lanes);
    // Defines it in filters of any size.
    void define(const PaddedMap &map, const PaddedMap &dy, int stride,
                const Depthwise::Taps &across, const Depthwise::Taps &down, const Pixels &pixels,
                int lanes);
    Halide::Expr at(const Halide::Expr &v, const Halide::Expr &u, const Halide::Expr &k) const {
        return total_(v, u, k);
    }
    void schedule(const Cpu &cpu, Halide::Func o) const;  // o(v, u, 0, k)

private:
    using Func = Halide::Func;
    using Var = Halide::Var;
    void add_lanes(int lanes);
    PaddedMap map_, dy_;
    bool any_size_ = false;
    // The sums of an image, of all images, and of all lanes.
    Func terms_{"terms"}, sum_{"sum"}, total_{"total"};
    Halide::RDom r_, images_, lane_;
    Var l{"l"}, v{"v"}, u{"u"}, k{"k"}, n{"n"};
};

}  // namespace halyard

// Depthwise convolution, a filter per channel: a map lies in L1 with zeros around it while its result is made, some rows at a time.
#pragma once
#include "dsl/backend.h"

namespace halyard {

// One spatial dimension of the convolution.
struct DepthwiseLine {
    Halide::Expr in, taps, dilation, before;  // extents of map and filter, padding before the map
};

class Depthwise {
public:
    // image(x, y, k, n): what output channel k reads, asked for inside of the map alone; filter(v, u, k). `side`: of a square filter without
    // dilation, or 0 for any.
    void define(const Halide::Func &image, const Halide::Func &filter, int stride, int side, const DepthwiseLine &across, const DepthwiseLine &down);
    Halide::Expr at(const Halide::Expr &x, const Halide::Expr &y, const Halide::Expr &k, const Halide::Expr &n) const { return sum_(x, y, k, n); }
    void schedule(const Cpu &cpu, Halide::Func o) const;  // o: the stored Func, which is at(...)

private:
    using Func = Halide::Func;
    using Var = Halide::Var;
    int side_ = 0;
    Func map_{"map"}, sum_{"sum"};
    Halide::RDom pixel_, r_;
    Var x{"x"}, y{"y"}, k{"k"}, n{"n"};
};

}  // namespace halyard

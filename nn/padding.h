// Layers that add elements around a tensor.
#pragma once
#include <utility>
#include <vector>

#include "nn/cell.h"
#include "nn/sizes.h"
#include "primitives/ops/indexing.h"

namespace halyard::nn {

// Adds elements before and after each dimension of x. `paddings` lists their numbers, the first
// dimension first. `mode` is "CONSTANT" (zeros), "REFLECT" (mirrored without the edge) or
// "SYMMETRIC" (mirrored with the edge). Throws AttrError for wrong options, ShapeError for another
// rank.
class Pad : public Cell {
public:
    explicit Pad(const std::vector<std::pair<int64_t, int64_t>> &paddings,
                 const std::string &mode = "CONSTANT");
    Tensor construct(const Tensor &x) const override;
    std::string extend_repr() const override { return "mode=" + mode_; }

private:
    Ints from_the_last_;
    std::string mode_;
    size_t rank_;
};

// Adds elements before and after each of the last N dimensions of x. `padding` lists their numbers,
// the last dimension first: {left, right, top, bottom, front, back}.
template<int N> class SidePad : public Cell {
public:
    Tensor construct(const Tensor &x) const override;
    std::string extend_repr() const override { return "padding=" + in_brackets(padding_); }

protected:
    SidePad(const std::string &layer, Paddings<N> padding, const F::BorderMode &mode,
            double value = 0);

private:
    Ints padding_;
    F::BorderMode mode_;
    double value_;
};

template<int N> class ConstantPad : public SidePad<N> {
public:
    ConstantPad(Paddings<N> padding, double value)
        : SidePad<N>(with_rank<N>("ConstantPad"), padding, F::BorderMode::constant, value) {}
    std::string cls_name() const override { return with_rank<N>("ConstantPad"); }
};
// Mirrors the tensor at its edge without repeating the edge.
template<int N> class ReflectionPad : public SidePad<N> {
public:
    explicit ReflectionPad(Paddings<N> padding)
        : SidePad<N>(with_rank<N>("ReflectionPad"), padding, F::BorderMode::reflect) {}
    std::string cls_name() const override { return with_rank<N>("ReflectionPad"); }
};
// Repeats the edge.
template<int N> class ReplicationPad : public SidePad<N> {
public:
    explicit ReplicationPad(Paddings<N> padding)
        : SidePad<N>(with_rank<N>("ReplicationPad"), padding, F::BorderMode::replicate) {}
    std::string cls_name() const override { return with_rank<N>("ReplicationPad"); }
};

using ConstantPad1d = ConstantPad<1>;
using ConstantPad2d = ConstantPad<2>;
using ConstantPad3d = ConstantPad<3>;
using ReflectionPad1d = ReflectionPad<1>;
using ReflectionPad2d = ReflectionPad<2>;
using ReflectionPad3d = ReflectionPad<3>;
using ReplicationPad1d = ReplicationPad<1>;
using ReplicationPad2d = ReplicationPad<2>;
using ReplicationPad3d = ReplicationPad<3>;
class ZeroPad2d : public SidePad<2> {
public:
    explicit ZeroPad2d(Paddings<2> padding)
        : SidePad("ZeroPad2d", padding, F::BorderMode::constant) {}
};

}  // namespace halyard::nn

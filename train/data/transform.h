// Transform: a function that Dataset::map applies to columns of a row.
#pragma once
#include <functional>
#include <type_traits>
#include <utility>

#include "train/data/row.h"
#include "train/vision/draw.h"

namespace halyard::dataset {

// Holds a function of one of four forms. Several threads call it at once.
//   Tensor(const Tensor &)               maps one column to one column
//   Tensor(const Tensor &, Draw &)       the same with random numbers
//   Tensors(const Tensors &)             maps columns to columns
//   Tensors(const Tensors &, Draw &)     the same with random numbers
class Transform {
public:
    template<class F>
    requires(!std::is_same_v<F, Transform>) Transform(F f) : apply_(erased(std::move(f))) {}

    // Throws ShapeError if a function of one column gets several.
    void operator()(Tensors &columns, Draw &draw) const { apply_(columns, draw); }

private:
    using Erased = std::function<void(Tensors &, Draw &)>;
    static Tensor &only(Tensors &columns);

    template<class F> static Erased erased(F f) {
        if constexpr (std::is_invocable_r_v<Tensor, const F &, const Tensor &, Draw &>)
            return [f](Tensors &t, Draw &draw) { only(t) = f(std::as_const(t[0]), draw); };
        else if constexpr (std::is_invocable_r_v<Tensor, const F &, const Tensor &>)
            return [f](Tensors &t, Draw &) { only(t) = f(std::as_const(t[0])); };
        else if constexpr (std::is_invocable_r_v<Tensors, const F &, const Tensors &, Draw &>)
            return [f](Tensors &t, Draw &draw) { t = f(std::as_const(t), draw); };
        else {
            static_assert(std::is_invocable_r_v<Tensors, const F &, const Tensors &>,
                          "a transform is a function of one of the four forms above");
            return [f](Tensors &t, Draw &) { t = f(std::as_const(t)); };
        }
    }

    Erased apply_;
};

namespace transforms {

// Applies several transforms in order.
class Compose {
public:
    explicit Compose(std::vector<Transform> transforms) : transforms_(std::move(transforms)) {}
    Tensors operator()(Tensors columns, Draw &draw) const {
        for (const Transform &t : transforms_)
            t(columns, draw);
        return columns;
    }

private:
    std::vector<Transform> transforms_;
};

// Applies a transform to each row with probability `prob`.
class RandomApply {
public:
    RandomApply(Transform transform, double prob = 0.5);
    Tensors operator()(Tensors columns, Draw &draw) const {
        if (draw.chance(prob_)) transform_(columns, draw);
        return columns;
    }

private:
    Transform transform_;
    double prob_;
};

}  // namespace transforms
}  // namespace halyard::dataset

// Cell: a layer or a network, with parameters and children that have names.
//
//   class Net : public nn::Cell {
//       nn::Conv2d conv1 = child("conv1", nn::Conv2d(1, 6, 5, {.pad_mode = "valid"}));
//       nn::ReLU relu;  // what has neither parameters nor a training mode needs no name
//       Tensor construct(const Tensor &x) const override { return relu(conv1(x)); }
//   };
//
// A Cell is a cheap handle: copies share parameters, children and the training flag, so a member
// and its entry in the parent are one cell. construct() is const because other members are copied
// and must not drift apart: what changes while a network runs belongs into a Parameter.
#pragma once
#include <concepts>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "nn/hook.h"
#include "primitives/parameter.h"
#include "registry/tensor/tensor.h"

namespace halyard::nn {

class AnyCell;

class Cell {
public:
    virtual ~Cell() = default;

    // Override the one your cell has; the others throw ShapeError saying how many tensors were
    // given. The last is for more tensors in or out, and for tensors that may be left out: those
    // are undefined.
    virtual Tensor construct(const Tensor &x) const;
    virtual Tensor construct(const Tensor &x, const Tensor &y) const;
    virtual Tensor construct(const Tensor &x, const Tensor &y, const Tensor &z) const;
    virtual std::vector<Tensor> construct(Tensors in) const;

    // The cell's only output; throws ShapeError when it has several, which call() returns.
    template<std::convertible_to<const Tensor &>... T>
    requires(sizeof...(T) > 0) Tensor operator()(const T &...in) const {
        const Tensor all[] = {static_cast<const Tensor &>(in)...};
        return only(call(all));
    }
    Tensor operator()(Tensors in) const { return only(call(in)); }
    std::vector<Tensor> call(Tensors in) const;

    // A gradient stated by hand: a cell that overrides it returns a function of inputs, outputs and
    // the outputs' gradients that gives the inputs' gradients. Nothing of construct() is recorded
    // then, so that the cell's parameters get none.
    using Bprop = std::function<std::vector<Tensor>(Tensors in, Tensors out, Tensors dout)>;
    virtual Bprop bprop() const { return {}; }

    // Own parameters first, then the children's in the order they were added; shared ones once.
    // Names are paths: "conv1.weight".
    std::vector<std::pair<std::string, Parameter>> parameters_and_names() const;
    ParameterTuple get_parameters() const;
    // those that require a gradient
    ParameterTuple trainable_params() const;
    ParameterTuple untrainable_params() const;                 // the others
    std::map<std::string, Parameter> parameters_dict() const;  // by Parameter::name()
    // all below this one, parents first
    std::vector<std::pair<std::string, AnyCell>> cells_and_names() const;
    std::vector<std::pair<std::string, AnyCell>> name_cells() const;  // the children alone

    // Adds a child to a network that exists. Throws AttrError when the name is empty, has a dot or
    // is taken.
    void insert_child_to_cell(const std::string &name, const AnyCell &cell) const;

    void set_train(bool on = true) const;  // this cell and all below; cells start in evaluation
    bool training() const { return state_->training; }
    void set_grad(bool on = true) const;  // off: calls of this cell are not recorded on the tape
    bool requires_grad() const { return state_->grad; }
    bool same(const Cell &o) const { return state_ == o.state_; }

    // Mixed precision: this cell and all below compute in `dtype`, f16, bf16 or f32. Floating
    // inputs are cast to it, and so are parameters where they are used: they stay what they are,
    // and so do their gradients. Norms compute in f32 inside. Throws DTypeError for another dtype.
    void to_float(DType dtype) const;
    std::optional<DType> float_type() const { return state_->float_type; }

    HookHandle register_forward_pre_hook(ForwardPreHook hook) const {
        return state_->forward_pre.add(std::move(hook));
    }
    HookHandle register_forward_hook(ForwardHook hook) const {
        return state_->forward.add(std::move(hook));
    }
    HookHandle register_backward_pre_hook(BackwardPreHook hook) const {
        return state_->backward_pre.add(std::move(hook));
    }
    HookHandle register_backward_hook(BackwardHook hook) const {
        return state_->backward.add(std::move(hook));
    }

    // "Conv2d", "Net": the class, without its namespaces
    virtual std::string cls_name() const;
    // what text() says of this cell: "p=0.5"
    virtual std::string extend_repr() const { return ""; }
    // the cell as a tree, a line for each one below
    std::string text() const;
    friend std::ostream &operator<<(std::ostream &out, const Cell &cell) {
        return out << cell.text();
    }

protected:
    // auto_prefix off: the children's parameters keep their names (the cells that wrap a whole
    // network do that).
    explicit Cell(bool auto_prefix = true);
    Cell(const Cell &) = default;
    Cell &operator=(const Cell &) = default;

    // Adds a child and returns it. Throws AttrError when the name is empty, has a dot or is taken.
    template<std::derived_from<Cell> T> T child(const std::string &name, T cell) {
        insert_child(name, std::make_shared<T>(cell));
        return cell;
    }
    Parameter parameter(const std::string &name, Tensor value, bool requires_grad = true);
    // p as construct() reads it: in the type of to_float(), by a cast that the tape knows.
    // Undefined if p is.
    Tensor computed(const Parameter &p) const;

private:
    struct State {
        std::vector<std::pair<std::string, Parameter>> parameters;
        std::vector<std::pair<std::string, std::shared_ptr<const Cell>>> children;
        bool training = false, grad = true, auto_prefix = true, has_parent = false;
        // of parameters' names: the path from the outermost cell, as far as it is known
        std::string prefix;
        std::optional<DType> float_type;
        Hooks<ForwardPreHook> forward_pre;
        Hooks<ForwardHook> forward;
        Hooks<BackwardPreHook> backward_pre;
        Hooks<BackwardHook> backward;
    };
    Tensor only(std::vector<Tensor> outputs) const;
    std::vector<Tensor> construct_with_gradient(Tensors in) const;
    std::vector<Tensor> construct_with_backward_hooks(Tensors in) const;
    void insert_child(const std::string &name, std::shared_ptr<const Cell> cell) const;
    void check_name(const std::string &name) const;
    void visit(const std::string &path, std::vector<const State *> &seen,
               std::vector<std::pair<std::string, std::shared_ptr<const Cell>>> &out) const;
    std::shared_ptr<State> state_;
};

// Any cell, by value: what SequentialCell, WithLossCell and Model take. An empty one throws when
// called.
class AnyCell : public Cell {
public:
    AnyCell() = default;
    template<std::derived_from<Cell> T>
    requires(!std::same_as<T, AnyCell>) AnyCell(const T &cell)
        : AnyCell(std::make_shared<T>(cell)) {}
    AnyCell(const std::shared_ptr<const Cell> &cell) : Cell(*cell), cell_(cell) {}

    explicit operator bool() const { return cell_ != nullptr; }
    // null when it isn't a T
    template<class T> const T *as() const { return dynamic_cast<const T *>(cell_.get()); }

    std::vector<Tensor> construct(Tensors in) const override { return cell().construct(in); }
    Bprop bprop() const override { return cell().bprop(); }
    std::string cls_name() const override { return cell().cls_name(); }
    std::string extend_repr() const override { return cell().extend_repr(); }

private:
    friend class Cell;
    const Cell &cell() const;
    std::shared_ptr<const Cell> cell_;
};

}  // namespace halyard::nn

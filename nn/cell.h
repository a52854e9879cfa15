// Cell: a layer or a network, with parameters and children that have names.
//
//   class Net : public nn::Cell {
//       nn::Conv2d conv1 = child("conv1", nn::Conv2d(1, 6, 5, {.pad_mode = "valid"}));
//       nn::ReLU relu;  // a cell without parameters and training mode needs no name
//       Tensor construct(const Tensor &x) const override { return relu(conv1(x)); }
//   };
//
// A Cell is a cheap handle. Copies share parameters, children and the training flag, so a member
// and its entry in the parent are one cell. Other members are copied, so construct() is const:
// state that changes while a network runs belongs into a Parameter.
#pragma once
#include <concepts>
#include <functional>
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

namespace halyard::graph {
class Replay;
}

namespace halyard::nn {

class AnyCell;

class Cell {
public:
    virtual ~Cell() = default;

    // A cell overrides the form it needs. The others throw ShapeError with the number of tensors
    // given. The last form is for more than three inputs, for several outputs, and for optional
    // inputs, which are undefined tensors when left out.
    virtual Tensor construct(const Tensor &x) const;
    virtual Tensor construct(const Tensor &x, const Tensor &y) const;
    virtual Tensor construct(const Tensor &x, const Tensor &y, const Tensor &z) const;
    virtual std::vector<Tensor> construct(Tensors in) const;

    // Sets the inputs of the next of several calls. Returns false if there is none.
    using NextInputs = std::function<bool(std::vector<Tensor> &)>;
    // Makes the calls of call_all(). A cell overrides it that replays its calls itself; the default
    // is a loop of call().
    virtual std::vector<Tensor> construct_all(const NextInputs &next) const;

    // Returns the cell's output. Throws ShapeError if it has several; call() returns those.
    template<std::convertible_to<const Tensor &>... T>
    requires(sizeof...(T) > 0) Tensor operator()(const T &...in) const {
        const Tensor all[] = {static_cast<const Tensor &>(in)...};
        return only(call(all));
    }
    Tensor operator()(Tensors in) const { return only(call(in)); }
    std::vector<Tensor> call(Tensors in) const;
    // Calls the cell with all inputs that `next` sets, and returns the last call's outputs; none if
    // there was no call. In GRAPH_MODE the calls are replayed one after the other, without what a
    // single call does for its caller, and the memory of outputs is used again.
    std::vector<Tensor> call_all(const NextInputs &next) const;

    // Returns a handwritten gradient, or an empty function (the default). The function maps inputs,
    // outputs and the outputs' gradients to the inputs' gradients. construct() is then not recorded
    // on the tape, so the cell's parameters get no gradient.
    using Bprop = std::function<std::vector<Tensor>(Tensors in, Tensors out, Tensors dout)>;
    virtual Bprop bprop() const { return {}; }

    // Returns the cell's own parameters, then those of its children in the order they were added.
    // A shared parameter appears once. Names are paths: "conv1.weight".
    std::vector<std::pair<std::string, Parameter>> parameters_and_names() const;
    ParameterTuple get_parameters() const;
    // Returns the parameters that require a gradient.
    ParameterTuple trainable_params() const;
    // Returns the parameters that require no gradient.
    ParameterTuple untrainable_params() const;
    // Returns all parameters by Parameter::name().
    std::map<std::string, Parameter> parameters_dict() const;
    // Returns this cell, whose name is "", and all cells below it, parents before their children.
    // The entry of this cell refers to it: it must not outlive the cell.
    std::vector<std::pair<std::string, AnyCell>> cells_and_names() const &;
    std::vector<std::pair<std::string, AnyCell>> cells_and_names() const && = delete;
    // Returns the direct children.
    std::vector<std::pair<std::string, AnyCell>> name_cells() const;

    // Adds a child after construction. Throws AttrError if the name is empty, has a dot or is
    // taken.
    void insert_child_to_cell(const std::string &name, const AnyCell &cell) const;

    // Switches this cell and all below it to training or evaluation. Cells start in evaluation.
    void set_train(bool on = true) const;
    bool training() const { return state_->training; }
    // With `on` false, calls of this cell are not recorded on the tape.
    void set_grad(bool on = true) const;
    bool requires_grad() const { return state_->grad; }
    // Returns true if both are handles of one cell.
    bool same(const Cell &o) const { return state_ == o.state_; }

    // Makes this cell and all below it compute in `dtype`: f16, bf16 or f32. Floating-point inputs
    // and parameters are cast where they are used; parameters and their gradients keep their dtype.
    // Norms compute in f32 internally. Throws DTypeError for another dtype.
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

    // Returns false for a cell that does more than compute tensors, such as one that updates
    // parameters with an optimiser. Calls of other cells are captured in GRAPH_MODE.
    virtual bool is_captured() const { return true; }
    // Returns the graph of this cell's captured calls, the last call's first (graph/graph.h).
    std::vector<std::string> graphs() const;

    // Returns the class without its namespaces: "Conv2d", "Net".
    virtual std::string cls_name() const;
    // Returns this cell's options for text(): "p=0.5".
    virtual std::string extend_repr() const { return ""; }
    // Returns the tree of cells, one line each.
    std::string text() const;
    friend std::ostream &operator<<(std::ostream &out, const Cell &cell) {
        return out << cell.text();
    }

protected:
    // Without auto_prefix the children's parameters keep their names. Cells that wrap a whole
    // network, such as WithLossCell, use this.
    explicit Cell(bool auto_prefix = true);
    Cell(const Cell &) = default;
    Cell &operator=(const Cell &) = default;

    // Adds a child and returns it. Throws AttrError if the name is empty, has a dot or is taken.
    template<std::derived_from<Cell> T> T child(const std::string &name, T cell) {
        insert_child(name, std::make_shared<T>(cell));
        return cell;
    }
    // Adds a parameter and returns it. Throws AttrError as child() does.
    Parameter parameter(const std::string &name, Tensor value, bool requires_grad = true);
    // Returns p in the dtype of to_float(), by a cast that the tape records. Returns an undefined
    // tensor if p is undefined.
    Tensor computed(const Parameter &p) const;
    // Returns a pointer to this cell, which does not own it. AnyCell's owns the cell it holds.
    virtual std::shared_ptr<const Cell> itself() const;

private:
    struct State {
        std::vector<std::pair<std::string, Parameter>> parameters;
        std::vector<std::pair<std::string, std::shared_ptr<const Cell>>> children;
        bool training = false, grad = true, auto_prefix = true, has_parent = false;
        // The known part of the path from the outermost cell, which prefixes parameter names.
        std::string prefix;
        std::optional<DType> float_type;
        Hooks<ForwardPreHook> forward_pre;
        Hooks<ForwardHook> forward;
        Hooks<BackwardPreHook> backward_pre;
        Hooks<BackwardHook> backward;
        std::shared_ptr<graph::Replay> replay;  // null before the first captured call
    };
    Tensor only(std::vector<Tensor> outputs) const;
    std::vector<std::pair<std::string, std::shared_ptr<const Cell>>> cells_below() const;
    bool is_replayed() const;
    bool has_hooks() const;
    graph::Replay &replay() const;
    std::vector<Tensor> call_op_by_op(Tensors in) const;
    std::vector<Tensor> construct_with_gradient(Tensors in) const;
    std::vector<Tensor> construct_with_backward_hooks(Tensors in) const;
    void insert_child(const std::string &name, std::shared_ptr<const Cell> cell) const;
    void check_name(const std::string &name) const;
    void visit(const std::string &path, std::vector<const State *> &seen,
               std::vector<std::pair<std::string, std::shared_ptr<const Cell>>> &out) const;
    std::shared_ptr<State> state_;
};

// Holds any cell by value. SequentialCell, WithLossCell and Model take it. Calling an empty one
// throws AttrError.
class AnyCell : public Cell {
public:
    AnyCell() = default;
    template<std::derived_from<Cell> T>
    requires(!std::same_as<T, AnyCell>) AnyCell(const T &cell)
        : AnyCell(std::make_shared<T>(cell)) {}
    AnyCell(const std::shared_ptr<const Cell> &cell) : Cell(*cell), cell_(cell) {}

    explicit operator bool() const { return cell_ != nullptr; }
    // Returns the cell as a T, or null if it is of another class.
    template<class T> const T *as() const { return dynamic_cast<const T *>(cell_.get()); }

    std::vector<Tensor> construct(Tensors in) const override { return cell().construct(in); }
    std::vector<Tensor> construct_all(const NextInputs &next) const override {
        return cell().construct_all(next);
    }
    Bprop bprop() const override { return cell().bprop(); }
    bool is_captured() const override { return cell().is_captured(); }
    std::string cls_name() const override { return cell().cls_name(); }
    std::string extend_repr() const override { return cell().extend_repr(); }

private:
    friend class Cell;
    std::shared_ptr<const Cell> itself() const override { return cell_ ? cell_ : Cell::itself(); }
    const Cell &cell() const;
    std::shared_ptr<const Cell> cell_;
};

}  // namespace halyard::nn

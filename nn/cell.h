// Cell: a layer or a network, with parameters and children that have names.
//
//   class Net : public nn::Cell {
//       nn::Conv2d conv1 = child("conv1", nn::Conv2d(1, 6, 5, {.pad_mode = "valid"}));
//       nn::ReLU relu;  // what has neither parameters nor a training mode needs no name
//       Tensor construct(const Tensor &x) const override { return relu(conv1(x)); }
//   };
//
// A Cell is a cheap handle: copies share parameters, children and the training flag, so a member and its entry in the
// parent are one cell. construct() is const because other members are copied and must not drift apart: what changes
// while a network runs belongs into a Parameter.
#pragma once
#include <concepts>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "primitives/parameter.h"
#include "registry/tensor.h"

namespace halyard::nn {

class AnyCell;

class Cell {
public:
    virtual ~Cell() = default;

    // Override the one your cell has; the others throw ShapeError saying how many tensors were given.
    virtual Tensor construct(const Tensor &x) const;
    virtual Tensor construct(const Tensor &x, const Tensor &y) const;
    virtual Tensor construct(const Tensor &x, const Tensor &y, const Tensor &z) const;

    Tensor operator()(const Tensor &x) const;
    Tensor operator()(const Tensor &x, const Tensor &y) const;
    Tensor operator()(const Tensor &x, const Tensor &y, const Tensor &z) const;

    // Own parameters first, then the children's in the order they were added; shared ones once. Names are paths: "conv1.weight".
    std::vector<std::pair<std::string, Parameter>> parameters_and_names() const;
    ParameterTuple get_parameters() const;
    ParameterTuple trainable_params() const;                               // those that require a gradient
    std::map<std::string, Parameter> parameters_dict() const;              // by Parameter::name()
    std::vector<std::pair<std::string, AnyCell>> cells_and_names() const;  // all below this one, parents first

    void set_train(bool on = true) const;  // this cell and all below; cells start in evaluation
    bool training() const { return state_->training; }
    void set_grad(bool on = true) const;  // off: calls of this cell are not recorded on the tape
    bool requires_grad() const { return state_->grad; }
    bool same(const Cell &o) const { return state_ == o.state_; }

    virtual std::string cls_name() const;  // "Conv2d", "Net": the class, without its namespaces

protected:
    // auto_prefix off: the children's parameters keep their names (the cells that wrap a whole network do that).
    explicit Cell(bool auto_prefix = true);
    Cell(const Cell &) = default;
    Cell &operator=(const Cell &) = default;

    // Adds a child and returns it. Throws AttrError when the name is empty, has a dot or is taken.
    template<std::derived_from<Cell> T> T child(const std::string &name, T cell) {
        insert_child(name, std::make_shared<T>(cell));
        return cell;
    }
    Parameter parameter(const std::string &name, Tensor value, bool requires_grad = true);

private:
    struct State {
        std::vector<std::pair<std::string, Parameter>> parameters;
        std::vector<std::pair<std::string, std::shared_ptr<const Cell>>> children;
        bool training = false, grad = true, auto_prefix = true, has_parent = false;
    };
    void insert_child(const std::string &name, std::shared_ptr<const Cell> cell);
    void check_name(const std::string &name) const;
    void visit(const std::string &path, std::vector<const State *> &seen, std::vector<std::pair<std::string, std::shared_ptr<const Cell>>> &out) const;
    std::shared_ptr<State> state_;
};

// Any cell, by value: what SequentialCell, WithLossCell and Model take. An empty one throws when called.
class AnyCell : public Cell {
public:
    AnyCell() = default;
    template<std::derived_from<Cell> T>
    requires(!std::same_as<T, AnyCell>) AnyCell(const T &cell) : AnyCell(std::make_shared<T>(cell)) {}
    AnyCell(const std::shared_ptr<const Cell> &cell) : Cell(*cell), cell_(cell) {}

    explicit operator bool() const { return cell_ != nullptr; }
    template<class T> const T *as() const { return dynamic_cast<const T *>(cell_.get()); }  // null when it isn't a T

    Tensor construct(const Tensor &x) const override;
    Tensor construct(const Tensor &x, const Tensor &y) const override;
    Tensor construct(const Tensor &x, const Tensor &y, const Tensor &z) const override;
    std::string cls_name() const override { return cell_ ? cell_->cls_name() : "empty"; }

private:
    const Cell &cell() const;
    std::shared_ptr<const Cell> cell_;
};

}  // namespace halyard::nn

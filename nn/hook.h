// Hooks: functions that a cell calls around its own work, each until its handle removes it.
#pragma once
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "registry/tensor/tensor.h"

namespace halyard::nn {

class Cell;
using Tensors = std::span<const Tensor>;

// What a hook returns takes the place of what it was given last; an empty vector leaves it as it
// is.
using ForwardPreHook = std::function<std::vector<Tensor>(const Cell &, Tensors inputs)>;
using ForwardHook =
    std::function<std::vector<Tensor>(const Cell &, Tensors inputs, Tensors outputs)>;
using BackwardPreHook = std::function<std::vector<Tensor>(const Cell &, Tensors grad_output)>;
// Gradients in the cell's inputs, undefined where none passes, and in its outputs.
using BackwardHook =
    std::function<std::vector<Tensor>(const Cell &, Tensors grad_input, Tensors grad_output)>;

class HookHandle {
public:
    explicit HookHandle(std::function<void()> remove) : remove_(std::move(remove)) {}
    void remove() const { remove_(); }  // a second time nothing happens

private:
    std::function<void()> remove_;
};

// The hooks of one kind, in the order they were registered.
template<class F> class Hooks {
public:
    HookHandle add(F f) {
        const auto hook = std::make_shared<F>(std::move(f));
        all_->push_back(hook);
        return HookHandle([all = std::weak_ptr(all_), hook = std::weak_ptr(hook)] {
            if (const auto live = all.lock()) std::erase(*live, hook.lock());
        });
    }
    bool empty() const { return all_->empty(); }
    // a copy: a hook may remove itself
    std::vector<std::shared_ptr<F>> all() const { return *all_; }

private:
    std::shared_ptr<std::vector<std::shared_ptr<F>>> all_ =
        std::make_shared<std::vector<std::shared_ptr<F>>>();
};

}  // namespace halyard::nn

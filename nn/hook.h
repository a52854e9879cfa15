// Hooks: functions that a cell calls around its own work, each until its handle removes it.
#pragma once
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "primitives/settings_fingerprint.h"
#include "registry/tensor/tensor.h"

namespace halyard::nn {

class Cell;
using Tensors = std::span<const Tensor>;

// The tensors that a hook returns replace its last argument. An empty vector changes nothing.
using ForwardPreHook = std::function<std::vector<Tensor>(const Cell &, Tensors inputs)>;
using ForwardHook =
    std::function<std::vector<Tensor>(const Cell &, Tensors inputs, Tensors outputs)>;
using BackwardPreHook = std::function<std::vector<Tensor>(const Cell &, Tensors grad_output)>;
// grad_input has an undefined tensor for each input that gets no gradient.
using BackwardHook =
    std::function<std::vector<Tensor>(const Cell &, Tensors grad_input, Tensors grad_output)>;

// Removes a hook. Copies refer to the same hook.
class HookHandle {
public:
    explicit HookHandle(std::function<void()> remove) : remove_(std::move(remove)) {}
    // Removes the hook. A second call has no effect.
    void remove() const { remove_(); }

private:
    std::function<void()> remove_;
};

// The hooks of one kind, in the order they were registered.
template<class F> class Hooks {
public:
    HookHandle add(F f) {
        const auto hook = std::make_shared<F>(std::move(f));
        all_->push_back(hook);
        settings_changed();
        return HookHandle([all = std::weak_ptr(all_), hook = std::weak_ptr(hook)] {
            if (const auto live = all.lock()) std::erase(*live, hook.lock());
            settings_changed();
        });
    }
    bool empty() const { return all_->empty(); }
    // Returns a copy, because a hook may remove itself while the hooks run.
    std::vector<std::shared_ptr<F>> all() const { return *all_; }

private:
    std::shared_ptr<std::vector<std::shared_ptr<F>>> all_ =
        std::make_shared<std::vector<std::shared_ptr<F>>>();
};

}  // namespace halyard::nn

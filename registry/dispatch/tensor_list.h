// The tensors of a call.
#pragma once
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "registry/base/error.h"
#include "registry/dispatch/plan.h"
#include "registry/tensor/tensor.h"

namespace halyard {

// Holds up to Plan::max_arguments tensors without memory from the heap. Unlike a std::array it
// constructs and destroys only those that a call has.
class TensorList {
public:
    TensorList() = default;
    ~TensorList() { std::destroy_n(data(), count_); }
    TensorList(const TensorList &) = delete;
    TensorList &operator=(const TensorList &) = delete;

    // Throws DispatchError for more tensors than a plan may have.
    void push_back(Tensor t) {
        if (count_ == Plan::max_arguments)
            throw DispatchError("call",
                                "has more than " + std::to_string(count_) + " tensors of a kind");
        std::construct_at(data() + count_++, std::move(t));
    }
    size_t size() const { return count_; }
    Tensor &operator[](size_t k) { return data()[k]; }
    operator std::span<const Tensor>() const {
        return {reinterpret_cast<const Tensor *>(memory_), count_};
    }

private:
    Tensor *data() { return reinterpret_cast<Tensor *>(memory_); }

    alignas(Tensor) std::byte memory_[Plan::max_arguments * sizeof(Tensor)];
    size_t count_ = 0;
};

}  // namespace halyard

// DeafListener: a CallListener that hears nothing. What derives from it overrides the events that
// it wants, whereas a capture has to know all of them.
#pragma once
#include "registry/tensor/call_listener.h"

namespace halyard {

class DeafListener : public CallListener {
public:
    void called(const RegisteredOp &, const Attrs &, std::span<const Tensor>,
                std::span<const Tensor>) override {}
    void copied(const Tensor &, const Tensor &) override {}
    void filled(const Tensor &, double) override {}
    void ran_on_host(const std::string &, const HostFunction &, std::span<const Tensor>,
                     std::span<const Tensor>) override {}
    void touched(const TensorImpl &) override {}
    void allocated(const Storage &) override {}
    void released(const Storage &) override {}
    void drew(const RngState &) override {}
    void enter(const std::string &) override {}
    void leave() override {}
    void refuse(const std::string &) override {}
};

}  // namespace halyard

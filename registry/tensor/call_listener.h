// CallListener: is told of the calls, copies and memory of this thread's tensors. A capture
// (graph/capture.h) records a graph with it. Without a listener an event costs one comparison.
#pragma once
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace halyard {

class Attrs;
class Tensor;
struct RegisteredOp;
struct RngState;
struct Storage;
struct TensorImpl;

// A step that computes tensors on the host from the elements of others.
using HostFunction = std::function<std::vector<Tensor>(std::span<const Tensor>)>;

class CallListener {
public:
    virtual ~CallListener() = default;
    // A kernel has run.
    virtual void called(const RegisteredOp &op, const Attrs &attrs, std::span<const Tensor> in,
                        std::span<const Tensor> out) = 0;
    // The elements of `from`, converted, were written into `to`.
    virtual void copied(const Tensor &to, const Tensor &from) = 0;
    virtual void filled(const Tensor &t, double value) = 0;
    // `out` are the results of f(in), which was not listened to.
    virtual void ran_on_host(const std::string &name, const HostFunction &f,
                             std::span<const Tensor> in, std::span<const Tensor> out) = 0;
    // The host reads or writes elements of the tensor, outside of the events above.
    virtual void touched(const TensorImpl &t) = 0;
    virtual void allocated(const Storage &s) = 0;
    virtual void released(const Storage &s) = 0;
    virtual void drew(const RngState &state) = 0;
    // What follows, until leave(), belongs to this part of the program: a cell, or a phase.
    virtual void enter(const std::string &part) = 0;
    virtual void leave() = 0;
    // The program runs code of the caller that a replay would leave out.
    virtual void refuse(const std::string &why) = 0;
};

namespace detail {
[[gnu::tls_model("initial-exec")]] extern constinit thread_local CallListener *listener;
}  // namespace detail

// Returns this thread's listener, or null.
inline CallListener *call_listener() {
    return detail::listener;
}

// Sets this thread's listener while it lives; null for none.
class ListenerScope {
public:
    explicit ListenerScope(CallListener *listener);
    ~ListenerScope();
    ListenerScope(const ListenerScope &) = delete;
    ListenerScope &operator=(const ListenerScope &) = delete;

private:
    CallListener *before_;
};

// Names a part of the program for the listener while it lives. `name` returns a std::string, and is
// only called if there is a listener.
class PartScope {
public:
    template<class Name> explicit PartScope(const Name &name) : listener_(call_listener()) {
        if (listener_) listener_->enter(name());
    }
    ~PartScope() {
        if (listener_) listener_->leave();
    }
    PartScope(const PartScope &) = delete;
    PartScope &operator=(const PartScope &) = delete;

private:
    CallListener *listener_;
};

}  // namespace halyard

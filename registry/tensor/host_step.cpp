#include "registry/tensor/host_step.h"

#include <algorithm>

namespace halyard {

std::vector<Tensor> run_apart(const HostFunction &f, std::span<const Tensor> in) {
    std::vector<Tensor> out = f(in);
    for (Tensor &result : out) {
        const Storage *const memory = result.impl()->storage;
        const auto shares = [&](const Tensor &t) { return t.impl()->storage == memory; };
        if (std::ranges::any_of(in, shares)) result = result.copy();
    }
    return out;
}

std::vector<Tensor> run_on_host(const std::string &name, std::span<const Tensor> in,
                                const HostFunction &f) {
    CallListener *const listener = call_listener();
    if (!listener) return f(in);
    std::vector<Tensor> out;
    {
        const ListenerScope unheard(nullptr);
        out = run_apart(f, in);
    }
    listener->ran_on_host(name, f, in, out);
    return out;
}

}  // namespace halyard

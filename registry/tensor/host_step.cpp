#include "registry/tensor/host_step.h"

#include <algorithm>

namespace halyard {
namespace {

// Only the step had the addresses of results in new memory.
void forget_addresses(std::span<const Tensor> out, std::span<const Tensor> in) {
    for (const Tensor &result : out) {
        const auto shares_memory = [&](const Tensor &t) {
            return t.impl()->storage == result.impl()->storage;
        };
        if (std::ranges::none_of(in, shares_memory)) result.forget_addresses();
    }
}

}  // namespace

std::vector<Tensor> run_apart(const HostFunction &f, std::span<const Tensor> in,
                              const std::function<bool(size_t k)> &is_copied) {
    std::vector<Tensor> out = f(in);
    for (Tensor &result : out) {
        const Storage *const memory = result.impl()->storage;
        for (size_t k = 0; k < in.size(); k++) {
            if (in[k].impl()->storage != memory || !is_copied(k)) continue;
            result = result.copy();
            break;
        }
    }
    return out;
}

std::vector<Tensor> run_on_host(const std::string &name, std::span<const Tensor> in,
                                const HostFunction &f) {
    CallListener *const listener = call_listener();
    std::vector<Tensor> out;
    if (!listener) {
        out = f(in);
        forget_addresses(out, in);
        return out;
    }
    {
        const ListenerScope unheard(nullptr);
        out = run_apart(f, in, [](size_t) { return true; });
        forget_addresses(out, in);
    }
    listener->ran_on_host(name, f, in, out);
    return out;
}

}  // namespace halyard

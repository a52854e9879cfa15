#include "registry/tensor/host_step.h"

namespace halyard {

std::vector<Tensor> run_on_host(const std::string &name, std::span<const Tensor> in,
                                const HostFunction &f) {
    CallListener *const listener = call_listener();
    if (!listener) return f(in);
    std::vector<Tensor> out;
    {
        const ListenerScope unheard(nullptr);
        out = f(in);
        for (Tensor &result : out) {
            for (const Tensor &t : in) {
                if (t.impl()->storage == result.impl()->storage) {
                    result = result.copy();
                    break;
                }
            }
        }
    }
    listener->ran_on_host(name, f, in, out);
    return out;
}

}  // namespace halyard

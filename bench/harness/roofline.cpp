#include "bench/harness/roofline.h"

#include <unistd.h>

#include <cstdio>
#include <set>

#include "dsl/all_ops.h"
#include "dsl/kernel.h"
#include "dsl/kernel_cache.h"
#include "registry/dispatch/explain.h"

namespace halyard::bench {

const roofs::Roofs &machine_roofs(bool remeasure) {
    static roofs::Roofs r;
    if (!remeasure && !r.machine.empty()) return r;
    const bool terminal = isatty(STDERR_FILENO);
    bool measured = false;
    r = roofs::of_this_machine(cache_folder(), remeasure, [&](const std::string &what) {
        std::fprintf(stderr,
                     terminal ? "\33[2K\rmeasuring this machine's roofs: %s ..."
                              : "measuring this machine's roofs: %s\n",
                     what.c_str());
        measured = true;
    });
    if (measured && terminal) std::fprintf(stderr, "\33[2K\r");
    return r;
}

Roofline::Roofline(const ProblemInstance &t, const std::vector<Tensor> &outputs, bool cold)
    : cold_(cold) {
    const std::string &name = t.op.record.name;
    if (!t.in.empty() && t.in[0].dtype() == DType::f64) arithmetic_ = DType::f64;
    for (auto *list : {&t.in, &outputs}) {
        for (const Tensor &x : *list)
            held_ += int64_t(x.bytes());
    }
    list_kit_ops();
    Work work;
    try {
        work = work_of(op_table(), name, t.dims);
        operations_ = least_ = double(work.operations());
        std::set<std::pair<std::string, int>> seen;
        for (auto &c : explanation_of(t.op, t.in, t.attrs).plan.candidates) {
            if (!c.rejection.empty() || !seen.emplace(c.kernel->variant, c.kernel->lanes).second)
                continue;
            least_ = std::min(least_, double(work_of(*op_table().make(name), t.dims,
                                                     c.kernel->variant, c.kernel->lanes)
                                                 .operations()));
        }
    } catch (const Error &) {
        // A stage that isn't written in the DSL has no count of operations; its bytes are those of
        // the tensors.
        operations_ = least_ = 0;
        work = {};
    }
    const auto bytes = [](const Tensor &x, const std::map<std::string, int64_t> &elements,
                          const std::string &tensor) {
        // A broadcast operand has fewer elements than the problem's dimensions give.
        const auto it = elements.find(tensor);
        return double(it == elements.end() ? x.elements() : std::min(it->second, x.elements())) *
               double(bytes_of(x.dtype()));
    };
    for (size_t k = 0; k < t.in.size(); k++)
        read_ += bytes(t.in[k], work.read, t.op.signature.inputs[k].name);
    for (size_t k = 0; k < outputs.size(); k++)
        written_ += bytes(outputs[k], work.written, t.op.signature.outputs[k].name);
}

roofs::Bound Roofline::bound(Isa isa, int threads) const {
    return machine_roofs().bound({least_, read_, written_, cold_ ? INT64_MAX : held_, arithmetic_},
                                 threads, isa);
}

}  // namespace halyard::bench

// The functions of the run time for a compiled graph (tools/export/project/step/hy_step.h).
#include "primitives/composites/host_steps.h"
#include "registry/tensor/tensor.h"
#include "tools/export/runtime/c_support.h"

extern "C" {
#include "tools/export/project/step/hy_step.h"
}

struct hy_host_step {
    std::string name;
    halyard::HostFunction run;
};

namespace halyard {
namespace {

Tensor tensor_of(const hy_tensor &t) {
    Shape shape;
    Shape strides;
    for (int32_t d = 0; d < t.ndim; d++) {
        shape.push_back(t.shape[d]);
        strides.push_back(t.strides[d]);
    }
    return Tensor::borrow(t.data, shape, strides, c::dtype_of(t.dtype).value());
}

std::vector<Tensor> tensors_of(const hy_tensor *all, int32_t count) {
    std::vector<Tensor> tensors;
    for (int32_t k = 0; k < count; k++)
        tensors.push_back(tensor_of(all[k]));
    return tensors;
}

}  // namespace
}  // namespace halyard

using namespace halyard;

int32_t hy_copy_elements(const hy_tensor *from, const hy_tensor *to, hy_error *error) {
    return c::guarded(error, [&] { tensor_of(*to).assign(tensor_of(*from)); });
}

int32_t hy_fill_elements(const hy_tensor *to, double value, hy_error *error) {
    return c::guarded(error, [&] { tensor_of(*to).fill(value); });
}

hy_host_step *hy_make_host_step(const char *name, const char *const *words, int32_t word_count,
                                const int64_t *numbers, int32_t number_count, hy_error *error) {
    hy_host_step *made = nullptr;
    c::guarded(error, [&] {
        const host_steps::Settings settings{{words, words + word_count},
                                            {numbers, numbers + number_count}};
        HostFunction run = host_steps::made_place_step(name, settings);
        if (!run) throw AttrError(name, "is no step of a library");
        made = new hy_host_step{name, std::move(run)};
    });
    return made;
}

void hy_release_host_step(hy_host_step *step) {
    delete step;
}

int32_t hy_run_host_step(const hy_host_step *step, const hy_tensor *in, int32_t inputs,
                         const hy_tensor *out, int32_t outputs, hy_error *error) {
    return c::guarded(error, [&] {
        const std::vector<Tensor> results = step->run(tensors_of(in, inputs));
        if (results.size() != size_t(outputs))
            throw ShapeError(step->name, "makes " + std::to_string(results.size()) +
                                             " results, expected " + std::to_string(outputs));
        for (size_t k = 0; k < results.size(); k++)
            tensor_of(out[k]).assign(results[k]);
    });
}

// Tests kernels that are compiled when they are first called.
#include "registry/dispatch/kernel_on_demand.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "primitives/library.h"
#include "primitives/ops/binary.h"
#include "registry/dispatch/dispatch.h"
#include "tests/registry/expect_error.h"

namespace halyard {
namespace {
constinit KernelOnDemand added(HALYARD_GEN_BINARY, "hy_add_f32_baseline");
constinit KernelOnDemand unknown(HALYARD_GEN_BINARY, "hy_add_f32_of_nowhere");
constinit KernelOnDemand without_generator("/nowhere/gen_binary", "hy_add_f32_baseline");

KernelEntry add_of_the_baseline() {
    for (const KernelEntry &k : library().at("add").kernels)
        if (k.isa == Isa::baseline && k.dtypes == "f32") return k;
    throw Error("add", "has no kernel for the baseline");
}

// Replaces add's kernel for the baseline, and restores it.
class InPlaceOfAdd {
public:
    explicit InPlaceOfAdd(KernelFn fn) : before_(add_of_the_baseline()) {
        KernelEntry entry = before_;
        entry.fn = fn;
        library().replace_kernel(entry);
    }
    ~InPlaceOfAdd() { library().replace_kernel(before_); }
    InPlaceOfAdd(const InPlaceOfAdd &) = delete;
    InPlaceOfAdd &operator=(const InPlaceOfAdd &) = delete;

private:
    KernelEntry before_;
};

std::vector<float> sum() {
    const Force baseline(Isa::baseline, "");
    const Tensor x = Tensor::from<float>({1, 2, 3});
    return F::add(x, x).to_vector<float>();
}

TEST(KernelOnDemand, IsCompiledOnceForAllThreads) {
    const InPlaceOfAdd kernel([](void **arguments) { return added(arguments); });
    std::vector<std::thread> threads;
    std::vector<std::vector<float>> sums(4);
    for (auto &s : sums)
        threads.emplace_back([&s] { s = sum(); });
    for (auto &t : threads)
        t.join();
    for (auto &s : sums)
        EXPECT_EQ(s, (std::vector<float>{2, 4, 6}));
}

TEST(KernelOnDemand, ReportsWhyCompilationFailed) {
    {
        const InPlaceOfAdd kernel([](void **arguments) { return unknown(arguments); });
        expect_error<DispatchError>(
            "[hy_add_f32_of_nowhere] can't be made: halyard_gen: [gen] no kernel is "
            "called hy_add_f32_of_nowhere",
            [] { sum(); });
    }
    const InPlaceOfAdd kernel([](void **arguments) { return without_generator(arguments); });
    expect_error<Error>("[/nowhere/gen_binary] can't be started: No such file or directory",
                        [] { sum(); });
}

}  // namespace
}  // namespace halyard

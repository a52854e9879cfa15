// Runs tools/check on every op of the build: one test per op, named after it.
#include <gtest/gtest.h>

#include <cstdlib>

#include "bench/harness/progress.h"
#include "dsl/all_ops.h"
#include "tools/check/check.h"

namespace halyard {
namespace {

class EveryOp : public testing::TestWithParam<std::string> {
protected:
    // The counts of all ops that this program checked, in one line: what is cut out of a failing
    // run's output should be its failures.
    static void TearDownTestSuite() {
        std::printf("%d checks passed, %d failed, %d skipped\n", all_.passed, all_.failed,
                    all_.skipped);
    }

    static void count(const check::Report &r) {
        all_.passed += r.passed;
        all_.failed += r.failed;
        all_.skipped += r.skipped;
    }

private:
    static inline check::Report all_;
};

TEST_P(EveryOp, KeepsItsContract) {
    check::print_progress_on_death();
    check::Options options;
    // The sanitizers' test presets set it.
    options.quick = std::getenv("HALYARD_CHECK_QUICK") != nullptr;
    options.exact = !options.quick;
    const check::Report r = check::check_op(GetParam(), options);
    for (auto &f : r.failures)
        ADD_FAILURE() << f << "\n  repeat: halyard check " << GetParam();
    EXPECT_GT(r.passed, 0);
    count(r);
}

std::vector<std::string> all_ops() {
    list_kit_ops();
    return op_table().names();
}
INSTANTIATE_TEST_SUITE_P(Ops, EveryOp, testing::ValuesIn(all_ops()),
                         [](const auto &op) { return op.param; });

}  // namespace
}  // namespace halyard

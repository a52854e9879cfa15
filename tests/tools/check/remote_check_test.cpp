// The kit for another machine is this machine's own here, without an emulator.
#include "tools/check/remote_kit.h"

#include <gtest/gtest.h>

#include "dsl/all_ops.h"
#include "primitives/library.h"
#include "registry/base/error.h"
#include "registry/op/attrs.h"
#include "tools/check/check.h"

namespace halyard::check {
namespace {

const RemoteKit &kit() {
    static const RemoteKit here({HALYARD_CALLS});
    return here;
}

calls::Call relu_of(const Tensor &x, const Tensor &out) {
    return {"relu", {}, "", {x}, {out}};
}

TEST(RemoteKit, HasTheKernelsOfTheOp) {
    size_t kernels = 0;
    for (const KernelEntry &k : library().at("softmax").kernels)
        kernels += k.backend == "cpu";
    EXPECT_EQ(kit().kernels("softmax").size(), kernels);
    EXPECT_TRUE(kit().kernels("nothing").empty());
}

TEST(RemoteKit, RunsEachCall) {
    const Tensor x = Tensor::from<float>({-1, 2});
    const std::vector<calls::Result> results = kit().run({
        relu_of(x, Tensor::zeros({2})),
        relu_of(x, Tensor::zeros({3})),
        {"leaky_relu", {{"alpha", "0.25"}}, "", {x}, {Tensor::zeros({2})}},
        {"relu", {}, "other", {x}, {Tensor::zeros({2})}},
        {"cross_entropy", {}, "", {Tensor::zeros({2, 4}), Tensor::from<int32_t>({1, 3})}, {}},
    });
    ASSERT_EQ(results.size(), 5U);
    EXPECT_EQ(results[0].error, "");
    EXPECT_EQ(results[0].out[0].data<float>()[1], 2);
    EXPECT_NE(results[1].error.find("[relu]"), std::string::npos) << results[1].error;
    EXPECT_FALSE(results[1].has_no_kernel);
    EXPECT_EQ(results[2].out[0].data<float>()[0], -0.25F);
    EXPECT_TRUE(results[3].has_no_kernel) << results[3].error;
}

TEST(RemoteKit, SaysHowItsProgramEnds) {
    try {
        const RemoteKit none({"false"});
        FAIL() << "a program that fails was taken for a kit";
    } catch (const Error &e) {
        EXPECT_EQ(std::string(e.what()).substr(0, 44),
                  "[calls] false: the program ends early, with ");
    }
    const std::vector<calls::Result> results = kit().run({{"no_such_op", {}, "", {}, {}}});
    EXPECT_NE(results[0].error.find("no_such_op"), std::string::npos) << results[0].error;
}

Report checked(const std::string &name) {
    list_kit_ops();
    const OpPtr op = op_table().make(name);
    Options o;
    o.kit = &kit();
    Report r;
    check_remote(*op, o, r);
    return r;
}

TEST(RemoteCheck, PassesWhatIsRight) {
    for (const char *const op : {"relu", "reduce_max", "gather", "cross_entropy"}) {
        const Report r = checked(op);
        EXPECT_EQ(r.failed, 0) << op << ": " << (r.failures.empty() ? "" : r.failures[0]);
        EXPECT_GT(r.passed, 0) << op;
    }
}

TEST(Attrs, TheirExactTextsMakeTheSameNumbers) {
    const OpRecord &op = library().at("leaky_relu").record;
    const Attrs attrs(op, {{"alpha", 1.0 / 3}});
    const auto k = size_t(attrs.find("alpha"));
    EXPECT_EQ(Attrs(op, attrs.exact_texts()).real(k), 1.0 / 3);
    EXPECT_EQ(attrs.text(), "alpha=0.333333333");
}

}  // namespace
}  // namespace halyard::check

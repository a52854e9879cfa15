// Tests the kit's sets of shapes: every line is a problem of its op.
#include "bench/harness/shape_set.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "bench/harness/case.h"
#include "bench/harness/op_call.h"
#include "bench/harness/problem_instance.h"
#include "bench/harness/suite_file.h"
#include "primitives/library.h"
#include "registry/base/error.h"
#include "registry/dispatch/plan.h"
#include "registry/dispatch/planner.h"

namespace halyard::bench {
namespace {

std::string message_of(const std::string &set, const std::string &op = "") {
    try {
        shape_set(set, op);
    } catch (const IoError &e) {
        return e.what();
    }
    return "no error";
}

TEST(ShapeSet, EveryLineOfEverySetHasAPlan) {
    EXPECT_EQ(shape_set_names(), (std::vector<std::string>{"bert-base", "lenet5", "mobilenet-v2",
                                                           "resnet50", "tails"}));
    for (auto &set : shape_set_names()) {
        for (const ShapeLine &line : shape_set(set)) {
            SCOPED_TRACE(set + ": " + line.op + " " + line.problem);
            const RegisteredOp *op = library().find(line.op);
            ASSERT_NE(op, nullptr);
            try {
                const ProblemInstance t(*op, line.problem);
                std::vector<OperandMeta> metas;
                for (const Tensor &x : t.in)
                    metas.push_back(meta_of(x));
                const Plan plan = make_plan(*op, metas, t.attrs);
                EXPECT_NE(plan.kernel, nullptr);
            } catch (const Error &e) {
                ADD_FAILURE() << e.what();
            }
        }
    }
}

TEST(Suite, EveryProblemOfTheCpuSuiteIsValid) {
    for (const SuiteGroup &group : suite("cpu")) {
        for (const ShapeLine &line : group.lines) {
            SCOPED_TRACE(group.title + ": " + line.op + " " + line.problem);
            const RegisteredOp *op = library().find(line.op);
            ASSERT_NE(op, nullptr);
            EXPECT_NO_THROW(dtype_set(op->record, group.dtype));
            EXPECT_NO_THROW(check::parse_sample(op->record, line.problem));
        }
    }
}

// A filter as large as conv2d's weight is a mistake in a handwritten line that a plan alone
// wouldn't find.
TEST(ShapeSet, MultiplicationsMatchResNet50AndMobileNet) {
    auto forward = [](const std::string &set) {
        double products = 0;
        for (const ShapeLine &line : shape_set(set)) {
            if (line.op != "conv2d" && line.op != "matmul") continue;
            // Skips gradients of a dense layer.
            if (line.note.find(", its ") != std::string::npos) continue;
            const ProblemInstance t(library().at(line.op), line.problem);
            double times = 1;
            const size_t more = line.note.find(" and ");
            if (more != std::string::npos) times += std::stod(line.note.substr(more + 5));
            auto at = [&](const char *name) { return double(t.dims.at(name)); };
            products += times * (line.op == "matmul"
                                     ? at("m") * at("n") * at("k")
                                     : at("n") * at("o") * at("oh") * at("ow") * at("c") * at("u") *
                                           at("v") / at("group"));
        }
        return products;
    };
    // The expected numbers are counted in the layers that torchvision builds.
    EXPECT_EQ(forward("resnet50") / 8, 4089184256);
    EXPECT_EQ(forward("mobilenet-v2"), 300774272);
}

// A mean of squares below 0 doesn't occur in practice. It cancels, and then one element in millions
// violates the op's contract.
TEST(ProblemInstance, FillsInputsFromTheOpsMinimum) {
    const ProblemInstance t(library().at("adam_weight_decay_"), "d0=1 d1=3 d2=1000");
    const std::vector<float> m = t.in[1].to_vector<float>();
    const std::vector<float> v = t.in[2].to_vector<float>();
    EXPECT_LT(*std::min_element(m.begin(), m.end()), -1.9f);
    EXPECT_GE(*std::min_element(v.begin(), v.end()), 0);
    EXPECT_GT(*std::max_element(v.begin(), v.end()), 3.9f);
}

TEST(ShapeSet, TailsHaveALineForEveryOpWithKernels) {
    std::map<std::string, int> lines;
    for (const ShapeLine &line : shape_set("tails"))
        lines[line.op]++;
    for (const RegisteredOp *op : library().ops()) {
        if (!op->kernels.empty()) {
            EXPECT_GE(lines[op->record.name], 3) << op->record.name;
        }
    }
}

TEST(ShapeSet, ReadsUserFiles) {
    const std::string path = testing::TempDir() + "shape_set_test.txt";
    std::ofstream(path) << "# mine\n\nmatmul m=1 k=2 n=3 g=1  # fc\r\nrelu d0=1 d1=1 d2=5\n  "
                           "matmul m=1 k=2 n=3 g=1  # again\n";
    const auto all = shape_set(path);
    const auto products = shape_set(path, "matmul");
    ASSERT_EQ(all.size(), 2u);
    EXPECT_EQ(all[0].note, "fc");
    EXPECT_EQ(all[1].problem, "d0=1 d1=1 d2=5");
    ASSERT_EQ(products.size(), 1u);
    EXPECT_EQ(message_of(path, "softmax"), "[" + path + "] has no problems of softmax");
    std::ofstream(path) << "matmul\n";
    EXPECT_EQ(message_of(path), "[" + path + "] line 1: 'matmul' is no op and its problem");
    EXPECT_EQ(message_of("resnet"), "[resnet] no such file, and no such set of shapes; there are "
                                    "bert-base, lenet5, mobilenet-v2, resnet50, tails");
}

}  // namespace
}  // namespace halyard::bench

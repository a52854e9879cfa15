// Tests the kit's sets of shapes: every line is a problem of its op.
#include "bench/harness/shape_set.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "bench/harness/case.h"
#include "bench/harness/op_call.h"
#include "bench/harness/problem_instance.h"
#include "bench/harness/suite_file.h"
#include "dsl/all_ops.h"
#include "dsl/op.h"
#include "primitives/library.h"
#include "registry/base/error.h"
#include "registry/base/text.h"
#include "registry/dispatch/plan.h"
#include "registry/dispatch/planner.h"
#include "registry/op/names.h"

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

const char *const all_sets = "bert, bert-base, classic, generative-points, inception, "
                             "language-model, lenet5, mobile, mobilenet-v2, recommender, resnet, "
                             "resnet50, segmentation-detection, speech, tails, vision-transformer";

TEST(ShapeSet, EveryLineOfEverySetHasAPlan) {
    EXPECT_EQ(join(shape_set_names()), all_sets);
    list_kit_ops();
    for (auto &set : shape_set_names()) {
        for (const ShapeLine &line : shape_set(set)) {
            SCOPED_TRACE(set + ": " + line.op + " " + line.problem);
            const RegisteredOp *op = library().find(line.op);
            ASSERT_NE(op, nullptr);
            try {
                const auto [attrs, metas] = check::call_of(
                    *op_table().make(line.op), check::parse_sample(op->record, line.problem),
                    op->record.dtypes[0]);
                EXPECT_NE(make_plan(*op, metas, attrs).kernel, nullptr);
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
    EXPECT_EQ(message_of("residual"),
              std::string("[residual] no such file, and no such set of shapes; there are ") +
                  all_sets);
}

// Returns the multiplications of a network's convolutions, dense layers and fused attention.
double multiplications(const Network &network) {
    double products = 0;
    for (const ShapeLine &line : network.layers) {
        if (line.op != "conv2d" && line.op != "matmul" && line.op != "attention_kernel") continue;
        const OpRecord &record = library().at(line.op).record;
        const check::Sample sample = check::parse_sample(record, line.problem);
        Dims dims = sample.dims;
        bind_attributes(Attrs(record, sample.attrs), dims);
        bind_derived(record, dims);
        const auto at = [&](const char *name) { return double(dims.at(name)); };
        const size_t more = line.note.find(" and ");
        const double times = more == std::string::npos ? 1
                                                       : 1 + std::stod(line.note.substr(more + 5));
        if (line.op == "attention_kernel")
            products += times * at("g") * at("s") * at("t") * (at("d") + at("e"));
        else if (line.op == "conv2d") {
            products += times * at("n") * at("o") * at("oh") * at("ow") * at("c") * at("u") *
                        at("v") / at("group");
        } else if (dims.at("g") == 1)  // others are parts of attention
            products += times * at("m") * at("n") * at("k");
    }
    return products;
}

TEST(Networks, MultiplicationsMatchThoseThatArePublished) {
    // Those that torchvision publishes with its weights, in 1e9.
    std::map<std::string, double> published = {{"alexnet", 0.71},
                                               {"vgg11", 7.61},
                                               {"vgg16", 15.47},
                                               {"squeezenet1.1", 0.35},
                                               {"resnet18", 1.81},
                                               {"resnet50-v1.5", 4.09},
                                               {"resnext50-32x4d", 4.23},
                                               {"regnet-x-400mf", 0.41},
                                               {"regnet-y-8gf", 8.47},
                                               {"densenet121", 2.83},
                                               {"mobilenet-v2-1.0", 0.30},
                                               {"mobilenet-v3-large", 0.217},
                                               {"mobilenet-v3-small", 0.057},
                                               {"efficientnet-b0", 0.386},
                                               {"efficientnet-b4", 4.39},
                                               {"shufflenet-v2-x1.0", 0.145},
                                               {"googlenet", 1.498},
                                               {"inception-v3", 5.71},
                                               {"vit-b16", 17.56},
                                               {"swin-tiny", 4.49},
                                               {"convnext-tiny", 4.46}};
    const auto networks = all_networks();
    EXPECT_GE(networks.size(), 50u);
    for (const Network &network : networks) {
        EXPECT_FALSE(network.layers.empty()) << network.name;
        const auto found = published.find(network.name);
        if (found == published.end()) continue;
        EXPECT_NEAR(multiplications(network) * 1e-9 / found->second, 1, 0.013) << network.name;
        published.erase(found);
    }
    EXPECT_TRUE(published.empty()) << published.begin()->first;
}

TEST(Networks, HaveANameAndASource) {
    const std::string path = testing::TempDir() + "networks_test.txt";
    std::ofstream(path) << "relu d0=1 d1=1 d2=3\n[net] A paper\nrelu d0=1 d1=1 d2=5  # act\n"
                           "[other] B\nrelu d0=1 d1=1 d2=5\n";
    const auto all = networks_of(path);
    ASSERT_EQ(all.size(), 2u);
    EXPECT_EQ(all[0].name + ": " + all[0].source, "net: A paper");
    ASSERT_EQ(all[0].layers.size(), 1u);
    EXPECT_EQ(all[0].layers[0].note, "act");
    EXPECT_EQ(shape_set(path).size(), 2u);  // each problem once
    EXPECT_TRUE(networks_of("lenet5").empty());
    std::ofstream(path) << "[net]\nrelu d0=1 d1=1 d2=3\n";
    EXPECT_THROW(networks_of(path), IoError);
}

}  // namespace
}  // namespace halyard::bench

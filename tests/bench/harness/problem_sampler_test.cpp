// Tests how problems of `halyard bench --sample` are drawn. Nothing is timed.
#include "bench/harness/problem_sampler.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "bench/harness/case.h"
#include "dsl/all_ops.h"
#include "dsl/op.h"
#include "dsl/work.h"
#include "primitives/library.h"
#include "registry/base/error.h"
#include "registry/dispatch/planner.h"

namespace halyard::bench {
namespace {

struct Sampler : testing::Test {
    static void SetUpTestSuite() { list_kit_ops(); }
    static std::vector<DrawnProblem> drawn(const SampleRequest &request, int problems) {
        ProblemSampler sampler(all_networks(), request);
        std::vector<DrawnProblem> all;
        for (int i = 0; i < problems; i++)
            all.push_back(sampler.draw());
        return all;
    }
    static std::vector<std::string> texts(const SampleRequest &request, int problems) {
        std::vector<std::string> all;
        for (auto &d : drawn(request, problems))
            all.push_back(d.op + " " + d.problem + " " + d.dtypes + " " + d.origin);
        return all;
    }
    static SampleRequest seeded(uint64_t seed) {
        SampleRequest request;
        request.seed = seed;
        return request;
    }
};

TEST_F(Sampler, GivesTheSameProblemsForASeed) {
    auto longer = texts(seeded(3), 60);
    EXPECT_EQ(longer, texts(seeded(3), 60));
    EXPECT_NE(longer, texts(seeded(4), 60));
    longer.resize(20);
    EXPECT_EQ(longer, texts(seeded(3), 20));
}

// The numbers are the same on every machine, so that a seed names the same problems everywhere.
TEST_F(Sampler, RandomNumbersArePortable) {
    Random random(1);
    EXPECT_EQ(random.next(), 0x910A2DEC89025CC1u);
    for (int i = 0; i < 1000; i++) {
        const int64_t x = random.log_uniform(3, 90);
        EXPECT_GE(x, 3);
        EXPECT_LE(x, 90);
        EXPECT_LT(random.below(7), 7);
    }
}

TEST_F(Sampler, EveryProblemIsALegalCallWithinTheLimits) {
    SampleRequest request = seeded(11);
    request.limits = {2e6, 3e7};
    for (const DrawnProblem &d : drawn(request, 150)) {
        SCOPED_TRACE(d.op + " " + d.problem + " " + d.dtypes);
        const RegisteredOp &op = library().at(d.op);
        const check::Sample sample = check::parse_sample(op.record, d.problem);
        const auto [attrs, metas] = check::call_of(*op_table().make(d.op), sample, d.dtypes);
        const Plan plan = make_plan(op, metas, attrs);
        EXPECT_NE(plan.kernel, nullptr);
        double bytes = 0;
        for (auto &meta : metas)
            bytes += double(meta.shape.elements()) * double(bytes_of(meta.dtype));
        for (auto &out : plan.outputs)
            bytes += double(out.shape.elements()) * double(bytes_of(out.dtype));
        EXPECT_LE(bytes, request.limits.bytes);
        if (d.op != "matmul") continue;
        const auto &dims = sample.dims;
        EXPECT_LE(2 * double(dims.at("g") * dims.at("m")) * double(dims.at("k") * dims.at("n")),
                  request.limits.operations * 1.01);
    }
}

TEST_F(Sampler, CoversKindsNetworksAndLayouts) {
    std::map<std::string, int> kinds;
    std::set<std::string> networks, dtypes;
    std::map<std::string, int> words;
    int layers = 0;
    for (const DrawnProblem &d : drawn(seeded(2), 330)) {
        kinds[d.kind]++;
        layers += d.is_layer;
        dtypes.insert(d.dtypes);
        const size_t slash = d.origin.find('/');
        networks.insert(d.origin.substr(slash, d.origin.find(' ', slash) - slash));
        for (const char *word : {"stride=", "dilation=", "group=", "transpose_a=1", "transpose_b=1",
                                 "pad_mode=same", "causal=1", "ceil_mode=1"})
            words[word] += d.problem.find(word) != std::string::npos;
    }
    EXPECT_EQ(kinds.size(), ProblemSampler::kinds().size());
    EXPECT_GT(kinds["matmul"], kinds["conv2d"]);
    EXPECT_GE(networks.size(), 40u);
    EXPECT_GE(dtypes.size(), 3u);
    EXPECT_NEAR(layers / 330.0, 0.45, 0.12);
    for (auto &[word, count] : words)
        EXPECT_GT(count, 0) << word;
}

TEST_F(Sampler, DrawsOneOpInOneDtype) {
    SampleRequest request = seeded(1);
    request.op = "gelu_dx";
    request.dtype = "bf16";
    for (const DrawnProblem &d : drawn(request, 10)) {
        EXPECT_EQ(d.op, "gelu_dx");
        EXPECT_EQ(d.dtypes, "bf16");
    }
}

TEST_F(Sampler, RefusesWhatItCantDraw) {
    SampleRequest request = seeded(1);
    request.op = "adam_";
    EXPECT_THROW(drawn(request, 1), AttrError);
    request.op = "softmax";
    request.dtype = "i8";
    EXPECT_THROW(drawn(request, 1), DTypeError);
    request.dtype = "f32";
    request.limits.bytes = 3;  // less than an element
    EXPECT_THROW(drawn(request, 1), AttrError);
}

}  // namespace
}  // namespace halyard::bench

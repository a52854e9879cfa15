// Tests halyard fuse: it compares a chain's kernel with its ops, and refuses other chains by name.
// Also halyard check --composes.
#include <nlohmann/json.hpp>

#include "tests/tools/command.h"

using namespace halyard;

namespace {

class FuseCommand : public Command {};

}  // namespace

TEST_F(FuseCommand, ComparesBitsAndTimes) {
    const Result r = halyard("fuse 't = mul(x, g); u = add(t, x); y = tanh(u)' --in 'f32[3,17]' "
                             "--in 'f32[17]'");
    ASSERT_EQ(r.status, 0) << r.err;
    EXPECT_NE(r.out.find(": x[*] g[*] -> y[*]\n3 ops in one kernel, "), std::string::npos) << r.out;
    EXPECT_NE(r.out.find("\nthe same bits; "), std::string::npos) << r.out;
}

// Of x - x and x / x the compiler would make 0 and 1, also where x is NaN.
TEST_F(FuseCommand, KeepsNaNOfOneTensorWithItself) {
    const Result r = halyard("fuse 't = sub(x, x); y = div(t, t)' --in 'f32[37]'");
    EXPECT_EQ(r.status, 0) << r.out << r.err;
}

TEST_F(FuseCommand, EndsWithAReduction) {
    const Result r = halyard("fuse 't = sub(x, z); u = square(t); y = reduce_mean(u) axis=1' "
                             "--in 'f32[64,1000]' --in 'f32[64,1000]'");
    ASSERT_EQ(r.status, 0) << r.out << r.err;
    EXPECT_NE(r.out.find(": x[o,r,i,s] z[o,r,i,s] -> y[o,i]\n"), std::string::npos) << r.out;
}

TEST_F(FuseCommand, WritesJson) {
    const Result r = halyard("fuse 't = leaky_relu(x); y = leaky_relu(t)' --in 'f16[5,7]' --out t "
                             "--out y --numbers 0.25,0.5 --isa baseline --json -");
    ASSERT_EQ(r.status, 0) << r.err;
    const auto found = nlohmann::json::parse(r.out);
    EXPECT_EQ(found.at("signature"), "x[*] -> t[*] y[*]");
    EXPECT_EQ(found.at("attributes"), (std::vector<std::string>{"t_alpha", "y_alpha"}));
    EXPECT_EQ(found.at("same_bits"), true) << r.out;
    EXPECT_TRUE(fs::exists(found.at("library").get<std::string>())) << r.out;
}

TEST_F(FuseCommand, RefusesWhatIsNoChain) {
    const std::string x = " --in 'f32[3]'";
    expect_rejected("fuse 'y = softmax(x)'" + x, "[fuse] softmax isn't elementwise");
    expect_rejected("fuse 'y = no_such(x)'" + x, "[no_such] no such op");
    expect_rejected("fuse 'y ='" + x,
                    "[fuse] 'y =' is no call, expected RESULT = OP(ARGUMENT, ...)");
    expect_rejected("fuse 'y = mul(x, z)'" + x, "[fuse] 1 inputs are given, the chain has 2: x, z");
    expect_rejected("fuse 'y = mul(x, z)' --in 'f32[3]' --in 'f16[3]'",
                    "[fuse] z is f16, expected f32 like x");
    expect_rejected("fuse 'y = tanh(x)' --in f32", "[fuse] 'f32' is no tensor");
    expect_rejected("fuse 'y = tanh(x)' --in 'f32[3,-1]'", "has no such extent: '-1'");
    expect_rejected("fuse 'y = equal(x, x)'" + x, "[fuse] equal has tensors of several dtypes");
    expect_rejected("fuse 'y = elu(x)' --numbers 1,2" + x,
                    "[fuse] 2 numbers are given, the chain has 1 attributes");
    expect_rejected("fuse 'y = reduce_sum(x) axis=0; z = tanh(y)'" + x,
                    "[fuse] reduce_sum is a reduction, and not the last op");
    expect_rejected("fuse 't = mul(x, z); y = reduce_sum(t)' --in 'f32[3]' --in 'f32[1]'",
                    "[fuse] inputs of a reduction have one shape, not [3] and others");
    expect_rejected("fuse 't = neg(x); y = reduce_sum(t) axes=0'" + x,
                    "[reduce_sum] no attribute 'axes'");
    expect_rejected("fuse 'y = elu(x) alpha=1'" + x,
                    "[fuse] elu takes its attributes from --numbers");
    expect_rejected("fuse 'y = tanh(x)' --out z" + x, "output z is the result of no op");
}

TEST_F(FuseCommand, ChecksThatOpsCompose) {
    const Result r = halyard("check --composes --quick relu softmax");
    ASSERT_EQ(r.status, 0) << r.out << r.err;
    for (const char *composition :
         {"relu_fed_x ", "relu_dx_fed_dy ", "softmax_then_neg ", "softmax_dx_fed_y "}) {
        EXPECT_NE(r.out.find(composition), std::string::npos) << composition << r.out;
    }
    EXPECT_EQ(r.out.find("refuses"), std::string::npos) << r.out;
    // A kernel of two ops is never instrumented. LLVM may order the sums of an instrumented kernel
    // of one op otherwise.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    EXPECT_EQ(r.out.find("other bits"), std::string::npos) << r.out;
#endif
    expect_rejected("check --composes --legality relu",
                    "[check] --legality does nothing with --composes");
}

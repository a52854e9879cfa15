// Tests the example of a custom operator: its library's version, and for Ascend that both of its
// programs are right and docs/ascend.md has the simulator's figures and pictures.
#include "registry/base/version.h"
#include "registry/dispatch/kernel_library.h"
#include "tests/tools/command.h"

namespace halyard {
namespace {

class CustomOp : public Command {
protected:
    Result run(const std::string &args) const {
        return halyard("--kernels '" HALYARD_CUSTOM_OP "' " + args);
    }
    const std::string page_path = HALYARD_SOURCE_DIR "/docs/ascend.md";
    const std::string page = text_of(page_path);
};

TEST_F(CustomOp, NamesTheVersionOfItsKit) {
    EXPECT_STREQ(open_kernel_library(HALYARD_CUSTOM_OP).kit, version());
}

TEST_F(CustomOp, BothProgramsKeepTheContract) {
    const Result r = run("check bias_gelu --device ascend");
    EXPECT_EQ(r.status, 0) << r.out << r.err;
    // The handwritten program supports three of the five samples, the automatic one the others.
    EXPECT_NE(r.out.find("checks passed, 0 failed, 0 skipped"), std::string::npos) << r.out;
}

TEST_F(CustomOp, BothProgramsGiveTheSameBits) {
    const Tensor x = Tensor::empty({24, 128}, DType::f16);
    const Tensor bias = Tensor::empty({128}, DType::f16);
    for (int i = 0; i < 24 * 128; i++)
        x.data<float16>()[i] = float16(float(i * 37 % 1001 - 500) / 77);
    for (int i = 0; i < 128; i++)
        bias.data<float16>()[i] = float16(float(i % 7) / 3);
    save("x.npy", x);
    save("bias.npy", bias);
    for (const char *how : {"scheduled", "by_hand --variant tik"}) {
        const Result r = run("run bias_gelu --device ascend -i x=x.npy -i bias=bias.npy -o " +
                             std::string(how));
        ASSERT_EQ(r.status, 0) << r.err;
    }
    EXPECT_FALSE(text_of(dir / "scheduled/out_0.npy").empty());
    EXPECT_EQ(text_of(dir / "scheduled/out_0.npy"), text_of(dir / "by_hand/out_0.npy"));
    EXPECT_EQ(run("run bias_gelu --device ascend --variant tok -i x=x.npy -i bias=bias.npy -o none")
                  .status,
              1);
}

// With HALYARD_WRITE_GOLDENS in the environment, the page and its pictures are written again.
TEST_F(CustomOp, TableMatchesThePage) {
    std::istringstream table(run("bench bias_gelu --device ascend --shape \"n=4096 c=1024\"").out);
    std::string line;
    std::string text = page;
    std::vector<double> cycles;
    for (int n = 0; n < 3 && std::getline(table, line); n++) {
        constexpr size_t label = 40;
        ASSERT_GT(line.size(), label);
        const size_t at = text.find("\n    " + line.substr(0, label));
        const size_t end = text.find('\n', at + 1);
        ASSERT_NE(at, std::string::npos) << line;
        EXPECT_EQ(text.substr(at, end - at), "\n    " + line);
        text.replace(at, end - at, "\n    " + line);
        if (n > 0) cycles.push_back(std::stod(line.substr(label)));
    }
    if (std::getenv("HALYARD_WRITE_GOLDENS")) std::ofstream(page_path) << text;
    ASSERT_EQ(cycles.size(), 2u);
    EXPECT_LT(cycles[1], cycles[0]) << "the page says that the one by hand is faster, and why";
}

TEST_F(CustomOp, PicturesMatchThePage) {
    for (const auto &[variant, file] :
         {std::pair{"", "bias_gelu.svg"}, std::pair{" --variant tik", "bias_gelu_tik.svg"}}) {
        const Result r = run("profile bias_gelu --device ascend --shape \"n=1024 c=1024\"" +
                             std::string(variant) + " --trace " + file);
        ASSERT_EQ(r.status, 0) << r.err;
        const fs::path kept = fs::path(HALYARD_SOURCE_DIR "/docs/pictures") / file;
        if (std::getenv("HALYARD_WRITE_GOLDENS"))
            fs::copy_file(dir / file, kept, fs::copy_options::overwrite_existing);
        EXPECT_EQ(text_of(dir / file), text_of(kept)) << file;
        EXPECT_NE(page.find("pictures/" + std::string(file)), std::string::npos);
    }
}

}  // namespace
}  // namespace halyard

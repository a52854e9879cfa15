// The example of a custom operator for Ascend: both of its programs are right, and docs/ascend.md says and shows what the simulator does.
#include "tests/tools/command.h"

namespace halyard {
namespace {

class CustomOp : public Command {
protected:
    Result run(const std::string &args) const { return halyard("--kernels '" HALYARD_CUSTOM_OP "' " + args); }
    const std::string page = text_of(HALYARD_SOURCE_DIR "/docs/ascend.md");
};

TEST_F(CustomOp, BothProgramsKeepTheContract) {
    const Result r = run("check bias_gelu --device ascend");
    EXPECT_EQ(r.status, 0) << r.out << r.err;
    EXPECT_NE(r.out.find("8 passed"), std::string::npos) << r.out;  // five samples, three of which the one by hand takes
}

TEST_F(CustomOp, TheTableIsThatOfThePage) {
    std::istringstream table(run("bench bias_gelu --device ascend --shape \"n=4096 c=1024\"").out);
    std::string line;
    for (int n = 0; n < 3 && std::getline(table, line); n++) EXPECT_NE(page.find(line + "\n"), std::string::npos) << line;
    EXPECT_EQ(line.find("  by hand: tik "), 0u) << line;
}

TEST_F(CustomOp, ThePicturesAreThoseOfThePage) {
    for (const auto &[variant, file] : {std::pair{"", "bias_gelu.svg"}, std::pair{" --variant tik", "bias_gelu_tik.svg"}}) {
        const Result r = run("profile bias_gelu --device ascend --shape \"n=512 c=1024\"" + std::string(variant) + " --trace " + file);
        ASSERT_EQ(r.status, 0) << r.err;
        EXPECT_EQ(text_of(dir / file), text_of(fs::path(HALYARD_SOURCE_DIR "/docs/pictures") / file)) << file;
        EXPECT_NE(page.find("pictures/" + std::string(file)), std::string::npos);
    }
}

}  // namespace
}  // namespace halyard

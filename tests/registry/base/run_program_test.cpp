// Tests programs that are started without a shell, also with file names that contain a shell's
// special characters.
#include "registry/base/run_program.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "registry/base/error.h"
#include "registry/base/temporary_folder.h"

namespace halyard {
namespace {
namespace fs = std::filesystem;

constexpr const char *hostile = "a'b \"c\" $d;e";

TEST(RunProgram, PassesArgumentsUnchanged) {
    const Ended echo = run_program({"printf", "%s|", hostile, "$(touch x)", "", "\n"},
                                   Keep::output);
    EXPECT_EQ(echo.status, 0);
    EXPECT_EQ(echo.text, std::string(hostile) + "|$(touch x)||\n|");
}

TEST(RunProgram, CapturesStderrOnlyOnRequest) {
    const std::vector<std::string> words = {"ls", "/no/such/file"};
    EXPECT_EQ(run_program(words, Keep::output).text, "");
    const Ended all = run_program(words, Keep::output_and_errors);
    EXPECT_NE(all.status, 0);
    EXPECT_NE(all.text.find("/no/such/file"), std::string::npos) << all.text;
}

TEST(RunProgram, ReportsAMissingProgram) {
    EXPECT_TRUE(has_program("ls"));
    EXPECT_FALSE(has_program("no-such-program"));
    try {
        run_program({"no-such-program"}, Keep::output);
        FAIL();
    } catch (const Error &e) {
        EXPECT_STREQ(e.what(), "[no-such-program] can't be started: No such file or directory");
    }
}

// ld links entries of the kernel cache, and addr2line looks up the line of a mistake in the
// library.
TEST(RunProgram, HandlesHostileNamesOfTheCacheAndOfAKernelLibrary) {
    const TemporaryFolder folder("halyard_test");
    const fs::path odd = folder.path / hostile;
    fs::create_directory(odd);
    fs::copy_file(HALYARD_MISTAKES, odd / "m.so");
    const std::string cache = "XDG_CACHE_HOME=" + odd.string();
    const Ended mistake = run_program({"env", cache, HALYARD_COMMAND, "lower", "--to", "llvm",
                                       "--kernels", (odd / "m.so").string(), "no_such_loop"},
                                      Keep::output_and_errors);
    EXPECT_NE(mistake.status, 0);
    EXPECT_NE(mistake.text.find("mistakes.cpp:"), std::string::npos) << mistake.text;
    const Ended profile = run_program({"env", cache, HALYARD_COMMAND, "profile", "softmax",
                                       "--shape", "n=2 c=3", "--time", "0.01"},
                                      Keep::output_and_errors);
    EXPECT_EQ(profile.status, 0) << profile.text;
    EXPECT_TRUE(fs::is_directory(odd / "halyard/kernels"));
    EXPECT_EQ(std::distance(fs::directory_iterator(folder.path), fs::directory_iterator()), 1)
        << "something was made elsewhere";
}

}  // namespace
}  // namespace halyard

// Tests the command on systems without the usual folders and files.
#include "registry/base/run_program.h"
#include "tests/tools/command.h"

using namespace halyard;

namespace {

class Environment : public Command {
protected:
    void SetUp() override {
        Command::SetUp();
        save("x.npy", Tensor::ones({4}));
    }

    // Mounts an empty folder over `folder`. Some containers don't permit that.
    void runs_without(const std::string &folder) const {
        const std::string without = "mount -t tmpfs none " + folder + " && cd \"$0\" && ";
        const auto run = [&](const std::string &command) {
            return run_program({"unshare", "--map-root-user", "--mount", "sh", "-c",
                                without + command, dir.string()},
                               Keep::output_and_errors);
        };
        if (!has_program("unshare") || run("true").status != 0)
            GTEST_SKIP() << "no mount namespace";
        for (const std::string arguments :
             {"--help", "ops relu", "run relu --in x.npy -o o", "check relu --quick",
              "profile softmax --shape 'n=2 c=3' --time 0.01", "lower relu", "tune --stale"}) {
            const Ended ended = run("'" HALYARD_COMMAND "' " + arguments);
            EXPECT_EQ(ended.status, 0) << arguments << "\n" << ended.text;
        }
    }
};

TEST_F(Environment, WithoutProc) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "the sanitizer reads /proc";
#endif
    runs_without("/proc");
}
TEST_F(Environment, WithoutSys) {
    runs_without("/sys");
}

TEST_F(Environment, WithoutATemporaryFolder) {
    expect_rejected("lower relu --to llvm",
                    "[/no/such/folder] is no folder for temporary files: TMPDIR names it",
                    "TMPDIR=/no/such/folder");
}

// Errors of the standard library are reported like our own.
TEST_F(Environment, RejectsALinkToItself) {
    fs::create_symlink("loop", dir / "loop");
    expect_rejected("new my_op --project loop",
                    "[loop] can't be used: Too many levels of symbolic links");
}

TEST_F(Environment, RejectsSpecialFiles) {
    ASSERT_EQ(run_program({"mkfifo", (dir / "pipe.npy").string()}, Keep::output).status, 0);
    expect_rejected("run relu --in pipe.npy -o o", "[pipe.npy] is a pipe, expected a .npy file");
    expect_rejected("run relu --in /dev/null -o o",
                    "[/dev/null] is a device, expected a .npy file");
}

}  // namespace

// Tests that the command reports a full disk, a closed standard output, and options that would have
// no effect.
#include <fcntl.h>
#include <sys/stat.h>

#include "tests/tools/command.h"

namespace halyard {
namespace {

class Output : public Command {
protected:
    // Redirects standard output to a device that is always full.
    Result into_full_device(const std::string &args) const {
        const int status = std::system(
            ("cd '" + dir.string() + "' && '" HALYARD_COMMAND "' " + args + " >/dev/full 2>err.txt")
                .c_str());
        return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, "", text_of(dir / "err.txt")};
    }
    std::vector<std::string> names() const {
        std::vector<std::string> all;
        for (auto &entry : fs::directory_iterator(dir))
            all.push_back(entry.path().filename().string());
        return all;
    }
};

TEST_F(Output, ReportsThatItCannotBeWritten) {
    for (const char *args : {"--help", "", "ops --help", "ops", "ops --json", "ops relu",
                             "docs relu", "docs", "explain relu --json", "lower relu --to loops"}) {
        const Result r = into_full_device(args);
        EXPECT_EQ(r.status, 1) << args;
        // Some errors give the reason of the last write's failure.
        EXPECT_TRUE(r.err.starts_with("[standard output] can't be written")) << args << r.err;
    }
}

// Limits files to 4 KB, as if the disk were full after that.
TEST_F(Output, KeepsTheOldFileIfTheDiskIsFull) {
    const std::string records = std::string("'") + HALYARD_SOURCE_DIR +
                                "/kernels/records/epyc_26_2.records'";
    ASSERT_EQ(halyard("check relu --quick --json run.json").status, 0);
    const std::string profile = "profile softmax --shape \"n=64 c=300\" --time 0.01 --trace ";
    ASSERT_EQ(halyard(profile + "warm").status, 0)
        << "its kernels are compiled, which takes larger files";
    const std::string commands[] = {
        "bench relu --shape \"d0=1 d1=1 d2=64\" --rounds 8 --min-time 1e-4 --threads 1 --json p",
        profile + "p",
        "report run.json -o p",
        "tune --merge " + records + " -o p",
    };
    for (auto &args : commands) {
        write("p", "old");
        const Result r = halyard(args, "trap '' XFSZ; ulimit -f 8;");
        EXPECT_EQ(r.status, 1) << args << r.out;
        EXPECT_NE(r.err.find("[p] can't be written: "), std::string::npos) << args << ": " << r.err;
        EXPECT_EQ(text_of(dir / "p"), "old") << args;
    }
    EXPECT_EQ(names().size(), 5u)
        << "something is left beside p, run.json, warm, out.txt and err.txt";
    EXPECT_EQ(halyard("docs --out d", "trap '' XFSZ; ulimit -f 8;").status, 1);
    for (auto &page : fs::directory_iterator(dir / "d"))
        EXPECT_EQ(page.path().extension(), ".md") << "is left";
    EXPECT_FALSE(exists("d/index.md"));
    expect_rejected("lower softmax --to stmt -o /dev/full",
                    "[/dev/full] can't be written: No space left on device");
    expect_rejected("check cast --fuzz 1 --json /dev/full",
                    "[/dev/full] can't be written: No space left on device");
}

TEST_F(Output, LeavesNoEmptyRecordFile) {
    const Result r = halyard(
        "tune softmax --shape \"n=2 c=3\" --budget 1 --rounds 8 --min-time 1e-4 --records r",
        "trap '' XFSZ; ulimit -f 0;");
    EXPECT_EQ(r.status, 1) << r.out;
    EXPECT_FALSE(exists("r"));
}

TEST_F(Output, MayBeADevice) {
    ASSERT_EQ(halyard("check relu --quick --json run.json").status, 0);
    EXPECT_EQ(halyard("report run.json -o /dev/null").status, 0);
    EXPECT_TRUE(fs::is_character_file("/dev/null"));
    EXPECT_NE(halyard("lower relu -o /dev/stdout").out.find("produce y"), std::string::npos);
}

// Of several variants one may have no name: it takes every call.
TEST_F(Output, ShowsTheVariantWithoutAName) {
    const std::string first = halyard("lower max_pool2d").out;
    const std::string unnamed = halyard("lower max_pool2d --variant unnamed").out;
    EXPECT_EQ(first.find("best"), std::string::npos) << first;
    EXPECT_NE(unnamed.find("best"), std::string::npos) << unnamed;
    expect_rejected("lower softmax --variant unnamed", "[softmax] no variant 'unnamed', there are");
}

TEST_F(Output, RejectsInputsThatAreNoFiles) {
    ASSERT_EQ(mkfifo((dir / "pipe").c_str(), 0600), 0);
    expect_rejected("run relu --in pipe --out-dir o", "[pipe] is a pipe, expected a .npy file");
    expect_rejected("run relu --in . --out-dir o", "[.] is a folder, expected a .npy file");
    expect_rejected("run relu --in /dev/zero --out-dir o",
                    "[/dev/zero] is a device, expected a .npy file");
}

TEST_F(Output, EscapesControlBytes) {
    for (const char *args :
         {"check '\x1b[31mred'", "run relu --in 'x\x1b[2J.npy' --out-dir o", "ops --'\x1b[31m'"}) {
        const Result r = halyard(args);
        EXPECT_NE(r.status, 0) << args;
        EXPECT_NE(r.err.find("\\x1b["), std::string::npos) << r.err;
        EXPECT_EQ(r.err.find('\x1b'), std::string::npos) << r.err;
    }
}

TEST_F(Output, SeedsAreIntegers) {
    for (const char *args : {"train lenet5", "check relu", "tune relu"}) {
        for (const char *seed : {"-1", "99999999999999999999", "1x"}) {
            const Result r = halyard(std::string(args) + " --seed " + seed);
            EXPECT_EQ(r.status, 2) << args << " " << seed << r.out;
        }
    }
    EXPECT_NE(halyard("train lenet5 --seed -1")
                  .err.find("expected a whole number from 0 to 18446744073709551615"),
              std::string::npos);
}

TEST_F(Output, RejectsOptionsWithoutEffect) {
    const std::pair<const char *, const char *> commands[] = {
        {"check relu --fuzz-case x --quick", "[check] --quick does nothing with --fuzz-case"},
        {"check relu --ulps 100 --json p", "[check] --json does nothing with --ulps"},
        {"check relu --mutants 1 --quick", "[check] --quick does nothing with --mutants"},
        {"check relu --until-caught", "[check] --until-caught does nothing without --mutants"},
        {"check relu --target ARM64", "[check] --target does nothing without --device c"},
        {"check relu --device ascend --target ARM64",
         "[check] --target does nothing without --device c"},
        {"check relu --device c --isa avx2", "[check] --isa does nothing with --device c"},
        {"check relu --device c --target arm9",
         "[check] --target arm9 doesn't exist; there are x86, ARM64, ARM32A (Cortex-A) and ARM32M "
         "(Cortex-M)"},
        {"check relu --device ascend --isa avx2",
         "[check] --isa does nothing with --device ascend"},
        {"check relu --device aarch64 --isa avx2",
         "[check] --isa does nothing with --device aarch64"},
        {"check relu --device aarch64 --refused none.txt",
         "[check] --refused does nothing with --device aarch64"},
        {"check relu --isa neon", "[isa] neon was asked for, this CPU has up to"},
        {"check relu --fuzz 3 --legality", "[check] --legality does nothing with --fuzz"},
        {"check relu --device opencl --legality --fuzz 3",
         "[check] --fuzz does nothing with --device opencl --legality"},
        {"bench relu --suite cpu", "[bench] op does nothing with --suite"},
        {"bench --suite cpu --json p", "[bench] --json does nothing with --suite"},
        {"bench relu --group x", "[bench] --group does nothing without --suite"},
        {"bench relu --device ascend --json p", "[bench] --json does nothing with --device ascend"},
        {"bench relu --device ascend --all-picks",
         "[bench] --all-picks does nothing with --device ascend"},
        {"bench --device ascend --shapes lenet5", "[bench] --device ascend times one op at a time"},
        {"bench relu --python python3", "[bench] --python does nothing without --peers"},
        {"profile relu --device ascend --picks rows=4",
         "[profile] --picks does nothing with --device ascend"},
        {"docs relu --out d", "[docs] --out does nothing with the name of an op"},
        {"ops relu --family norm", "[ops] --family does nothing with the name of an op"},
        {"lower relu --shape \"d0=1 d1=1 d2=1\"", "[relu] --shape does nothing for cpu"},
        {"tune softmax --held-out 3", "[tune] --held-out does nothing without --merge or --regret"},
        {"tune softmax --print-schedule",
         "[tune] --print-schedule does nothing without --autoscheduler"},
        {"tune --diff a b --records r", "[tune] --records does nothing with --diff"},
        {"tune --stale relu", "[tune] ops does nothing with --stale"},
        {"tune softmax relu --why", "[tune] --why is about one op, and 2 are named"},
    };
    for (auto &[args, message] : commands)
        expect_rejected(args, message);
}

}  // namespace
}  // namespace halyard

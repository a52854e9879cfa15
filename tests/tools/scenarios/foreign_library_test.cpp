// Tests that faults in ops of other projects are reported and affect nothing else: crashes, many
// failures, gradients.
#include <nlohmann/json.hpp>
#include <regex>

#include "registry/op/op_record.h"
#include "tests/tools/command.h"

namespace halyard {
namespace {

class ForeignLibrary : public Command {
protected:
    Result run(const std::string &args) const {
        return halyard(args + " --kernels '" HALYARD_FOREIGN_LIBRARY "'");
    }
    nlohmann::json checked(const std::string &args) const {
        run("check " + args + " --quick --json checked.json");
        return nlohmann::json::parse(text_of(dir / "checked.json"));
    }
};

int count(const std::string &text, const std::string &what) {
    int n = 0;
    for (size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += what.size())
        n++;
    return n;
}

TEST_F(ForeignLibrary, CheckReportsACrashAndContinues) {
    const Result r = run("check stranger_crash --quick --json found.json");
    EXPECT_EQ(r.status, 1);
    EXPECT_TRUE(std::regex_search(
        r.out,
        std::regex(
            R"(stranger_crash died \(signal 11, Segmentation fault\) in check reference, f32/\w+ 'n=7')")))
        << r.out;
    const auto j = nlohmann::json::parse(text_of(dir / "found.json"));
    const auto &checks = j["ops"][0]["checks"];
    ASSERT_GT(checks.size(), 13u) << checks;
    EXPECT_EQ(checks.back()["check"], "fuzz");
    for (auto &check : checks) {
        const std::string name = check["check"];
        if (name == "exact" || name == "zero sizes") {
            EXPECT_EQ(check["failed"], 0) << name << check;
        }
        if (name == "exact") {
            EXPECT_GT(check["passed"], 0);
        }
        if (name != "views") continue;

        EXPECT_NE(check["failures"][0].get<std::string>().find(
                      "repeat: halyard check stranger_crash --fuzz-case \"f32/"),
                  std::string::npos);
    }
    EXPECT_NE(r.out.find("\nrepeat: halyard check stranger_crash --kernels "), std::string::npos)
        << r.out;
}

TEST_F(ForeignLibrary, BenchReportsACrash) {
    const Result r = run("bench stranger_crash --rounds 2 --min-time 0.001");
    EXPECT_EQ(r.status, 1);
    EXPECT_TRUE(std::regex_search(
        r.err,
        std::regex(
            R"(^\[bench\] died \(signal 11, Segmentation fault\): \w+ of stranger_crash 'n=7'\n$)")))
        << r.err;
}

// The op file allows GPU kernels of these ops, and the library was built without any.
TEST_F(ForeignLibrary, OpsFailsForMissingKernelsWithoutAReason) {
    const Result r = run("ops --missing --device opencl");
    EXPECT_EQ(r.status, 1) << r.out;
    EXPECT_TRUE(std::regex_search(r.out, std::regex(R"(\nstranger_crash +f32 +NO REASON\n)")))
        << r.out;
    EXPECT_EQ(r.out.find("\nabs                          f32 "), std::string::npos) << r.out;
    EXPECT_EQ(r.out.find(", 0 of them without a reason"), std::string::npos) << r.out;
}

TEST_F(ForeignLibrary, OtherCommandsReportACrash) {
    save("x.npy", Tensor::zeros({7}));
    const std::string fuzz_case = std::string("\"f32/") + name_of(host_isa()) + " n=7 seed:1\"";
    for (const std::string &command : {std::string("run stranger_crash --in x.npy --out-dir o"),
                                       "check stranger_crash --fuzz-case " + fuzz_case}) {
        const Result r = run(command);
        EXPECT_EQ(r.status, 1) << command;
        EXPECT_NE(r.err.find("died (signal 11, Segmentation fault)"), std::string::npos)
            << command << r.err;
    }
}

TEST_F(ForeignLibrary, PrintsTheFirstFailureOfEachKind) {
    const Result r = run("check stranger_cancel --quick");
    EXPECT_EQ(r.status, 1);
    EXPECT_LT(count(r.out, "times the bound of 1 ulps"), 5) << r.out;
    EXPECT_TRUE(
        std::regex_search(r.out, std::regex(R"(\n      and \d+ more of this kind \(--all\)\n)")))
        << r.out;
    EXPECT_EQ(count(r.out, "hint: terms cancel here"), 1) << r.out;
    const Result all = run("check stranger_cancel --quick --all");
    EXPECT_EQ(all.out.find("(--all)"), std::string::npos);
    EXPECT_GT(count(all.out, "times the bound of 1 ulps"), 10);
}

TEST_F(ForeignLibrary, ChecksAnOpWithItsGradients) {
    for (const char *name : {"stranger_flip", "stranger_flip_dx"}) {
        const auto j = checked(name);
        ASSERT_EQ(j["ops"].size(), 2u) << name;
        EXPECT_EQ(j["ops"][0]["op"], "stranger_flip");
        EXPECT_EQ(j["ops"][1]["op"], "stranger_flip_dx");
        EXPECT_NE(j["ops"][0]["failures"].dump().find("finite differences give"), std::string::npos)
            << name;
    }
    EXPECT_EQ(run("check stranger_square --quick").out.find("hint:"), std::string::npos)
        << "nothing cancels there";
    for (const char *name : {"stranger_square", "stranger_square_dx"}) {
        const auto j = checked(name);
        EXPECT_EQ(j["ops"][0]["failed"], 0) << j["ops"][0]["failures"];
        EXPECT_GT(j["ops"][1]["failed"], 0) << name;
    }
    EXPECT_EQ(checked("stranger_flip_dx stranger_flip")["ops"].size(), 2u) << "checked twice";
    EXPECT_EQ(checked("")["ops"].size(), 6u);
}

}  // namespace
}  // namespace halyard

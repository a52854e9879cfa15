// Tests halyard check as scripts call it: its exit status, its lines, its JSON.
#include <nlohmann/json.hpp>

#include "tests/tools/command.h"

namespace halyard {
namespace {

TEST_F(Command, ChecksSeveralOpsAndWritesJson) {
    const Result r = halyard("check relu bias_add --quick --jobs 2 --seed 3 --json found.json");
    ASSERT_EQ(r.status, 0) << r.out << r.err;
    const size_t first = r.out.find("[1/3] relu "), second = r.out.find("[2/3] relu_dx "),
                 third = r.out.find("[3/3] bias_add ");
    // The op comes before its gradients.
    EXPECT_TRUE(first < second && second < third && third != std::string::npos) << r.out;
    const nlohmann::json j = nlohmann::json::parse(text_of(dir / "found.json"));
    EXPECT_EQ(j["kind"], "halyard check");
    EXPECT_EQ(j["version"], 1);
    EXPECT_EQ(j["seed"], 3);
    EXPECT_TRUE(j["quick"]);
    EXPECT_FALSE(j["cpu"].get<std::string>().empty());
    EXPECT_FALSE(j["isas"].empty());
    EXPECT_EQ(j["date"].get<std::string>().size(), std::string("2026-01-01T00:00:00Z").size());
    EXPECT_NE(
        r.out.find("3 ops: " + std::to_string(j["passed"].get<int>()) + " checks passed, 0 failed"),
        std::string::npos)
        << r.out;
    ASSERT_EQ(j["ops"].size(), 3u);
    const nlohmann::json &relu = j["ops"][0];
    EXPECT_EQ(relu["op"], "relu");
    const nlohmann::json &bias_add = j["ops"][2];
    EXPECT_EQ(relu["passed"].get<int>() + j["ops"][1]["passed"].get<int>() +
                  bias_add["passed"].get<int>(),
              j["passed"]);
    EXPECT_GT(relu["seconds"], 0);
    int passed = 0;
    std::vector<std::string> checks;
    for (auto &part : relu["checks"]) {
        passed += part["passed"].get<int>();
        checks.push_back(part["check"]);
    }
    EXPECT_EQ(passed, relu["passed"]);
    EXPECT_EQ(checks, (std::vector<std::string>{"legality", "reference", "views", "broadcast",
                                                "zero sizes", "refusals", "specials", "isolation",
                                                "threads", "rows", "sandbox", "exact", "gradients",
                                                "adjoints", "device", "fuzz"}));
    ASSERT_EQ(bias_add["checks"].size(), 4u);  // It has no kernel of its own.
    EXPECT_EQ(bias_add["checks"][0]["check"], "composite");
    EXPECT_EQ(bias_add["checks"][1]["check"], "broadcast");
    EXPECT_EQ(bias_add["checks"][2]["check"], "zero sizes");
    EXPECT_EQ(bias_add["checks"][3]["check"], "threads");
    EXPECT_GT(bias_add["passed"], 0);
}

TEST_F(Command, RejectsOpsItCantCheck) {
    expect_rejected("check softmx", "[softmx] no such op; did you mean softmax");
    expect_rejected("check relu --fuzz never",
                    "[check] --fuzz is 'never', expected a number of calls or of seconds");
    expect_rejected("check relu --fuzz 3 --json missing/found.json",
                    "[missing/found.json] can't be written");
    EXPECT_EQ(halyard("check relu --jobs 0").status, 2);
}

TEST_F(Command, AnOpWithoutAPassedCheckFails) {
    const Result r = halyard("check bias_add --fuzz 3");
    EXPECT_EQ(r.status, 1);
    EXPECT_NE(r.out.find("bias_add passed no check: 1 were skipped"), std::string::npos) << r.out;
    const Result ascend = halyard("check bias_add --device ascend");
    EXPECT_EQ(ascend.status, 1);
    EXPECT_NE(ascend.out.find("\nrepeat: halyard check bias_add --device ascend\n"),
              std::string::npos)
        << ascend.out;
}

}  // namespace
}  // namespace halyard

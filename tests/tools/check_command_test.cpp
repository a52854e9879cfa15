// halyard check as a script calls it: its exit status, its lines, its JSON.
#include <nlohmann/json.hpp>

#include "tests/tools/command.h"

namespace halyard {
namespace {

TEST_F(Command, ChecksSeveralOpsAndWritesWhatItFound) {
    const Result r = halyard("check relu bias_add --quick --jobs 2 --seed 3 --json found.json");
    ASSERT_EQ(r.status, 0) << r.out << r.err;
    EXPECT_LT(r.out.find("[1/2] relu "), r.out.find("[2/2] bias_add ")) << r.out;
    const nlohmann::json j = nlohmann::json::parse(text_of(dir / "found.json"));
    EXPECT_EQ(j["kind"], "halyard check");
    EXPECT_EQ(j["version"], 1);
    EXPECT_EQ(j["seed"], 3);
    EXPECT_TRUE(j["quick"]);
    EXPECT_FALSE(j["cpu"].get<std::string>().empty());
    EXPECT_FALSE(j["isas"].empty());
    EXPECT_EQ(j["date"].get<std::string>().size(), std::string("2026-01-01T00:00:00Z").size());
    EXPECT_NE(r.out.find("2 ops: " + std::to_string(j["passed"].get<int>()) + " checks passed, 0 failed"), std::string::npos) << r.out;
    ASSERT_EQ(j["ops"].size(), 2u);
    const nlohmann::json &relu = j["ops"][0];
    EXPECT_EQ(relu["op"], "relu");
    const nlohmann::json &bias_add = j["ops"][1];
    EXPECT_EQ(relu["passed"].get<int>() + bias_add["passed"].get<int>(), j["passed"]);
    EXPECT_GT(relu["seconds"], 0);
    int passed = 0;
    std::vector<std::string> checks;
    for (auto &part : relu["checks"]) passed += part["passed"].get<int>(), checks.push_back(part["check"]);
    EXPECT_EQ(passed, relu["passed"]);
    EXPECT_EQ(checks, (std::vector<std::string>{"legality", "reference", "views", "zero sizes", "refusals", "specials", "isolation", "threads", "sandbox",
                                                "exact", "gradients", "adjoints", "device", "fuzz"}));
    ASSERT_EQ(bias_add["checks"].size(), 2u);  // it has no kernel of its own
    EXPECT_EQ(bias_add["checks"][0]["check"], "composite");
    EXPECT_EQ(bias_add["checks"][1]["check"], "threads");
    EXPECT_GT(bias_add["passed"], 0);
}

TEST_F(Command, RefusesWhatItCantCheck) {
    expect_refused("check softmx", "[softmx] no such op; did you mean softmax");
    expect_refused("check relu --fuzz never", "[check] --fuzz is 'never', expected a number of calls or of seconds");
    expect_refused("check relu --fuzz 3 --json missing/found.json", "[missing/found.json] can't be written");
    EXPECT_EQ(halyard("check relu --jobs 0").status, 2);
}

}  // namespace
}  // namespace halyard

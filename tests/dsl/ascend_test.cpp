// The Ascend text of softmax and the elementwise family, from the same op files: keeps the third backend's demands on Op in view.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <regex>
#include <sstream>

#include "dsl/all_ops.h"
#include "dsl/kernel.h"

namespace halyard {
namespace {

std::string program(const std::string &op, const std::string &dtype) {
    if (op_table().names().empty()) list_all_ops(op_table());
    Instance i;
    i.backend = "ascend", i.dtypes = dtype;
    return Kernel(op_table().make(op), i).davinci();
}

// Names carry counters that depend on what was compiled before: relu$3 -> relu, and t74, t75 -> t0, t1.
std::string without_counters(const std::string &text) {
    std::string s = std::regex_replace(text, std::regex("\\$[0-9]+"), "");
    std::map<std::string, std::string> lets;
    std::string out;
    const std::regex name("\\bt[0-9]+\\b");
    size_t at = 0;
    for (auto m = std::sregex_iterator(s.begin(), s.end(), name); m != std::sregex_iterator(); ++m) {
        const auto it = lets.emplace(m->str(), "t" + std::to_string(lets.size())).first;
        out += s.substr(at, (size_t)m->position() - at) + it->second;
        at = (size_t)m->position() + m->str().size();
    }
    return out + s.substr(at);
}

class Ascend : public testing::TestWithParam<std::pair<const char *, const char *>> {};

TEST_P(Ascend, GoldenText) {
    const auto [op, dtype] = GetParam();
    const std::string path = std::string(HALYARD_SOURCE_DIR) + "/tests/dsl/ascend/" + op + "_" + dtype + ".dv";
    const std::string text = without_counters(program(op, dtype));
    if (std::getenv("HALYARD_WRITE_GOLDENS")) std::ofstream(path) << text;
    std::ifstream file(path);
    std::stringstream golden;
    golden << file.rdbuf();
    ASSERT_FALSE(golden.str().empty()) << path;
    EXPECT_EQ(text, golden.str());
}
INSTANTIATE_TEST_SUITE_P(Programs, Ascend, testing::Values(std::pair{"softmax", "f32"}, std::pair{"softmax_dx", "f32"}, std::pair{"relu", "f16"}, std::pair{"exp", "f32"}, std::pair{"add", "f32"},
                                                           std::pair{"mul", "f16"}, std::pair{"add_relu", "f16"}),
                         [](const auto &p) { return std::string(p.param.first) + "_" + p.param.second; });

}  // namespace
}  // namespace halyard

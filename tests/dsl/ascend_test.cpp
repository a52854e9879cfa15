// The Ascend text of softmax and the elementwise family, from the same op files: keeps the third backend's demands on Op in view.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "dsl/all_ops.h"
#include "dsl/lower.h"

namespace halyard {
namespace {

std::string program(const std::string &op, const std::string &dtype) {
    if (op_table().names().empty()) list_all_ops(op_table());
    Instance i;
    i.backend = "ascend", i.dtypes = dtype;
    return Kernel(op_table().make(op), i).davinci();
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
INSTANTIATE_TEST_SUITE_P(Programs, Ascend,
                         testing::Values(std::pair{"softmax", "f32"}, std::pair{"softmax_dx", "f32"}, std::pair{"relu", "f16"}, std::pair{"exp", "f32"},
                                         std::pair{"add", "f32"}, std::pair{"mul", "f16"}, std::pair{"add_relu", "f16"}),
                         [](const auto &p) { return std::string(p.param.first) + "_" + p.param.second; });

}  // namespace
}  // namespace halyard

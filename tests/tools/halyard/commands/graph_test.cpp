// Tests halyard graph: it shows a captured step and a forward pass, and rejects options that
// exclude each other.
#include "tests/tools/command.h"

using namespace halyard;

namespace {

const char *const lenet5 = "graph lenet5 --data " HALYARD_SOURCE_DIR "/data/digits --batch-size 8 ";

class GraphCommand : public Command {};

bool contains(const std::string &text, const std::string &part) {
    return text.find(part) != std::string::npos;
}

}  // namespace

TEST_F(GraphCommand, ShowsAStepBeforeAndAfterThePasses) {
    const Result step = halyard(lenet5);
    ASSERT_EQ(step.status, 0) << step.err;
    EXPECT_TRUE(step.out.starts_with("recorded:\ngraph TrainOneStepCell {\n")) << step.out;
    EXPECT_TRUE(contains(step.out, "\nwith_constants:\ngraph TrainOneStepCell {\n"));
    EXPECT_TRUE(contains(step.out, "= parameter conv1.weight : f32[6,1,5,5]\n"));
    EXPECT_TRUE(contains(step.out, "# WithLossCell/LeNet5/Conv2d\n"));
    EXPECT_TRUE(contains(step.out, "# backward\n"));
    EXPECT_TRUE(contains(step.out, "[lr: number 0]"));
    EXPECT_TRUE(contains(step.out, "\nwithout_dead_nodes "));
}

TEST_F(GraphCommand, DrawsAForwardPass) {
    const Result forward = halyard(std::string(lenet5) +
                                   "--part forward --after recorded --dot lenet5.dot");
    ASSERT_EQ(forward.status, 0) << forward.err;
    EXPECT_TRUE(contains(forward.out, "graph LeNet5 {\n")) << forward.out;
    EXPECT_FALSE(contains(forward.out, "backward"));
    EXPECT_FALSE(contains(forward.out, "\nwith_constants:"));
    EXPECT_TRUE(text_of(dir / "lenet5.dot").starts_with("digraph \"LeNet5\" {\n"));
}

TEST_F(GraphCommand, RejectsWhatHasNoEffect) {
    EXPECT_EQ(halyard(std::string(lenet5) + "--counts --after recorded").status, 2);
    EXPECT_EQ(halyard(std::string(lenet5) + "--counts --dot x.dot").status, 2);
    EXPECT_EQ(halyard("graph lenet6").status, 2);
    EXPECT_EQ(halyard("graph lenet5 --data nowhere").status, 1);
}

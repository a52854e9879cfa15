// Tests halyard graph: it shows a captured step, a forward pass and the graph of a file, and
// rejects options that exclude each other.
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
    EXPECT_TRUE(contains(step.out, "\nwith_prepared:\ngraph TrainOneStepCell {\n"));
    EXPECT_TRUE(contains(step.out, "= parameter conv1.weight : f32[6,1,5,5]\n"));
    EXPECT_TRUE(contains(step.out, "# WithLossCell/LeNet5/conv1-Conv2d\n"));
    EXPECT_TRUE(contains(step.out, "# backward/WithLossCell/LeNet5/conv1-Conv2d\n"));
    EXPECT_TRUE(contains(step.out, "[lr: number 0]"));
    EXPECT_TRUE(contains(step.out, "\nwithout_dead_nodes "));
}

TEST_F(GraphCommand, DrawsAForwardPass) {
    const Result forward = halyard(std::string(lenet5) +
                                   "--part forward --after recorded --dot lenet5.dot");
    ASSERT_EQ(forward.status, 0) << forward.err;
    EXPECT_TRUE(contains(forward.out, "graph LeNet5 {\n")) << forward.out;
    EXPECT_FALSE(contains(forward.out, "backward"));
    EXPECT_FALSE(contains(forward.out, "\nwith_prepared:"));
    EXPECT_TRUE(text_of(dir / "lenet5.dot").starts_with("digraph \"LeNet5\" {\n"));
}

TEST_F(GraphCommand, ShowsTheGraphOfAFile) {
    const Result missing = halyard("graph lenet5.graph");
    EXPECT_EQ(missing.status, 2);
    EXPECT_TRUE(contains(missing.err, "lenet5.graph is no file, and no network: lenet5, "))
        << missing.err;
    const Result saved = halyard(std::string(lenet5) + "--part forward --save lenet5.graph");
    ASSERT_EQ(saved.status, 0) << saved.err;
    const Result shown = halyard("graph lenet5.graph --dot saved.dot");
    ASSERT_EQ(shown.status, 0) << shown.err;
    EXPECT_TRUE(shown.out.starts_with("saved:\ngraph LeNet5 {\n")) << shown.out;
    EXPECT_TRUE(contains(shown.out, "= parameter conv1.weight : f32[6,1,5,5]\n"));
    EXPECT_TRUE(contains(shown.out, "# LeNet5/conv1-Conv2d\n"));
    EXPECT_TRUE(text_of(dir / "saved.dot").starts_with("digraph \"LeNet5\" {\n"));
    expect_rejected("graph lenet5.graph --part forward",
                    "[graph] --part has no effect on a saved graph, lenet5.graph");
    expect_rejected("graph lenet5.graph --save other.graph",
                    "[graph] --save has no effect on a saved graph, lenet5.graph");
    const Result step = halyard(std::string(lenet5) + "--save step.graph --counts");
    ASSERT_EQ(step.status, 0) << step.err;
    EXPECT_TRUE(contains(halyard("graph step.graph").out, "scale=1 [lr: number 7] : f32[10]"));
    write("damaged.graph", text_of(dir / "lenet5.graph").substr(0, 5000));
    expect_rejected("graph damaged.graph", "[damaged.graph] truncated");
}

TEST_F(GraphCommand, ShowsTheRegionsOfAStep) {
    const Result regions = halyard(std::string(lenet5) + "--regions");
    ASSERT_EQ(regions.status, 0) << regions.err;
    EXPECT_TRUE(contains(regions.out, "1 times t0 = add(i0, i1); t1 = relu(t0) -> t1 f32[8,120] "
                                      "f32[120]\n"))
        << regions.out;
    EXPECT_TRUE(contains(regions.out, "2 regions of 4 calls\n")) << regions.out;
    EXPECT_EQ(halyard(std::string(lenet5) + "--regions --counts").status, 2);
}

TEST_F(GraphCommand, RejectsWhatHasNoEffect) {
    EXPECT_EQ(halyard(std::string(lenet5) + "--counts --after recorded").status, 2);
    EXPECT_EQ(halyard(std::string(lenet5) + "--counts --dot x.dot").status, 2);
    EXPECT_EQ(halyard("graph lenet6").status, 2);
    EXPECT_EQ(halyard("graph lenet5 --data nowhere").status, 1);
}

// Tests halyard train: it resumes to the same bits, evaluates, and rejects invalid arguments.
#include "tests/tools/command.h"

using namespace halyard;

namespace {

const char *const small = "--data texts --epochs 2 --batch-size 4 --length 16 --out o";

class TrainCommand : public Command {
protected:
    void SetUp() override {
        Command::SetUp();
        fs::create_directories(dir / "texts");
        write("texts/page.md", text_of(HALYARD_SOURCE_DIR "/docs/ulps.md"));
    }
    std::string bytes(const char *name) const { return text_of(dir / name); }
};

std::vector<std::string> files(const fs::path &folder, const char *ending) {
    std::vector<std::string> all;
    for (const auto &entry : fs::directory_iterator(folder))
        if (entry.path().extension() == ending) all.push_back(entry.path().filename().string());
    std::sort(all.begin(), all.end());
    return all;
}

}  // namespace

TEST_F(TrainCommand, ResumesToTheSameBits) {
    const Result whole = halyard(std::string("train transformer ") + small);
    ASSERT_EQ(whole.status, 0) << whole.err;
    EXPECT_NE(whole.err.find("epoch 2/2"), std::string::npos) << whole.err;
    EXPECT_NE(whole.out.find("last epoch's mean loss "), std::string::npos) << whole.out;
    const std::vector<std::string> checkpoints = files(dir / "o", ".safetensors");
    ASSERT_EQ(checkpoints.size(), 2u);
    const fs::path last = dir / "o" / checkpoints[1];
    const std::string expected = text_of(last);
    ASSERT_FALSE(expected.empty());
    fs::remove(last);

    const Result rest = halyard(std::string("train transformer --resume ") + small);
    ASSERT_EQ(rest.status, 0) << rest.err;
    EXPECT_EQ(rest.out.find("from o/" + checkpoints[0]), 0u) << rest.out;
    EXPECT_EQ(rest.err.find("epoch 1/2"), std::string::npos) << rest.err;
    EXPECT_TRUE(text_of(last) == expected);

    const Result evaluated = halyard(std::string("train transformer --evaluate ") + small);
    EXPECT_EQ(evaluated.out.substr(evaluated.out.find("test loss")),
              whole.out.substr(whole.out.find("test loss"),
                               evaluated.out.size() - evaluated.out.find("test loss")));
    // Without --length the evaluation uses the length of the training.
    const Result again = halyard(
        "train transformer --evaluate --data texts --batch-size 4 --out o");
    EXPECT_EQ(again.out, evaluated.out) << again.err;
    EXPECT_NE(halyard(std::string("train transformer --resume ") + small)
                  .out.find("the checkpoint has all 2 epochs"),
              std::string::npos);
}

// A resumed training keeps its settings, whether the options repeat them or not; options that
// contradict them are rejected.
TEST_F(TrainCommand, ResumesWithItsSettings) {
    ASSERT_EQ(halyard(std::string("train lstm --seed 3 ") + small).status, 0);
    const Result rest = halyard("train lstm --data texts --epochs 3 --out o --resume");
    EXPECT_EQ(rest.status, 0) << rest.err;
    EXPECT_EQ(rest.err.find("WARNING"), std::string::npos) << rest.err;
    EXPECT_NE(text_of(dir / "o/lstm_run.html").find("batch size"), std::string::npos);
    const std::string resume = "train lstm --data texts --epochs 4 --out o --resume ";
    expect_rejected(resume + "--batch-size 8",
                    "[train] --batch-size is 8, but the training that is resumed was begun with 4");
    expect_rejected(resume + "--seed 4",
                    "[train] --seed is 4, but the training that is resumed was begun with 3");
    expect_rejected(resume + "--length 32", "[train] --image-size or --length is 32, but the "
                                            "training that is resumed was begun with 16");
    expect_rejected(resume + "--lr 0.5", "[train] --lr is 0.5, but ");
    EXPECT_EQ(halyard(std::string("train lstm --seed -1 ") + small).status, 2);
    EXPECT_EQ(halyard(std::string("train lstm --seed 99999999999999999999 ") + small).status, 2);
}

TEST_F(TrainCommand, RejectsInvalidArguments) {
    expect_rejected(std::string("train lstm --resume ") + small, "[o] has no checkpoint of lstm");
    expect_rejected("train resnet18 --data texts",
                    "[texts] has no folders train and test (or val)");
    expect_rejected("train lstm --data texts --length 4096", "[text] the text has ");
    expect_rejected(
        "train lstm --data texts --epochs 1 --batch-size 4 --length 16 --out texts/page.md",
        "[texts/page.md] can't be created");
    EXPECT_EQ(halyard("train alexnet").status, 2);
}

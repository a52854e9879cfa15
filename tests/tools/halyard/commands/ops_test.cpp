// Tests `halyard ops --missing`: what has a CPU kernel and none for a GPU, with the reasons.
#include "tests/tools/command.h"

namespace halyard {
namespace {

class Ops : public Command {
protected:
    // Returns the lines of `halyard ops --missing` about one op.
    std::string missing(const std::string &op, const std::string &device) const {
        std::istringstream text(halyard("ops --missing --device " + device).out);
        std::string found;
        for (std::string line; std::getline(text, line);)
            if (line.starts_with(op + " ")) found += line + "\n";
        return found;
    }
};

TEST_F(Ops, NameWhatADeviceLacksWithTheReason) {
    for (const std::string device : {"opencl", "cuda"}) {
        const Result r = halyard("ops --missing --device " + device);
        EXPECT_EQ(r.status, 0) << r.err;
        EXPECT_EQ(r.out.find("NO REASON"), std::string::npos) << r.out;
        EXPECT_NE(r.out.find(" and none for " + device + ", 0 of them without a reason\n"),
                  std::string::npos)
            << r.out;
        const std::string softmax = missing("softmax", device);
        for (const char *there : {" f32 ", " f16 ", " bf16 "})
            EXPECT_EQ(softmax.find(there), std::string::npos) << softmax;
        EXPECT_NE(softmax.find(" f64          few GPUs compute f64 faster than the CPU does\n"),
                  std::string::npos)
            << softmax;
        EXPECT_NE(missing("softmax_dx", device), "") << "internal ops are listed too";
        EXPECT_EQ(missing("bias_add", device), "") << "a composite has no kernel of its own";
    }
}

TEST_F(Ops, RefuseADeviceWithoutMissing) {
    expect_rejected("ops --device cuda", "--device");
}

}  // namespace
}  // namespace halyard

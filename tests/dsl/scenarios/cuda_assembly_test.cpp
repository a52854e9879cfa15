// Tests GPU schedules without a GPU: ptxas, if CUDA is installed, assembles the CUDA build of every
// op that has one. (For OpenCL, tools/check compares results with the reference on any device.)
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "dsl/all_ops.h"
#include "dsl/gpu/gpu_kernels.h"
#include "dsl/kernel.h"
#include "dsl/lower.h"
#include "registry/base/temporary_folder.h"

namespace halyard {
namespace {

// Returns the PTX of an op's f32 kernel, that of its last variant unless one is given.
std::string ptx_of(const std::string &name, const std::string &path, std::string variant = "") {
    if (variant.empty()) variant = gpu::variants(*op_table().make(name)).back();
    Instance i;
    i.backend = "cuda";
    i.variant = variant;
    Kernel k(op_table().make(name), i);
    return text_of(k, "ptx", path);
}

// The floor of a negative subnormal is -1.
TEST(Cuda, RoundingTakesNoSubnormalForZero) {
    list_kit_ops();
    const TemporaryFolder folder("halyard_ptx");
    for (const char *op : {"floor", "ceil", "floor_div"}) {
        const std::string code = ptx_of(op, folder.path / "code.ptx");
        EXPECT_NE(code.find(".visible .entry"), std::string::npos) << op;
        for (const char *flushing : {"cvt.rmi.ftz", "cvt.rpi.ftz", "setp.lt.ftz", "setp.gt.ftz"})
            EXPECT_EQ(code.find(flushing), std::string::npos) << op << " has " << flushing;
    }
}

// Assembles the f32 kernels of every op, which takes minutes, if HALYARD_ALL_PTX is set, else those
// of every 16th.
TEST(Cuda, EveryGpuOpIsAssembled) {
    if (std::system("ptxas --version > /dev/null 2>&1") != 0) GTEST_SKIP() << "no ptxas";
    list_kit_ops();
    const TemporaryFolder folder("halyard_ptx");
    const int step = std::getenv("HALYARD_ALL_PTX") ? 1 : 16;
    int assembled = 0, seen = 0;
    for (auto &name : op_table().names()) {
        const OpPtr op = op_table().make(name);
        if (!gpu::has_kernel(*op, "f32") || seen++ % step != 0) continue;
        for (const std::string &variant : gpu::variants(*op)) {
            const std::string path = folder.path / (name + variant + ".ptx");
            const std::string code = ptx_of(name, path, variant);
            ASSERT_NE(code, "") << name;
            std::ofstream(path, std::ios::binary) << code;
            EXPECT_EQ(std::system(("ptxas -arch=sm_80 -o /dev/null '" + path + "'").c_str()), 0)
                << name << " " << variant;
            assembled++;
        }
    }
    EXPECT_GE(assembled, 3);
}

}  // namespace
}  // namespace halyard

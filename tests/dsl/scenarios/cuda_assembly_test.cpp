// Tests GPU schedules without a GPU: ptxas, if CUDA is installed, assembles the CUDA build of every
// op that has one. (For OpenCL, tools/check compares results with the reference on any device.)
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "dsl/all_ops.h"
#include "dsl/gpu/gpu_kernels.h"
#include "dsl/kernel.h"

namespace halyard {
namespace {

// Assembles the f32 kernels of every op, which takes minutes, if HALYARD_ALL_PTX is set, else those
// of every 16th.
TEST(Cuda, EveryGpuOpIsAssembled) {
    if (std::system("ptxas --version > /dev/null 2>&1") != 0) GTEST_SKIP() << "no ptxas";
    if (op_table().names().empty()) list_all_ops(op_table());
    const std::filesystem::path dir = std::filesystem::temp_directory_path() /
                                      ("halyard_ptx_" + std::to_string(getpid()));
    std::filesystem::create_directories(dir);
    const int step = std::getenv("HALYARD_ALL_PTX") ? 1 : 16;
    int assembled = 0, seen = 0;
    for (auto &name : op_table().names()) {
        const OpPtr op = op_table().make(name);
        if (!gpu::has_kernel(*op, "f32") || seen++ % step != 0) continue;
        Instance i;
        i.backend = "cuda";
        i.variant = gpu::variant(*op);
        Kernel k(op_table().make(name), i);
        const std::string ptx = dir / (name + ".ptx");
        const auto text = Halide::Internal::get_output_info(k.target);
        k.pipeline.compile_to({{Halide::OutputFileType::device_code, ptx}}, k.arguments(), name,
                              k.target);
        ASSERT_TRUE(std::filesystem::exists(ptx)) << name;
        // The file ends in a NUL that ptxas rejects.
        std::ifstream in(ptx, std::ios::binary);
        std::string code((std::istreambuf_iterator<char>(in)), {});
        while (!code.empty() && code.back() == '\0')
            code.pop_back();
        std::ofstream(ptx, std::ios::binary) << code;
        EXPECT_EQ(std::system(("ptxas -arch=sm_80 -o /dev/null '" + ptx + "'").c_str()), 0) << name;
        assembled++;
    }
    EXPECT_GE(assembled, 3);
    std::filesystem::remove_all(dir);
}

}  // namespace
}  // namespace halyard

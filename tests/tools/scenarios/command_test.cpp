// Tests the halyard command as users call it: files in, files out, exit status, one line per error.
#include <cmath>
#include <nlohmann/json.hpp>

#include "registry/base/version.h"
#include "registry/op/op_record.h"
#include "tests/tools/command.h"

namespace halyard {
namespace {
TEST_F(Command, TakesTheContextFromTheEnvironment) {
    save("x.npy", Tensor::from<float>({-1, 2}));
    const auto run = [&](const std::string &environment) {
        return halyard("run relu -i x=x.npy -o o", environment);
    };
    const auto rejected = [&](const std::string &environment, const std::string &message) {
        const Result r = run(environment);
        EXPECT_EQ(r.status, 1) << environment;
        EXPECT_EQ(r.err, message + "\n");
    };
    rejected("HALYARD_DEVICE_TARGET=TPU", "[context] device_target is 'TPU', expected CPU, GPU or "
                                          "Ascend; this build has kernels for CPU and GPU");
    rejected("HALYARD_MAX_DEVICE_MEMORY=2TB", "[context] max_device_memory is '2TB', expected a "
                                              "number above 0 with GB or MB, as 2GB or 0.5GB");
    rejected("HALYARD_MODE=eager",
             "[context] HALYARD_MODE is 'eager', expected GRAPH_MODE or PYNATIVE_MODE");
    rejected("HALYARD_SAVE_GRAPHS=yes", "[context] HALYARD_SAVE_GRAPHS is 'yes', expected 0 or 1");
    const Result r = run("HALYARD_DEVICE_ID=3 HALYARD_ENABLE_PROFILING=1 "
                         "HALYARD_PROFILING_OPTIONS='{\"output\": \"o\"}' GLOG_v=2");
    ASSERT_EQ(r.status, 1);
    EXPECT_EQ(r.err.substr(r.err.find("[o]")),
              "[o] is no folder: the profiler's file can't go there\n");
    EXPECT_TRUE(r.err.starts_with("[WARNING] HALYARD(")) << r.err;
    fs::create_directories(dir / "o");
    ASSERT_EQ(run("HALYARD_DEVICE_ID=3 HALYARD_ENABLE_PROFILING=1 "
                  "HALYARD_PROFILING_OPTIONS='{\"output\": \"o\"}' GLOG_v=3")
                  .err,
              "");
    int traces = 0;  // Written when the program ended.
    for (auto &entry : fs::directory_iterator(dir / "o")) {
        if (entry.path().filename().string().starts_with("op_trace_")) {
            traces++;
            EXPECT_NE(text_of(entry.path()).find("\"name\":\"relu\""), std::string::npos);
        }
    }
    EXPECT_EQ(traces, 1);
    EXPECT_NE(run("GLOG_v=1 HALYARD_ENABLE_PROFILING=1").err.find(": 1 slice\n"),
              std::string::npos);
    EXPECT_NE(run("GLOG_v=9 HALYARD_DEVICE_ID=3")
                  .err.find("[log] GLOG_v is '9', expected 0 to 4; 2 is taken\n"),
              std::string::npos);
    EXPECT_EQ(run("HALYARD_DEVICE_TARGET=Ascend").status, 0);  // The simulated device.
    const Result on_gpu = run("HALYARD_DEVICE_TARGET=GPU");  // If an OpenCL platform is available.
    if (on_gpu.status != 0) {
        EXPECT_NE(on_gpu.err.find("[opencl]"), std::string::npos) << on_gpu.err;
    }
    EXPECT_EQ(load("o/out_0.npy").at({1}), 2);
}

TEST_F(Command, MemoryLimitAppliesFromTheFirstTensor) {
    save("x.npy", Tensor::ones({1 << 20}));
    expect_rejected("run relu -i x=x.npy -o o", "out of memory: 4.0 MB wanted",
                    "HALYARD_MAX_DEVICE_MEMORY=1MB");
    EXPECT_EQ(halyard("run relu -i x=x.npy -o o", "HALYARD_MAX_DEVICE_MEMORY=64MB").status, 0);
}

// Its log would name an op that stays on the CPU.
TEST_F(Command, RunsOnACudaDevice) {
    save("x.npy", Tensor::from<float>({-1, 2}));
    const Result r = halyard("run relu -i x=x.npy -o o --device cuda",
                             "HALYARD_CUDA_DRIVER=libhalyard_cuda_model.so");
    ASSERT_EQ(r.status, 0) << r.err;
    EXPECT_EQ(r.err, "");
    EXPECT_EQ(load("o/out_0.npy").at({1}), 2);
}

TEST_F(Command, AcceptsOmittedArguments) {
    save("x.npy", Tensor::ones({2, 3}));
    save("labels.npy", Tensor::from<int32_t>({0, 2}));
    save("one.npy", Tensor::ones({}));
    ASSERT_EQ(halyard("run scaled_dot_product_attention -i query=x.npy -i key=x.npy -i value=x.npy "
                      "-g dy=x.npy -o o")
                  .status,
              0);
    EXPECT_NEAR(load("o/out_0.npy").at({1, 2}), 1, 1e-6);
    EXPECT_TRUE(exists("o/d_value.npy"));
    EXPECT_FALSE(exists("o/d_attn_mask.npy"));
    ASSERT_EQ(halyard("run cross_entropy -i input=x.npy -i target=labels.npy -g loss=one.npy -o ce")
                  .status,
              0);
    EXPECT_NEAR(load("ce/out_0.npy").item(), std::log(3), 1e-6);
}

TEST_F(Command, RunsSoftmaxAndItsGradient) {
    save("x.npy", Tensor::from<float>({0, 1, 2, 3, -1, 5}, {2, 3}));
    save("dy.npy", Tensor::from<float>({1, 0, 2, -1, 3, 0.5f}, {2, 3}));
    const Result r = halyard("run softmax --in x=x.npy --attr axis=0 --out-dir o --grad dy=dy.npy");
    ASSERT_EQ(r.status, 0) << r.err;
    const Tensor y = load("o/out_0.npy"), dx = load("o/d_x.npy"), x = load("x.npy"),
                 dy = load("dy.npy");
    ASSERT_EQ(y.shape(), (Shape{2, 3}));
    for (int64_t j = 0; j < 3; j++) {
        const double a = std::exp(x.at({0, j}));
        const double b = std::exp(x.at({1, j}));
        const double p = a / (a + b);
        const double q = b / (a + b);
        const double dot = p * dy.at({0, j}) + q * dy.at({1, j});
        EXPECT_NEAR(y.at({0, j}), p, 1e-6);
        EXPECT_NEAR(y.at({1, j}), q, 1e-6);
        EXPECT_NEAR(dx.at({0, j}), p * (dy.at({0, j}) - dot), 1e-6);
        EXPECT_NEAR(dx.at({1, j}), q * (dy.at({1, j}) - dot), 1e-6);
    }
    // The line is "  ISAs        avx512, avx2, baseline"; the build may have fewer.
    const std::string op = halyard("ops softmax").out;
    const std::string isas = op.substr(op.find("ISAs"),
                                       op.find('\n', op.find("ISAs")) - op.find("ISAs"));
    const std::string lowest = isas.substr(isas.rfind(' ') + 1);
    // Inputs need --in.
    ASSERT_EQ(
        halyard("run softmax x.npy -a axis=0 -o again --grad y=dy.npy --isa baseline --threads 1")
            .status,
        2);
    ASSERT_EQ(halyard("run softmax -i x.npy -a axis=0 -o again --grad y=dy.npy --isa " + lowest +
                      " --threads 1")
                  .status,
              0);
    EXPECT_NEAR(load("again/d_x.npy").at({1, 2}), dx.at({1, 2}), 1e-6);
}

TEST_F(Command, RunsOpsWithSeveralInputsByNameAndPosition) {
    save("a.npy", Tensor::from<float>({1, 2, 3}));
    save("b.npy", Tensor::from<float>({10, 20, 30}));
    ASSERT_EQ(halyard("run sub --in b=b.npy --in a=a.npy --out-dir named --grad dy=a.npy").status,
              0);
    ASSERT_EQ(halyard("run sub --in x1=b.npy --in x0=a.npy --out-dir placed").status, 0);
    EXPECT_EQ(load("named/out_0.npy").to_vector<float>(), (std::vector<float>{-9, -18, -27}));
    EXPECT_EQ(load("placed/out_0.npy").to_vector<float>(), (std::vector<float>{-9, -18, -27}));
    EXPECT_EQ(load("named/d_a.npy").to_vector<float>(), (std::vector<float>{1, 2, 3}));
    EXPECT_EQ(load("named/d_b.npy").to_vector<float>(), (std::vector<float>{-1, -2, -3}));
}

TEST_F(Command, RunsCompositeAndVariadicOps) {
    save("x.npy", Tensor::from<float>({1, 2, 3, 4}, {2, 2}));
    save("bias.npy", Tensor::from<float>({10, 20}));
    ASSERT_EQ(
        halyard("run bias_add --in x=x.npy --in bias=bias.npy --out-dir o --grad dy=x.npy").status,
        0);
    EXPECT_EQ(load("o/out_0.npy").to_vector<float>(), (std::vector<float>{11, 22, 13, 24}));
    EXPECT_EQ(load("o/d_bias.npy").to_vector<float>(), (std::vector<float>{4, 6}));
    ASSERT_EQ(halyard("run concat --in x=x.npy --in x=x.npy --attr axis=1 --out-dir joined").status,
              0);
    EXPECT_EQ(load("joined/out_0.npy").to_vector<float>(),
              (std::vector<float>{1, 2, 1, 2, 3, 4, 3, 4}));
    ASSERT_EQ(
        halyard("run split --in x=x.npy --attr axis=1 --attr output_num=2 --out-dir parts").status,
        0);
    EXPECT_EQ(load("parts/out_1.npy").to_vector<float>(), (std::vector<float>{2, 4}));
}

TEST_F(Command, DifferentiatesVariadicOps) {
    const auto values = [&](const char *file) { return load(file).to_vector<float>(); };
    save("x.npy", Tensor::from<float>({1, 2, 3, 4}, {2, 2}));
    save("dy.npy", Tensor::from<float>({1, 2, 3, 4, 5, 6, 7, 8}, {2, 4}));
    const std::string two = " -i x.npy -i x.npy ";
    ASSERT_EQ(halyard("run concat" + two + "-a axis=1 -g dy=dy.npy -o joined").status, 0);
    EXPECT_EQ(values("joined/d_x0.npy"), (std::vector<float>{1, 2, 5, 6}));
    EXPECT_EQ(values("joined/d_x1.npy"), (std::vector<float>{3, 4, 7, 8}));
    ASSERT_EQ(halyard("run einsum" + two + "-a 'equation=ij,jk->ik' -g x.npy -o product").status,
              0);
    EXPECT_EQ(values("product/d_x0.npy"), (std::vector<float>{5, 11, 11, 25}));
    save("column.npy", Tensor::from<float>({5, 6}, {2, 1}));
    const std::string split = "run split -i x.npy -a axis=1 -a output_num=2 ";
    ASSERT_EQ(halyard(split + "-g dy1=column.npy -o parts").status, 0);
    EXPECT_EQ(values("parts/d_x0.npy"), (std::vector<float>{0, 5, 0, 6}));
    expect_rejected(split + "-g dy2=column.npy -o o", "[split] no output 'dy2', expected y0, y1");
}

TEST_F(Command, WritesTheInputsThatAnOpChanges) {
    save("x.npy", Tensor::from<float>({1, 3, 5, 7}, {2, 2}));
    save("one.npy", Tensor::ones({2}));
    save("zero.npy", Tensor::zeros({2}));
    const std::string call =
        "run batch_norm -i x=x.npy -i gamma=one.npy -i beta=zero.npy -i mean=zero.npy "
        "-i variance=one.npy -a momentum=0.5 ";
    ASSERT_EQ(halyard(call + "-a is_training=true -o trained").status, 0);
    EXPECT_EQ(load("trained/mean_out.npy").to_vector<float>(), (std::vector<float>{1.5f, 2.5f}));
    EXPECT_TRUE(exists("trained/variance_out.npy"));
    EXPECT_FALSE(exists("trained/gamma_out.npy"));
    ASSERT_EQ(halyard(call + "-a is_training=false -o used").status, 0);
    EXPECT_FALSE(exists("used/mean_out.npy"));
}

TEST_F(Command, ReadsBitsAsBf16) {
    save("x.npy", Tensor::from<float>({1, -2, 0.5f}).to(DType::bf16));
    ASSERT_EQ(halyard("run relu --in x=x.npy --dtype x=bf16 --out-dir o").status, 0);
    const Tensor y = load_npy((dir / "o/out_0.npy").string(), DType::bf16);
    EXPECT_EQ(y.to_vector<float>(), (std::vector<float>{1, 0, 0.5f}));
}

TEST_F(Command, RejectsInvalidArgumentsInOneLine) {
    save("x.npy", Tensor::from<float>({1, 2, 3}));
    expect_rejected("run softmx --in x=x.npy --out-dir o",
                    "[softmx] no such op; did you mean softmax");
    expect_rejected("run softmax --out-dir o", "[softmax] input x is missing");
    expect_rejected("run softmax --in x=x.npy --in x=x.npy --out-dir o",
                    "[softmax] input x is given twice");
    expect_rejected("run softmax --in z=x.npy --out-dir o", "[softmax] no input 'z', expected x");
    expect_rejected("run softmax --in x.npy --in x.npy --out-dir o",
                    "[softmax] one input too many");
    expect_rejected("run softmax --in x=none.npy --out-dir o", "[none.npy]");
    expect_rejected("run softmax --in x=x.npy --attr axs=1 --out-dir o",
                    "[softmax] no attribute 'axs'");
    expect_rejected("run softmax --in x=x.npy --attr axis=one --out-dir o",
                    "[softmax] axis is 'one'");
    expect_rejected("run softmax --in x=x.npy --variant none --out-dir o",
                    "[softmax] no variant 'none'");
    expect_rejected("run softmax --in x=x.npy --isa sse --out-dir o", "[isa] 'sse'");
    expect_rejected("run softmax --in x=x.npy --grad dz=x.npy --out-dir o",
                    "[softmax] no output 'dz'");
    EXPECT_FALSE(exists("o"));
    std::ofstream(dir / "file") << "in the way";
    expect_rejected("run softmax --in x=x.npy --out-dir file/o", "[file/o] can't be created");
}

TEST_F(Command, ErrorsNameTheDimensionAndBothValues) {
    save("x.npy", Tensor::ones({2, 3}));
    save("i.npy", Tensor::ones({2, 3}, DType::i32));
    save("v.npy", Tensor::ones({3}));
    save("two.npy", Tensor::ones({2, 2}));
    save("none.npy", Tensor::ones({0, 3}));
    save("image.npy", Tensor::ones({1, 1, 4, 4}));
    save("w.npy", Tensor::ones({1, 1, 2, 2}));
    save("one.npy", Tensor::ones({}));
    save("deep.npy", Tensor::ones({1, 1, 1, 1, 1, 1, 1, 1}));
    const auto rejected = [&](const std::string &call, const std::string &message) {
        expect_rejected("run " + call + " --out-dir o", message);
    };
    rejected("softmax -i x.npy -a axis=7", "[softmax] axis is 7, expected -2 to 1");
    rejected("matmul -i v.npy -i x.npy", "[matmul] a has rank 1, expected at least 2 (..g,m,k)");
    rejected("matmul -i x.npy -i x.npy",
             "[matmul] b.k is 2, expected 3 from a[2,3] (b has shape [2,3])");
    rejected("add -i x.npy -i i.npy", "[add] b is i32, expected f32 like a");
    rejected("add -i x.npy -i two.npy",
             "[add] dimension 1 is 3 against 2: [2,3] and [2,2] don't broadcast");
    rejected("softmax -i i.npy", "[softmax] no kernels for i32, there are f32 f16 bf16 f64");
    rejected("reduce_max -i none.npy -a axis=0",
             "[reduce_max] x[0,3] has no elements along axis, expected at least one");
    rejected("reduce_sum -i x.npy -a axis=0,0", "[reduce_sum] axis 0 is given twice");
    rejected("conv2d -i image.npy -i w.npy -a stride=-1",
             "[conv2d] needs stride_h>=1: stride_h is -1");
    rejected("conv2d -i image.npy -i w.npy -a stride=1,2,3",
             "[conv2d] stride has 3 values, expected 1 or 2");
    rejected("conv2d -i image.npy -i w.npy -a pad_mode=pad -a padding=-1",
             "[conv2d] needs top>=0: top is -1");
    rejected("conv2d -i image.npy -i w.npy -a pad_mode=around",
             "[conv2d] pad_mode is 'around', expected one of valid, same, pad");
    rejected("conv2d -i image.npy -i w.npy -a dilation=9223372036854775807", "[conv2d] overflow: ");
    rejected("max_pool2d -i image.npy -a kernel_size=5",
             "[max_pool2d] needs h+pads_h>=kernel_h: h+pads_h is 4, kernel_h is 5");
    rejected("max_pool2d -i image.npy -a kernel_size=2 -a padding=1,0,0,0",
             "[max_pool2d] needs pad_mode==pad||top+bottom+left+right==0 (pad_mode=valid, top=1, "
             "bottom=0, left=0, right=0)");
    rejected("conv2d -i image.npy -i w.npy -a group=0", "[conv2d] needs group>=1: group is 0");
    rejected("conv2d -i image.npy -i w.npy -a group=2",
             "[conv2d] weight.c/group is 1, expected 0 from x[1,1,4,4]");
    rejected("conv2d -i image.npy -i x.npy",
             "[conv2d] weight has rank 2, expected 4 (o,c/group,u,v)");
    rejected("reduce_sum -i one.npy -a axis=0", "[reduce_sum] axis is 0, but a scalar has none");
    rejected("expand_dims -i deep.npy -a axis=0", "[expand_dims] rank is 9, the limit is 8");
    rejected("softmax_cross_entropy -i x.npy -i two.npy",
             "[softmax_cross_entropy] labels.c is 2, expected 3 from logits[2,3]");
    rejected("cast -i x.npy -a dtype=f31", "[cast] dtype: unknown dtype 'f31', expected one of");
    rejected("one_hot -i i.npy -i one.npy -i one.npy -a depth=2147483647",
             "[one_hot] shape [2,3,2147483647] has more than 2147483647 elements");
    rejected("broadcast_to -i v.npy -a shape=1000000000,3",
             "[broadcast_to] shape [1000000000,3] has more than 2147483647 elements");
    rejected("slice -i x.npy -a begin=-9223372036854775808,0 -a size=-1,1",
             "[slice] dimension 0 begins at -9223372036854775808");
    EXPECT_FALSE(exists("o"));
}

TEST_F(Command, RejectsCorruptFiles) {
    save("x.npy", Tensor::from<float>({1, 2, 3}));
    const std::string whole = text_of(dir / "x.npy");
    write("cut.npy", whole.substr(0, whole.size() - 4));
    expect_rejected("run relu --in cut.npy --out-dir o",
                    "[cut.npy] truncated: shape [3] of <f4 takes 12 bytes, there are 8");
    write("head.npy", whole.substr(0, 30));
    expect_rejected("run relu --in head.npy --out-dir o",
                    "[head.npy] truncated: the header takes 118 bytes, there are 20");
    write("text.npy", "hello, this is text");
    expect_rejected("run relu --in text.npy --out-dir o", "[text.npy] not a .npy file");
    expect_rejected("run relu --in . --out-dir o", "[.] ");
    std::string lie = whole;
    lie.replace(lie.find("(3,"), 3, "(9,");
    write("lie.npy", lie);
    expect_rejected("run relu --in lie.npy --out-dir o",
                    "[lie.npy] truncated: shape [9] of <f4 takes 36 bytes, there are 12");
    for (const char *part : {"data/train", "data/test"}) {
        fs::create_directories(dir / part);
        for (const char *file : {"train-images-idx3-ubyte", "t10k-images-idx3-ubyte"})
            write((std::string(part) + "/" + file).c_str(), std::string("\0\0\x08\3\0\0\0\2", 8));
        for (const char *file : {"train-labels-idx1-ubyte", "t10k-labels-idx1-ubyte"}) {
            write((std::string(part) + "/" + file).c_str(),
                  std::string("\0\0\x08\1\0\0\0\2\1\1", 10));
        }
    }
    expect_rejected("train lenet5 --data data --epochs 1 --out t",
                    "extent 1 is missing: the file has 8 bytes, its header 16");
}

TEST_F(Command, ReadsItsEnvironment) {
    save("x.npy", Tensor::from<float>({1, -2, 3}));
    expect_rejected("run relu --in x.npy --out-dir o",
                    "[isa] 'sse9', expected baseline, avx2, avx512 or neon", "HALYARD_ISA=sse9");
    expect_rejected("run relu --in x.npy --out-dir o",
                    "[parallel] HALYARD_THREADS is 'many', expected a whole number from 0 to 1024",
                    "HALYARD_THREADS=many");
    EXPECT_EQ(halyard("run relu --in x.npy --out-dir one", "HALYARD_THREADS=1").status, 0);
    // Kernels above the limit are rejected, whatever the build has.
    for (int i = 0; i <= int(host_isa()); i++) {
        const std::string level = name_of((Isa)i);
        const std::string text = halyard("explain relu --shape x=1000", "HALYARD_ISA=" + level).out;
        const size_t chosen = text.find(": chosen");
        for (int above = i + 1; above < isa_count; above++) {
            const std::string name = name_of((Isa)above);
            EXPECT_TRUE(chosen == std::string::npos ||
                        text.substr(0, chosen).find(name, text.rfind('\n', chosen)) ==
                            std::string::npos)
                << text;
            EXPECT_TRUE(text.find(" " + name + ": needs " + name + ", limited to " + level) !=
                            std::string::npos ||
                        text.find(" " + name + ": ") == std::string::npos)
                << text;
        }
    }
    for (int i = int(host_isa()) + 1; i < isa_count; i++) {
        const std::string level = name_of((Isa)i);
        const std::string has = name_of(host_isa());
        expect_rejected("run relu --in x.npy --out-dir o",
                        "[isa] HALYARD_ISA is " + level + ", this CPU has up to " + has,
                        "HALYARD_ISA=" + level);
    }
}

TEST_F(Command, RejectsIncompatibleKernelLibraries) {
    std::ofstream(dir / "text.so") << "no library";
    expect_rejected("ops --kernels none.so", "[none.so] no such kernel library");
    expect_rejected("ops --kernels text.so", "[text.so] can't be opened: ");
    expect_rejected("ops --kernels " HALYARD_ANY_LIBRARY,
                    "] is no kernel library: it has no symbol halyard_kernels");
    expect_rejected("ops --kernels " HALYARD_INCOMPATIBLE_LIBRARY_1,
                    "] was built by halyard 7.1.0 with kernel ABI ");
    expect_rejected("ops --kernels " HALYARD_INCOMPATIBLE_LIBRARY_2,
                    "] was built by halyard (no version) with kernel ABI ");
    expect_rejected("ops --kernels " HALYARD_INCOMPATIBLE_LIBRARY_0,
                    "] was built by halyard 7.1.0 with record size 1, but this is halyard ");
}

TEST_F(Command, NewAddsAnOpToAProject) {
    fs::create_directories(dir / "kernels");
    std::ofstream(dir / "kernels/CMakeLists.txt") << "halyard_op(unary)\nhalyard_ops_done()\n";
    const Result r = halyard("new row_scale --like softmax");
    ASSERT_EQ(r.status, 0) << r.err;
    EXPECT_NE(r.out.find("halyard check row_scale"), std::string::npos) << r.out;
    EXPECT_EQ(text_of(dir / "kernels/CMakeLists.txt"),
              "halyard_op(unary)\nhalyard_op(row_scale)\nhalyard_ops_done()\n");
    const std::string file = text_of(dir / "kernels/row_scale.cpp");
    EXPECT_NE(file.find("struct RowScaleDx : Rows"), std::string::npos) << file;
    EXPECT_EQ(file.find("new_op"), std::string::npos) << file;
    expect_rejected("new row_scale", "[kernels/row_scale.cpp] is there already");
}

TEST_F(Command, NewRejectsInvalidNamesFilesAndFolders) {
    expect_rejected("new fresh", "[new] this folder is neither the kit's nor that of a project");
    expect_rejected("new softmax", "[softmax] is an op already: softmax: x[..n,c] -> y[..n,c]");
    expect_rejected("new concat", "[concat] is an op already");
    expect_rejected("new mat_mul --project p",
                    "[mat_mul] would be ops::MatMul, which is the class of matmul");
    expect_rejected("new Fresh --project p", "[Fresh] is no name for an op");
    expect_rejected("new 2d --project p", "[2d] is no name for an op");
    expect_rejected("new switch --project p", "[switch] is no name for an op: C++ has that word");
    expect_rejected("new fresh --project my-ops", "[my-ops] is no name for a project");
    expect_rejected("new fresh --project kernels", "[kernels] is no name for a project");
    std::ofstream(dir / "file") << "in the way";
    expect_rejected("new fresh --project file", "[file] is there already");
    expect_rejected("new fresh --project file/p", "[file/p] can't be created");
    EXPECT_FALSE(exists("p"));
    EXPECT_EQ(halyard("new fresh --like tensor").status, 2);
    ASSERT_EQ(halyard("new fresh --project p/").status, 0);
    EXPECT_NE(text_of(dir / "p/CMakeLists.txt").find("project(p "), std::string::npos);
    expect_rejected("new fresh --project p", "[p] is there already");
}

TEST_F(Command, ExitsWith2OnAnInvalidCommandLine) {
    EXPECT_EQ(halyard("").status, 0);
    EXPECT_EQ(halyard("run --help").status, 0);
    EXPECT_EQ(halyard("nothing").status, 2);
    EXPECT_EQ(halyard("run softmax").status, 2);
    EXPECT_EQ(halyard("ops --threads 5000").status, 2);
}

TEST_F(Command, PrintsItsVersion) {
    const Result r = halyard("--version");
    EXPECT_EQ(r.status, 0) << r.err;
    EXPECT_EQ(r.out, std::string("halyard ") + version() + "\n");
}

TEST_F(Command, ListsOpsAsJson) {
    const Result r = halyard("ops --json");
    ASSERT_EQ(r.status, 0) << r.err;
    const auto all = nlohmann::json::parse(r.out);
    std::map<std::string, nlohmann::json> by_name;
    for (auto &op : all)
        by_name[op.at("name")] = op;
    ASSERT_TRUE(by_name.count("softmax") && by_name.count("softmax_dx") && by_name.count("concat"));
    EXPECT_EQ(by_name["softmax"].at("class"), "Softmax");
    EXPECT_EQ(by_name["softmax"].at("gradients"), nlohmann::json({"x"}));
    EXPECT_EQ(by_name["softmax"].at("attributes")[0].at("default"), "-1");
    EXPECT_TRUE(by_name["softmax_dx"].at("internal"));
    const std::string table = halyard("ops").out;
    EXPECT_NE(table.find("\nsoftmax "), std::string::npos);
    EXPECT_EQ(table.find("\nsoftmax_dx "), std::string::npos);
}

// Lists where an op runs, in which dtypes, and why not in others.
TEST_F(Command, ListsDtypesByBackend) {
    const Result r = halyard("ops conv2d --json");
    ASSERT_EQ(r.status, 0) << r.err;
    const auto conv2d = nlohmann::json::parse(r.out).at("dtypes_on");
    EXPECT_EQ(conv2d.at("cpu").at("dtypes"), nlohmann::json({"f32", "f16", "bf16", "f64"}));
    EXPECT_EQ(conv2d.at("cpu").at("why_not"), nlohmann::json::array());
    EXPECT_EQ(conv2d.at("ascend").at("dtypes"), nlohmann::json({"f32", "f16"}));
    EXPECT_EQ(conv2d.at("ascend").at("why_not"),
              nlohmann::json({"some calls in f32 have no program: no program for the cube unit: it "
                              "multiplies f16, not f32",
                              "the chip has no bf16 f64"}));
    const std::string details = halyard("ops conv2d").out;
    EXPECT_NE(details.find("\n  ascend      f32 f16\n"), std::string::npos) << details;
    const std::string table = halyard("ops").out;
    EXPECT_NE(table.find(" cpu  "), std::string::npos);
    EXPECT_NE(table.find(" opencl  "), std::string::npos);
    EXPECT_NE(table.find(" ascend  "), std::string::npos);
    EXPECT_NE(table.find("(its parts)"), std::string::npos) << "ops that are composed of others";
}

// Each command that takes "ascend" takes the name of a chip, too, and says which it was.
TEST_F(Command, TakesTheNamesOfAscendChips) {
    save("x.npy", Tensor::from<float>({-1, 2, 3}));
    const std::string problem = "relu --shape \"d0=1 d1=1 d2=8192\" --device ";
    for (const std::string chip : {"ascend910", "ascend910b", "ascend310"}) {
        const auto expect_text = [&](const std::string &args, const std::string &text) {
            const Result r = halyard(args);
            EXPECT_EQ(r.status, 0) << args << ": " << r.err;
            EXPECT_NE(r.out.find(text), std::string::npos) << args << ": " << r.out;
        };
        ASSERT_EQ(halyard("run relu -i x.npy -o " + chip + " --device " + chip).status, 0);
        EXPECT_EQ(load((chip + "/out_0.npy").c_str()).to_vector<float>(),
                  (std::vector<float>{0, 2, 3}));
        expect_text("check relu --quick --device " + chip, " 0 failed");
        expect_text("bench " + problem + chip, "relu f32, " + chip + " ");
        expect_text("profile " + problem + chip, "relu d0=1 d1=1 d2=8192 on " + chip + ": ");
        expect_text("explain " + problem + chip, "-> " + chip + " f32 (unnamed variant): chosen");
        expect_text("lower --to dv " + problem + chip, "# relu f32 ascend: " + chip + ";");
        expect_text("lower --to dv " + problem + chip, "\nprogram relu " + chip + " ");
        expect_text("lower --to ascendc " + problem + chip, " for " + chip + ", schedule ");
        expect_text("lower --to tbe " + problem + chip, " for " + chip);
    }
    EXPECT_NE(halyard("explain relu --shape x=3", "HALYARD_DEVICE_TARGET=Ascend310")
                  .out.find("-> ascend310 f32"),
              std::string::npos)
        << "the environment's chip counts without --device";
    expect_rejected("run relu -i x.npy -o o --device ascend311",
                    "[ascend311] no such device, expected cpu, opencl, ascend");
    EXPECT_EQ(halyard("bench relu --device ascend311").status, 2);
}

TEST_F(Command, ExplainsAndBenches) {
    const Result r = halyard("explain add --shape a=2x3 --shape b=3");
    ASSERT_EQ(r.status, 0) << r.err;
    EXPECT_NE(r.out.find(": chosen"), std::string::npos);
    EXPECT_EQ(halyard("explain add --shape a=2x3 --shape b=4").status, 1);
    EXPECT_EQ(halyard("explain softmax --dtype i32").status, 1);
    const Result b = halyard("bench softmax --shape \"n=3 c=7\" --rounds 2 --min-time 0.0005 "
                             "--threads 1 --json runs.json");
    ASSERT_EQ(b.status, 0) << b.err << b.out;
    EXPECT_NE(b.out.find("against the reference"), std::string::npos) << b.out;
    const auto runs = nlohmann::json::parse(text_of(dir / "runs.json"));
    EXPECT_GE(runs.at("benchmarks").size(), 2u);
}

}  // namespace
}  // namespace halyard

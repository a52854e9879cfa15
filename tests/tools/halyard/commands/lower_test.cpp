// Tests halyard lower and profile: each form has its contents, every stage is timed, and
// unsupported requests are rejected in one line.
#include "tests/tools/command.h"

namespace halyard {
namespace {

class Lower : public Command {
protected:
    void expect_text(const std::string &args, const std::vector<std::string> &landmarks) const {
        const Result r = halyard("lower " + args);
        EXPECT_EQ(r.status, 0) << args << ": " << r.err;
        EXPECT_EQ(r.err, "") << args;
        for (auto &mark : landmarks) {
            EXPECT_NE(r.out.find(mark), std::string::npos) << args << " lacks '" << mark << "':\n"
                                                           << r.out.substr(0, 2000);
        }
    }
    void expect_none(const std::string &args, const std::string &message) const {
        expect_rejected("lower " + args, message);
    }
};

TEST_F(Lower, ShowsLoops) {
    expect_text("softmax --isa avx2", {"// softmax f32 wide avx2: x86-64-linux-",
                                       "produce y:", "parallel n", "vectorized", "consume total"});
    expect_text("relu --isa baseline --to loops",
                {"// relu f32 baseline: ", "produce y:", "vectorized"});
    expect_text("matmul --isa avx512 --variant direct",
                {"// matmul f32 direct avx512: ", "produce c:", "unrolled"});
    expect_text("relu --device cuda", {"gpu_block", "gpu_thread"});
    expect_text("relu --device ascend", {"produce y:"});
}

TEST_F(Lower, ShowsTheStatement) {
    expect_text("relu --isa avx2 --to stmt", {"// relu f32 avx2: ", "produce y {", "let ", "for"});
    expect_text("relu --isa avx2 --to html --out relu.html", {});
    const std::string page = text_of(dir / "relu.html");
    EXPECT_NE(page.find("<html"), std::string::npos);
    EXPECT_NE(page.find("vmaxps"), std::string::npos) << "the assembly stands beside it";
}

TEST_F(Lower, ShowsTheCpusCode) {
    expect_text(
        "matmul --to asm --isa avx512 --variant direct",
        {"# matmul f32 direct avx512: ", "vfmadd", "zmm", "hy_matmul_f32_direct_avx512:\n"});
    expect_text("matmul --to asm --isa avx2 --variant direct", {"vfmadd", "ymm"});
    expect_text("softmax --to asm --isa baseline --dtype f64",
                {"mulpd", "hy_softmax_f64_wide_baseline:\n"});
    const std::string code = halyard("lower relu --to asm --isa avx2").out;
    EXPECT_EQ(code.find(".section"), std::string::npos);
    EXPECT_EQ(code.find("_argv:"), std::string::npos);
    EXPECT_EQ(code.find("\n\t."), std::string::npos);
    expect_text("relu --to llvm --isa avx2",
                {"; relu f32 avx2: ", "define ", "@hy_relu_f32_avx2("});
    expect_text("relu --to c --isa baseline",
                {"int hy_relu_f32_baseline(struct halide_buffer_t *"});
}

TEST_F(Lower, CountsTheInstructionsOfLoops) {
    expect_text("relu --to counts --isa avx2",
                {"# relu f32 avx2: ", "instructions  vectors  innermost loop\n",
                 " hy_relu_f32_avx2_par_for_"});
    // A kernel for another architecture is compiled as any other: nothing runs.
    expect_text("softmax --to asm --isa neon", {"# softmax f32 wide neon: arm-64-linux", "\tfmla\t",
                                                "hy_softmax_f32_wide_neon:\n"});
    expect_text("softmax --to counts --isa neon --dtype bf16", {" %  hy_softmax_bf16_wide_neon"});
}

TEST_F(Lower, ShowsTheDevicesCode) {
    expect_text("softmax --to opencl", {"// softmax f32 short opencl: ", "__kernel void"});
    expect_text("matmul --to ptx", {"// matmul f32 ", ".visible .entry", "fma.rn.f32"});
    expect_text("softmax --to dv --shape \"n=64 c=1000\"",
                {"# softmax f32 ascend: ", "program softmax ascend910", "data_move x_im", "vec_exp",
                 "set_flag"});
    expect_text("relu --to dv --dtype f16", {"vec_relu"});
    expect_text("matmul --to dv --dtype f16", {"load2d", "mmad", "l0c_to_ub"});
    expect_text("matmul --to tik --dtype f16", {"# TIK kernel of matmul for ascend910, schedule ",
                                                "t.load2dv1(", "t.mmad(", "TBERegOp(\"matmul\")"});
    expect_text("softmax --to tik --dtype f16", {"# TIK kernel of softmax for ascend910, schedule ",
                                                 "t.vcgmax(", "opFile.value=haly_softmax"});
    expect_text("softmax --to ascendc",
                {"// Ascend C kernel of softmax for ascend910, schedule ", "AscendC::Exp("});
    expect_text("softmax --to tbe --dtype f16", {"# TBE kernel of softmax for ascend910",
                                                 "te.lang.cce.vexp(", "generic.auto_schedule("});
}

TEST_F(Lower, TakesTunables) {
    const std::string text = halyard("lower matmul --isa avx512 --variant direct").out;
    const std::string head = text.substr(0, text.find('\n'));
    const size_t at = head.find("; ");  // "; cols=2 of 2, 3"
    ASSERT_NE(at, std::string::npos) << head;
    const std::string name = head.substr(at + 2, head.find('=', at) - at - 2);
    const size_t comma = head.find(", ", at);
    const size_t end = head.find_first_of(",;", comma + 2);
    ASSERT_NE(comma, std::string::npos) << head;
    const std::string other = head.substr(comma + 2,
                                          end == std::string::npos ? end : end - comma - 2);
    expect_text("matmul --isa avx512 --variant direct --picks " + name + "=" + other,
                {"; " + name + "=" + other + " of "});
    expect_none("matmul --isa avx512 --variant direct --picks " + name + "=977",
                "[matmul] " + name + " is '977', offered are ");
    expect_none("matmul --isa avx512 --variant direct --picks none=1",
                "[matmul] no pick 'none', there are ");
    expect_none("matmul --isa avx512 --variant direct --picks 3",
                "[matmul] '3', expected name=value");
}

TEST_F(Lower, WritesFilesForAscendsTools) {
    for (const auto &[what, mark] : {std::pair{"softmax --to dv", "program softmax ascend910"},
                                     {"softmax --to ascendc", "AscendC::DataCopy("},
                                     {"gelu --to tik", "with t.for_range("}}) {
        const Result r = halyard(std::string("lower --dtype f16 ") + what);
        EXPECT_EQ(r.status, 0) << r.err;
        EXPECT_NE(r.out.find(mark), std::string::npos) << r.out;
        EXPECT_NE(r.out.find("schedule"), std::string::npos) << r.out;
    }
}

TEST_F(Lower, RejectsInvalidArguments) {
    expect_none("softmx", "[softmx] no such op; did you mean softmax");
    expect_none("bias_add", "[bias_add] has no kernels of its own: it is composed of other ops");
    expect_none("concat", "[concat] has no kernels of its own: it is made of views and copies");
    // The variant was called "patches" in earlier versions.
    expect_text("conv2d --isa avx2 --variant patches", {"im2col"});
    expect_none("softmax --variant none", "[softmax] no variant 'none', there are wide, short");
    expect_none("relu --variant none", "[relu] no variant 'none', there is only one");
    expect_none("softmax --dtype i32", "[softmax] no kernels for i32, there are f32 f16 bf16 f64");
    expect_none("softmax --isa sse", "[isa] 'sse'");
    expect_none("conv2d --to opencl --dtype f64",
                "[conv2d] no GPU kernel for f64: few GPUs compute f64 faster than the CPU does");
    expect_text("softmax --to ptx --dtype f16", {".visible .entry", "ld.global.nc.b16"});
    expect_text("softmax --to opencl --dtype bf16", {"__kernel void", "ushort"});
    expect_none("softmax --to ptx --variant wide",
                "[softmax] no GPU kernel of variant 'wide', there is short");
    expect_none("softmax --to ptx --isa avx2",
                "[softmax] --isa is a level of the CPU, the kernel is for cuda");
    expect_none("softmax --to asm --device cuda", "[softmax] --to asm is for cpu, not for cuda");
    expect_none("max_pool2d --to tbe --dtype f16", "[max_pool2d] E-EMIT: stage ");
    expect_none("softmax --to dv --variant wide",
                "[softmax] no Ascend program 'wide' is written by hand");
    expect_none("softmax --to dv --dtype f64", "[softmax] no Ascend kernels for f64");
    expect_none("softmax --to dv --dtype f16 --shape \"n=3 c=7\" --strict",
                "[softmax] --strict: W-SCALAR y: rows of 14 B");
    expect_none("relu --out none/relu.txt", "[none/relu.txt] can't be written");
    // LLVM exits at once.
    expect_rejected("lower relu --to asm", "[relu] the code generator died (",
                    "HL_LLVM_ARGS=-no-such-option");
    EXPECT_EQ(halyard("lower relu --to wasm").status, 2);
    EXPECT_EQ(halyard("lower").status, 2);
}

// The library's kernel of the same name is not instrumented.
TEST_F(Lower, ProfilesTheKernelItCompiled) {
    const Result r = halyard(
        "profile softmax --shape \"n=64 c=1000\" --variant wide --time 0.2 --threads 1");
    ASSERT_EQ(r.status, 0) << r.err;
    EXPECT_EQ(r.err, "");
    for (const char *mark :
         {"softmax n=64 c=1000 f32 wide ", ", threads: 1", "us per call", "\n  e ", "\n  y ",
          "\n  peak_intm ", " samples of ", "while it is watched"})
        EXPECT_NE(r.out.find(mark), std::string::npos) << "lacks '" << mark << "':\n" << r.out;
    const Result matmul = halyard("profile matmul --shape \"g=1 m=64 k=64 n=64\" --time 0.05 "
                                  "--variant direct --picks cols=977");
    EXPECT_EQ(matmul.err.find("[matmul] cols is '977', offered are "), 0u) << matmul.err;
    expect_rejected("profile bias_add", "[bias_add] has no kernels of its own");
    expect_rejected("profile softmax --shape n=3", "[softmax] ");
    expect_rejected("profile softmax --shape \"n=0 c=4\"",
                    "[softmax] nothing was computed for 'n=0 c=4'");
}

}  // namespace
}  // namespace halyard

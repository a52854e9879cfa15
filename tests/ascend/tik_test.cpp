// Emitted TIK, run: under a recording stand-in for TIK it is the program again, without flags, and computes the same bits.
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "ascend/check.h"
#include "ascend/emit.h"
#include "ascend/passes.h"
#include "ascend/text.h"
#include "registry/error.h"
#include "tests/ascend/programs.h"

namespace halyard::dv {
namespace {

namespace fs = std::filesystem;

std::string output_of(const std::string &command, int *status = nullptr) {
    std::string out;
    FILE *pipe = popen((command + " 2>&1").c_str(), "r");
    char buffer[4096];
    while (const size_t n = fread(buffer, 1, sizeof buffer, pipe)) out.append(buffer, n);
    const int result = pclose(pipe);
    if (status) *status = result;
    return out;
}

// Without what TIK adds itself, and where it was written.
Body plain(const Body &body) {
    Body out;
    for (const Node &n : body) {
        if (const For *f = std::get_if<For>(&n.is)) out.push_back(For{f->var, f->begin, f->end, plain(f->body)});
        else if (const If *c = std::get_if<If>(&n.is)) out.push_back(If{c->condition, plain(c->then), plain(c->otherwise)});
        else if (const Instr *i = std::get_if<Instr>(&n.is)) {
            if (!std::holds_alternative<SetFlag>(i->op) && !std::holds_alternative<WaitFlag>(i->op) && !std::holds_alternative<Barrier>(i->op))
                out.push_back(Instr{i->op, ""});
        } else out.push_back(n);
    }
    return out;
}
Program plain(const Program &p) {
    Program q = p;
    q.body = plain(p.body);
    for (Buffer &b : q.buffers) b.address = -1, b.align = 0;
    return q;
}

class Folder {  // for emitted files
public:
    explicit Folder(const std::string &name) : path_(fs::temp_directory_path() / ("halyard_" + name + "_" + std::to_string(getpid()))) {
        fs::create_directories(path_);
    }
    ~Folder() { fs::remove_all(path_); }
    void write(const std::string &name, const std::string &text) const { std::ofstream(path_ / name) << text; }
    std::string path() const { return path_.string(); }

private:
    fs::path path_;
};

const std::string run_tik = "python3 -B " HALYARD_SOURCE_DIR "/tests/ascend/shims/run_tik.py ";

Program through_tik(const Program &p) {
    const Folder folder("tik");
    const TikFiles files = emit_tik(p);
    folder.write("haly_" + p.name + ".py", files.kernel), folder.write("haly_" + p.name + "_info.py", files.registration);
    int status = 0;
    std::string text = output_of(run_tik + folder.path() + " " + p.name, &status);
    if (status != 0) throw std::runtime_error(text + files.kernel);
    text.replace(text.find("PROFILE"), 7, p.profile);
    return parse_program(text);
}

// What a program leaves in its tensors.
std::vector<uint8_t> bits(const Program &p) {
    test::Gm gm(p);
    for (size_t t = 0; t < p.tensors.size(); t++)
        for (size_t i = 0; i < gm.size(t) / bytes_of(p.tensors[t].dtype); i++) {
            const float v = (float)((i * 7 + t) % 13) / 8 - 0.5f;
            if (p.tensors[t].dtype == DType::f16) gm.as<float16>(t)[i] = float16(v);
            else if (p.tensors[t].dtype == DType::f32) gm.as<float>(t)[i] = v;
        }
    const SimResult r = simulate(p, gm.bindings());
    EXPECT_TRUE(r.ok()) << to_text(r.issues) << to_text(p);
    std::vector<uint8_t> all;
    for (size_t t = 0; t < p.tensors.size(); t++) all.insert(all.end(), gm.as<uint8_t>(t), gm.as<uint8_t>(t) + gm.size(t));
    return all;
}

// A bit of everything that TIK has names for: masks, strides, comparisons, conversions, tails and registers.
Program mixture() {
    Builder b("mixture", "ascend910");
    const Tensor x = b.input(DType::f16, 1000 + 24, "x"), y = b.output(DType::f16, 1024, "y"), z = b.output(DType::f32, 512, "z");
    b.for_range(0, 8, {.block_num = 4}, [&](const Expr &i) {
        const Tensor u = b.tensor(DType::f16, 128, Scope::ub, "u"), v = b.tensor(DType::f16, 128, Scope::ub, "v"), w = b.tensor(DType::f32, 64, Scope::ub, "w");
        const Tensor bits = b.tensor(DType::u8, 32, Scope::ub, "bits");
        b.data_move(u, x[i * 128], 1, 8, 0, 0);
        b.vec_dup(128, v, -1.25, 1, 8);
        b.vec_cmpv(CmpOp::ge, bits, u, v, 1, 8, 8);
        b.vec_sel(128, v, bits, u, 0.5, 1, {8, 8, 8});
        b.vec_mul(VecMask(0x5555, 0xffff0000ffff0000), v, v, v, 1, {8, 8, 8});
        b.vec_div(min(i * 8 + 64, 128), v, u, v, 1, {8, 8, 8, 1, 1, 1});
        b.vec_add(128, v, v, u, 1, {8, 8, 8, 1, 1, 0});
        b.vec_sqrt(16, v, v, 1, {8, 8});
        b.vec_conv(64, Round::none, w, u, 1, 8, 4);
        const Scalar s = b.scalar(DType::f32, "s"), n = b.scalar(DType::i64, "n");
        b.set_as(s, w[3]);
        b.scalar_math(ScalarOp::max, s, s, 0.25), b.scalar_math(ScalarOp::div, s, 1.0, s), b.scalar_math(ScalarOp::neg, s, s, 0.0);
        b.set_as(n, max(i - 3, 0) % 2);
        b.vec_muls(64, w, w, s, 1, {8, 8});
        b.if_scope(n.expr() == 0, [&] { b.vec_adds(64, w, w, 1.0, 1, {8, 8}); });
        b.else_scope([&] { b.vec_abs(64, w, w, 1, {8, 8}); });
        b.set_value(w[5], s);
        b.data_move(y[i * 128], v, 1, 8, 0, 0), b.data_move(z[i * 64], w, 1, 8, 0, 0);
    });
    return b.build();
}

TEST(Tik, RunsAsTheSameProgram) {
    int lines = 0;
    for (const Program &p : {test::add_relu_builder(16384, 4, 1024).build(), test::softmax_builder(6, 256).build(), mixture()}) {
        Program again;
        ASSERT_NO_THROW(again = through_tik(p)) << emit_tik(p).kernel;
        EXPECT_EQ(to_text(plain(again)), to_text(plain(p))) << emit_tik(p).kernel;
        ASSERT_TRUE(place_buffers(again).empty());
        insert_sync(again);
        EXPECT_EQ(bits(again), bits(p)) << p.name;
        const std::string text = to_text(again);
        lines += (int)std::count(text.begin(), text.end(), '\n');
    }
    std::printf("%d lines\n", lines);
}

// Slots that no loop turns become a larger tensor: another program, the same bits.
TEST(Tik, SlotsThatNoLoopTurns) {
    Program p = parse_program("program ring ascend910 blocks=1\ngm x f16[512] in\ngm y f16[512] out\nalloc ubuf u f16[128] slots=2\nfor i in 0, 4 {\n"
                              "data_move u{(i + 1) % 2}[0], x[i * 128]  burst=8\nvec_relu u{(i + 1) % 2}[0], u{(i + 1) % 2}[0]  mask=128\ndata_move y[i * "
                              "128], u{(i + 1) % 2}[0]  burst=8\n}\n");
    ASSERT_TRUE(place_buffers(p).empty());
    insert_sync(p);
    Program again = through_tik(p);
    EXPECT_EQ(again.buffers[0].size, 256);
    ASSERT_TRUE(place_buffers(again).empty());
    insert_sync(again);
    EXPECT_EQ(bits(again), bits(p));
}

TEST(Tik, HeaderRegistrationAndIni) {
    Program p = test::add_relu_builder(4096, 1, 1024).build();
    p.schedule_hash = "1f3a";
    const TikFiles files = emit_tik(p);
    EXPECT_EQ(files.kernel.find("# TIK kernel of add_relu for ascend910, schedule 1f3a.\n"), 0u);
    EXPECT_NE(files.registration.find(".dtype_format(DataType.F16_Default, DataType.F16_Default, DataType.F16_Default)"), std::string::npos)
        << files.registration;
    EXPECT_NE(files.ini.find("[add_relu]\ninput0.name=x\ninput0.dtype=float16\n"), std::string::npos) << files.ini;
    EXPECT_NE(files.ini.find("output0.name=z\n"), std::string::npos);
    EXPECT_NE(files.ini.find("opFile.value=haly_add_relu\nopInterface.value=haly_add_relu\n"), std::string::npos);
}

TEST(Tik, RefusesWhatItCantSay) {
    EXPECT_THROW(emit_tik(test::matmul_builder(64, 64, 64, 32, 32, 32).build()), AttrError);
    EXPECT_THROW(emit_tik(parse_program("program p ascend910b blocks=1\nalloc ubuf u f16[128]\nvec_maxs u[0], u[0], 1  mask=128\n")), AttrError);
}

TEST(Tik, TheStandInRefusesWrongCalls) {
    const Folder folder("wrong");
    for (const auto &[call, message] :
         {std::pair{"t.vec_add(128, u, u, 1, 8, 8, 8)", "vec_add takes 8 arguments"}, std::pair{"t.vec_frob(u)", "TIK has no vec_frob"},
          std::pair{"t.for_range(0, 8, block_num=4)", "the block loop is the outermost"}}) {
        folder.write("haly_wrong.py",
                     "from te import tik\n\ndef haly_wrong(kernel_name=\"haly_wrong\"):\n    t = tik.Tik()\n    u = t.Tensor(\"float16\", (128,), name=\"u\", "
                     "scope=tik.scope_ubuf)\n    " +
                         std::string(call) + "\n    t.BuildCCE(kernel_name, [], [])\n    return t\n");
        int status = 0;
        const std::string out = output_of(run_tik + folder.path() + " wrong", &status);
        EXPECT_NE(status, 0);
        EXPECT_NE(out.find(message), std::string::npos) << out;
    }
}

}  // namespace
}  // namespace halyard::dv

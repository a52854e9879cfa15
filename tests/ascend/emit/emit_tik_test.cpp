// Runs emitted TIK under a recording stand-in, which gives the program again, without flags, and
// the same bits.
#include <gtest/gtest.h>

#include <cstdio>

#include "ascend/emit/emit.h"
#include "ascend/passes/passes.h"
#include "ascend/program/text.h"
#include "ascend/simulator/check.h"
#include "registry/base/error.h"
#include "tests/ascend/emitted.h"

namespace halyard::dv {
namespace {

using test::bits;
using test::Folder;
using test::mixture;
using test::output_of;
using test::shims;
using test::through_tik;

// Removes the instructions that TIK inserts itself, and source lines.
Body plain(const Body &body) {
    Body out;
    for (const Node &n : body) {
        if (const For *f = std::get_if<For>(&n.is))
            out.push_back(For{f->var, f->begin, f->end, plain(f->body)});
        else if (const If *c = std::get_if<If>(&n.is))
            out.push_back(If{c->condition, plain(c->then), plain(c->otherwise)});
        else if (const Instr *i = std::get_if<Instr>(&n.is)) {
            if (!std::holds_alternative<SetFlag>(i->op) &&
                !std::holds_alternative<WaitFlag>(i->op) && !std::holds_alternative<Barrier>(i->op))
                out.push_back(Instr{i->op, ""});
        } else
            out.push_back(n);
    }
    return out;
}
Program plain(const Program &p) {
    Program q = p;
    q.body = plain(p.body);
    for (Buffer &b : q.buffers) {
        b.address = -1;
        b.align = 0;
    }
    return q;
}

const std::string run_tik = shims + "run_tik.py ";

TEST(Tik, RecordsTheSameProgram) {
    int lines = 0;
    for (const Program &p : {test::add_relu_builder(16384, 4, 1024).build(),
                             test::softmax_builder(6, 256).build(), mixture()}) {
        Program again;
        ASSERT_NO_THROW(again = through_tik(p)) << emit_tik(p).kernel;
        EXPECT_EQ(to_text(plain(again)), to_text(plain(p))) << emit_tik(p).kernel;
        ASSERT_TRUE(place_buffers(again).empty());
        insert_sync(again);
        EXPECT_EQ(bits(again), bits(p)) << p.name;
        const std::string text = to_text(again);
        lines += int(std::count(text.begin(), text.end(), '\n'));
    }
    std::printf("%d lines\n", lines);
}

// Slots that no loop rotates become a larger tensor: the program differs and its bits are the same.
TEST(Tik, UnrotatedSlotsBecomeOneTensor) {
    Program p = parse_program("program ring ascend910 blocks=1\ngm x f16[512] in\ngm y f16[512] "
                              "out\nalloc ubuf u f16[128] slots=2\nfor i in 0, 4 {\n"
                              "data_move u{(i + 1) % 2}[0], x[i * 128]  burst=8\nvec_relu u{(i + "
                              "1) % 2}[0], u{(i + 1) % 2}[0]  mask=128\ndata_move y[i * "
                              "128], u{(i + 1) % 2}[0]  burst=8\n}\n");
    ASSERT_TRUE(place_buffers(p).empty());
    insert_sync(p);
    Program again = through_tik(p);
    EXPECT_EQ(again.buffers[0].size, 256);
    ASSERT_TRUE(place_buffers(again).empty());
    insert_sync(again);
    EXPECT_EQ(bits(again), bits(p));
}

// Slots that a loop rotates become its thread_num, wherever the program allocates them.
TEST(Tik, RotatedSlotsBecomeThreadNum) {
    Program p = parse_program(
        "program ring ascend910 blocks=1\ngm x f16[512] in\ngm y f16[512] out\nalloc ubuf u "
        "f16[128] slots=2\nfor i in 0, 4 {\n"
        "data_move u{i % 2}[0], x[i * 128]  burst=8\nvec_relu u{i % 2}[0], u{i % 2}[0]  "
        "mask=128\ndata_move y[i * 128], u{i % 2}[0]  burst=8\n}\n");
    ASSERT_TRUE(place_buffers(p).empty());
    insert_sync(p);
    EXPECT_NE(emit_tik(p).kernel.find("thread_num=2"), std::string::npos) << emit_tik(p).kernel;
    Program again = through_tik(p);
    EXPECT_EQ(again.buffers[0].slots, 2);
    ASSERT_TRUE(place_buffers(again).empty());
    insert_sync(again);
    EXPECT_EQ(bits(again), bits(p));
}

TEST(Tik, HasHeaderRegistrationAndIni) {
    Program p = test::add_relu_builder(4096, 1, 1024).build();
    p.schedule_hash = "1f3a";
    const PythonFiles files = emit_tik(p);
    EXPECT_EQ(files.kernel.find("# TIK kernel of add_relu for ascend910, schedule 1f3a.\n"), 0u);
    EXPECT_NE(
        files.registration.find(
            ".dtype_format(DataType.F16_Default, DataType.F16_Default, DataType.F16_Default)"),
        std::string::npos)
        << files.registration;
    EXPECT_NE(files.ini.find("[add_relu]\ninput0.name=x\ninput0.dtype=float16\n"),
              std::string::npos)
        << files.ini;
    EXPECT_NE(files.ini.find("output0.name=z\n"), std::string::npos);
    EXPECT_NE(files.ini.find("opFile.value=haly_add_relu\nopInterface.value=haly_add_relu\n"),
              std::string::npos);
}

// Expects the same bits where TIK states an operation in another way and the program differs.
void same_bits(const Program &p) {
    SCOPED_TRACE(emit_tik(p).kernel);
    Program again = through_tik(p);
    ASSERT_TRUE(place_buffers(again).empty());
    insert_sync(again);
    EXPECT_EQ(bits(again), bits(p)) << to_text(again);
}
Program synchronised(const std::string &text, const std::string &profile = "ascend910") {
    Program p = parse_program("program p " + profile + " blocks=1\n" + text);
    const std::vector<Issue> issues = place_buffers(p);
    EXPECT_TRUE(issues.empty()) << to_text(issues);
    insert_sync(p);
    return p;
}
void same_bits(const std::string &text, const std::string &profile = "ascend910") {
    same_bits(synchronised(text, profile));
}

TEST(Tik, RunsProducts) {
    same_bits(test::matmul_builder(64, 128, 64, 32, 64, 32).build());
}

// Tests lowered ops: row maxima of f16, and odd products on the cube.
TEST(Tik, RunsLoweredPrograms) {
    for (const char *name : {"add_relu_f16", "softmax_f16", "matmul_f16"})
        same_bits(test::golden(name));
}

TEST(Tik, LoadsFractalsWithGapsAndTransposed) {
    same_bits("gm x f16[2048] in\ngm y f32[512] out\nalloc l1 l f16[2048]\nalloc l0a a "
              "f16[1024]\nalloc l0b b f16[512]\nalloc l0c c f32[512]\n"
              "alloc ubuf u f32[512]\ndata_move l[0], x[0]  burst=128\nload2d a[0], l[512]  "
              "repeat=2 src_stride=2 dst_gap=1\n"
              "load2d a[256], l[256]  repeat=2 src_stride=3 dst_gap=1 transpose=1\nload2d b[0], "
              "l[0]  repeat=2 transpose=1\n"
              "mmad c[0], a[0], b[0]  m=32 k=32 n=16\nl0c_to_ub u[0], c[0]  burst=2 "
              "relu=1\ndata_move y[0], u[0]  burst=64\n");
}

// The windows of an image of 5 x 6 with two blocks of channels: strides, borders, dilation, and
// ranges that begin within rows and columns.
TEST(Tik, LoadsWindows) {
    for (const char *fields : {"h=5 w=6 c1=2 left=1 right=1 top=1 bottom=1 kernel=3,3 m=32 k=288",
                               "h=5 w=6 c1=2 kernel=2,3 stride=1,2 m=16 k=96 k_start=48",
                               "h=5 w=6 c1=2 left=2 right=2 top=2 bottom=2 kernel=3,3 dilation=2,2 "
                               "m_start=16 m=16 k=32 k_start=144"}) {
        same_bits("gm x f16[960] in\ngm y f16[9216] out\nalloc l1 l f16[960]\nalloc ubuf u "
                  "f16[9216]\ndata_move l[0], x[0]  burst=60\n"
                  "vec_dup u[0], 0  mask=128 repeat=72\npipe_barrier ALL\nload3d u[0], l[0]  " +
                  std::string(fields) + "\ndata_move y[0], u[0]  burst=576\n");
    }
}

// Maxima without indices: a multiple of eight rows, a remainder, few rows, elements that don't fill
// blocks, and rows with gaps.
TEST(Tik, ComputesRowMaxima) {
    for (const char *fields : {"mask=128 repeat=16", "mask=100 repeat=19 src_rep=9",
                               "mask=7 repeat=3", "mask=64 repeat=8 src_blk=2 src_rep=16"}) {
        for (const char *op : {"vcmax", "vcmin"}) {
            same_bits("gm x f16[4096] in\ngm y f16[32] out\nalloc ubuf u f16[4096]\nalloc ubuf v "
                      "f16[32]\ndata_move u[0], x[0]  burst=256\n"
                      "vec_dup v[0], 0  mask=32\n" +
                          std::string(op) + " v[0], u[0]  " + fields +
                          "\ndata_move y[0], v[0]  burst=2\n",
                      "ascend910b");
        }
    }
}

// A temporary that doesn't fit twice is allocated around the loop; inside it, each thread would
// have one.
TEST(Tik, AllocatesTemporariesAroundLoopsWithThreads) {
    same_bits("gm x f16[512] in\ngm y f16[512] out\nfor i in 0, 4 {\nalloc ubuf u f16[128] "
              "slots=2\ndata_move u{i % 2}[0], x[i * 128]  burst=8\n"
              "alloc ubuf t f32[40000]\nvec_conv t[0], u{i % 2}[0]  mask=64 rep=8,4\nvec_conv u{i "
              "% 2}[0], t[0]  mask=64 rep=4,8\n"
              "if 1 <= i {\nvec_relu u{i % 2}[0], u{i % 2}[0]  mask=128\n}\ndata_move y[i * 128], "
              "u{i % 2}[0]  burst=8\n}\n");
}

// Two temporaries of different types that don't fit together become one tensor.
TEST(Tik, TemporariesShareMemory) {
    const Program p = synchronised(
        "gm x f16[128] in\ngm y f16[128] out\nalloc ubuf u f16[128]\ndata_move u[0], x[0]  "
        "burst=8\nalloc ubuf t f32[40000]\n"
        "vec_conv t[0], u[0]  mask=64 rep=8,4\nvec_conv u[0], t[0]  mask=64 rep=4,8\nalloc ubuf v "
        "f16[70000]\n"
        "vec_abs v[0], u[0]  mask=128\nvec_adds u[0], v[0], 1  mask=128\ndata_move y[0], u[0]  "
        "burst=8\n");
    same_bits(p);
    const std::string kernel = emit_tik(p).kernel;
    EXPECT_EQ(kernel.find("v = t.Tensor("), std::string::npos) << kernel;
    EXPECT_NE(kernel.find("t.vec_abs(128, t_.reinterpret_cast_to(\"float16\")"), std::string::npos)
        << kernel;
}

TEST(Tik, EmitsAtomicMoves) {
    same_bits("gm x f32[64] in\ngm y f32[64] inout\nalloc ubuf u f32[64]\ndata_move u[0], x[0]  "
              "burst=8\ndata_move y[0], u[0]  burst=8 atomic=1\n"
              "pipe_barrier MTE3\ndata_move y[0], u[0]  burst=4\n");
}

TEST(Tik, RejectsUnsupportedPrograms) {
    EXPECT_THROW(emit_tik(parse_program("program p ascend910b blocks=1\ngm c f32[256] out\nalloc "
                                        "l0c s f32[256]\nfixpipe c[0], s[0]  m=16 n=16\n")),
                 AttrError);
    EXPECT_THROW(emit_tik(parse_program("program p ascend910 blocks=1\nalloc ubuf u f16[128]\nfor "
                                        "i in 1, 3 {\nvcmax u[0], u[0]  mask=128 repeat=i\n}\n")),
                 AttrError);
    EXPECT_THROW(emit_tik(parse_program("program p ascend910b blocks=1\nalloc ubuf u "
                                        "f16[128]\nvec_maxs u[0], u[0], 1  mask=128\n")),
                 AttrError);
}

TEST(Tik, StandInRejectsInvalidCalls) {
    const Folder folder("wrong");
    for (const auto &[call, message] :
         {std::pair{"t.vec_add(128, u, u, 1, 8, 8, 8)", "vec_add takes 8 arguments"},
          std::pair{"t.vec_frob(u)", "TIK has no vec_frob"},
          std::pair{"t.for_range(0, 8, block_num=4)", "the block loop is the outermost"}}) {
        folder.write("haly_wrong.py",
                     "from te import tik\n\ndef haly_wrong(kernel_name=\"haly_wrong\"):\n    t = "
                     "tik.Tik()\n    u = t.Tensor(\"float16\", (128,), name=\"u\", "
                     "scope=tik.scope_ubuf)\n    " +
                         std::string(call) +
                         "\n    t.BuildCCE(kernel_name, [], [])\n    return t\n");
        int status = 0;
        const std::string out = output_of(run_tik + folder.path() + " wrong", &status);
        EXPECT_NE(status, 0);
        EXPECT_NE(out.find(message), std::string::npos) << out;
    }
}

}  // namespace
}  // namespace halyard::dv

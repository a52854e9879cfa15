// Tests the text form: printing and parsing are inverse, invalid text is rejected with its
// position, and profiles name the sources of their constants.
#include "ascend/program/text.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <sstream>

#include "registry/base/error.h"
#include "tests/ascend/emitted.h"

namespace halyard::dv {
namespace {

const char *const everything = R"(program all ascend910b blocks=n / 4 schedule=1f3a
gm x f16[n * 128] in bypass_l2
gm w f32[64] workspace
gm z f32[n * 64] inout
scalar n i32
scalar eps f32
alloc ubuf u f16[2048] slots=2 align=32 @0
alloc ubuf v f32[1024] @8192
alloc ubuf m u8[256] @12288
alloc l1 l f16[4096]
alloc l0a a f16[1024]
alloc l0b b f16[1024]
alloc l0c c f32[1024] align=1024
set half, n / 2 - 1
for i in 0, min(half, 7) {
  if i % 2 == 0 && n != 3 || i < (n - 1) * 2 {
    data_move u{i % 2}[16 * (i + 1)], x[block_idx * 512 + i]  nburst=2 burst=3 src_gap=1 dst_gap=4  // pool.cpp:12 stage y
    data_move z[0], v[0]  atomic=1
  } else {
    data_move_pad u[0], x[i]  bytes=30 src_gap=2
  }
  nd2nz l[0], x[0]  rows=20 columns=64 pitch=128 rows_padded=32
  vec_add v[0], v[64], u:f32{1}[0]  mask=bits(0x0, 0xf0f0) repeat=2 blk=1,0,1 rep=8,0,8
  vec_adds v[0], v[0], eps  mask=64 repeat=n
  vec_dup u[0], -1.5  mask=128
  vec_maxs v[0], v[0], -inf  mask=64
  vcmax u[0], u[128]  index=1 mask=128 dst_rep=2
  vcgadd v[0], v[0]  mask=64
  vec_conv u[0], v[0]  round=floor mask=64 rep=4,8
  vec_cmpv_ge m[0], v[0], v[64]
  vec_sel v[0], m[0], v[0], 0  mask=64
  vec_sel v[0], m[0], v[0], v[64]  mask=64 rep=8,8,0
  vec_trans u[0], u[256]  repeat=2
  load2d a[0], l[0]  repeat=2 src_stride=3 transpose=1
  load3d a[0], l[0]  h=8 w=8 c1=1 left=1 right=1 top=1 bottom=1 kernel=3,3 stride=2,2 m=16 k=16 pad_value=-1
  mmad c[0], a[0], b[0]  m=32 n=32 accumulate=i != 0
  l0c_to_ub v[0], c[0]  relu=1
  fixpipe z[0], c[0]  pitch=64 nz=1
  scalar_load s, v[3]
  scalar_store v[i], s
  scalar t, s, 2  op=mul dtype=f16
  set_flag MTE2, V, i % 2
  wait_flag MTE2, V, i % 2
  pipe_barrier ALL
}
)";

TEST(Text, PrintingAndParsingAreInverse) {
    const std::string once = to_text(parse_program(everything));
    EXPECT_EQ(once, everything);
    int lines = 0;
    for (const Program &p :
         {test::add_relu_builder(4096, 2, 512).build(), test::softmax_builder(4, 128).build(),
          test::matmul_builder(64, 64, 64, 32, 32, 32).build()}) {
        const std::string text = to_text(p);
        EXPECT_EQ(to_text(parse_program(text)), text);
        lines += int(std::count(text.begin(), text.end(), '\n'));
    }
    std::printf("%d lines\n", lines);
}

TEST(Text, MatchesGoldens) {
    const std::pair<const char *, Program> goldens[] = {
        {"add_relu", test::add_relu_builder(65536, 8, 2048).build()},
        {"softmax", test::softmax_builder(64, 512).build()},
        {"matmul", test::matmul_builder(128, 256, 128, 64, 64, 64).build()}};
    for (const auto &[name, p] : goldens) {
        const std::string path = std::string(HALYARD_SOURCE_DIR) + "/tests/ascend/goldens/" + name +
                                 ".dv";
        Program plain = p;
        std::string text = to_text(plain);
        // Removes the lines of this repository's files.
        for (size_t at; (at = text.find("  // ")) != std::string::npos;)
            text.erase(at, text.find('\n', at) - at);
        if (std::getenv("HALYARD_WRITE_GOLDENS")) std::ofstream(path) << text;
        std::ifstream file(path);
        std::stringstream golden;
        golden << file.rdbuf();
        EXPECT_EQ(text, golden.str()) << path;
    }
}

TEST(Text, RejectsInvalidTextWithItsPosition) {
    const std::pair<const char *, const char *> wrong[] = {
        {"", "line 1: expected 'program NAME PROFILE blocks=N'"},
        {"gm x f16[1] in\n", "line 1, column 1: expected 'program'"},
        {"program p ascend910 blocks=1\nvec_adf x[0]\n",
         "line 2, column 8: unknown instruction 'vec_adf'"},
        {"program p ascend910 blocks=1\nvec_dup x[0], 1\n",
         "no buffer and no tensor is called 'x'"},
        {"program p ascend910 blocks=1\nalloc ubuf x f16[8]\nvec_dup x[0], 1  mask=3 maks=4\n",
         "vec_dup has no field 'maks'"},
        {"program p ascend910 blocks=1\nalloc ubuf x f16[8]\nvec_dup x[0], 1  mask=3 mask=4\n",
         "a second 'mask'"},
        {"program p ascend910 blocks=1\nalloc ubuf x f16[8]\nalloc ubuf x f16[8]\n",
         "line 3, column 13: a second 'x'"},
        {"program p ascend910 blocks=1\nalloc ubuf x f16[-8]\n",
         "a buffer has at least one element, not -8"},
        {"program p ascend910 blocks=1\nalloc ubuf x f16[8] slots=0\n",
         "a buffer has at least one slot, not 0"},
        {"program p ascend910 blocks=1\nalloc ubux x f16[8]\n", "unknown scope 'ubux'"},
        {"program p ascend910 blocks=1\nfor i in 0, 3 {\n", "expected '}', but the text ends"},
        {"program p ascend910 blocks=1\n}\n", "unknown instruction '}'"},
        {"program p ascend910 blocks=(1\n", "expected ')'"},
    };
    for (const auto &[text, message] : wrong) {
        try {
            parse_program(text);
            ADD_FAILURE() << "accepted " << text;
        } catch (const AttrError &e) {
            EXPECT_NE(std::string(e.what()).find(message), std::string::npos)
                << e.what() << "\nexpected " << message;
        }
    }
}

TEST(Expr, FoldsAndRounds) {
    const Expr i = Expr::var("i");
    EXPECT_EQ(to_string((i + 0) * 1 + 2 * 3), "i + 6");
    EXPECT_EQ(to_string((i - (i - 1)) * (i + 2) / (i % 4)), "(i - (i - 1)) * (i + 2) / (i % 4)");
    EXPECT_EQ(to_string(i / (2 * i)), "i / (2 * i)");
    EXPECT_EQ((Expr(-7) / 2).value(), -4);
    EXPECT_EQ((Expr(-7) % 2).value(), 1);
    EXPECT_THROW(evaluate(Expr(1) / i, [](const std::string &) { return 0; }), AttrError);
    const auto r = range_of(min(i * 16, 100) - i % 3, [](const std::string &) {
        return std::optional(Range{0, 9});
    });
    ASSERT_TRUE(r);
    EXPECT_EQ(r->min, -2);
    EXPECT_EQ(r->max, 100);
}

TEST(Profile, ConstantsNameTheirSources) {
    for (const std::string &name : Profile::names()) {
        const Profile &p = Profile::named(name);
        int tags[3] = {};
        for (const auto &[key, c] : p.constants)
            tags[int(c.tag)]++;
        std::printf("%s: %d constants documented, %d fitted, %d assumed\n", name.c_str(), tags[0],
                    tags[1], tags[2]);
        EXPECT_GT(tags[0], 20);
    }
    EXPECT_EQ(Profile::named("ascend310").bytes(Scope::ub), 253952);
    EXPECT_EQ(Profile::named("ascend310").bytes(Scope::l1), 1048576);  // This is the 910's value.
    EXPECT_FALSE(Profile::named("ascend310").takes("vec_div", DType::f16));
    EXPECT_THROW(Profile::named("ascend920"), AttrError);
    EXPECT_THROW(Profile::parse("p", "cores 3\n"), AttrError);
    EXPECT_THROW(Profile::parse("p", "path gm ub data_move\n"), AttrError);
    EXPECT_EQ(Profile::parse("p", "base ascend910\ncores 3 ASSUMED half a chip\n").at("cores"), 3);
}

// The environment variable names the folder that gets each stage of a program.
TEST(Dump, WritesEveryStage) {
    const test::Folder folder("dump");
    ASSERT_EQ(setenv("HALYARD_ASCEND_DUMP", (folder.path() + "/new").c_str(), 1), 0);
    const Program p = test::add_relu_builder(4096, 1, 1024).build();
    unsetenv("HALYARD_ASCEND_DUMP");
    const auto stage = [&](const char *name) {
        std::stringstream text;
        text << std::ifstream(folder.path() + "/new/add_relu." + name + ".dv").rdbuf();
        return text.str();
    };
    EXPECT_EQ(stage("3-synchronised"), to_text(p));
    EXPECT_EQ(stage("2-placed").find("wait_flag"), std::string::npos);
    EXPECT_NE(stage("2-placed").find("@0"), std::string::npos);
    EXPECT_EQ(stage("1-written").find("@0"), std::string::npos);
    EXPECT_NE(stage("1-written").find("vec_relu"), std::string::npos);
}

}  // namespace
}  // namespace halyard::dv

// Plants one fault for every id: it is found, and the message names the line, the buffer and the
// sizes.
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "ascend/emit/emit.h"
#include "ascend/passes/passes.h"
#include "ascend/program/text.h"
#include "ascend/simulator/check.h"
#include "registry/base/error.h"
#include "tests/ascend/programs.h"
#include "tests/registry/threads.h"

namespace halyard::dv {
namespace {

// Returns all issues that placing, verifying and running a program find.
std::vector<Issue> issues_of(Program p) {
    // Where cores of a program with a planted fault write the same memory, threads would do so too.
    const Threads one(1);
    std::vector<Issue> all;
    if (!p.buffers.empty() && p.buffers[0].address < 0) all = place_buffers(p);
    if (has_errors(all)) return all;
    for (const Issue &i : verify(p))
        all.push_back(i);
    test::Gm gm(p);
    for (const Issue &i : simulate(p, gm.bindings()).issues)
        all.push_back(i);
    return all;
}

std::vector<Issue> of_flags(Program p) {
    place_buffers(p);
    return insert_sync(p).issues;
}

std::vector<Issue> of_emitting(Program p) {
    try {
        emit_tik(p);
    } catch (const AttrError &e) {
        return {{"E-EMIT", e.what(), 1}};
    }
    return {};
}

struct Fault {
    const char *id, *program;  // after the line "program p PROFILE blocks=BLOCKS"
    std::vector<std::string> messages;
    const char *profile = "ascend910";
    int blocks = 1;
    std::vector<Issue> (*find)(Program) = issues_of;
};

// Returns the program with the number of each instruction as its line: "fault.cpp:3".
Program planted(const Fault &f) {
    std::istringstream lines(f.program);
    std::string text = "program p " + std::string(f.profile) +
                       " blocks=" + std::to_string(f.blocks) + "\n";
    int n = 0;
    for (std::string line; std::getline(lines, line);) {
        const std::string first = line.substr(0, line.find(' ', line.find_first_not_of(' ')));
        const bool instr = first.find_first_of("}") == std::string::npos && first != "gm" &&
                           first != "alloc" && first != "for" && first != "if";
        text += line + (instr ? "  // fault.cpp:" + std::to_string(++n) : "") + "\n";
    }
    return parse_program(text);
}

const Fault faults[] = {
    {"E-CAP",
     "alloc ubuf x f16[32768] slots=2\nalloc ubuf y f16[32769] slots=2\n",
     {"ubuf needs 262208 B of 262144", "x 65536 x2 slots, y 65568 x2 slots",
      "lower the tile to <= 32640"}},
    {"E-CAP", "alloc l0a a f16[256] @65536\n", {"'a' ends at byte 66048 of l0a, which has 65536"}},
    {"E-ALIGN", "alloc ubuf x f16[256]\nvec_dup x[8], 1  mask=64\n", {"vec_dup x[8], 1", "16"}},
    {"E-ALIGN",
     "alloc l0a a f16[512]\nalloc l1 l f16[512]\nfor i in 0, 1 {\n load2d a[16 + i], l[0]\n}\n",
     {"begins at byte 32 of l0a, which must be a multiple of 512"}},
    {"E-ALIGN", "alloc ubuf x f16[64] @31\n", {"begins at byte 31 of ubuf"}},
    {"E-OOB",
     "alloc ubuf x f16[256]\nvec_dup x[0], 1  mask=128 repeat=3\n",
     {"writes bytes 0..767 of 512 B in ubuf"}},
    {"E-OOB",
     "gm x f16[64] in\nalloc ubuf u f16[256]\ndata_move u[0], x[0]  burst=5\n",
     {"reads bytes 0..159 of 128 B in x", "fault.cpp:1"}},
    {"E-OOB",
     "alloc ubuf x f16[128] slots=2\nfor i in 0, 3 {\n vec_dup x{i}[0], 1  mask=128\n}\n",
     {"of 0 B in ubuf"}},
    {"E-UNINIT",
     "alloc ubuf x f16[128]\nalloc ubuf y f16[128]\nvec_dup x[0], 1  mask=64\npipe_barrier "
     "V\nvec_abs y[0], x[0]  mask=128\n",
     {"reads byte 128 of its buffer"}},
    {"E-STRIDE",
     "alloc ubuf x f16[128]\nvec_dup x[0], 1  mask=128 rep=256\n",
     {"dst_rep is 256 x 32 B, it may be 0..255"}},
    {"E-STRIDE",
     "alloc l1 l f16[512]\nalloc l0a a f16[512]\nload3d a[0], l[0]  h=4 w=8 c1=1 kernel=5,1 m=16 "
     "k=16\n",
     {"height with its borders is 4, it may be 5.."}},
    {"E-REPEAT",
     "alloc ubuf x f16[32768]\nvec_dup x[0], 1  mask=128 repeat=256\n",
     {"repeat is 256, it may be 1..255"}},
    {"E-REPEAT",
     "gm x f16[131072] in\nalloc ubuf u f16[128]\ndata_move u[0], x[0]  nburst=4096\n",
     {"nburst is 4096"}},
    {"E-MASK",
     "alloc ubuf x f32[128]\nvec_dup x[0], 1  mask=65\n",
     {"mask is 65, it may be 1..64"}},
    {"E-MASK",
     "alloc ubuf x f32[128]\nvec_dup x[0], 1  mask=bits(0x1, 0x0)\n",
     {"past the 64 elements"}},
    {"E-PATH",
     "alloc l0c c f32[256]\nalloc ubuf u f32[256]\nl0c_to_ub u[0], c[0]\n",
     {"ascend910b has no l0c_to_ub from l0c to ubuf"},
     "ascend910b"},
    {"E-PATH",
     "alloc l1 l f16[128]\nvec_dup l[0], 1  mask=128\n",
     {"'l' is in l1, the vector unit works on ubuf"}},
    {"E-TYPE",
     "alloc ubuf x f32[64]\nalloc ubuf y f32[64]\nvec_dup x[0], 1  mask=64\npipe_barrier "
     "V\nvec_relu y[0], x[0]  mask=64\n",
     {"ascend910 has no vec_relu of f32"}},
    {"E-TYPE",
     "alloc ubuf x f16[128]\nvcmax x[0], x[0]  mask=128\n",
     {"ascend910's vcmax writes pairs"}},
    {"E-TYPE",
     "alloc ubuf x f16[128]\nalloc ubuf y f32[128]\nvec_abs y[0], x[0]  mask=64\n",
     {"operands are f32 and f16"}},
    {"E-FRACTAL",
     "alloc l1 l f16[512]\nalloc l0a a f16[512]\nload3d a[0], l[0]  h=4 w=8 c1=1 m=24 k=16\n",
     {"m is 24, not a multiple of 16"}},
    {"E-FRACTAL", "alloc l0a a f16[300]\n", {"'a' in l0a has 600 B, not a multiple of 512"}},
    {"E-RACE",
     "gm x f16[128] in\nalloc ubuf u f16[128]\nalloc ubuf v f16[128]\ndata_move u[0], x[0]  "
     "burst=8\nvec_abs v[0], u[0]  mask=128\n",
     {"on V reads byte 0 of ubuf", "data_move u[0], x[0]  burst=8 (fault.cpp:1) on MTE2 writes",
      "a flag from MTE2 to V"}},
    {"E-RACE",
     "alloc ubuf u f16[128]\nvec_dup u[0], 1  mask=128\nvec_abs u[0], u[0]  mask=128\n",
     {"it takes pipe_barrier V"}},
    {"E-RACE",
     "gm x f16[256] in\nalloc ubuf u f16[256]\ndata_move u[0], x[0]  burst=8\ndata_move u[64], "
     "x[0]  burst=8\n",
     {"it takes pipe_barrier MTE2"}},
    {"E-RACE",
     "gm z f16[256] out\nalloc ubuf u f16[128]\nvec_dup u[0], 1  mask=128\nset_flag V, MTE3, "
     "0\nwait_flag V, MTE3, 0\ndata_move z[0], u[0]  burst=8\n"
     "data_move z[64], u[0]  burst=8\n",
     {"writes byte 128 of z"}},
    {"E-RACE",  // in a block that the second move covers in part
     "gm z f16[256] out\nalloc ubuf u f16[128]\nvec_dup u[0], 1  mask=128\nset_flag V, MTE3, "
     "0\nwait_flag V, MTE3, 0\ndata_move z[0], u[0]  burst=8\n"
     "data_move z[120], u[0]  burst=8\n",
     {"writes byte 240 of z"}},
    {"E-FLAG", "wait_flag MTE2, V, 0\n", {"V waits for MTE2 to V 0"}},
    {"E-FLAG", "set_flag MTE2, V, 0\n", {"flag MTE2 to V 0 is still set at the end"}},
    {"E-FLAG",
     "set_flag MTE2, V, 0\nset_flag MTE2, V, 0\nwait_flag MTE2, V, 0\n",
     {"is set already, by set_flag MTE2, V, 0"}},
    {"E-FLAG",
     "set_flag MTE2, V, 4\nwait_flag MTE2, V, 4\n",
     {"the flag's id is 4, it may be 0..3"}},
    {"E-FLAG",
     "set_flag MTE2, V, 0\nset_flag MTE3, V, 1\nwait_flag MTE2, V, 1\nwait_flag MTE3, V, 0\n",
     {"nobody sets the flags"}},
    {"W-BANK",
     "alloc ubuf a f32[4096] @0\nalloc ubuf b f32[4096] @16384\nalloc ubuf c f32[4096] "
     "@65536\nvec_dup a[0], 1  mask=64 repeat=64\nvec_dup b[0], 1  mask=64 "
     "repeat=64\n"
     "pipe_barrier V\nvec_add c[0], a[0], b[0]  mask=64 repeat=64\n",
     {"banks of ubuf clash for 64 of 152 cycles"}},
    {"W-SMALLDMA",
     "gm x f16[128] in\nalloc ubuf u f16[128]\ndata_move u[0], x[0]  burst=8\n",
     {"moves 256 B, the full rate takes 16384 B"}},
    {"W-ALIGN512",
     "gm x f16[1024] in\nalloc ubuf u f16[512]\ndata_move u[0], x[16]  burst=32\n",
     {"'x' don't begin at multiples of 512 B, which leaves 70 % of the rate"}},
    {"E-XCORE",
     "gm z f16[192] out\nalloc ubuf u f16[128]\nvec_dup u[0], 1  mask=128\nset_flag V, MTE3, "
     "0\nwait_flag V, MTE3, 0\ndata_move z[block_idx * 64], u[0]  "
     "burst=8\n",
     {"block 1 writes byte 128 of 'z', and block 0 does, too"},
     "ascend910",
     2},
    {"E-EMIT",
     "gm c f32[256] out\nalloc l0c s f32[256]\nfixpipe c[0], s[0]  m=16 n=16\n",
     {"[p] E-EMIT: fixpipe c[0], s[0]", "TIK can't say it"},
     "ascend910b",
     1,
     of_emitting},
    {"W-SYNC",
     "gm x f16[1024] in\ngm y f16[1024] out\nalloc ubuf u f16[128] slots=2\nalloc ubuf v f16[128] "
     "slots=2\ndata_move u[0], x[0]  burst=8\nfor i in 0, 8 {\n"
     "if i < 7 {\ndata_move u{(i + 1) % 2}[0], x[i * 128 + 128]  burst=8\n}\nvec_relu v{i % 2}[0], "
     "u{i % 2}[0]  mask=128\n"
     "data_move y[i * 128], v{i % 2}[0]  burst=8\n}\n",
     {"p: of the 4 flags from V to MTE2 there is none for each slot"},
     "ascend910",
     1,
     of_flags},
    {"W-IMBALANCE",
     "alloc ubuf u f16[128]\nfor i in 0, 1 + block_idx * 40 {\nvec_dup u[0], 1  "
     "mask=128\npipe_barrier V\n}\n",
     {"p: of 2 cores one takes"},
     "ascend910",
     2},
};

TEST(Hazards, FindsAndLocatesEveryPlantedFault) {
    std::set<std::string> ids;
    for (const Fault &f : faults) {
        SCOPED_TRACE(f.program);
        const std::vector<Issue> issues = f.find(planted(f));
        std::string found;
        for (const Issue &i : issues)
            if (i.id == f.id) found += i.text + "\n";
        EXPECT_FALSE(found.empty()) << f.id << " wasn't found, but:\n" << to_text(issues);
        for (const std::string &s : f.messages)
            EXPECT_NE(found.find(s), std::string::npos) << "'" << s << "' isn't in\n" << found;
        EXPECT_TRUE(found.find("fault.cpp:") != std::string::npos || found.find("p: ") == 0)
            << "neither a line nor the program is in\n"
            << found;
        ids.insert(f.id);
    }
    std::printf("%zu faults of %zu ids\n", std::size(faults), ids.size());
    ids.insert("W-SCALAR");  // lowering's: tests/ascend/scenarios/lowering_test.cpp
    for (const IssueKind &k : issue_kinds)
        EXPECT_TRUE(ids.count(k.id)) << k.id << " has no fault";
}

// An id that is reported without being listed would have no fault here.
TEST(Hazards, ListsEveryId) {
    std::set<std::string> listed, found;
    for (const IssueKind &k : issue_kinds)
        listed.insert(k.id);
    const std::regex id("\"([EW]-[A-Z0-9]+)");
    for (const char *folder : {"/ascend", "/dsl/ascend"}) {
        for (const auto &file : std::filesystem::recursive_directory_iterator(
                 std::string(HALYARD_SOURCE_DIR) + folder)) {
            if (file.path().extension() != ".cpp") continue;
            std::stringstream source;
            source << std::ifstream(file.path()).rdbuf();
            const std::string text = source.str();
            for (std::sregex_iterator m(text.begin(), text.end(), id), end; m != end; ++m)
                found.insert((*m)[1]);
        }
    }
    EXPECT_EQ(found, listed);
}

// In program order the numbers are right without the flag. Only time order and the checks show that
// it is missing.
TEST(Hazards, TimeOrderRevealsAMissingFlag) {
    const auto run = [](bool flag, bool in_time_order) {
        const Program p = [&] {
            Program q = parse_program(
                "program p ascend910 blocks=1\ngm x f16[16384] in\ngm z f16[16384] out\nalloc ubuf "
                "u f16[16384]\nalloc ubuf v f16[16384]\n"
                "vec_dup u[0], 1  mask=128 repeat=128\nset_flag V, MTE2, 0\nwait_flag V, MTE2, "
                "0\ndata_move u[0], x[0]  burst=1024\n" +
                std::string(flag ? "set_flag MTE2, V, 0\nwait_flag MTE2, V, 0\n"
                                 : "pipe_barrier V\n") +
                "vec_abs v[0], u[0]  mask=128 repeat=128\nset_flag V, MTE3, 0\nwait_flag V, MTE3, "
                "0\ndata_move z[0], v[0]  burst=1024\n");
            place_buffers(q);
            return q;
        }();
        test::Gm gm(p);
        for (int i = 0; i < 16384; i++)
            gm.as<float16>(0)[i] = float16(-2);
        SimOptions options;
        options.in_time_order = in_time_order;
        const SimResult r = simulate(p, gm.bindings(), {}, options);
        EXPECT_EQ(has(r.issues, "E-RACE"), !flag) << to_text(r.issues);
        return float(gm.as<float16>(1)[16383]);
    };
    EXPECT_EQ(run(true, false), 2);
    EXPECT_EQ(run(true, true), 2);
    EXPECT_EQ(run(false, false), 2);
    EXPECT_EQ(run(false, true), 1);  // vec_dup left this value there.
}

TEST(Hazards, RejectsInvalidArguments) {
    const Program p = test::add_relu_builder(4096, 1, 2048).build();
    EXPECT_THROW(simulate(p, {}), AttrError);
    test::Gm gm(p);
    auto bindings = gm.bindings();
    bindings[1].bytes -= 2;
    EXPECT_THROW(simulate(p, bindings), AttrError);
    EXPECT_THROW(simulate(p, gm.bindings(), {1.0}), AttrError);
    // The program has no addresses yet.
    EXPECT_THROW(simulate(test::add_relu_builder(4096, 1, 2048).written(), gm.bindings()),
                 AttrError);
}

}  // namespace
}  // namespace halyard::dv

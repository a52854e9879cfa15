// Tests automatic synchronisation: nothing races, the bits are those of program order even if
// writes take effect at their own time, and no flag is redundant.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>

#include "ascend/passes/passes.h"
#include "ascend/program/text.h"
#include "tests/ascend/programs.h"

namespace halyard::dv {
namespace {

// It is called once per instruction, in program order.
using Erase = std::function<bool(const Instr &)>;

// Returns the body without the instructions that `erase` selects.
Body without(const Body &body, const Erase &erase) {
    Body out;
    for (const Node &n : body) {
        if (const For *f = std::get_if<For>(&n.is))
            out.push_back(For{f->var, f->begin, f->end, without(f->body, erase)});
        else if (const If *c = std::get_if<If>(&n.is))
            out.push_back(If{c->condition, without(c->then, erase), without(c->otherwise, erase)});
        else if (const Instr *i = std::get_if<Instr>(&n.is); !i || !erase(*i))
            out.push_back(n);
    }
    return out;
}

bool is_sync(const Instr &i) {
    return std::holds_alternative<SetFlag>(i.op) || std::holds_alternative<WaitFlag>(i.op) ||
           std::holds_alternative<Barrier>(i.op);
}

// Returns the pair of pipes and the id, which identify a flag's two sides.
std::string key(const Instr &i) {
    if (const SetFlag *s = std::get_if<SetFlag>(&i.op)) {
        return std::string(name_of(s->src)) + name_of(s->dst) +
               (s->id.constant() ? "" : to_string(s->id));
    }
    if (const WaitFlag *w = std::get_if<WaitFlag>(&i.op)) {
        return std::string(name_of(w->src)) + name_of(w->dst) +
               (w->id.constant() ? "" : to_string(w->id));
    }
    return "";
}

std::vector<Issue> run(const Program &p) {
    test::Gm gm(p);
    std::vector<Issue> errors;
    for (const Issue &i : simulate(p, gm.bindings()).issues)
        if (i.error()) errors.push_back(i);
    return errors;
}

std::vector<std::pair<std::string, Program>> programs() {
    std::vector<std::pair<std::string, Program>> all;
    all.emplace_back("add_relu", test::add_relu_builder(16384, 1, 2048).build());
    all.emplace_back("add_relu, one slot", test::add_relu_builder(16384, 1, 2048, 1).build());
    all.emplace_back("softmax", test::softmax_builder(6, 256).build());
    all.emplace_back("matmul", test::matmul_builder(64, 256, 64, 32, 64, 32).build());
    return all;
}

TEST(Sync, ProgramsHaveNoRaces) {
    for (const auto &[name, p] : programs())
        EXPECT_TRUE(run(p).empty()) << name << "\n" << to_text(run(p)) << to_text(p);
}

TEST(Sync, EveryDeletedInstructionIsReported) {
    int deleted = 0;
    for (const auto &[name, p] : programs()) {
        int count = 0;
        without(p.body, [&](const Instr &i) {
            count += is_sync(i);
            return false;
        });
        for (int victim = 0; victim < count; victim++) {
            Program mutant = p;
            int n = 0;
            std::string gone;
            mutant.body = without(p.body, [&](const Instr &i) {
                return is_sync(i) && n++ == victim ? gone = to_text(p, i), true : false;
            });
            EXPECT_FALSE(run(mutant).empty()) << name << ": nobody misses " << gone << "\n"
                                              << to_text(p);
            deleted++;
        }
    }
    std::printf("%d of %d deleted flags and barriers reported\n", deleted, deleted);
}

// Without both sides of a flag the counts still balance. What remains is a race, unless the flag
// was redundant.
TEST(Sync, NoFlagIsRedundant) {
    int pairs = 0, needless = 0;
    for (const auto &[name, p] : programs()) {
        std::map<std::string, int> keys;
        without(p.body, [&](const Instr &i) {
            keys[is_sync(i) ? key(i) : ""]++;
            return false;
        });
        for (const auto &[k, n] : keys) {
            if (k.empty()) continue;
            Program mutant = p;
            // A pair of pipes has one flag in these programs, with its uses before and after the
            // loop.
            const std::string pipes = k.substr(0, k.find_first_of("i0123456789("));
            mutant.body = without(p.body, [&](const Instr &i) {
                return is_sync(i) && !key(i).empty() && key(i).rfind(pipes, 0) == 0;
            });
            pairs++;
            needless += run(mutant).empty();
            EXPECT_TRUE(has(run(mutant), "E-RACE")) << name << ": " << pipes << "\n" << to_text(p);
        }
    }
    std::printf("%d flags, %d of them needless\n", pairs, needless);
}

TEST(Sync, TimeOrderGivesTheSameBits) {
    for (const auto &[name, p] : programs()) {
        test::Gm a(p), b(p);
        for (size_t t = 0; t < p.tensors.size(); t++) {
            for (size_t i = 0; i < a.size(t) / bytes_of(p.tensors[t].dtype); i++) {
                const float v = float((i * 7 + t) % 13) / 8 - 0.5f;
                if (p.tensors[t].dtype == DType::f16)
                    a.as<float16>(t)[i] = b.as<float16>(t)[i] = float16(v);
                else
                    a.as<float>(t)[i] = b.as<float>(t)[i] = v;
            }
        }
        SimOptions options;
        simulate(p, a.bindings(), {}, options);
        options.in_time_order = true;
        EXPECT_TRUE(simulate(p, b.bindings(), {}, options).ok());
        for (size_t t = 0; t < p.tensors.size(); t++) {
            EXPECT_EQ(std::memcmp(a.as<char>(t), b.as<char>(t), a.size(t)), 0)
                << name << ", tensor " << t;
        }
    }
}

// The loop loads the next iteration's slot. One flag for both slots keeps it in order.
TEST(Sync, PrefetchesTheNextSlot) {
    Program p = parse_program("program ahead ascend910 blocks=1\ngm x f16[1024] in\ngm y f16[1024] "
                              "out\nalloc ubuf u f16[128] slots=2\nalloc ubuf v f16[128] slots=2\n"
                              "data_move u[0], x[0]  burst=8\nfor i in 0, 8 {\nif i < 7 "
                              "{\ndata_move u{(i + 1) % 2}[0], x[i * 128 + 128]  burst=8\n}\n"
                              "vec_relu v{i % 2}[0], u{i % 2}[0]  mask=128\ndata_move y[i * 128], "
                              "v{i % 2}[0]  burst=8\n}\n");
    ASSERT_TRUE(place_buffers(p).empty());
    EXPECT_TRUE(has(insert_sync(p).issues, "W-SYNC"));
    EXPECT_TRUE(run(p).empty()) << to_text(run(p)) << to_text(p);
}

// A buffer that is updated in place keeps its two slots. A flag between load and store of the
// tensor itself would have serialised them.
TEST(Sync, InPlaceKeepsItsSlots) {
    Program p = parse_program(
        "program inplace ascend910 blocks=1\ngm x f16[1024] inout\nfor i in 0, 8 {\nalloc ubuf u "
        "f16[128] slots=2\ndata_move u{i % 2}[0], x[i * 128]  burst=8\n"
        "vec_relu u{i % 2}[0], u{i % 2}[0]  mask=128\ndata_move x[i * 128], u{i % 2}[0]  "
        "burst=8\n}\n");
    ASSERT_TRUE(place_buffers(p).empty());
    EXPECT_EQ(insert_sync(p).flags, 3);
    EXPECT_NE(to_text(p).find("wait_flag MTE3, MTE2, i % 2"), std::string::npos) << to_text(p);
    EXPECT_TRUE(run(p).empty()) << to_text(run(p)) << to_text(p);
}

// Each of 500 steps needs a barrier of its own, and none of them restarts the analysis.
TEST(Sync, VisitsLongProgramsAFewTimes) {
    std::string text = "program steps ascend910 blocks=1\ngm x f16[128] in\ngm y f16[128] "
                       "out\nalloc ubuf u f16[128]\n"
                       "data_move u[0], x[0]  burst=8\n";
    for (int step = 0; step < 500; step++)
        text += "vec_relu u[0], u[0]  mask=128\n";
    Program p = parse_program(text + "data_move y[0], u[0]  burst=8\n");
    ASSERT_TRUE(place_buffers(p).empty());
    const SyncReport report = insert_sync(p);
    EXPECT_EQ(report.barriers, 499);
    EXPECT_EQ(report.flags, 2);
    EXPECT_LT(report.walked, 60 * report.traced);
    std::printf("%lld events, %lld walked\n", (long long)report.traced, (long long)report.walked);
    EXPECT_TRUE(run(p).empty()) << to_text(run(p));
}

// An unknown condition has two branches. The plan holds on both, whichever was visited last.
TEST(Sync, OrdersBothBranches) {
    Program p = parse_program("program ways ascend910 blocks=2\ngm x f16[256] in\ngm y f16[256] "
                              "out\nalloc ubuf u f16[128]\nalloc ubuf v f16[128]\n"
                              "data_move u[0], x[0]  burst=8\nif block_idx < 1 {\nvec_relu v[0], "
                              "u[0]  mask=128\n} else {\n"
                              "vec_abs v[0], u[0]  mask=128\nvec_relu v[0], v[0]  "
                              "mask=128\n}\nvec_abs v[0], v[0]  mask=128\n"
                              "data_move y[block_idx * 128], v[0]  burst=8\n");
    ASSERT_TRUE(place_buffers(p).empty());
    insert_sync(p);
    EXPECT_TRUE(run(p).empty()) << to_text(run(p)) << to_text(p);
}

TEST(Sync, ReportsThatFlagsAreExhausted) {
    // Seven inputs have a buffer each that is read elsewhere, which takes more flags than there
    // are.
    Builder b("many", "ascend910");
    std::vector<Tensor> in;
    for (int i = 0; i < 7; i++)
        in.push_back(b.input(DType::f16, 4096, "x" + std::to_string(i)));
    const Tensor out = b.output(DType::f16, 4096, "y");
    b.for_range(0, 8, {.thread_num = 2}, [&](const Expr &i) {
        const Tensor sum = b.tensor(DType::f16, 512, Scope::ub, "sum");
        b.vec_dup(128, sum, 0.0, 4, 8);
        for (int k = 0; k < 7; k++) {
            const Tensor u = b.tensor(DType::f16, 512, Scope::ub, "u" + std::to_string(k));
            b.data_move(u, in[size_t(k)][i * 512], 1, 32, 0, 0);
            b.vec_add(128, sum, sum, u, 4, {8, 8, 8});
        }
        b.data_move(out[i * 512], sum, 1, 32, 0, 0);
    });
    Program p = b.written();
    ASSERT_TRUE(place_buffers(p).empty());
    const SyncReport report = insert_sync(p);
    EXPECT_TRUE(has(report.issues, "W-SYNC"));
    EXPECT_TRUE(run(p).empty()) << to_text(run(p)) << to_text(p);
}

}  // namespace
}  // namespace halyard::dv

// Compares the cycle model with published measurements of an Atlas A2 at 1.85 GHz: asc-devkit's
// best practices and its performance tests. Some constants are fitted to the same figures, so the
// test shows how well the model repeats them, not how well it predicts. The model's figures come
// from the simulator.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>

#include "ascend/program/builder.h"
#include "ascend/program/text.h"
#include "ascend/simulator/simulate.h"

namespace halyard::dv {
namespace {

const SimOptions only_time{.functional = false, .races = false, .timeline_cores = 0};

void row(const char *what, double model, double published, double bound) {
    const double off = model / published - 1;
    std::printf("%-44s model %9.2f  published %9.2f  %+5.1f %% of %.0f %%\n", what, model,
                published, 100 * off, 100 * bound);
    EXPECT_LE(std::fabs(off), bound) << what;
}

// Returns the cycles of one of 1000 additions of 64 repeats of f32, with operands at given
// addresses.
double addition(int64_t src0, int64_t src1, int64_t dst, int blk0, int rep0) {
    const auto alloc = [](const char *name, int64_t at) {
        return "  alloc ubuf " + std::string(name) + " f32[4096] @" + std::to_string(at) + "\n";
    };
    const Program p = parse_program(
        "program add ascend910b blocks=1\n" + alloc("a", src0) + alloc("b", src1) +
        alloc("c", dst) + "for i in 0, 1000 {\n vec_add c[0], a[0], b[0] mask=64 repeat=64 blk=1," +
        std::to_string(blk0) + ",1 rep=8," + std::to_string(rep0) + ",8\n}\n");
    return simulate(p, {}, {}, only_time).cycles / 1000;
}

TEST(Calibration, MatchesPublishedBankConflicts) {
    const struct {
        int64_t src0, src1, dst;
        int blk, rep;
        double ticks;  // The published figure in ticks of 50 MHz, per 1000 additions.
    } published[] = {{0, 0x10100, 0x20000, 1, 8, 2390}, {0, 0x4000, 0x10000, 1, 8, 4167},
                     {0, 0x10000, 0x14100, 1, 8, 4167}, {0, 0x10100, 0x4000, 1, 8, 2389},
                     {0, 0x10100, 0x4020, 1, 8, 3751},  {0, 0x10100, 0x10100, 1, 8, 2390},
                     {0, 0x10100, 0x10100, 0, 1, 3584}, {0, 0x10100, 0x10100, 0, 8, 2389}};
    int n = 0;
    for (const auto &s : published) {
        row(("bank scenario " + std::to_string(++n) + ", cycles").c_str(),
            addition(s.src0, s.src1, s.dst, s.blk, s.rep), s.ticks * 37 / 1000, 0.05);
    }
}

struct Rung {
    const char *name;
    int cores, tile, threads;
    bool serial;  // The published times of these two rungs are the sum of load, addition and store.
    bool bypass, clash;
    double whole, mte2, vector;  // The published times in us.
};

// Simulates z = x + y of 8192 x 8192 f16 on one rung of the ladder.
SimResult ladder(const Rung &r, int64_t iterations) {
    Builder b("add", "ascend910b");
    const int64_t n = iterations * r.tile * r.cores;
    const auto gm = [&](const char *name, GmTensor::Use use) {
        return b.gm(DType::f16, n, name, use);
    };
    const Tensor x = gm("x", GmTensor::in);
    const Tensor y = gm("y", GmTensor::in);
    const Tensor z = gm("z", GmTensor::out);
    b.for_range(0, r.cores, {.block_num = r.cores}, [&](const Expr &core) {
        b.for_range(0, iterations, {.thread_num = r.threads}, [&](const Expr &i) {
            const auto ub = [&](const char *name) {
                return b.tensor(DType::f16, r.tile, Scope::ub, name);
            };
            const Tensor ux = ub("ux"), uy = ub("uy"), uz = ub("uz");
            const Expr at = (core * iterations + i) * r.tile;
            b.data_move(ux, x[at], 1, r.tile / 16, 0, 0);
            b.data_move(uy, y[at], 1, r.tile / 16, 0, 0);
            // 128 repeats at a time are within the 255 of an instruction.
            for (int done = 0; done < r.tile; done += 128 * 128) {
                const int now = std::min(r.tile - done, 128 * 128);
                const int full = now / 128;
                const int rest = now % 128;
                b.vec_add(128, uz[done], ux[done], uy[done], full, {8, 8, 8});
                if (rest) {
                    b.vec_add(rest, uz[done + full * 128], ux[done + full * 128],
                              uy[done + full * 128], 1, {8, 8, 8});
                }
            }
            b.data_move(z[at], uz, 1, r.tile / 16, 0, 0);
            if (r.serial) b.pipe_barrier(Pipe::all);
        });
    });
    Program p = b.build();
    for (GmTensor &t : p.tensors)
        t.bypass_l2 = r.bypass;
    if (r.clash)  // Both sources of the published kernel were in the same bank groups.
    {
        for (Buffer &u : p.buffers)
            u.address = int64_t(&u - p.buffers.data()) * r.threads * u.slot_bytes();
    }
    return simulate(p, {}, {}, only_time);
}

TEST(Calibration, MatchesPublishedAdditions) {
    const Rung rungs[] = {
        {"1 one core, 8 KB", 1, 4096, 1, false, false, true, 6909.14, 6208.76, 761.65},
        {"2 48 cores, 8 KB", 48, 4096, 1, true, false, true, 297.14, 215.485, 15.885},
        {"3 48 cores, 32 KB", 48, 16384, 1, true, false, true, 261.5, 184.369, 12.845},
        {"4 and double buffers", 48, 16256, 2, false, false, true, 257.56, 250.528, 12.846},
        {"5 and past L2", 48, 16256, 2, false, true, true, 185.15, 175.997, 12.846},
        {"6 and shifted banks", 48, 16256, 2, false, true, false, 178.49, 171.611, 6.954}};
    for (const Rung &r : rungs) {
        // All iterations but the first and the last take the same time.
        const double all = 8192.0 * 8192;
        const double iterations = 40;
        const SimResult s = ladder(r, int64_t(iterations));
        ASSERT_FALSE(has_errors(s.issues)) << to_text(s.issues);
        const double scale = all / r.cores / r.tile / iterations / 1850;
        const double busy = s.stats[0].busy[size_t(Pipe::mte2)] * scale;
        row((std::string(r.name) + ": vector, us").c_str(),
            s.stats[0].busy[size_t(Pipe::v)] * scale, r.vector, 0.04);
        row((std::string(r.name) + ": MTE2, us").c_str(), busy, r.mte2, 0.05);
        row((std::string(r.name) + ": all, us").c_str(), s.cycles * scale, r.whole, 0.10);
    }
}

// A step of an 8192^3 matmul with tiles of 128 x 256 x 64 has one mmad, and loads of both operands
// into l0.
TEST(Calibration, MatchesPublishedMatmulSteps) {
    const Program p = parse_program(R"(program steps ascend910b blocks=1
alloc l1 a f16[8192]
alloc l1 b f16[16384]
alloc l0a la f16[8192]
alloc l0b lb f16[16384]
alloc l0c c f32[32768]
for i in 0, 100 {
  load3d la[0], a[0] h=8 w=16 c1=4 m=128 k=64
  load3d lb[0], b[0] h=16 w=16 c1=4 m=256 k=64
  mmad c[0], la[0], lb[0] m=128 k=64 n=256
})");
    Program placed = p;
    for (Buffer &b : placed.buffers)
        b.address = b.name == "b" ? 16384 : 0;
    const SimResult s = simulate(placed, {}, {}, only_time);
    ASSERT_FALSE(has_errors(s.issues)) << to_text(s.issues);
    row("mmad 128x256x64, cycles", s.stats[0].busy[size_t(Pipe::m)] / 100, 521.06, 0.03);
    row("its operands into l0, cycles", s.stats[0].busy[size_t(Pipe::mte1)] / 100, 429.1, 0.03);
}

TEST(Calibration, WorkOnlyAddsTime) {
    double last = INFINITY;
    for (const int cores : {1, 2, 4, 8, 16, 32, 48}) {
        const double now =
            ladder({"", cores, 4096, 2, false, false, false, 0, 0, 0}, 192 / cores).cycles;
        EXPECT_LE(now, last) << cores << " cores";
        last = now;
        EXPECT_LE(now,
                  ladder({"", cores, 4096, 1, false, false, false, 0, 0, 0}, 192 / cores).cycles)
            << "double buffers on " << cores << " cores";
    }
}

}  // namespace
}  // namespace halyard::dv

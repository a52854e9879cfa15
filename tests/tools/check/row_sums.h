// Ops with right results that are still wrong on a GPU, and one that is sound.
#pragma once
#include <cmath>

#include "dsl/op.h"

namespace halyard::check {

// y = the sums of x's rows.
struct RowSums : Op {
    explicit RowSums(const std::string &name) : Op(name, "x[n,c] -> y[n]") {
        dtypes = {"f32"};
        gpu = true;
        contract = {Contract::products, 8};
        samples = {"n=1 c=1", "n=2 c=21", "n=5 c=64"};
    }
    Func x = input("x");
    Func y = output("y");
    Func total{"total"};
    Var n{"n"}, ni{"ni"};
    RDom k;
    RVar ko{"ko"}, ki{"ki"};

    void algorithm() override {
        k = RDom(0, size("c"));
        total(n) += x(k, n);
        y(n) = total(n);
    }
    void schedule(const Cpu &) override { total.compute_root(); }
    void schedule(const Gpu &) override {
        store().gpu_tile(n, ni, 8, Tail::GuardWithIf);
        total.compute_root().gpu_tile(n, ni, 8, Tail::GuardWithIf);
        total.update().gpu_tile(n, ni, 8, Tail::GuardWithIf);
    }
    // Terms are added one after another, so errors grow with their number: a bound for 64 terms is
    // that of the largest sum.
    void reference(Problem &p) const override {
        double largest = 0;
        for (int64_t i = 0; i < p["n"]; i++) {
            p("y")(i) = 0;
            for (int64_t j = 0; j < p["c"]; j++)
                p("y")(i) += p("x")(i, j);
            largest = std::fmax(largest, std::fabs(p("y")(i)));
        }
        p.abs_sum["y"] = Array(p("y").shape, largest * std::fmax(1, double(p["c"]) / 64));
    }
};

struct SoundSums : RowSums {
    SoundSums() : RowSums("sound_sums") {}
};

// The work items of a row add to one element.
struct RacyGpuSums : RowSums {
    RacyGpuSums() : RowSums("racy_gpu_sums") {}
    void schedule(const Gpu &) override {
        store().gpu_tile(n, ni, 8, Tail::GuardWithIf);
        total.compute_root().gpu_tile(n, ni, 8, Tail::GuardWithIf);
        total.update()
            .allow_race_conditions()
            .split(k, ko, ki, 8, Tail::GuardWithIf)
            .reorder(ko, ki, n)
            .gpu_blocks(n)
            .gpu_threads(ki);
    }
};

// The kernel promises that the element after a row's last is in the row, reads it, and ignores the
// result.
struct ReadsPast : RowSums {
    ReadsPast() : RowSums("reads_past") {}
    void algorithm() override {
        k = RDom(0, size("c"));
        total(n) += x(k, n) +
                    select(x(unsafe_promise_clamped(k + 1, 0, size("c") - 1), n) == -1e30_r, 1_r,
                           0_r);
        y(n) = total(n);
    }
};

}  // namespace halyard::check

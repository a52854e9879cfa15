// Tests that planted faults are found, and that kernels without one pass.
#include "tools/check/kernel_sizes.h"
#include "tools/check/mutants.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "dsl/all_ops.h"
#include "dsl/kernel.h"
#include "dsl/kernel_faults.h"
#include "dsl/mutate.h"
#include "registry/base/error.h"
#include "registry/base/program.h"

namespace halyard::check {
namespace {

bool has(const std::vector<std::string> &list, const std::string &s) {
    return std::find(list.begin(), list.end(), s) != list.end();
}

OpPtr op_of(const std::string &name) {
    list_kit_ops();
    return op_table().make(name);
}

MutantOptions options(std::vector<std::string> ops, int per_op,
                      std::vector<std::string> only = {}) {
    MutantOptions o;
    o.ops = std::move(ops);
    o.per_op = per_op;
    o.random_calls = 40;
    o.isa = host_isa();
    o.only = std::move(only);
    return o;
}

Mutant tried(const std::string &op, const std::string &fault) {
    const std::vector<Mutant> all = try_mutants(options({op}, 1, {fault}));
    EXPECT_EQ(all.size(), 1u);
    return all.at(0);
}

TEST(Mutants, AreFound) {
    std::set<std::string> kinds;
    std::vector<Mutant> all = try_mutants(options({"relu"}, 8));
    for (auto &m :
         try_mutants(options({"softmax"}, 0,
                             {"softmax/short reduction-bounds: loop peak.s1.r$x ends early",
                              "softmax/short reduction-bounds: loop total.s1.r$x begins late",
                              "softmax/short missing-init: store to total",
                              "softmax/short overwrites: store to total",
                              "softmax/short wrong-operator: max in peak"})))
        all.push_back(m);
    for (auto &m : all) {
        EXPECT_EQ(m.status, Mutant::caught) << m.text() << ": " << m.output;
        kinds.insert(m.kind());
    }
    EXPECT_GE(kinds.size(), 10u);
}

TEST(Mutants, OfACudaKernelAreFoundOnThePtxMachine) {
    MutantOptions o = options({"softmax"}, 0,
                              {"softmax/short f32/cuda extra-iteration: loop .thread_id_y",
                               "softmax/short f32/cuda missing-init: store to total.4"});
    o.cuda = true;
    for (const Mutant &m : try_mutants(o)) {
        EXPECT_EQ(m.status, Mutant::caught) << m.text() << ": " << m.output;
        EXPECT_EQ(m.caught_by, std::vector<std::string>{"cuda"}) << m.text();
        EXPECT_FALSE(m.on_cpu());
    }
}

// The results of a race are nearly always right, for example if several threads compute a maximum
// in one element.
TEST(Mutants, SandboxFindsARace) {
    const Mutant m = tried("softmax", "softmax/short racy-parallel: loop peak.s1.r$x");
    EXPECT_EQ(m.status, Mutant::caught);
    EXPECT_TRUE(has(m.caught_by, "sandbox"));
    EXPECT_NE(m.output.find("of a loop that runs in parallel write different values to one place"),
              std::string::npos)
        << m.output;
}

// The element past the end is read and not used: only the guard page behind the input finds it.
TEST(Mutants, GuardPagesFindAReadPastTheEnd) {
    Instance i;
    i.isa = host_isa();
    Kernel cumsum(op_of("cumsum"), i);
    std::vector<std::string> clamps;
    for (auto &f : faults_of(cumsum))
        if (f.starts_with("wrong-clamp: min in ")) clamps.push_back("cumsum " + f);
    int seen = 0;
    for (auto &m : try_mutants(options({"cumsum"}, 0, clamps)))
        seen += m.output.find("it reads past the end of input x (byte ") != std::string::npos;
    EXPECT_GT(seen, 0) << "of " << clamps.size();
}

// hard_swish_dx jumps at -3 and 3. There a <= b is a < b || a == b; dropping a == b is the only
// fault that is planted.
TEST(Mutants, EqualValuesRevealAComparison) {
    EXPECT_EQ(tried("hard_swish_dx", "hard_swish_dx wrong-comparison: <= in dx").status,
              Mutant::caught);
    EXPECT_EQ(tried("hard_swish_dx", "hard_swish_dx wrong-comparison: < in dx").status,
              Mutant::refused);
}

// A batch norm's x - mean is strict.
TEST(Mutants, StrictArithmeticGetsFaults) {
    const OpPtr op = op_of("batch_norm_planes");
    Instance i;
    i.isa = host_isa();
    i.dtypes = op->dtypes[0];
    i.variant = op->variants.back().name;
    Kernel k(op_of(op->name), i);
    const std::vector<std::string> faults = faults_of(k);
    const auto fault = std::find_if(faults.begin(), faults.end(), [](const std::string &f) {
        return f.starts_with("swapped-operands: strict - in y");
    });
    ASSERT_NE(fault, faults.end());
    const std::string kernel = op->name + (i.variant.empty() ? "" : "/" + i.variant);
    const Mutant m = tried(op->name, kernel + " " + *fault);
    EXPECT_EQ(m.status, Mutant::caught) << m.text() << m.output;
}

// The kernel has a loop of its own for rows that are not contiguous, as with axis=0.
TEST(Mutants, StridedResultsAreChecked) {
    const Mutant m = tried("one_hot", "one_hot missing-store: store to y #5");
    EXPECT_EQ(m.status, Mutant::caught) << m.output;
}

TEST(Mutants, AnyKernelGetsFaults) {
    MutantOptions o = options({"relu"}, 6);
    o.everywhere = true;
    std::set<std::string> places;
    for (auto &m : try_mutants(o)) {
        EXPECT_NE(m.status, Mutant::refused) << m.text() << ": " << m.output;
        places.insert(m.place);
        o.only = {m.text()};
    }
    EXPECT_GT(places.size(), 1u);
    EXPECT_EQ(try_mutants(o).at(0).text(), o.only[0]);
}

// The square of x - middle is that of middle - x, and no such fault is planted.
TEST(Mutants, OperandsOfASquaredDifferenceAreNotSwapped) {
    Instance i;
    i.isa = host_isa();
    Kernel k(op_of("squared_difference"), i);
    for (const std::string &fault : faults_of(k))
        EXPECT_FALSE(fault.starts_with("swapped-operands")) << fault;
}

// The constant is the result for a number that is 0, infinite or NaN, and the number lies between 0
// and 1.
TEST(Mutants, EquivalentCodePasses) {
    MutantOptions o = options({"normal_kernel"}, 1,
                              {"normal_kernel wrong-pad: constant in pair #4"});
    o.random_calls = 2;
    const std::vector<Mutant> all = try_mutants(o);
    ASSERT_EQ(all.size(), 1U);
    const Mutant &m = all[0];
    EXPECT_EQ(m.status, Mutant::survived) << m.output;
    EXPECT_TRUE(m.caught_by.empty());
    EXPECT_TRUE(m.reached);
}

// What the local array contains is undefined; the fault makes it a number that counts.
TEST(Mutants, AnArrayOnTheStackWithoutItsFirstValueIsFound) {
    const std::string op = "softmax_cross_entropy_dlabels";
    Instance i;
    i.isa = host_isa();
    i.variant = "wide";
    Kernel k(op_of(op), i);
    std::string last;
    for (const std::string &fault : faults_of(k))
        if (fault.starts_with("missing-init: store to peak_intm")) last = fault;
    ASSERT_FALSE(last.empty());
    EXPECT_EQ(tried(op, op + "/wide " + last).status, Mutant::caught) << last;
}

// x + inf and x - inf differ where x is infinite only; the loop for strided rows has few elements.
TEST(Mutants, SpecialValuesReachEveryLoop) {
    EXPECT_EQ(tried("is_inf", "is_inf f32/baseline wrong-constant: constant in y #7").status,
              Mutant::caught);
}

// Whole blocks have 22 vectors of 8 rows, and chunks have 256 terms.
TEST(Mutants, CallsBesideAKernelsSizesAreDrawn) {
    Instance i;
    i.isa = Isa::avx2;
    i.dtypes = "f16";
    i.variant = "half";
    const std::vector<int64_t> sizes = kernel_sizes(Kernel(op_of("matmul"), i));
    for (const int64_t size : {8, 22, 176, 256})
        EXPECT_EQ(std::ranges::count(sizes, size), 1) << size;
    EXPECT_TRUE(std::ranges::is_sorted(sizes));
    EXPECT_GE(sizes.front(), 2);
    EXPECT_LE(sizes.back(), largest_kernel_size);
}

// The task after the last one stores nothing, in kernels that compare 16 bits, too; and what one
// turn more of a prologue stores is stored again.
TEST(Mutants, IterationsWithoutEffectAreNotAdded) {
    const auto added = [](const std::string &op, const std::string &dtypes) {
        Instance i;
        i.isa = Isa::avx2;
        i.dtypes = dtypes;
        Kernel k(op_of(op), i);
        std::vector<std::string> all;
        for (const std::string &fault : faults_of(k))
            if (fault.starts_with("extra-iteration")) all.push_back(fault);
        return all;
    };
    for (const std::string &fault : added("dropout_kernel_dx", "bf16"))
        EXPECT_FALSE(fault.ends_with("n.task")) << fault;
    for (const std::string &fault : added("band_kernel", "i32"))
        EXPECT_NE(fault, "extra-iteration: loop y.s0.c.vec");
}

// A product of many integers is 0, whatever one of them is, unless nearly all of them are 1.
TEST(Mutants, ProductsOfIntegersAreChecked) {
    const Mutant m = tried(
        "reduce_prod", "reduce_prod/rows i32/avx2 wrong-start: store to runs_of_runs_of_runs #39");
    EXPECT_EQ(m.status, Mutant::caught) << m.output;
}

// A minimum of bytes shows a lost row only where one byte is less than all others.
TEST(Mutants, AByteThatDecidesIsChecked) {
    const Mutant m = tried("reduce_min",
                           "reduce_min/rows u8/baseline overwrites: store to rows #4");
    EXPECT_EQ(m.status, Mutant::caught) << m.output;
}

// The constant is in the logarithm of subnormal numbers.
TEST(Mutants, TinyNumbersOfAFormulaOfSeveralAreChecked) {
    const Mutant m = tried("xlogy_da", "xlogy_da f32/baseline wrong-pad: constant in da #17");
    EXPECT_EQ(m.status, Mutant::caught) << m.output;
}

// The window before the first is never the one that an element won: only the access is wrong.
TEST(Mutants, SanitizersFindAnAccessThatChangesNoResult) {
    if (!std::filesystem::exists(installed("libexec/halyard") / "kernel_runner_address"))
        GTEST_SKIP() << "this build is instrumented itself";
    const Mutant m = tried(
        "max_pool2d_dx",
        "max_pool2d_dx f32/baseline reduction-bounds: loop sum.s1.r$y begins early #3");
    EXPECT_EQ(m.status, Mutant::caught) << m.output;
    EXPECT_EQ(m.caught_by, std::vector<std::string>{"legality"});
}

// Of an odd power's sign only few exponents show how its half is rounded, 3 for example.
TEST(Mutants, AProgramsFaultIsTriedWithManyValues) {
    const Mutant m = tried("pow_da",
                           "pow_da f16/ascend wrong-rounding: vec_conv in 'd0=1 d1=1 d2=1'");
    EXPECT_EQ(m.status, Mutant::caught) << m.output;
}

// The sample's weight decay is 0, and the sum that adds it is half as long.
TEST(Mutants, AProgramsFaultIsTriedWithOtherAttributes) {
    const Mutant m = tried("momentum_",
                           "momentum_ f32/ascend wrong-mask: vec_add #3 in 'd0=1 d1=3 d2=17'");
    EXPECT_EQ(m.status, Mutant::caught) << m.output;
}

// Only beyond 17 is 1 + e^-|x| 1, for which the logarithm is a case of its own.
TEST(Mutants, AProgramsFaultIsTriedWithManyMagnitudes) {
    const Mutant m = tried(
        "bce_logits_kernel",
        "bce_logits_kernel f32/ascend missing-step: vec_max #3 in 'd0=2 d1=3 d2=5'");
    EXPECT_EQ(m.status, Mutant::caught) << m.output;
}

// An index outside of x takes the fill.
TEST(Mutants, IndicesOutsideAreChecked) {
    MutantOptions o = options({"gather_kernel"}, 0,
                              {"gather_kernel/points i32/avx2 wrong-input: load of fill in y #4"});
    EXPECT_EQ(try_mutants(o).at(0).status, Mutant::caught);
}

// Where bits(x) is the constant, the scaled and the unscaled root are both right.
TEST(Mutants, AConstantOfTheFormulaShowsThatAComparisonIsEquivalent) {
    if (host_isa() != Isa::avx512) GTEST_SKIP() << "AVX2's kernels have other names elsewhere";
    const Mutant m = tried("rsqrt", "rsqrt f32/avx2 wrong-comparison: < in y #8");
    EXPECT_EQ(m.status, Mutant::equivalent) << m.output;
    EXPECT_TRUE(m.reached);
}

// A call is searched for a place that no check executes: the sides of this comparison would have to
// be equal.
TEST(Mutants, CallsAreSearchedForAPlaceThatNoCheckExecutes) {
    MutantOptions o = options({"gru_gates"}, 0, {"gru_gates wrong-comparison: < in hy #2"});
    o.random_calls = 10;
    o.search_calls = 20;
    const Mutant m = try_mutants(o).at(0);
    EXPECT_EQ(m.status, Mutant::unreached) << m.output;
    EXPECT_EQ(m.output, "none of 20 random calls of the kernel executes its place");
}

// A large number in the place of one that a fault changes is found, if any call uses that number.
TEST(Mutants, SpoiledNumbersAreFound) {
    for (auto &spoiler : spoilers_of("lost-precision: store to y")) {
        MutantOptions o = options({"relu"}, 0, {"relu " + spoiler});
        o.until_caught = true;
        EXPECT_EQ(try_mutants(o).at(0).status, Mutant::caught) << spoiler;
    }
    Instance i;
    i.isa = host_isa();
    i.dtypes = "f32";
    i.fault = spoilers_of("wrong-index: store to y").at(0);
    Kernel of_an_index(op_of("relu"), i);
    EXPECT_THROW(of_an_index.load(), Error) << "an index is no number";
}

// So is one in the place of a value that isn't stored.
TEST(Mutants, SpoiledStoresAreFound) {
    for (const char *fault : {"missing-init: store to total", "missing-store: store to y"}) {
        for (auto &spoiler : spoilers_of(fault)) {
            MutantOptions o = options({"softmax"}, 0, {"softmax/wide " + spoiler});
            o.until_caught = true;
            EXPECT_EQ(try_mutants(o).at(0).status, Mutant::caught) << spoiler;
        }
    }
}

TEST(Mutants, StopAtTheFirstCheckOnRequest) {
    MutantOptions o = options({"relu"}, 0, {"relu missing-store: store to y"});
    EXPECT_GT(try_mutants(o).at(0).caught_by.size(), 1u);
    o.until_caught = true;
    const Mutant m = try_mutants(o).at(0);
    EXPECT_EQ(m.status, Mutant::caught) << m.output;
    EXPECT_EQ(m.caught_by, std::vector<std::string>{"views"});
}

TEST(Mutants, AreDrawnFromAllOps) {
    MutantOptions o = options({"relu", "abs", "sqrt"}, 0);
    o.until_caught = true;
    o.in_all = 4;
    const std::vector<Mutant> all = try_mutants(o);
    std::set<std::string> ops;
    for (auto &m : all)
        ops.insert(m.op);
    EXPECT_EQ(all.size(), 4u);
    EXPECT_EQ(ops.size(), 3u);
}

// A program is made for one call, so the fault is in that call's program.
TEST(Mutants, ProgramsGetFaults) {
    MutantOptions o = options({"relu"}, 1);
    o.everywhere = o.programs = true;
    const Mutant m = try_mutants(o).at(0);
    EXPECT_TRUE(m.place.ends_with("/ascend")) << m.text();
    o.only = {m.text()};
    EXPECT_EQ(try_mutants(o).at(0).text(), m.text());
    o.only = {"relu f32/ascend missing-step: data_move in 'd0=1 d1=1 d2=31'"};
    EXPECT_EQ(try_mutants(o).at(0).status, Mutant::caught);
}

// The checks that measure themselves by faults find nothing in the right kernel.
TEST(Mutants, ARightKernelPasses) {
    const std::string kernel = std::string("softmax/short bf16/") + name_of(host_isa());
    const Mutant m = tried("softmax", kernel + " " + no_fault);
    EXPECT_EQ(m.status, Mutant::survived) << m.output;
}

TEST(Mutants, RejectAnInapplicableFault) {
    const Mutant m = tried("relu", "relu missing-init: store to total");
    EXPECT_EQ(m.status, Mutant::refused);
    EXPECT_NE(m.output.find("no place for the fault 'missing-init: store to total'"),
              std::string::npos)
        << m.output;
    EXPECT_THROW(try_mutants(options({"relu"}, 1, {"rely missing-init: store to total"})),
                 AttrError);
}

std::vector<std::string> faults_in(const std::string &op, Isa isa, const std::string &dtypes,
                                   const std::string &variant = "") {
    Instance i;
    i.isa = isa;
    i.dtypes = dtypes;
    i.variant = variant;
    Kernel k(op_of(op), i);
    return faults_of(k);
}

TEST(Faults, HaveStableNames) {
    const auto listed = [] { return faults_in("softmax", host_isa(), "f32", "wide"); };
    const std::vector<std::string> once = listed();
    EXPECT_EQ(once, listed());
    std::set<std::string> kinds;
    for (auto &k : fault_kinds())
        kinds.insert(k.name);
    for (auto &f : once)
        EXPECT_TRUE(kinds.count(kind_of(f))) << f;
    EXPECT_EQ(std::set<std::string>(once.begin(), once.end()).size(), once.size());
}

// The rows of whole vectors have a branch for incomplete ones, which never runs.
TEST(Faults, AreNotPlantedWhereNoCallGoes) {
    const std::vector<std::string> faults = faults_in("sparse_softmax_cross_entropy_dlogits",
                                                      host_isa(), "f64", "short");
    EXPECT_TRUE(has(faults, "missing-init: store to total"));
    EXPECT_FALSE(has(faults, "missing-init: store to total #2"));
}

// A block of whole rows isn't filled by the few rows for which a short row is wide.
TEST(Faults, AreNotPlantedIntoBlocksThatNoCallFills) {
    const std::vector<std::string> faults = faults_in("softmax_cross_entropy_dlogits", Isa::avx2,
                                                      "f64", "wide");
    EXPECT_TRUE(has(faults, "wrong-start: store to weight_intm"));
    EXPECT_FALSE(has(faults, "wrong-start: store to weight_intm #11"));
}

TEST(Faults, OfAnAbsoluteDifferencesOrderAreNone) {
    EXPECT_FALSE(has(faults_in("logaddexp", Isa::baseline, "f64"), "swapped-operands: - in y"));
}

// A further block of rows is an empty sum, and adds 0.
TEST(Faults, OfAnotherTurnThatAddsNothingAreNone) {
    const std::vector<std::string> faults = faults_in("batch_norm_add_relu_planes_dx", Isa::avx2,
                                                      "f32,f32");
    EXPECT_TRUE(has(faults, "reduction-bounds: loop sums_intm.s1.r ends early"));
    EXPECT_FALSE(has(faults, "reduction-bounds: loop sums_intm.s1.r ends late"));
}

// The blocks of runs that are left end where the rows do. Many other facts hold there, too.
TEST(Faults, OfAFurtherBlockOfRunsAreNone) {
    const std::vector<std::string> faults = faults_in("reduce_l2", Isa::avx2, "f32", "rows");
    const std::string loop = "reduction-bounds: loop runs_of_runs_of_runs.s1.r$x ";
    EXPECT_TRUE(has(faults, loop + "ends late"));
    EXPECT_TRUE(has(faults, loop + "ends early #2"));
    EXPECT_FALSE(has(faults, loop + "ends late #2"));
}

// Of the blocks beyond those that are whole, only the first has rows.
TEST(Faults, OfTheOrderOfTurnsNeedTwoThatStore) {
    const std::vector<std::string> faults = faults_in("log_softmax", host_isa(), "f32", "wide");
    EXPECT_TRUE(has(faults, "racy-parallel: loop y.s0.n.row.block"));
    EXPECT_FALSE(has(faults, "racy-parallel: loop y.s0.n.row.block.rebased"));
}

// A logarithm asks for numbers below 0 only where its argument isn't 0.
TEST(Faults, OfEqualNumbersNeedTheirResult) {
    const std::vector<std::string> faults = faults_in("log10", Isa::avx2, "f32");
    EXPECT_TRUE(has(faults, "wrong-comparison: < in y"));
    EXPECT_FALSE(has(faults, "wrong-comparison: < in y #3"));
}

// The size of a local map is Halide's.
TEST(Faults, OfTheSizesOfBuffersAreNone) {
    EXPECT_FALSE(has(faults_in("conv2d_bias_clamp", Isa::avx512, "f32", "depthwise_s2"),
                     "wrong-pad: constant in y"));
}

// Random numbers beyond the last element are not stored.
TEST(Faults, OfNumbersAheadAreNone) {
    const std::vector<std::string> faults = faults_in("uniform_kernel", Isa::baseline, "f64");
    for (const char *guard : {"guard in y", "guard in y #2", "guard in y #3", "guard in y #4"})
        EXPECT_FALSE(has(faults, std::string("lost-guard: ") + guard)) << guard;
    EXPECT_TRUE(has(faults, "missing-store: store to y"));
}

// LLVM loads from local arrays without the mask. The store behind it has its own.
TEST(Faults, OfMasksOfLocalArraysAreNone) {
    const std::vector<std::string> faults = faults_in("randint_kernel", Isa::baseline, "i64");
    const auto comparisons = std::ranges::count_if(
        faults, [](const std::string &f) { return f.starts_with("wrong-comparison: <="); });
    EXPECT_FALSE(has(faults, "wrong-comparison: <= in y #3"));
    EXPECT_GT(comparisons, 0);
}

// What remains of a row after vectors of two is one element.
TEST(Faults, OfStridesNeedASecondLane) {
    const auto has_strides = [](const std::string &dtypes, int number) {
        return has(faults_in("log2", Isa::baseline, dtypes),
                   "swapped-stride: x.stride.0 in y #" + std::to_string(number));
    };
    EXPECT_TRUE(has_strides("f32", 4));
    EXPECT_TRUE(has_strides("f64", 3));
    EXPECT_FALSE(has_strides("f64", 4));
}

// An f16 has 10 bits of mantissa, and the least of some has no more.
TEST(Faults, PrecisionIsOnlyLostWhereThereIsSome) {
    const auto loses_precision = [](const std::string &dtypes) {
        Instance i;
        i.isa = host_isa();
        i.dtypes = dtypes;
        i.variant = "columns";
        Kernel k(op_of("argmin"), i);
        const std::vector<std::string> faults = faults_of(k);
        return std::ranges::any_of(faults, [](const std::string &f) {
            return f.starts_with("lost-precision: store to best.0");
        });
    };
    EXPECT_TRUE(loses_precision("f32"));
    EXPECT_FALSE(loses_precision("f16"));
}

TEST(Survivors, MayBeOfAnyNumber) {
    const std::map<std::string, std::string> known = {
        {"relu dropped-tail: loop y #2", "two"},
        {"relu/x wrong-pad: constant in y #*", "any"},
        {"relu wrong-rounding: vec_conv in *", "in any call"}};
    const auto reason = [&](const std::string &variant, const std::string &fault,
                            const std::string &place = "") {
        Mutant m;
        m.op = "relu";
        m.variant = variant;
        m.fault = fault;
        m.place = place;
        const std::string *found = reason_for(known, m);
        return found ? *found : "";
    };
    EXPECT_EQ(reason("", "dropped-tail: loop y #2"), "two");
    EXPECT_EQ(reason("", "dropped-tail: loop y #2", "f16/avx2"), "two");
    EXPECT_EQ(reason("x", "wrong-pad: constant in y #17"), "any");
    EXPECT_EQ(reason("x", "wrong-pad: constant in y", "bf16/avx2"), "any");
    EXPECT_EQ(reason("", "wrong-rounding: vec_conv in 'd0=3'", "f32/ascend"), "in any call");
    EXPECT_EQ(reason("", "wrong-rounding: vec_conv #2 in 'd0=3'", "f32/ascend"), "");
    EXPECT_EQ(reason("", "dropped-tail: loop y #3"), "");
    EXPECT_EQ(reason("", "dropped-tail: loop y"), "");
}

TEST(Survivors, RejectAnInvalidLine) {
    const std::string path = testing::TempDir() + "survivors.txt";
    std::ofstream(path) << "# comment\nrelu/x dropped-tail: loop y -- it has none\n\n";
    EXPECT_EQ(read_survivors(path),
              (std::map<std::string, std::string>{{"relu/x dropped-tail: loop y", "it has none"}}));
    std::ofstream(path) << "relu dropped-tail\n";
    EXPECT_THROW(read_survivors(path), IoError);
    EXPECT_THROW(read_survivors(path + ".none"), IoError);
}

}  // namespace
}  // namespace halyard::check

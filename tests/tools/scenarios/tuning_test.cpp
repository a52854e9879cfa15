// Tests tuning records as text, what makes one stale, and child processes that don't return.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include "kernels/rowwise/rows.h"
#include "registry/base/version.h"
#include "tools/tune/algorithm.h"
#include "tools/tune/compiler.h"
#include "tools/tune/decision.h"
#include "tools/tune/history.h"
#include "tools/tune/stale.h"

namespace halyard::tune {
namespace {
namespace fs = std::filesystem;

Record sample(const std::string &op = "softmax") {
    Record r;
    r.op = op;
    r.algorithm = "0123456789abcdef";
    r.code = "fedcba9876543210";
    r.against = "aaaabbbbccccdddd";
    r.variant = "wide";
    r.tunables = {{"rows", 4}, {"cols", 2}};
    r.dtypes = "f32";
    r.isa = "baseline";
    r.cpu = this_cpu();
    r.threads = 2;
    r.bucket = "n=32 c=64";
    r.problem = "n=33 c=100";
    r.n = 33;
    r.median_us = 12.5;
    r.min_us = 12;
    r.spread = 0.01;
    r.ratio = 0.9;
    r.low = 0.88;
    r.high = 0.93;
    r.noise = 0.01;
    r.verdict = "proved";
    r.kit = version();
    r.date = "2026-11-21T23:50:12Z";
    return r;
}

std::string text_of_file(const std::string &path) {
    std::ifstream in(path);
    std::stringstream text;
    text << in.rdbuf();
    return text.str();
}

class RecordFiles : public testing::Test {
protected:
    void SetUp() override {
        dir = fs::temp_directory_path() / ("halyard_tune_" + std::to_string(getpid()));
        fs::create_directories(dir);
    }
    void TearDown() override { fs::remove_all(dir); }
    std::string file(const std::string &name, const std::vector<std::string> &lines) const {
        std::ofstream out(dir / name);
        for (auto &line : lines)
            out << line << "\n";
        return dir / name;
    }
    fs::path dir;
};

TEST(Record, RoundTripsAsText) {
    Record r = sample();
    r.verdict = "breach: y[3] is \"1\", not C:\\2\nor so";
    r.n = 0;
    r.variant = "";
    std::string why;
    const auto back = parse_record(text_of(r), why);
    ASSERT_TRUE(back) << why;
    EXPECT_EQ(back->verdict, "breach: y[3] is \"1\", not C:\\2 or so");
    EXPECT_EQ(back->variant, "");
    EXPECT_EQ(back->tunables, r.tunables);
    EXPECT_EQ(back->problem, "n=33 c=100");
    EXPECT_EQ(key_of(*back), key_of(r));
    EXPECT_EQ(text_of(*back), text_of(r));
}

TEST(Record, MayNameARenamedVariantAsItWasCalled) {
    Record r = sample("conv2d");
    r.variant = "deep_7";
    std::string why;
    auto back = parse_record(text_of(r), why);
    ASSERT_TRUE(back) << why;
    EXPECT_EQ(back->variant, "winograd_small_maps_7");
    r = sample("matmul");
    r.variant = "packed";  // renamed in conv2d only
    back = parse_record(text_of(r), why);
    ASSERT_TRUE(back) << why;
    EXPECT_EQ(back->variant, "packed");
}

TEST(Record, RefusesWhatIsNone) {
    const std::string good = text_of(sample());
    auto why_not = [](const std::string &line) {
        std::string why;
        EXPECT_FALSE(parse_record(line, why)) << line;
        return why;
    };
    auto edited = [&](const std::string &from, const std::string &to) {
        return std::string(good).replace(good.find(from), from.size(), to);
    };
    EXPECT_EQ(why_not("nonsense"), "isn't made of name=value words, or its end is missing");
    EXPECT_NE(why_not(edited("ratio=0.9", "ratio=0.7")).find("sum is "), std::string::npos);
    EXPECT_EQ(why_not(good.substr(0, good.find(" n=33"))), "ends before n");
    EXPECT_EQ(why_not(good.substr(0, good.find(" sum="))), "doesn't end with sum");
    EXPECT_EQ(why_not(edited("picks=", "pick=")), "word 7 is 'pick', expected picks");
    for (size_t cut = 1; cut < good.size(); cut++)
        why_not(good.substr(0, cut));
    Record r = sample();
    r.low = 0.95;
    EXPECT_EQ(why_not(text_of(r)), "ratio 0.9 isn't within 0.95 to 0.93");
    r = sample();
    r.verdict = "breach: wrong";
    EXPECT_EQ(why_not(text_of(r)), "has 33 timings, and the verdict 'breach: wrong'");
    r = sample();
    r.verdict = "fine";
    EXPECT_EQ(why_not(text_of(r)),
              "verdict is 'fine', expected proved, ok, breach: ... or uncompiled: ...");
}

TEST_F(RecordFiles, SkipInvalidLines) {
    const std::string good = text_of(sample());
    const std::string path = file(
        "a", {"# a comment", good, "garbage", good.substr(0, 40), "", text_of(sample("gelu"))});
    const RecordFile f = read_records(path);
    ASSERT_EQ(f.records.size(), 2u);
    EXPECT_EQ(f.lines, (std::vector<int>{2, 6}));
    ASSERT_EQ(f.refused.size(), 2u);
    EXPECT_EQ(f.refused[0], path + ":3: isn't made of name=value words, or its end is missing");
    EXPECT_TRUE(f.refused[1].starts_with(path + ":4: ")) << f.refused[1];
}

TEST_F(RecordFiles, AppendAfterATruncatedLine) {
    const std::string path = file("a", {text_of(sample())});
    // The line is cut.
    std::ofstream(path, std::ios::app) << text_of(sample("gelu")).substr(0, 50);
    RecordWriter(path).append(sample("relu"));
    const RecordFile f = read_records(path);
    ASSERT_EQ(f.records.size(), 2u);
    EXPECT_EQ(f.records[1].op, "relu");
    EXPECT_EQ(f.refused.size(), 1u);
}

std::string bytes_of(const std::string &path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

// Appends in a child process whose disk is full after `most` bytes.
bool append_fails(const std::string &path, rlim_t most) {
    const pid_t child = fork();
    if (child == 0) {
        std::signal(SIGXFSZ, SIG_IGN);
        const rlimit limit = {most, most};
        setrlimit(RLIMIT_FSIZE, &limit);
        try {
            RecordWriter(path).append(sample("relu"));
        } catch (const IoError &) {
            _exit(1);
        }
        _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 1;
}

TEST_F(RecordFiles, FullDiskLeavesNoPartialRecord) {
    const std::string fresh = (dir / "fresh").string();
    const std::string old = file("old", {text_of(sample())});
    const std::string before = bytes_of(old);
    EXPECT_TRUE(append_fails(fresh, 10));
    EXPECT_FALSE(fs::exists(fresh));
    EXPECT_TRUE(append_fails(old, before.size() + 10));
    EXPECT_EQ(bytes_of(old), before);
    EXPECT_FALSE(append_fails(old, 1 << 20));
    EXPECT_EQ(read_records(old).records.size(), 2u);
}

TEST_F(RecordFiles, MergeInAnyOrder) {
    Record newer = sample(), other = sample("gelu");
    newer.date = "2026-11-22T00:00:00Z";
    newer.ratio = 0.91;
    const RecordFile a = read_records(file("a", {text_of(sample()), text_of(other)}));
    const RecordFile b = read_records(file("b", {text_of(newer)}));
    const auto ab = merged({a, b});
    const auto ba = merged({b, a});
    ASSERT_EQ(ab.size(), 2u);
    ASSERT_EQ(ba.size(), 2u);
    for (size_t k = 0; k < 2; k++)
        EXPECT_EQ(text_of(ab[k]), text_of(ba[k]));
    EXPECT_EQ(ab[0].op, "gelu");
    EXPECT_EQ(ab[1].ratio, 0.91) << "the newest measurement of a thing stays";
}

TEST_F(RecordFiles, DiffListsChanges) {
    Record slower = sample(), same = sample("gelu"), changed = sample("relu");
    slower.median_us = 15;
    changed.algorithm = "1111111111111111";
    const RecordFile a = read_records(
        file("a", {text_of(sample()), text_of(same), text_of(sample("relu"))}));
    const RecordFile b = read_records(
        file("b", {text_of(slower), text_of(same), text_of(changed), text_of(sample("tanh"))}));
    const auto lines = differences(a, b);
    ASSERT_EQ(lines.size(), 3u);
    EXPECT_EQ(lines[0], "relu 'n=33 c=100' f32 wide/baseline cols:2,rows:4, 2 threads: algorithm "
                        "0123456789abcdef -> 1111111111111111");
    EXPECT_EQ(
        lines[1],
        "softmax 'n=33 c=100' f32 wide/baseline cols:2,rows:4, 2 threads: 12.5 -> 15 us (1.2 x)");
    EXPECT_TRUE(lines[2].starts_with("only in " + b.path + ": tanh")) << lines[2];
    EXPECT_TRUE(differences(a, a).empty());
}

// A tuning of one variant uses its records only, and the others are no older for that.
TEST_F(RecordFiles, OfVariantsThatAreNotTunedAreNotStale) {
    Record other_variant = sample(), other_machine = sample(), other_algorithm = sample();
    other_variant.variant = "short";
    other_machine.cpu = "another";
    other_algorithm.algorithm = "0000000000000000";
    History history(file("a", {text_of(sample()), text_of(other_variant), text_of(other_machine),
                               text_of(other_algorithm)}));
    const History::Algorithms algorithms = {{"wide", sample().algorithm}};
    history.note_stale(sample(), algorithms);
    EXPECT_EQ(history.stale(), 1u);
    EXPECT_EQ(history.foreign(), 1u);
    EXPECT_TRUE(history.first_foreign_reason().starts_with("was measured on another"));
    const std::vector<const Record *> known = history.known(sample(), algorithms);
    ASSERT_EQ(known.size(), 1u);
    EXPECT_EQ(key_of(*known[0]), key_of(sample()));

    Record newer = sample();
    newer.date = "2026-11-22T00:00:00Z";
    history.put(newer);
    EXPECT_EQ(history.find(sample())->date, newer.date);
    EXPECT_EQ(history.foreign(), 1u);
    EXPECT_EQ(history.known(sample(), algorithms).size(), 1u);
}

TEST(Decision, UsesOnlyValidRecords) {
    Record good = sample(), quick = sample(), stale = sample(), foreigner = sample(),
           kit = sample(), breach = sample(), level = sample();
    quick.n = 11;
    quick.ratio = 0.5;
    quick.low = 0.4;
    stale.algorithm = "1111111111111111";
    stale.ratio = stale.low = 0.1;
    foreigner.cpu = "another";
    kit.kit = "0.0.1";
    breach.verdict = "breach: wrong";
    breach.n = 0;
    level.isa = "avx512";
    const std::vector<Record> records = {quick, stale, foreigner, kit, breach, good, level};
    Question q{"softmax", "f32", "baseline", "n=32 c=64", 2, {{"wide", good.algorithm}}};
    const Decision d = decide(records, q);
    EXPECT_EQ(d.best, &records[5]);
    EXPECT_EQ(d.usable.size(), 2u);
    ASSERT_EQ(d.refused.size(), 4u);
    EXPECT_EQ(d.refused[0].second,
              "stale: of algorithm 1111111111111111, it is 0123456789abcdef now");
    EXPECT_EQ(d.refused[1].second, "was measured on another, this is " + this_cpu());
    EXPECT_EQ(d.refused[2].second,
              "was measured with kit 0.0.1, this is " + std::string(version()));
    EXPECT_EQ(d.refused[3].second, "breach: wrong");
    q.against = "1111111111111111";
    EXPECT_EQ(decide(records, q).best, nullptr) << "it was timed beside another default";
    q.against = "";
    q.bucket = "n=64 c=64";
    EXPECT_EQ(decide(records, q).best, nullptr);
}

TEST(Conclusions, NeedProofAndAnIdleCore) {
    Record fastest = sample(), second = sample(), slow = sample();
    fastest.schedule = "adams2019";
    fastest.verdict = "ok";
    fastest.ratio = 0.477;
    fastest.low = 0.4;
    fastest.high = 0.5;
    second.tunables = {{"rows", 32}};
    second.ratio = 0.8;
    second.low = 0.79;
    second.high = 0.81;
    slow.ratio = 1.1;
    slow.low = 1;
    slow.high = 1.2;
    const std::string winner = tune::kernel_text(second) +
                               " takes 0.800 of the default's time, beyond doubt";
    const std::string loser = tune::kernel_text(fastest) +
                              " took 0.477 of the default's time, but is not proved: it can't win";
    const std::vector<Record> all = {fastest, second, slow};
    EXPECT_EQ(conclusions(all, {key_of(fastest)}, true), (std::vector{loser, winner}));
    EXPECT_EQ(conclusions({fastest, slow}, {key_of(fastest)}, true),
              (std::vector<std::string>{loser, "nothing is faster than the default beyond doubt"}));
    EXPECT_EQ(conclusions({second, slow}, {}, false),
              std::vector{"cannot tell whether " + tune::kernel_text(second) +
                          " is faster, at 0.800 of the default's time: no idle core"});
    second.n = 11;
    EXPECT_NE(conclusions({second}, {}, true)[0].find("it was not measured again"),
              std::string::npos);
    EXPECT_FALSE(fastest.decides()) << "nobody proved it";
    EXPECT_TRUE(sample().decides());
}

TEST_F(RecordFiles, KeepTheirLinesIfTheDiskIsFull) {
    const std::string path = file("full", {text_of(sample())});
    const std::string before = text_of_file(path);
    const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
    rlimit old_limit{};
    getrlimit(RLIMIT_FSIZE, &old_limit);
    rlimit limit = old_limit;
    limit.rlim_cur = before.size() + 10;
    setrlimit(RLIMIT_FSIZE, &limit);
    {
        RecordWriter writer(path);
        EXPECT_THROW(writer.append(sample()), IoError);
        EXPECT_EQ(text_of_file(path), before);
    }
    limit.rlim_cur = 0;
    setrlimit(RLIMIT_FSIZE, &limit);
    const std::string fresh = path + "_new";
    {
        RecordWriter writer(fresh);
        EXPECT_THROW(writer.append(sample()), IoError);
    }
    EXPECT_FALSE(std::filesystem::exists(fresh));
    setrlimit(RLIMIT_FSIZE, &old_limit);
    std::signal(SIGXFSZ, old_handler);
}

// y = x * (2 + factor), after a sum that nothing changes; every part of it can be edited.
struct Edit {
    double constant = 2;
    bool other_names = false, other_schedule = false, other_formula = false;
} edit;

struct Probe : Op {
    explicit Probe(const std::string &name = "tune_probe") : Op(name, "x[..n,c] -> y[..n,c]") {
        dtypes = {"f32"};
        contract = {Contract::normwise, 4};
        samples = {"n=3 c=40"};
    }
    Func x = input("x");
    Func y = output("y");
    Func total{edit.other_names ? "sum" : "total"};
    Var c{edit.other_names ? "across" : "c"};
    Var n{"n"};
    RDom k;
    void algorithm() override {
        k = edit.other_names ? RDom(0, size("c"), "along") : RDom(0, size("c"));
        total(n) += x(k, n);
        y(c, n) = edit.other_formula ? x(c, n) - math::number(edit.constant) * total(n)
                                     : x(c, n) + math::number(edit.constant) * total(n);
    }
    void schedule(const Cpu &cpu) override {
        total.compute_root();
        if (edit.other_schedule)
            y.vectorize(c, cpu.lanes, Tail::GuardWithIf).parallel(n);
        else
            y.vectorize(c, cpu.pick("v", {4, 8}), Tail::GuardWithIf);
    }
    void reference(Problem &) const override {}
};

TEST_F(RecordFiles, AreStaleOnlyIfTheAlgorithmChanged) {
    op_table().add<Probe>();
    edit = {};
    Record r = sample("tune_probe");
    Instance i;
    r.variant = "";
    r.algorithm = algorithm_of("tune_probe", i);
    const RecordFile f = read_records(file("a", {text_of(sample("no_such_op")), text_of(r)}));
    EXPECT_TRUE(stale_lines(f, "tune_probe").empty());
    EXPECT_EQ(stale_lines(f),
              std::vector{f.path + ":1: stale: there is no op no_such_op any more"});
    edit.other_schedule = true;
    EXPECT_TRUE(stale_lines(f, "tune_probe").empty()) << "a schedule is no algorithm";
    edit.other_names = true;
    EXPECT_TRUE(stale_lines(f, "tune_probe").empty()) << "nor are names";
    edit = {};
    edit.constant = 2 + 1e-6;
    ASSERT_EQ(stale_lines(f, "tune_probe").size(), 1u)
        << "a digit of a constant that Halide doesn't print is";
    edit = {};
    edit.other_formula = true;
    const auto lines = stale_lines(f, "tune_probe");
    ASSERT_EQ(lines.size(), 1u);
    EXPECT_EQ(lines[0],
              f.path + ":2: stale: tune_probe f32 /baseline was measured when its algorithm was " +
                  r.algorithm + ", it is " + algorithm_of("tune_probe", i) + " now");
    edit = {};
}

TEST(Algorithm, HashDependsOnDtypesAndNotOnEarlierBuilds) {
    Instance i, half;
    half.dtypes = "f64";
    const std::string first = algorithm_of(std::make_unique<Probe>(), i);
    for (int k = 0; k < 12; k++)
        Kernel(std::make_unique<Probe>(), i);
    EXPECT_EQ(algorithm_of(std::make_unique<Probe>(), i), first);
    EXPECT_NE(algorithm_of(std::make_unique<Probe>(), half), first);
}

struct Endless : Probe {
    Endless() : Probe("tune_endless") {}
    void schedule(const Cpu &) override {
        for (volatile bool on = true; on;) {
        }
    }
};
struct Aborts : Probe {
    Aborts() : Probe("tune_aborts") {}
    void schedule(const Cpu &) override {
        std::fprintf(stderr, "Assertion `it went well' failed\n");
        std::abort();
    }
};

TEST(Compiler, SurvivesCrashes) {
    edit = {};
    op_table().add<Endless>();
    op_table().add<Aborts>();
    op_table().add<Probe>(std::string("tune_well"));
    Compiler compiler;
    Job job;
    job.op = "tune_endless";
    job.seconds = 0.3;
    EXPECT_EQ(compiler.offers(job).error, "the code generator took more than 0.3 s");
    job.seconds = 60;
    job.op = "tune_aborts";
    EXPECT_EQ(compiler.build(job).error,
              "the code generator died (signal 6, Aborted): Assertion `it went well' failed");
    job.op = "tune_well";
    job.autoscheduler = "none2026";
    EXPECT_TRUE(compiler.build(job).error.starts_with("[none2026] no such plugin"))
        << compiler.build(job).error;
    job.autoscheduler = "";
    const Built built = compiler.build(job);
    ASSERT_EQ(built.error, "");
    EXPECT_EQ(built.offered, (std::map<std::string, std::vector<int>>{{"v", {4, 8}}}));
    EXPECT_EQ(built.tunables, (std::map<std::string, int>{{"v", 4}}));
    EXPECT_NE(load(built), nullptr);
    EXPECT_EQ(compiler.build(job).code, built.code)
        << "names don't depend on what was built before";
    job.tunables = {{"v", 8}};
    EXPECT_NE(compiler.build(job).code, built.code);
    EXPECT_EQ(compiler.build(job).algorithm, built.algorithm);
}

}  // namespace
}  // namespace halyard::tune

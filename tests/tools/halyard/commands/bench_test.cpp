// Tests `halyard bench`: its answers, its errors, its files. Times on a busy machine are noise, so
// only answers that noise can't change are tested.
#include <sched.h>

#include <atomic>
#include <nlohmann/json.hpp>
#include <regex>
#include <thread>

#include "registry/dispatch/device.h"
#include "tests/tools/command.h"

namespace halyard {
namespace {

struct Bench : Command {
    nlohmann::json benchmarks(const std::string &args) {
        const Result r = halyard("bench " + args + " --threads 1 --json runs.json");
        EXPECT_EQ(r.status, 0) << r.err << r.out;
        return nlohmann::json::parse(text_of(dir / "runs.json"));
    }
    // Returns the selected kernel's best time in ns.
    double fastest(const std::string &args) {
        double best = INFINITY;
        const auto file = benchmarks(args);
        for (auto &run : file.at("benchmarks"))
            if (run.at("chosen") == 1) best = std::min(best, run.at("real_time").get<double>());
        return best;
    }
    bool answers(const std::string &labels, const std::string &answer) {
        const Result r = halyard(
            "bench softmax --shape \"n=16 c=1000\" --threads 1 --min-time 0.001 --compare " +
            labels);
        EXPECT_EQ(r.status, 0) << r.err;
        // Other tests may run.
        return r.out.find(answer) != std::string::npos ||
               r.out.find(": cannot tell: no idle core;") != std::string::npos;
    }
};

TEST_F(Bench, TimesCudaKernelsByAModel) {
    const Result r = halyard("bench relu --device cuda --model h100 --shape \"d0=1 d1=1 d2=4096\"");
    EXPECT_EQ(r.status, 0) << r.err;
    EXPECT_NE(r.out.find("relu f32, H100 SXM"), std::string::npos) << r.out;
    EXPECT_NE(r.out.find("\nd0=1 d1=1 d2=4096 "), std::string::npos) << r.out;
    EXPECT_NE(r.out.find("no GPU was measured"), std::string::npos) << r.out;
    expect_rejected("bench relu --device cuda --model h100 --threads 1",
                    "[bench] --threads does nothing with --model");
    setenv("HALYARD_CUDA_DRIVER", "libhalyard_cuda_model.so", 1);
    expect_rejected("bench relu --device cuda", "[bench] the CUDA driver is the PTX machine");
    unsetenv("HALYARD_CUDA_DRIVER");
    expect_rejected("bench relu --device cuda --model b200",
                    "[gpu] no profile 'b200'; known: a6000, a100, h100");
    expect_rejected("bench relu --model h100",
                    "[bench] --model does nothing without --device cuda");
}

TEST_F(Bench, TimesEachVariantOfAGpuByAModel) {
    const std::string matmul = "bench matmul --device cuda --model h100 --shape ";
    const Result both = halyard(matmul + "\"g=1 m=1024 k=1 n=512\"");
    EXPECT_EQ(both.status, 0) << both.err;
    EXPECT_NE(both.out.find("\nthread_tiles: g=1 m=1024 k=1 n=512 "), std::string::npos)
        << both.out;
    EXPECT_NE(both.out.find("\nthread_sums: g=1 m=1024 k=1 n=512 "), std::string::npos) << both.out;
    const Result small = halyard(matmul + "\"g=1 m=3 k=2 n=5\"");
    EXPECT_TRUE(
        std::regex_search(small.out, std::regex("\nthread_tiles: g=1 m=3 k=2 n=5 +refused\n")))
        << small.out;
    const Result one = halyard(matmul + "\"g=1 m=3 k=2 n=5\" --variant thread_sums");
    EXPECT_EQ(one.out.find("thread_tiles"), std::string::npos) << one.out;
    expect_rejected(matmul + "\"g=1 m=3 k=2 n=5\" --variant thread_tiles",
                    "[matmul] no kernel takes this call");
    expect_rejected(matmul + "\"g=1 m=3 k=2 n=5\" --variant direct",
                    "[matmul] no variant 'direct' on cuda, there are thread_tiles, "
                    "thread_tiles_of_parts, thread_sums");
}

TEST_F(Bench, TimesEachVariantOfAGpu) {
    if (opencl_devices() == 0) GTEST_SKIP() << "no OpenCL device";
    const std::string matmul = "bench matmul --device opencl --shape \"g=1 m=1024 k=1 n=512\" "
                               "--isa baseline --rounds 1 --min-time 0.0005";
    const Result all = halyard(matmul);
    for (const char *label : {" thread_tiles/opencl ", " thread_sums/opencl ", " any/baseline "})
        EXPECT_NE(all.out.find(label), std::string::npos) << all.out << all.err;
    const Result one = halyard(matmul + " --variant thread_sums");
    EXPECT_NE(one.out.find(" thread_sums/opencl "), std::string::npos) << one.out << one.err;
    EXPECT_EQ(one.out.find(" any/baseline "), std::string::npos) << one.out;
}

TEST_F(Bench, TimesTheKernelOfAGpuBesideTheCpus) {
    if (opencl_devices() == 0) GTEST_SKIP() << "no OpenCL device";
    const auto file = benchmarks("relu --device opencl --shape \"d0=1 d1=1 d2=4096\" --rounds 8 "
                                 "--min-time 0.0005");
    int runs = 0;
    for (auto &run : file.at("benchmarks")) {
        if (run.at("name").get<std::string>().find("opencl") == std::string::npos) continue;
        runs++;
        EXPECT_FALSE(run.contains("roof_share")) << "this machine's roofs are the CPU's";
    }
    EXPECT_GE(runs, 8);
    expect_rejected("bench relu --device opencl --cold",
                    "[bench] --cold does nothing with --device opencl");
}

// The file has the fields that Google Benchmark's compare.py reads, and ours.
TEST_F(Bench, WritesFilesThatCompareReads) {
    const auto file = benchmarks("softmax --shape \"n=16 c=64\" --rounds 8 --min-time 0.0005");
    for (const char *key : {"date", "num_cpus", "caches", "load_avg", "cpu", "isa", "command",
                            "cpu_pressure", "busy_cores"})
        EXPECT_TRUE(file.at("context").contains(key)) << key;
    const auto &runs = file.at("benchmarks");
    std::map<std::string, int> times;
    for (auto &run : runs) {
        times[run.at("name")]++;
        EXPECT_EQ(run.at("run_name"), run.at("name"));
        EXPECT_EQ(run.at("run_type"), "iteration");
        EXPECT_EQ(run.at("repetitions"), 8);
        EXPECT_GT(run.at("real_time").get<double>(), 0);
        EXPECT_GT(run.at("cpu_time").get<double>(), 0);
        EXPECT_EQ(run.at("time_unit"), "ns");
        EXPECT_GE(run.at("family_index").get<int>(), 0);
        EXPECT_LT(run.at("repetition_index").get<int>(), 8);
        EXPECT_EQ(run.at("threads_used"), 1);
        EXPECT_TRUE(run.contains("chosen") && run.contains("peer") && run.contains("switches"));
        EXPECT_EQ(run.at("label").get<std::string>().find(
                      "halyard bench softmax --shape \"n=16 c=64\" --isa all --threads 1"),
                  0u)
            << run.at("label");
        if (run.at("peer") == 0) {
            EXPECT_LT(run.at("error").get<double>(), 1e-6);
        }
        if (run.at("chosen") == 1)
            EXPECT_FALSE(run.contains("ratio"));
        else
            EXPECT_LE(run.at("ratio_low").get<double>(), run.at("ratio_high").get<double>());
    }
    int kernels = 0;
    for (auto &[name, rounds] : times) {
        EXPECT_EQ(rounds, 8) << name;
        EXPECT_TRUE(name.ends_with("/threads:1")) << name;
        kernels += name.starts_with("softmax/n=16,c=64/f32/wide/") ||
                   name.starts_with("softmax/n=16,c=64/f32/short/");
    }
    EXPECT_GE(kernels, 2);
}

TEST_F(Bench, ReportsTheFaster) {
    int alike = 0;  // One of a hundred such answers is wrong.
    for (int k = 0; k < 3; k++)
        alike += answers("chosen chosen", ": cannot tell");
    EXPECT_GE(alike, 2);
    EXPECT_TRUE(answers("chosen+400% chosen", ": slower by"));
    EXPECT_TRUE(answers("chosen chosen+400%", ": faster by"));
}

TEST_F(Bench, RejectsImpossibleComparisons) {
    const std::string bench = "bench softmax --shape \"n=16 c=64\" --threads 1 ";
    expect_rejected(bench + "--compare chosen none/avx2",
                    "[softmax] nothing to time is called 'none/avx2' here");
    expect_rejected(bench + "--compare chosen chosen+x%",
                    "'chosen+x%' ends in no share such as +5%");
    EXPECT_EQ(halyard(bench + "--compare chosen").status, 2);
    EXPECT_EQ(halyard("bench").status, 2);
    EXPECT_EQ(halyard("bench --shape \"n=1 c=1\" --shapes lenet5").status, 2);
}

TEST_F(Bench, RunsShapeSets) {
    const Result r = halyard(
        "bench softmax --shapes lenet5 --rounds 2 --min-time 0.0005 --threads 1");
    ASSERT_EQ(r.status, 0) << r.err;
    EXPECT_NE(r.out.find("\nsoftmax n=32 c=10 f32  # probabilities\n"), std::string::npos) << r.out;
    write("mine.txt", "relu d0=1 d1=1 d2=17\nsoftmax n=2 c=3\n");
    const Result all = halyard("bench --shapes mine.txt --rounds 2 --min-time 0.0005 --threads 1");
    ASSERT_EQ(all.status, 0) << all.err;
    EXPECT_NE(all.out.find("\nrelu d0=1 d1=1 d2=17 f32\n"), std::string::npos) << all.out;
    EXPECT_NE(all.out.find("\nsoftmax n=2 c=3 f32\n"), std::string::npos) << all.out;
    expect_rejected("bench --shapes residual", "there are bert, bert-base, classic,");
    expect_rejected("bench matmul --shapes mine.txt", "[mine.txt] has no problems of matmul");
}

TEST_F(Bench, DrawsAndTimesASample) {
    const Result r = halyard("bench --sample 3 --seed 5 --max-mops 2 --max-mb 4 --rounds 2 "
                             "--min-time 0.0005 --threads 1,2 --out sample.md --json sample.json");
    ASSERT_EQ(r.status, 0) << r.err << r.out;
    const std::string page = text_of(dir / "sample.md");
    for (const char *part :
         {"# Sample 5: ", "3 problems of seed 5, each with 1 and 2 threads", "## Regrets\n",
          "| kind | threads | problems | median |", "## Slowest beside the fastest peer\n"})
        EXPECT_NE(page.find(part), std::string::npos) << part << "\n" << page;
    EXPECT_NE(r.out.find("  3/3 "), std::string::npos) << r.out;
    EXPECT_FALSE(nlohmann::json::parse(text_of(dir / "sample.json")).at("benchmarks").empty());
}

TEST_F(Bench, ListsASampleAsAShapeSet) {
    const Result all = halyard("bench --sample 12 --seed 9 --max-mops 1 --max-mb 1 --list");
    ASSERT_EQ(all.status, 0) << all.err;
    const Result again = halyard("bench --sample 5 --seed 9 --max-mops 1 --max-mb 1 --list");
    EXPECT_EQ(all.out.find(again.out), 0u) << all.out << again.out;
    const Result other = halyard("bench --sample 12 --seed 10 --max-mops 1 --max-mb 1 --list");
    EXPECT_NE(all.out, other.out);
    write("sample.txt", halyard("bench softmax --sample 1 --seed 9 --max-mops 1 --list").out);
    const Result timed = halyard(
        "bench --shapes sample.txt --rounds 2 --min-time 0.0005 --threads 1");
    EXPECT_EQ(timed.status, 0) << timed.err;
    expect_rejected("bench --sample 2 --shapes lenet5", "--shapes does nothing with --sample");
    expect_rejected("bench softmax --seed 3", "--seed does nothing without --sample");
    expect_rejected("bench adam_ --sample 2", "--sample: no network has a layer of adam_");
    expect_rejected("bench softmax --sample 2 --dtype i8", "[softmax] no kernels for i8");
}

TEST_F(Bench, SummarisesASuite) {
    write("mine.txt", "[fast things] ratio=1.5 roof=0.01 dtype=f32\nis_inf d0=1 d1=1 d2=1000\nvar "
                      "d0=2 d1=3 d2=40 axis=2  # no kernel of its own\n\n[others]\nnothing n=1\n");
    const std::string options = " --rounds 2 --min-time 0.0005 --threads 1 --out results.md";
    const Result r = halyard("bench --suite mine.txt" + options);
    ASSERT_EQ(r.status, 0) << r.err;
    EXPECT_NE(r.out.find("\n| fast things | 1.5 x, 1 % | 1 |  |  | "), std::string::npos) << r.out;
    EXPECT_NE(r.out.find(" % | no peer |\n"), std::string::npos) << r.out;
    EXPECT_NE(r.out.find("missing: [nothing] "), std::string::npos) << r.out;
    EXPECT_NE(r.out.find("| others |  | 1 |  |  |  | not timed |\n"), std::string::npos) << r.out;
    const std::string results = text_of(dir / "results.md");
    EXPECT_NE(results.find("### fast things, f32"), std::string::npos) << results;
    EXPECT_NE(results.find("| var d0=2 d1=3 d2=40 axis=2 | 1 | "), std::string::npos) << results;
    const Result one = halyard("bench --suite mine.txt --group fast" + options);
    EXPECT_EQ(one.out.find("| others "), std::string::npos) << one.out;
    expect_rejected("bench --suite gpu", "[gpu] no such file, and no such suite; there are cpu");
    for (auto &[text, message] : std::map<std::string, std::string>{
             {"is_inf d0=1\n", "line 1: a problem before the first [group]"},
             {"\n[a\n", "line 2: no ']' after the group's title"},
             {"[a] speed=2\n", "line 1: a group has ratio, roof and dtype, no 'speed'"},
             {"[a] ratio=fast\n", "line 1: 'fast' is no positive number"}}) {
        write("wrong.txt", text);
        expect_rejected("bench --suite wrong.txt", message);
    }
}

// The second-level cache holds 256 KiB; from memory they take several times as long.
TEST_F(Bench, ColdCallsReadFromMemory) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "the kernel's checks take longer than memory does";
#endif
    const std::string args = "relu --shape \"d0=1 d1=1 d2=32768\" --rounds 8 --min-time 0.003";
    EXPECT_GT(fastest(args + " --cold"), 1.5 * fastest(args));
}

TEST_F(Bench, WarnsOfContention) {
    cpu_set_t allowed, one;
    sched_getaffinity(0, sizeof allowed, &allowed);
    int core = 0;
    while (!CPU_ISSET(core, &allowed))
        core++;
    std::atomic<bool> done = false;
    std::thread neighbour([&] {
        CPU_ZERO(&one);
        CPU_SET(core, &one);
        sched_setaffinity(0, sizeof one, &one);
        while (!done) {
        }
    });
    const std::string number = std::to_string(core);
    const Result r = halyard(
        "bench relu --shape \"d0=1 d1=1 d2=17\" --rounds 8 --threads 1 --wait-quiet 0.2",
        "taskset -c " + number);
    done = true;
    neighbour.join();
    ASSERT_EQ(r.status, 0) << r.err;
    EXPECT_NE(r.out.find("s in vain"), std::string::npos) << r.out;
    EXPECT_NE(r.out.find("warning: other processes keep core " + number), std::string::npos)
        << r.out;
    EXPECT_NE(r.out.find("noisy rounds: "), std::string::npos) << r.out;
}

// A framework is a process that answers lines: here a shell script in which every op is a copy.
TEST_F(Bench, RunsFrameworksInChildProcesses) {
    write("python", R"sh(#!/bin/sh
case "$2" in mindspore) echo '{"refused":"No module named mindspore"}'; exit;; esac
echo '{"name":"Copier 1.0"}'
while read -r line; do
    case "$line" in
        *seconds*) echo '{"seconds":0.5}';;
        *) printf '{"out":["%s"]}\n' "$(printf %s "$line" | sed 's/.*"file":"\([^"]*\)".*/\1/')";;
    esac
done
)sh");
    fs::permissions(dir / "python", fs::perms::owner_all);
    const std::string options = " --rounds 8 --threads 1 --shape \"d0=1 d1=1 d2=17\" --peers "
                                "pytorch,mindspore --python ./python --json runs.json";
    const Result r = halyard("bench copy" + options);
    ASSERT_EQ(r.status, 0) << r.err << r.out;
    EXPECT_NE(r.out.find("peer mindspore: No module named mindspore\n"), std::string::npos)
        << r.out;
    bool found = false;
    const auto runs = nlohmann::json::parse(text_of(dir / "runs.json"));
    for (auto &run : runs.at("benchmarks")) {
        if (run.at("peer") == 1 &&
            run.at("run_name").get<std::string>().find("/Copier 1.0/") != std::string::npos) {
            found = true;
            EXPECT_EQ(run.at("real_time"), 5e8);
            EXPECT_EQ(run.at("error"), 0);
            EXPECT_LE(run.at("verdict"), 0);  // It is slower, or undecided if no core was idle.
        }
    }
    EXPECT_TRUE(found);
    // A wrong peer has no time, and is no failure of ours.
    const Result wrong = halyard("bench relu" + options);
    EXPECT_EQ(wrong.status, 0);
    EXPECT_NE(wrong.out.find("FAIL, no time: y["), std::string::npos) << wrong.out;
    const Result none = halyard("bench copy --shape \"d0=1 d1=1 d2=17\" --rounds 1 --threads 1 "
                                "--peers pytorch --python /nowhere/python");
    EXPECT_EQ(none.status, 0);
    EXPECT_NE(none.out.find("peer pytorch: /nowhere/python can't be run\n"), std::string::npos)
        << none.out;
}

}  // namespace
}  // namespace halyard

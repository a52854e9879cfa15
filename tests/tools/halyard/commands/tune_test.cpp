// Tests halyard tune as users call it.
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <thread>

#include "tests/tools/command.h"
#include "tools/tune/record.h"

namespace halyard {
namespace {

// Nine candidates, which compile instantly once they are in the kernel cache.
const std::string few = "tune matmul --variant any --shape 'g=1 m=16 k=8 n=16' --rounds 8 "
                        "--records r --threads 1 --min-time ";

class Tune : public Command {
protected:
    size_t lines() const {
        return fs::exists(dir / "r") ? tune::read_records((dir / "r").string()).records.size() : 0;
    }
    bool prints(const Result &r, const std::string &text) const {
        return (r.out + r.err).find(text) != std::string::npos;
    }
    // Starts it, sends the signal once two measurements are in the file, and returns the exit
    // status.
    int signalled(int signal) const {
        const pid_t pid = fork();
        if (pid == 0) {
            setpgid(0, 0);
            const std::string command = "cd '" + dir.string() + "' && exec '" HALYARD_COMMAND "' " +
                                        few + "0.02 >/dev/null 2>&1";
            execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
            _exit(127);
        }
        for (int k = 0; k < 3000 && lines() < 2; k++)
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        kill(pid, signal);
        int status = 0;
        waitpid(pid, &status, 0);
        return status;
    }
    void expect_to_go_on() const {
        const size_t before = lines();
        ASSERT_GE(before, 2u);
        ASSERT_LT(before, 9u);
        const Result r = halyard(few + "1e-4");
        ASSERT_EQ(r.status, 0) << r.err;
        EXPECT_TRUE(prints(r, ", " + std::to_string(before) + " from records")) << r.out;
    }
    std::vector<tune::Record> records() const {
        return tune::read_records((dir / "r").string()).records;
    }
    void save(const std::vector<tune::Record> &all) const {
        std::ofstream out(dir / "r");
        for (auto &r : all)
            out << text_of(r) << "\n";
    }
};

TEST_F(Tune, MeasuresNothingTwice) {
    const Result first = halyard(few + "1e-4");
    ASSERT_EQ(first.status, 0) << first.err;
    const size_t measured = lines();
    EXPECT_GE(measured, 9u);
    EXPECT_TRUE(prints(first, " measured, 0 from records")) << first.out;
    EXPECT_TRUE(prints(first, "any block_k:")) << first.out;
    for (auto &r : records())
        EXPECT_TRUE(r.timed()) << text_of(r);
    const Result second = halyard(few + "1e-4");
    EXPECT_TRUE(prints(second, ": 0 measured, 9 from records")) << second.out;
    EXPECT_EQ(lines(), measured);
    EXPECT_TRUE(prints(halyard("tune --stale --records r"), " records, 0 stale"));
}

TEST_F(Tune, ResumesAfterAKill) {
    const int status = signalled(SIGKILL);
    EXPECT_TRUE(WIFSIGNALED(status)) << "it ended by itself";
    expect_to_go_on();
}

TEST_F(Tune, StopsAtCtrlCAndKeepsItsRecords) {
    const int status = signalled(SIGINT);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 1);
    expect_to_go_on();
}

TEST_F(Tune, UsesNoRecordOfAnotherMachineOrAlgorithm) {
    ASSERT_EQ(halyard(few + "1e-4").status, 0);
    std::vector<tune::Record> all = records();
    all.resize(9);
    all[0].cpu = "Another CPU 1/2/3";
    all[1].kit = "0.0.1";
    all[2].algorithm = "0123456789abcdef";
    all[3].code = "0123456789abcdef";
    save(all);
    std::ofstream(dir / "r", std::ios::app) << "op=matmul algorithm=half a line\n";
    const Result r = halyard(few + "1e-4");
    EXPECT_EQ(r.status, 0);
    EXPECT_TRUE(prints(r, ", 5 from records")) << r.out;
    EXPECT_TRUE(prints(r, "not used: 2 foreign records")) << r.out;
    EXPECT_TRUE(prints(r, "not used: 1 stale records")) << r.out;
    EXPECT_TRUE(prints(r, "r:10: isn't made of name=value words")) << r.err;
    const Result why = halyard("tune matmul --why --shape 'g=1 m=16 k=8 n=16' --records r");
    EXPECT_TRUE(prints(why, "not used: was measured on Another CPU 1/2/3")) << why.out;
    EXPECT_TRUE(prints(why, "not used: was measured with kit 0.0.1")) << why.out;
    EXPECT_TRUE(prints(why, "not used: stale: of algorithm 0123456789abcdef")) << why.out;
    const Result stale = halyard("tune --stale --records r");
    EXPECT_EQ(stale.status, 1);
    EXPECT_TRUE(prints(stale, "r:3: stale: matmul f32 any/")) << stale.out;
    const Result check = halyard("check matmul --quick --records r --isa " + all[0].isa);
    EXPECT_EQ(check.status, 1);
    EXPECT_TRUE(prints(check, "matmul r:3: stale: ")) << check.out;
}

TEST_F(Tune, MergesAndComparesFiles) {
    ASSERT_EQ(
        halyard("tune softmax --shape 'n=8 c=64' --rounds 8 --min-time 1e-4 --records r").status,
        0);
    tune::Record r = records()[0];
    r.median_us *= 2;
    r.date = "2999-01-01T00:00:00Z";
    std::ofstream(dir / "b") << text_of(r) << "\nbroken\n";
    const Result merge = halyard("tune --merge r b -o c");
    EXPECT_EQ(merge.status, 1) << "a line was refused";
    EXPECT_TRUE(prints(merge, "b:2: ")) << merge.err;
    EXPECT_TRUE(prints(merge, "2 records in c")) << merge.out;
    const Result diff = halyard("tune --diff r c");
    EXPECT_EQ(diff.status, 0);
    EXPECT_TRUE(prints(diff, "1 differences")) << diff.out;
    expect_rejected("tune --diff r none", "[none] can't be read");
    expect_rejected("tune softmax --budget fast", "[tune] --budget is 'fast'");
    expect_rejected("tune", "[tune] names no op");
}

TEST_F(Tune, AddsAutoschedulersAndPrintsTheirSchedules) {
    const Result r = halyard("tune softmax --shape 'n=8 c=64' --rounds 8 --min-time 1e-4 --records "
                             "r --autoscheduler mullapudi2016,anderson2021 --print-schedule");
    ASSERT_EQ(r.status, 0) << r.err;
    EXPECT_TRUE(prints(r, "proved    [mullapudi2016] ")) << r.out;
    EXPECT_TRUE(prints(
        r, "no time: [anderson2021] wide -: uncompiled: [anderson2021] schedules for GPUs only"))
        << r.out;
    EXPECT_TRUE(prints(r, "\n// mullapudi2016 for 'n=8 c=64'\n")) << r.out;
    EXPECT_TRUE(prints(r, "Var c = y.args()[0];")) << r.out;
    EXPECT_FALSE(prints(r, "get_func(")) << r.out;
    const Result gpu = halyard(
        "tune softmax --shape 'n=8 c=64' --autoscheduler li2018 --device opencl");
    EXPECT_EQ(gpu.status, 0) << gpu.err;
    EXPECT_TRUE(prints(gpu, ".gpu_blocks(")) << gpu.out;
    expect_rejected("tune softmax --device cuda", "[softmax] --device cuda is for --autoscheduler");
}

TEST_F(Tune, ReportsRegretOnOtherShapes) {
    const Result r = halyard("tune softmax --regret --shape 'n=8 c=64' --held-out 3 --rounds 8 "
                             "--min-time 1e-4 --records r");
    ASSERT_EQ(r.status, 0) << r.err;
    EXPECT_TRUE(prints(r, "       3  ")) << r.out;
    EXPECT_TRUE(prints(r, "n=8 c=64\n")) << r.out;
    EXPECT_TRUE(prints(r, "dispatch loses most on '")) << r.out;
}

}  // namespace
}  // namespace halyard

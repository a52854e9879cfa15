// Sinks: many steps of a training in one call of a cell.
#include <gtest/gtest.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstddef>
#include <functional>

#include "graph/replay.h"
#include "nn/activation.h"
#include "nn/basic.h"
#include "nn/conv.h"
#include "nn/dense.h"
#include "nn/loss.h"
#include "nn/optimizer.h"
#include "nn/wrap.h"
#include "primitives/autograd/tape.h"
#include "primitives/composites/clip.h"
#include "primitives/context.h"
#include "primitives/operators.h"
#include "primitives/random.h"
#include "registry/base/parallel.h"
#include "registry/base/runtime.h"
#include "registry/tensor/memory.h"
#include "train/data/generator.h"
#include "train/data/sources.h"
#include "train/model.h"

namespace halyard {
namespace {

using Values = std::vector<std::vector<float>>;
const std::vector<double> rates = {0.1, 0.05, 0.2, 0.01, 0.07, 0.02};

class Sink : public testing::Test {
protected:
    void SetUp() override { set_seed(5); }
    void TearDown() override { set_context({.mode = before_}); }
    const ExecutionMode before_ = get_context().mode;  // HALYARD_MODE's
};

class Net : public nn::Cell {
public:
    Tensor construct(const Tensor &x) const override {
        return dense(dropout(flatten(relu(conv(x)))));
    }

private:
    nn::Conv2d conv = child("conv", nn::Conv2d(1, 4, 3));
    nn::ReLU relu;
    nn::Flatten flatten;
    nn::Dropout dropout = child("dropout", nn::Dropout(0.2));
    nn::Dense dense = child("dense", nn::Dense(4 * 64, 3));
};

// The rows of a training, made before it: every fifth one is smaller.
std::vector<std::vector<Tensor>> batches(int count, int rows, int last_rows) {
    std::vector<std::vector<Tensor>> all;
    for (int b = 0; b < count; b++) {
        const int n = b % 5 == 4 ? last_rows : rows;
        std::vector<float> x;
        std::vector<int32_t> y;
        for (int k = 0; k < n * 64; k++)
            x.push_back(float((k * 37 + b * 11) % 101) / 101 - 0.5F);
        for (int k = 0; k < n; k++)
            y.push_back((k + b) % 3);
        all.push_back({Tensor::from(x, {n, 1, 8, 8}), Tensor::from(y, {n})});
    }
    return all;
}

// Gives so many of the rows, in turn.
class Rows {
public:
    Rows(const std::vector<std::vector<Tensor>> &rows, int count) : rows_(rows), count_(count) {}
    bool operator()(std::vector<Tensor> &in) {
        if (next_ == count_) return false;
        const std::vector<Tensor> &row = rows_[size_t(next_++) % rows_.size()];
        in.assign(row.begin(), row.end());
        return true;
    }

private:
    const std::vector<std::vector<Tensor>> &rows_;
    int count_, next_ = 0;
};

// A training with the parts that a test looks at.
struct Training {
    Net net;
    nn::Optimizer optimizer;
    nn::TrainOneStepCell step;
    explicit Training(const std::string &reduction = "mean")
        : optimizer(nn::Adam(net.trainable_params(), rates)),
          step(nn::WithLossCell(net, nn::SoftmaxCrossEntropyWithLogits(true, reduction)),
               optimizer) {
        net.set_train();
    }
    Values state() const {
        Values all;
        for (const ParameterTuple &some : {net.get_parameters(), optimizer.get_parameters()})
            for (const Parameter &p : some)
                all.push_back(p.data().to_vector<float>());
        return all;
    }
};

// Counts the blocks that kernels take for themselves.
class ScratchCount : public KernelWatch {
public:
    ScratchCount() { watch_kernels(this); }
    ~ScratchCount() override { watch_kernels(nullptr); }
    ScratchCount(const ScratchCount &) = delete;
    ScratchCount &operator=(const ScratchCount &) = delete;
    int loop(void *context, halide_task_t body, int min, int size, uint8_t *closure) override {
        int status = 0;
        for (int k = min; k < min + size && status == 0; k++)
            status = body(context, k, closure);
        return status;
    }
    void allocated(char * /*block*/, size_t /*bytes*/) override { blocks++; }
    void released(char * /*block*/) override {}
    int64_t blocks = 0;
};

// Returns how many tensors f() allocates.
int64_t tensors_of(const std::function<void()> &f) {
    const ScratchCount scratch;
    const int64_t before = memory::stats().allocations;
    f();
    return memory::stats().allocations - before - scratch.blocks;
}

constexpr int audited = 1024;  // the calls that are recorded again are among these

// The losses of a batch are 24 numbers, whose memory is used again, too.
TEST_F(Sink, AThousandStepsAllocateNoTensor) {
    const auto rows = batches(7, 24, 24);
    for (const std::string reduction : {"mean", "none"}) {
        set_context({.mode = PYNATIVE_MODE});
        set_seed(5);
        const Training eager(reduction);
        std::vector<Tensor> in;
        const auto steps = [&](int count) {
            Tensor last;
            for (Rows next(rows, count); next(in);)
                last = eager.step(in);
            return last.to_vector<float>();
        };
        const std::vector<float> first = steps(1);
        steps(audited);
        const std::vector<float> last = steps(1000);

        set_context({.mode = GRAPH_MODE});
        set_seed(5);
        const Training sunk(reduction);
        const std::vector<Tensor> kept = sunk.step.call_all(Rows(rows, 1));
        sunk.step.call_all(Rows(rows, audited));
        std::vector<Tensor> results;
        const int64_t tensors = tensors_of([&] { results = sunk.step.call_all(Rows(rows, 1000)); });
        // The memory of small results stays with the program.
        EXPECT_EQ(tensors, reduction == "none" ? 1 : 0) << reduction;
        EXPECT_EQ(kept[0].to_vector<float>(), first);
        EXPECT_EQ(results[0].to_vector<float>(), last);
        EXPECT_EQ(sunk.state(), eager.state());
        EXPECT_EQ(sunk.optimizer.global_step(), 1001 + audited);
        EXPECT_EQ(sunk.step.step_graphs().size(), 1u);
    }
}

// A training in f16 whose first steps overflow.
struct ScaledTraining {
    Net net;
    nn::Optimizer optimizer;
    nn::DynamicLossScaleManager scale{1e9, 2, 100};
    nn::TrainOneStepWithLossScaleCell step;
    ScaledTraining()
        : optimizer(nn::Momentum(net.trainable_params(), rates, 0.9)),
          step(nn::WithLossCell(net, nn::SoftmaxCrossEntropyWithLogits(true, "mean")), optimizer,
               scale) {
        net.set_train();
        net.to_float(DType::f16);
    }
    Values state() const {
        Values all;
        for (const ParameterTuple &some :
             {net.get_parameters(), optimizer.get_parameters(), scale.get_parameters()})
            for (const Parameter &p : some)
                all.push_back(p.data().to_vector<float>());
        return all;
    }
};

TEST_F(Sink, ScaledStepsAllocateNoTensor) {
    const auto rows = batches(7, 24, 24);
    constexpr int before = audited + 50;  // the updates have fewer calls, as some steps overflow
    constexpr int all = before + 300;
    set_context({.mode = PYNATIVE_MODE});
    set_seed(5);
    const ScaledTraining eager;
    std::vector<Tensor> in;
    std::vector<float> last;
    for (Rows next(rows, all); next(in);)
        last = eager.step(in).to_vector<float>();
    set_context({.mode = GRAPH_MODE});
    set_seed(5);
    const ScaledTraining sunk;
    sunk.step.call_all(Rows(rows, before));
    std::vector<Tensor> results;
    int next_row = before;
    const auto next = [&](std::vector<Tensor> &row) {
        row = rows[size_t(next_row) % rows.size()];
        return next_row++ < all;
    };
    const int64_t gradients = 2;  // of more than 64 bytes: their memory stays within a sink only
    EXPECT_EQ(tensors_of([&] { results = sunk.step.call_all(next); }), gradients);
    EXPECT_EQ(results[0].to_vector<float>(), last);
    EXPECT_EQ(sunk.state(), eager.state());
    EXPECT_LT(sunk.optimizer.global_step(), all) << "no step has overflowed";
    EXPECT_EQ(sunk.step.step_graphs().size(), 2u);
}

Values trained(ExecutionMode mode, bool is_sunk) {
    set_context({.mode = mode});
    set_seed(5);
    const auto rows = batches(10, 6, 2);
    const Training t;
    std::vector<Tensor> in;
    Values all;
    for (const int count : {1, 7, 0, 13, 2}) {
        std::vector<Tensor> out;
        if (is_sunk) {
            out = t.step.call_all(Rows(rows, count));
        } else {
            for (Rows next(rows, count); next(in);)
                out = {t.step(in)};
        }
        EXPECT_EQ(out.size(), count ? 1u : 0u);
        if (count) all.push_back(out[0].to_vector<float>());
    }
    for (const std::vector<float> &p : t.state())
        all.push_back(p);
    if (mode == GRAPH_MODE) {
        EXPECT_EQ(t.step.step_graphs().size(), 2u);
    }
    return all;
}

TEST_F(Sink, HasTheBitsOfSingleSteps) {
    const Values expected = trained(PYNATIVE_MODE, false);
    EXPECT_EQ(trained(PYNATIVE_MODE, true), expected);
    EXPECT_EQ(trained(GRAPH_MODE, false), expected);
    EXPECT_EQ(trained(GRAPH_MODE, true), expected);
}

// A step of a user's, whose calls the cell itself captures.
class ClippedStep : public nn::Cell {
public:
    ClippedStep(const nn::AnyCell &network, const nn::Optimizer &o)
        : Cell(false), network_(child("network", network)), optimizer_(o) {}
    Tensor construct(const Tensor &x, const Tensor &y) const override {
        const std::vector<Tensor> weights(optimizer_.parameters().begin(),
                                          optimizer_.parameters().end());
        Tape tape;
        for (const Tensor &w : weights)
            tape.watch(w);
        Tensor loss = network_(x, y);
        optimizer_(F::clip_by_global_norm(tape.gradient(loss, weights), 0.05));
        return loss;
    }

private:
    nn::AnyCell network_;
    nn::Optimizer optimizer_;
};

TEST_F(Sink, RunsCellsOfUsers) {
    const auto rows = batches(4, 6, 6);
    const auto result = [&](ExecutionMode mode) {
        set_context({.mode = mode});
        set_seed(5);
        const Net net;
        const nn::Momentum optimizer(net.trainable_params(), rates, 0.9);
        const nn::AnyCell step = ClippedStep(
            nn::WithLossCell(net, nn::SoftmaxCrossEntropyWithLogits(true, "mean")), optimizer);
        Values all{step.call_all(Rows(rows, 21))[0].to_vector<float>()};
        for (const Parameter &p : net.get_parameters())
            all.push_back(p.data().to_vector<float>());
        EXPECT_EQ(step.graphs().size(), mode == GRAPH_MODE ? 1u : 0u);
        return all;
    };
    EXPECT_EQ(result(GRAPH_MODE), result(PYNATIVE_MODE));
}

TEST_F(Sink, CapturesWhatItsRowsCall) {
    set_context({.mode = GRAPH_MODE});
    const nn::ReLU prepared;
    const nn::Identity cell;
    int calls = 0;
    const auto next = [&](std::vector<Tensor> &in) {
        in = {prepared(Tensor::full({2}, calls - 3))};
        return calls++ < 9;
    };
    EXPECT_EQ(cell.call_all(next)[0].to_vector<float>(), std::vector<float>(2, 5));
    EXPECT_EQ(prepared.graphs().size(), 1u);
    EXPECT_EQ(cell.graphs().size(), 1u);
}

TEST_F(Sink, CallsHooksInEachStep) {
    set_context({.mode = GRAPH_MODE});
    const auto rows = batches(4, 6, 6);
    const Training t;
    int calls = 0;
    const nn::HookHandle handle = t.step.register_forward_hook(
        [&](const nn::Cell &, nn::Tensors, nn::Tensors) {
            calls++;
            return std::vector<Tensor>();
        });
    t.step.call_all(Rows(rows, 9));
    EXPECT_EQ(calls, 9);
    EXPECT_EQ(t.optimizer.global_step(), 9);
}

// A parameter that is an argument, too, can't be told from it: the calls run op by op.
class Doubled : public nn::Cell {
public:
    Parameter weight = parameter("weight", Tensor::full({3}, 2));
    Tensor construct(const Tensor &x) const override { return x + weight.data(); }
};

TEST_F(Sink, TakesParametersAsArguments) {
    set_context({.mode = GRAPH_MODE});
    const Doubled cell;
    int calls = 0;
    const auto next = [&](std::vector<Tensor> &in) {
        in = {calls % 2 ? Tensor::ones({3}) : cell.weight.data()};
        return calls++ < 6;
    };
    EXPECT_EQ(cell.call_all(next)[0].to_vector<float>(), std::vector<float>(3, 3));
    calls = 1;
    EXPECT_EQ(cell.call_all(next)[0].to_vector<float>(), std::vector<float>(3, 3));
    calls = 0;
    const auto one = [&](std::vector<Tensor> &in) {
        in = {cell.weight.data()};
        return calls++ < 1;
    };
    EXPECT_EQ(cell.call_all(one)[0].to_vector<float>(), std::vector<float>(3, 4));
}

TEST_F(Sink, EndsWithTheErrorOfItsRows) {
    set_context({.mode = GRAPH_MODE});
    const auto rows = batches(4, 6, 6);
    const Training t;
    int left = 5;
    const auto failing = [&](std::vector<Tensor> &in) {
        if (left-- == 0) throw IoError("rows", "are damaged");
        in = rows[0];
        return true;
    };
    EXPECT_THROW(t.step.call_all(failing), IoError);
    EXPECT_EQ(t.optimizer.global_step(), 5);
    t.step.call_all(Rows(rows, 3));
    EXPECT_EQ(t.optimizer.global_step(), 8);
}

// Code that changes what a step computes is found in a sink, too.
class Scaled : public nn::Cell {
public:
    std::shared_ptr<double> factor = std::make_shared<double>(2);
    Tensor construct(const Tensor &x) const override { return x * *factor; }
};

TEST_F(Sink, RefusesAGraphThatCodeChanges) {
    set_context({.mode = GRAPH_MODE});
    const Scaled cell;
    int calls = 0;
    const auto next = [&](std::vector<Tensor> &in) {
        if (++calls == 3) *cell.factor = 5;
        in = {Tensor::ones({3})};
        return calls < 9;
    };
    EXPECT_THROW(cell.call_all(next), GraphError);
    EXPECT_EQ(calls, 4);
}

// A dataset of rows that are there already.
dataset::Dataset dataset_of(const std::vector<std::vector<Tensor>> &rows) {
    const dataset::Passes passes = [&rows] {
        return [&rows, next = size_t(0)](dataset::Tensors &row) mutable {
            if (next == rows.size()) return false;
            row = rows[next++];
            return true;
        };
    };
    return dataset::GeneratorDataset(passes, {"image", "label"});
}

struct Watch : Callback {
    void on_train_step_begin(RunContext &) override { begun = memory::stats().allocations; }
    void on_train_step_end(RunContext &c) override {
        tensors = memory::stats().allocations - begun;
        steps++;
        last = c.step;
        losses.push_back(c.net_outputs);
    }
    int64_t begun = 0, tensors = 0, steps = 0, last = 0;
    std::vector<Tensor> losses;
};

// Model.train with dataset_sink_mode: callbacks see a step for each sink, and the steps' only new
// memory are kernels' scratch blocks and the loss, which the callback before has kept.
TEST_F(Sink, ModelTrainsWithoutNewTensors) {
    const auto rows = batches(8, 24, 24);
    const auto after = [&](ExecutionMode mode, bool is_sunk) {
        set_context({.mode = mode});
        set_seed(5);
        const Training t;
        Model model(t.net, nn::SoftmaxCrossEntropyWithLogits(true, "mean"), t.optimizer);
        const dataset::Dataset data = dataset_of(rows);
        const auto watch = std::make_shared<Watch>();
        if (!is_sunk) {
            model.train(255, data);
            return t.state();
        }
        model.train(2, data, {watch}, {.dataset_sink_mode = true, .sink_size = 520});
        EXPECT_EQ(watch->steps, 2);
        EXPECT_EQ(watch->last, 520);
        const std::vector<float> first = watch->losses[0].to_vector<float>();
        const ScratchCount scratch;
        model.train(1, data, {watch}, {.dataset_sink_mode = true, .sink_size = 1000});
        EXPECT_EQ(watch->steps, 3);
        EXPECT_EQ(watch->last, 1000);
        EXPECT_EQ(watch->losses[0].to_vector<float>(), first);
        if (mode == GRAPH_MODE) {
            EXPECT_EQ(watch->tensors - scratch.blocks, 1);
        }
        return t.state();
    };
    const Values expected = after(PYNATIVE_MODE, false);  // 255 passes of 8 rows are 2 * 520 + 1000
    EXPECT_EQ(after(GRAPH_MODE, true), expected);
    EXPECT_EQ(after(PYNATIVE_MODE, true), expected);
}

// A mode that changes in the middle of a training.
struct Switching : Callback {
    void on_train_step_begin(RunContext &c) override {
        set_context({.mode = c.global_step / 3 % 2 ? PYNATIVE_MODE : GRAPH_MODE});
    }
};

TEST_F(Sink, SwitchesModesInATraining) {
    const auto rows = batches(10, 6, 2);
    const auto after = [&](const Callbacks &callbacks, const TrainOptions &options) {
        set_context({.mode = PYNATIVE_MODE});
        set_seed(5);
        const Training t;
        Model model(t.net, nn::SoftmaxCrossEntropyWithLogits(true, "mean"), t.optimizer);
        model.train(options.dataset_sink_mode ? 10 : 4, dataset_of(rows), callbacks, options);
        return t.state();
    };
    const Values expected = after({}, {});
    EXPECT_EQ(after({Switching()}, {}), expected);
    EXPECT_EQ(after({Switching()}, {.dataset_sink_mode = true, .sink_size = 4}), expected);
}

// Sanitizers make system calls of their own.
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)

constexpr int no_filter = 250;
volatile int first_call = 0;

void note_system_call(int /*signal*/, siginfo_t *info, void * /*context*/) {
    if (first_call == 0) first_call = info->si_syscall;
}

// From now on the kernel reports system calls of this thread in place of making them, but for those
// that end the process and the signal's handler. Returns false if it can't.
bool report_system_calls() {
    struct sigaction action = {};
    action.sa_sigaction = note_system_call;
    action.sa_flags = SA_SIGINFO;
    if (sigaction(SIGSYS, &action, nullptr) != 0) return false;
    sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigreturn, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
    };
    const sock_fprog program{std::size(code), code};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

// Ends this process with the number of the first system call of f(), 0 if it makes none.
void exit_with_system_call_of(const std::function<void()> &f) {
    if (!report_system_calls()) _exit(no_filter);
    f();
    _exit(first_call);
}

// In a program of its own, because the filter stays.
TEST_F(Sink, AThousandStepsMakeNoSystemCall) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    const auto asks = [] { (void)syscall(SYS_getppid); };
    int status = 0;
    const auto is_noted = [&](int s) {
        status = s;
        return true;
    };
    EXPECT_EXIT(exit_with_system_call_of(asks), is_noted, "");
    if (WIFEXITED(status) && WEXITSTATUS(status) == no_filter)
        GTEST_SKIP() << "the system has no filter of system calls";
    EXPECT_EQ(WEXITSTATUS(status), SYS_getppid) << status;
    EXPECT_EXIT(
        {
            set_context({.mode = GRAPH_MODE});
            set_threads(1);
            const auto rows = batches(7, 24, 24);
            const Training t;
            const std::vector<Tensor> kept = t.step.call_all(Rows(rows, 1));
            t.step.call_all(Rows(rows, audited));
            exit_with_system_call_of([&] { t.step.call_all(Rows(rows, 1000)); });
        },
        testing::ExitedWithCode(0), "");
}

#endif

}  // namespace
}  // namespace halyard

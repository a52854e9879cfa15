// Replay: a function whose calls are captured, and run as programs from the second call on.
//
// A program belongs to a signature: the arguments' dtypes, shapes and strides, the numbers and the
// settings that the caller names, and the kernels that this process has. Calls with another
// signature are captured anew; the programs that were used last are kept. A function that can't be
// captured runs op by op, which a message says once.
//
// What C++ code decides without a tensor is in the capture as it was decided then. The second,
// fourth, eighth, ... call and every 1,024th is recorded again and compared, and GraphError is
// thrown if the graph is another one.
#pragma once
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "graph/graph_error.h"
#include "registry/tensor/tensor.h"

namespace halyard::graph {

class Program;

class Replay {
public:
    using Function = std::function<std::vector<Tensor>(std::span<const Tensor>)>;
    // What changes the function beside its arguments.
    struct Settings {
        std::vector<double> numbers;
        uint64_t fingerprint = 0;  // of switches (primitives/settings_fingerprint.h)
    };

    explicit Replay(std::string name);
    ~Replay();

    // Returns the names of tensors that the function uses, for the texts of its graphs.
    using Names = std::function<std::vector<std::pair<std::string, Tensor>>()>;
    // Returns f(arguments). The function must be the same one in every call, up to `settings`.
    std::vector<Tensor> run(std::span<const Tensor> arguments, const Settings &settings,
                            const Function &f, const Names &names = {});

    // While it lives, runs of one signature compute their results into the same memory, unless
    // somebody still holds those of the run before.
    class Sink {
    public:
        explicit Sink(Replay &replay);
        ~Sink();
        Sink(const Sink &) = delete;
        Sink &operator=(const Sink &) = delete;

    private:
        Replay &replay_;
    };

    // Sets the arguments of the next of several calls. Returns false if there is none.
    using NextArguments = std::function<bool(std::vector<Tensor> &)>;
    // Calls run() in a sink with the arguments that `next` sets and with settings() until there are
    // none, and returns the last results. Those of the calls before are not kept.
    std::vector<Tensor> run_all(const NextArguments &next,
                                const std::function<Settings()> &settings, const Function &f,
                                const Names &names = {});

    // Returns true if calls of this thread are captured and replayed: in GRAPH_MODE, outside of
    // other captures, tapes and forced variants.
    static bool is_wanted();

    // Returns the texts of the programs (graph/graph.h), the one that was used last first.
    std::vector<std::string> texts() const;
    // Returns why the last call could not be captured; "" if it could.
    std::string reason() const;

    static constexpr size_t most_programs = 64;

private:
    struct Entry;
    Entry &entry_for(std::span<const Tensor> arguments, const Settings &settings);
    std::vector<Tensor> capture(Entry &e, std::span<const Tensor> arguments, const Function &f,
                                const Names &names);
    std::vector<Tensor> audit(Entry &e, std::span<const Tensor> arguments, const Function &f);
    void make_room();
    void release_arena();
    static void fuse(Entry &e);
    std::vector<Tensor> replay(Entry &e, std::span<const Tensor> arguments);
    void report(const std::string &reason);

    const std::string name_;
    mutable std::mutex mutex_;  // held while a program of this function runs
    std::list<Entry> entries_;  // the one that was used last first
    Tensor arena_;              // of all programs, as large as the largest needs it
    std::string reason_;
    int sinks_ = 0;
};

}  // namespace halyard::graph

// Node: a step of a pipeline, for those who add a source or a step. Users hold a Dataset.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "primitives/random.h"
#include "train/data/row.h"

namespace halyard::dataset {

constexpr int64_t unknown_size = -1;
constexpr int64_t endless = INT64_MAX;  // in place of a number of rows

// what damaged data does: ends the pass with its error, or is left out, with a warning
enum class OnError { RAISE, SKIP };

// What one pass over a pipeline depends on.
struct Opening {
    uint64_t seed = get_seed();
    uint64_t pass = 0;  // counts the passes over a step: what is random differs from pass to pass

    // The random numbers of the step at `depth`. The top bit keeps them apart from the streams of
    // initialisers and dropout.
    Random stream(uint64_t depth) const {
        return {seed, 1ull << 63 | depth << 48 | (pass & 0xffffffffffff)};
    }
    // for an input of a step at `depth` that has several: numbers of their own
    Opening branch(uint64_t depth, size_t input) const;
};

// One pass over a step, row by row.
struct Source {
    virtual ~Source() = default;
    virtual bool next(Row &row) = 0;  // false: the pass is over
    // Leaves out up to n rows and returns how many there were: what comes then is what came after n
    // calls of next(). Overridden where that takes less.
    virtual int64_t skip(int64_t n);
};

// What was left out with OnError::SKIP, over all passes.
class LeftOut {
public:
    // a message that is new is logged as a warning, the first ten of them
    void add(const std::string &message);
    void add_to(std::map<std::string, int64_t> &all) const;  // how often, by message

private:
    mutable std::mutex mutex_;
    std::map<std::string, int64_t> times_;
};

struct Node : std::enable_shared_from_this<Node> {
    explicit Node(std::vector<std::string> names)
        : columns(std::make_shared<const std::vector<std::string>>(std::move(names))) {}
    explicit Node(std::vector<std::shared_ptr<const Node>> from);  // with the first one's columns
    virtual ~Node() = default;
    Node(const Node &) = delete;
    Node &operator=(const Node &) = delete;

    virtual std::unique_ptr<Source> open(const Opening &opening) const = 0;
    // rows of a pass, if none is left out; or unknown_size, or endless
    virtual int64_t size() const = 0;
    // A source with those rows of pass 0 only; null where rows have no numbers.
    virtual std::shared_ptr<const Node> part(std::vector<int64_t> rows, uint64_t seed) const;

    std::vector<std::shared_ptr<const Node>> inputs;
    Columns columns;
    // steps before this one: keeps the random numbers of several steps apart
    uint64_t depth = 0;
    bool exact = true;         // a pass has size() rows, always, where that is known
    mutable LeftOut left_out;  // by this step
};

}  // namespace halyard::dataset

// Node: a step of a data pipeline. It is the interface for new sources and steps; users hold a
// Dataset.
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
constexpr int64_t endless = INT64_MAX;  // the size of a pass that does not end

// Damaged data either ends the pass with its error or is skipped with a warning.
enum class OnError { RAISE, SKIP };

// The values on which one pass over a pipeline depends.
struct Opening {
    uint64_t seed = get_seed();
    uint64_t pass = 0;  // the number of the pass; random numbers differ between passes

    // Returns the random numbers of the step at `depth`. The top bit separates them from the
    // streams of initialisers and dropout.
    Random stream(uint64_t depth) const {
        return {seed, 1ull << 63 | depth << 48 | (pass & 0xffffffffffff)};
    }
    // Returns an opening with random numbers of its own for one of several inputs of the step at
    // `depth`.
    Opening branch(uint64_t depth, size_t input) const;
};

// One pass over a step, row by row.
struct Source {
    virtual ~Source() = default;
    // Sets `row` to the next row. Returns false at the end of the pass.
    virtual bool next(Row &row) = 0;
    // Skips up to n rows, as n calls of next() would, and returns their number. A source overrides
    // it where skipping is cheaper than reading.
    virtual int64_t skip(int64_t n);
};

// The rows skipped with OnError::SKIP, over all passes.
class SkippedRows {
public:
    // Counts a message. The first ten new messages are logged as warnings.
    void add(const std::string &message);
    // Adds the counts by message to `all`.
    void add_to(std::map<std::string, int64_t> &all) const;

private:
    mutable std::mutex mutex_;
    std::map<std::string, int64_t> times_;
};

struct Node : std::enable_shared_from_this<Node> {
    explicit Node(std::vector<std::string> names)
        : columns(std::make_shared<const std::vector<std::string>>(std::move(names))) {}
    // Takes the columns of the first input.
    explicit Node(std::vector<std::shared_ptr<const Node>> from);
    virtual ~Node() = default;
    Node(const Node &) = delete;
    Node &operator=(const Node &) = delete;

    virtual std::unique_ptr<Source> open(const Opening &opening) const = 0;
    // Returns the number of rows of a pass in which none is skipped, or unknown_size, or endless.
    virtual int64_t size() const = 0;
    // Returns a source with these rows of pass 0 only, or null if rows cannot be addressed.
    virtual std::shared_ptr<const Node> part(std::vector<int64_t> rows, uint64_t seed) const;

    std::vector<std::shared_ptr<const Node>> inputs;
    Columns columns;
    // The number of steps before this one, which separates the random numbers of steps.
    uint64_t depth = 0;
    bool exact = true;            // every pass has size() rows if the size is known
    mutable SkippedRows skipped;  // by this step
};

}  // namespace halyard::dataset

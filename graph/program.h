// Program: a graph that is ready to run. Its calls are planned and its temporaries placed in an
// arena, which programs may share, so a run allocates only what it returns.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "graph/memory_plan.h"
#include "graph/prepare.h"
#include "graph/row_loops.h"
#include "registry/dispatch/plan.h"

namespace halyard::graph {

class Program {
public:
    enum class Order {
        by_rows,    // some calls run for some rows at a time, where that pays (graph/row_loops.h)
        as_listed,  // each node runs once, in the graph's order
    };
    // Plans the calls. Throws what planning throws, and MemoryError.
    explicit Program(Graph graph, Order order = Order::by_rows);
    ~Program();
    Program(Program &&) noexcept;

    // Runs the graph on arguments of the dtypes, shapes and strides it was captured with. The
    // arena is a dense tensor of at least memory().bytes bytes, whose elements are overwritten. The
    // program keeps it for the next run. Not thread-safe.
    std::vector<Tensor> run(std::span<const Tensor> arguments, const Tensor &arena);
    // Lets go of the arena.
    void release_arena();
    // Lets go of what parameters determine, which the next run computes again.
    void release_prepared();
    // Whether the memory of large results stays with the program, for the next run if nobody else
    // holds it then. That of small results always does.
    void keep_results(bool on);

    const Graph &graph() const { return graph_; }
    const MemoryPlan &memory() const { return memory_; }
    // Returns the graph as text, and a line for each row loop.
    std::string text() const;
    size_t row_loops() const { return loops_.size(); }

    // Returns true if a tensor that the graph captured is held by nobody else any more, so that the
    // function uses another one in its place, or if numbers of the step are in another phase.
    // `copies` is how many copies of its graph others hold.
    bool is_outdated(int copies = 0) const;

    // Returns the bytes of what parameters determine, and how many nodes have computed it until
    // now.
    size_t prepared_bytes() const;
    int64_t prepared_nodes() const { return prepared_nodes_; }

private:
    // Runs a row loop, its tiles on the pool's threads.
    class RowRunner;
    // The operands of a node. Those whose memory changes from run to run are set before the node
    // runs, and cleared after it.
    struct Step {
        std::shared_ptr<const Plan> plan;
        std::vector<Tensor> in, out;
        std::vector<size_t> changing_in, changing_out;
        bool is_prepared = false;
        bool is_in_loop = false;
        RowRunner *loop = nullptr;  // that runs in this node's place
    };
    // Prepared nodes that run when a source has changed.
    struct Preparation {
        PreparedGroup group;
        std::vector<uint32_t> writes;  // to the sources' memories, when the nodes ran
        bool has_run = false;
    };

    bool changes(const View &v) const;
    Tensor tensor_of(const View &v) const;
    void prepare(const Node &n);
    void add_loops(std::vector<RowLoop> loops);
    void bind(const Tensor &arena);
    void count_own_references();
    bool is_outdated(const Preparation &p) const;
    void run_preparation(Preparation &p);
    void prepare_results();
    template<class F> void for_each_operand(Role role, const F &f);
    void take_made(const Node &n, const std::vector<Tensor> &made);
    void run_step(Node &n, Step &s);
    void run_loop(RowRunner &loop);
    void set_numbers(Node &n) const;
    void take_memory(std::span<const Tensor> arguments);
    void forget_memory();
    Tensor result_of(const View &v, std::span<const Tensor> arguments) const;

    Graph graph_;
    MemoryPlan memory_;
    Tensor arena_;
    std::vector<Step> steps_;
    std::vector<std::unique_ptr<RowRunner>> loops_;
    std::vector<char> is_inner_;  // by buffer: only one row loop uses it
    std::vector<Tensor> loop_operands_;
    std::vector<double> numbers_;  // of this run
    // By buffer: the memory, whose first element is the views' reference. Those of arguments and
    // host steps are only set during a run. Those of small results stay, or of all with
    // keep_results(), and are used again if nobody else holds them any more.
    std::vector<Tensor> memories_;
    std::vector<char> is_written_;  // by buffer: by a node
    // By buffer, of captured tensors: the references to the storage that the program has.
    std::vector<int64_t> own_references_;
    std::vector<Preparation> preparations_;
    bool has_prepared_memory_ = false;
    int64_t prepared_nodes_ = 0;
    bool keeps_results_ = false;
};

}  // namespace halyard::graph

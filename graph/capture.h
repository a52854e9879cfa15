// Capture: records the graph of a function while it runs. The run is the eager one, under its
// tapes, so its results are the eager results, and gradients are part of the graph.
//
// A function can't be captured if the host reads elements that the graph computes or takes as an
// argument, because what it does next may depend on them; if a kernel reads elements that nothing
// heard of wrote; and where hooks of cells run. reason() says so, and the run's results stand.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "primitives/random.h"
#include "registry/tensor/graph_listener.h"

namespace halyard::graph {

class Capture : private GraphListener {
public:
    // `arguments` of the function, which may be undefined, are the graph's inputs. Where the
    // numbers of a step go (registry/tensor/graph_listener.h) is taken from `known`, an earlier
    // graph of the function; without one a run with other numbers finds it out.
    Capture(std::string name, std::vector<Tensor> arguments, const Graph *known = nullptr);

    // Runs the function once, and records it.
    template<class Function> std::vector<Tensor> run(const Function &f) {
        std::vector<Tensor> out;
        {
            const ListenerScope heard(this);
            out = f(std::span<const Tensor>(arguments_));
        }
        finish(out);
        return out;
    }

    // Returns why the function can't be captured; "" if it can.
    const std::string &reason() const { return reason_; }
    // Returns the graph as it was recorded (graph/passes.h).
    Graph take() { return std::move(graph_); }

private:
    // What is known of the elements of a buffer.
    enum class State { unwritten, filled, touched, computed };

    void called(const RegisteredOp &op, const Attrs &attrs, std::span<const Tensor> in,
                std::span<const Tensor> out) override;
    void copied(const Tensor &to, const Tensor &from) override;
    void filled(const Tensor &t, double value) override;
    void ran_on_host(const std::string &name, const HostFunction &f, std::span<const Tensor> in,
                     std::span<const Tensor> out) override;
    void touched(const TensorImpl &t) override;
    void allocated(const Storage &s) override;
    void released(const Storage &s) override;
    void drew(const RngState &state) override;
    void enter(const std::string &part) override;
    void leave() override;
    std::string part() const override;
    void refuse(const std::string &why) override;
    void with_numbers(const NumberSource &source, std::span<const Tensor> written,
                      const NumberedRun &run) override;

    int add_buffer(const Storage &s, State state, Buffer b);
    View view_of(int buffer, const Tensor &t) const;
    View read(const std::string &by, const Tensor &t);
    View write(const std::string &by, const Tensor &t);
    void add(Node n);
    int draw_of(const Attrs &attrs) const;
    void finish(const std::vector<Tensor> &out);
    void check_captured();
    std::vector<Node> recorded_apart(std::span<const Tensor> written,
                                     const std::function<void()> &run);
    void find_numbers(size_t begin, const std::vector<Node> &other_run,
                      const std::vector<double> &values, const std::vector<double> &others,
                      GraphNumbers &found);
    void take_known_numbers(size_t begin);

    std::vector<Tensor> arguments_;
    Graph graph_;
    std::vector<State> states_;               // by buffer
    std::map<const Storage *, int> buffers_;  // those whose memory is in use
    std::vector<RngState> draws_;
    std::vector<char> draw_used_;
    std::vector<std::string> parts_;
    std::string reason_;
    const Graph *known_;
    size_t number_count_ = 0;  // of the sources so far
};

}  // namespace halyard::graph

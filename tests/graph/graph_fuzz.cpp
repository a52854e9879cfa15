// graph_fuzz: runs random graphs op by op and captured, and compares all results, arguments and
// states bit for bit. A graph that fails is shrunk to the fewest steps that fail.
//
//   graph_fuzz --graphs 5000 --seed 1        graphs 0 to 4999 of the seed
//   graph_fuzz --seed 1 --graph 17           prints and runs one
//   graph_fuzz --seed 1 --graph 17 --keep 0,3 [--no-gradient] [--outputs 0]   a part of one
//   graph_fuzz --fused ...                   with kernels of regions, all that have the same bits
//   graph_fuzz --rows ...                    with row loops of small tensors, too
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <map>
#include <optional>
#include <sstream>
#include <string>

#include "graph/fused_kernels.h"
#include "graph/replay.h"
#include "graph/row_loops.h"
#include "primitives/context.h"
#include "primitives/random.h"
#include "registry/base/error.h"
#include "registry/base/log.h"
#include "tests/graph/random_graph.h"

namespace halyard::fuzz {
namespace {

// Calls of a graph: the first is captured, the second and the fourth are audited, the others are
// replayed.
constexpr int calls = 7;
constexpr int first_replayed = 2;  // counted from 0

bool same_bits(const Tensor &a, const Tensor &b) {
    if (a.defined() != b.defined()) return false;
    if (!a.defined()) return true;
    if (!(a.shape() == b.shape()) || a.dtype() != b.dtype()) return false;
    const Tensor x = a.contiguous();
    const Tensor y = b.contiguous();
    if (x.bytes() == 0 || std::memcmp(x.raw(), y.raw(), x.bytes()) == 0) return true;
    if (!enables_graph_kernel() || !is_float(x.dtype())) return false;
    // Where two NaN meet, a kernel of a region may give the sign of the other one.
    const std::vector<double> of_x = x.to(DType::f64).to_vector<double>();
    const std::vector<double> of_y = y.to(DType::f64).to_vector<double>();
    for (size_t k = 0; k < of_x.size(); k++) {
        const bool are_nan = std::isnan(of_x[k]) && std::isnan(of_y[k]);
        if (!are_nan && std::bit_cast<uint64_t>(of_x[k]) != std::bit_cast<uint64_t>(of_y[k]))
            return false;
    }
    return true;
}

std::string compared(const std::string &what, const std::vector<Tensor> &eager,
                     const std::vector<Tensor> &captured) {
    if (eager.size() != captured.size())
        return what + ": " + std::to_string(captured.size()) + " tensors, op by op " +
               std::to_string(eager.size());
    for (size_t k = 0; k < eager.size(); k++) {
        if (same_bits(eager[k], captured[k])) continue;
        const auto text = [](const Tensor &t) { return t.defined() ? t.text() : "undefined"; };
        return what + " " + std::to_string(k) + " is " + text(captured[k]) + ", op by op " +
               text(eager[k]);
    }
    return "";
}

struct Outcome {
    std::string wrong;   // "" if all bits are the same
    std::string reason;  // why the graph was not captured
    std::vector<std::string> texts;
};

// The arguments of a call.
std::vector<Tensor> arguments_of(const RandomGraph &graph, int call) {
    return random_tensors(graph.arguments, uint64_t(call) + 100);
}

// What the calls op by op leave.
struct Left {
    std::vector<Tensor> results, arguments, states;  // results and arguments of the last call
};

// Makes the calls in one sink, and returns what it leaves otherwise than `eager`; "" if nothing.
std::string compared_sink(const RandomGraph &graph, const Left &eager) {
    const std::vector<Tensor> states = random_tensors(graph.states, 1);
    std::vector<Tensor> arguments;
    int call = 0;
    const auto next = [&](std::vector<Tensor> &in) {
        if (call == calls) return false;
        set_seed(uint64_t(call));
        arguments = arguments_of(graph, call++);
        in = arguments;
        return true;
    };
    const auto f = [&](std::span<const Tensor> x) { return evaluate(graph, x, states); };
    try {
        graph::Replay replay("graph");
        const std::vector<Tensor> results = replay.run_all(
            next, [] { return graph::Replay::Settings(); }, f);
        std::string wrong = compared("sink's result", eager.results, results);
        if (wrong.empty()) wrong = compared("sink's argument", eager.arguments, arguments);
        return wrong.empty() ? compared("sink's state", eager.states, states) : wrong;
    } catch (const std::exception &e) {
        return std::string("sink: ") + e.what();
    }
}

Outcome check(const RandomGraph &graph) {
    Outcome outcome;
    const std::vector<Tensor> states = random_tensors(graph.states, 1);
    const std::vector<Tensor> eager_states = random_tensors(graph.states, 1);
    graph::Replay replay("graph");
    std::vector<std::vector<Tensor>> results, eager_results;
    std::vector<Tensor> last_arguments;
    for (int call = 0; call < calls; call++) {
        const std::string number = "call " + std::to_string(call + 1);
        const std::vector<Tensor> arguments = arguments_of(graph, call);
        const std::vector<Tensor> eager_arguments = arguments_of(graph, call);
        last_arguments = eager_arguments;
        set_seed(uint64_t(call));
        eager_results.push_back(evaluate(graph, eager_arguments, eager_states));
        set_seed(uint64_t(call));
        try {
            results.push_back(replay.run(arguments, {}, [&](std::span<const Tensor> x) {
                return evaluate(graph, x, states);
            }));
        } catch (const std::exception &e) {
            outcome.wrong = number + ": " + e.what();
            return outcome;
        }
        if (call == first_replayed && enables_graph_kernel()) graph::wait_for_fused_kernels();
        outcome.wrong = compared(number + " result", eager_results.back(), results.back());
        if (outcome.wrong.empty())
            outcome.wrong = compared(number + " argument", eager_arguments, arguments);
        if (outcome.wrong.empty())
            outcome.wrong = compared(number + " state", eager_states, states);
        if (!outcome.wrong.empty()) break;
    }
    outcome.reason = replay.reason();
    outcome.texts = replay.texts();
    for (size_t call = 0; call < results.size() && outcome.wrong.empty(); call++)
        outcome.wrong = compared("later, call " + std::to_string(call + 1) + " result",
                                 eager_results[call], results[call]);
    if (outcome.wrong.empty())
        outcome.wrong = compared_sink(graph, {eager_results.back(), last_arguments, eager_states});
    return outcome;
}

bool fails(const RandomGraph &graph) {
    return !check(graph).wrong.empty();
}

// Leaves out what isn't needed for the failure.
RandomGraph smallest(RandomGraph graph) {
    const auto accept = [&](RandomGraph less) {
        if (!fails(less)) return false;
        graph = std::move(less);
        return true;
    };
    for (bool shrank = true; shrank;) {
        shrank = false;
        for (size_t k = graph.steps.size(); k-- > 0;) {
            if (!graph.kept[k]) continue;
            RandomGraph less = graph;
            less.kept[k] = 0;
            shrank |= accept(less);
        }
        for (size_t k = 0; k < graph.outputs.size() && graph.outputs.size() > 1;) {
            RandomGraph less = graph;
            less.outputs.erase(less.outputs.begin() + std::ptrdiff_t(k));
            if (!accept(less))
                k++;
            else
                shrank = true;
        }
        if (graph.has_gradient) {
            RandomGraph less = graph;
            less.has_gradient = false;
            shrank |= accept(less);
        }
    }
    return graph;
}

template<class List> std::string joined(const List &list) {
    std::string text;
    for (const auto &v : list)
        text += (text.empty() ? "" : ",") + std::to_string(v);
    return text.empty() ? "none" : text;
}

std::vector<size_t> numbers_in(const std::string &text) {
    std::vector<size_t> numbers;
    std::istringstream in(text);
    for (std::string word; text != "none" && std::getline(in, word, ',');)
        numbers.push_back(std::stoul(word));
    return numbers;
}

struct Arguments {
    uint64_t graphs = 500, seed = 1;
    std::optional<uint64_t> graph;
    std::optional<std::string> keep, outputs;
    bool without_gradient = false, fused = false, rows = false;
};

std::string repeating(const RandomGraph &graph, const Arguments &a, uint64_t number) {
    std::vector<size_t> kept;
    for (size_t k = 0; k < graph.steps.size(); k++)
        if (graph.kept[k]) kept.push_back(k);
    return "graph_fuzz --seed " + std::to_string(a.seed) + " --graph " + std::to_string(number) +
           " --keep " + joined(kept) + " --outputs " + joined(graph.outputs) +
           (graph.has_gradient ? "" : " --no-gradient") + (a.fused ? " --fused" : "") +
           (a.rows ? " --rows" : "");
}

// The graph that runs, for the message about a crash.
volatile uint64_t running = 0;
void say_which(int signal) {
    char text[96];
    const int n = std::snprintf(text, sizeof text, "signal %d in graph %llu\n", signal,
                                static_cast<unsigned long long>(running));
    if (n > 0 && write(STDERR_FILENO, text, size_t(n)) < 0) _exit(2);
    ::signal(signal, SIG_DFL);
    raise(signal);
}

int run_one(const Arguments &a) {
    RandomGraph graph = random_graph(a.seed, *a.graph);
    if (a.keep) {
        graph.kept.assign(graph.steps.size(), 0);
        for (const size_t k : numbers_in(*a.keep))
            graph.kept.at(k) = 1;
    }
    if (a.outputs) graph.outputs = numbers_in(*a.outputs);
    if (a.without_gradient) graph.has_gradient = false;
    std::printf("%s", text_of(graph).c_str());
    const Outcome outcome = check(graph);
    for (const std::string &text : outcome.texts)
        std::printf("%s", text.c_str());
    if (!outcome.reason.empty()) std::printf("not captured: %s\n", outcome.reason.c_str());
    std::printf("%s\n", outcome.wrong.empty() ? "the same bits" : outcome.wrong.c_str());
    return outcome.wrong.empty() ? 0 : 1;
}

void print_kernels() {
    size_t used = 0;
    std::map<std::string, size_t> reasons;
    const std::vector<graph::FusedResult> results = graph::fused_results();
    for (const graph::FusedResult &r : results) {
        used += r.is_used;
        if (!r.is_used) reasons[r.reason]++;
    }
    for (const auto &[reason, count] : reasons)
        std::printf("%zu without a kernel: %s\n", count, reason.c_str());
    std::printf("%zu regions, %zu with a kernel\n", results.size(), used);
}

bool any_has(const std::vector<std::string> &texts, const char *part) {
    return std::ranges::any_of(
        texts, [&](const std::string &text) { return text.find(part) != std::string::npos; });
}

int run_all(const Arguments &a) {
    uint64_t captured = 0, wrong = 0, by_rows = 0, packed = 0;
    std::map<std::string, uint64_t> reasons;
    for (uint64_t number = 0; number < a.graphs; number++) {
        running = number;
        const RandomGraph graph = random_graph(a.seed, number);
        const Outcome outcome = check(graph);
        if (outcome.reason.empty())
            captured++;
        else
            reasons[outcome.reason]++;
        by_rows += any_has(outcome.texts, "rows at a time");
        packed += any_has(outcome.texts, "= panel_");
        if (outcome.wrong.empty()) continue;
        wrong++;
        const RandomGraph least = smallest(graph);
        std::printf("graph %llu: %s\n%s  repeat: %s\n", static_cast<unsigned long long>(number),
                    check(least).wrong.c_str(), text_of(least).c_str(),
                    repeating(least, a, number).c_str());
        std::fflush(stdout);
        if (wrong == 20) break;
    }
    for (const auto &[reason, count] : reasons)
        std::printf("%llu op by op: %s\n", static_cast<unsigned long long>(count), reason.c_str());
    std::printf("%llu graphs of seed %llu, %llu captured, %llu differ\n",
                static_cast<unsigned long long>(a.graphs), static_cast<unsigned long long>(a.seed),
                static_cast<unsigned long long>(captured), static_cast<unsigned long long>(wrong));
    std::printf("%llu graphs with packed weights\n", static_cast<unsigned long long>(packed));
    if (a.rows)
        std::printf("%llu graphs with row loops\n", static_cast<unsigned long long>(by_rows));
    if (enables_graph_kernel()) print_kernels();
    return wrong ? 1 : 0;
}

int run(int argc, char **argv) {
    Arguments a;
    for (int k = 1; k < argc; k++) {
        const std::string option = argv[k];
        if (option == "--no-gradient") {
            a.without_gradient = true;
            continue;
        }
        if (option == "--fused") {
            a.fused = true;
            continue;
        }
        if (option == "--rows") {
            a.rows = true;
            continue;
        }
        if (k + 1 == argc) throw AttrError("graph_fuzz", option + " has no value");
        const std::string value = argv[++k];
        if (option == "--graphs")
            a.graphs = std::stoull(value);
        else if (option == "--seed")
            a.seed = std::stoull(value);
        else if (option == "--graph")
            a.graph = std::stoull(value);
        else if (option == "--keep")
            a.keep = value;
        else if (option == "--outputs")
            a.outputs = value;
        else
            throw AttrError("graph_fuzz", "no option " + option);
    }
    const bool is_part = a.keep || a.outputs || a.without_gradient;
    if (is_part && !a.graph)
        throw AttrError("graph_fuzz", "--keep, --outputs and --no-gradient need --graph");
    set_context({.mode = GRAPH_MODE, .enable_graph_kernel = a.fused});
    if (a.fused) graph::set_least_fused_ratio(0);
    constexpr graph::RowLimits small{.tile_bytes = 48, .fewest_tiles = 1};
    if (a.rows) graph::set_row_limits(small);
    return a.graph ? run_one(a) : run_all(a);
}

}  // namespace
}  // namespace halyard::fuzz

int main(int argc, char **argv) {
    for (const int signal : {SIGSEGV, SIGABRT, SIGFPE, SIGBUS})
        ::signal(signal, halyard::fuzz::say_which);
    try {
        return halyard::fuzz::run(argc, argv);
    } catch (const std::exception &e) {
        std::fprintf(stderr, "%s\n", e.what());
        return 2;
    }
}

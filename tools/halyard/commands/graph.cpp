// halyard graph: what GRAPH_MODE captures of an example network, before and after its passes, or
// the graph of a file.
#include <cstdio>
#include <filesystem>
#include <map>
#include <optional>

#include "examples/lenet5/lenet5.h"
#include "examples/recipes.h"
#include "graph/dot.h"
#include "graph/fused_kernels.h"
#include "graph/memory_plan.h"
#include "graph/passes.h"
#include "graph/row_loops.h"
#include "nn/wrap.h"
#include "primitives/context.h"
#include "primitives/random.h"
#include "registry/base/atomic_file.h"
#include "registry/base/error.h"
#include "registry/base/parallel.h"
#include "registry/base/text.h"
#include "tools/halyard/command.h"
#include "train/checkpoint/saved_graph.h"

namespace halyard::command {
namespace {

struct GraphRequest {
    std::string network, part = "step", pass, dot, save;
    std::optional<std::string> data;
    std::optional<int64_t> batch_size, size;
    bool counts = false, regions = false;
};

struct CapturedStage {
    std::string name, text, dot;
    size_t nodes = 0;
    graph::MemoryPlan memory;
    size_t temporaries = 0, prepared = 0;  // bytes
    std::vector<graph::Region> regions;
};

constexpr const char *last_stage = "with_prepared";

// The graph that a program runs has row loops.
CapturedStage stage_of(const std::string &name, graph::Graph g) {
    CapturedStage stage{name, text_of(g), dot_of(g), g.nodes.size(), {}, 0, 0, {}};
    stage.regions = graph::find_regions(g);
    if (name == last_stage) {
        const std::vector<graph::RowLoop> loops = graph::find_row_loops(g, threads());
        for (const graph::RowLoop &loop : loops)
            stage.text += text_of(g, loop) + "\n";
        extend_lifetimes(g, loops);
    }
    stage.memory = plan_memory(g, true);
    for (const graph::Buffer &b : g.buffers) {
        if (b.first < 0) continue;
        if (b.role == graph::Role::temporary) stage.temporaries += b.bytes;
        if (b.role == graph::Role::prepared) stage.prepared += b.bytes;
    }
    return stage;
}

// Captures the step or the forward pass for the first batch of the training data, and saves it if
// that is asked for.
std::vector<CapturedStage> captured(const GraphRequest &o) {
    examples::Settings settings = examples::recipe(o.network).defaults;
    settings.data = o.data.value_or(settings.data);
    settings.batch_size = o.batch_size.value_or(settings.batch_size);
    settings.size = o.size.value_or(settings.size);
    set_seed(examples::LeNet5Options().seed);
    const examples::Experiment experiment = examples::recipe(o.network).prepare(settings);
    dataset::RowIterator rows = experiment.train_set.create_dict_iterator();
    dataset::Row row;
    if (!rows.next(row)) throw IoError(settings.data, "has no batch");
    set_context({.mode = GRAPH_MODE});
    std::vector<CapturedStage> stages;
    const graph::PassWatchScope watched([&](const std::string &name, const graph::Graph &g) {
        stages.push_back(stage_of(name, g));
    });
    if (o.part == "forward") {
        if (!o.save.empty()) export_graph(experiment.network, {row[0]}, o.save);
        stages.clear();
        experiment.network(row[0]);
    } else {
        experiment.network.set_train();
        const nn::WithLossCell with_loss(experiment.network, experiment.loss);
        const nn::TrainOneStepCell step(with_loss, experiment.optimizer);
        if (!o.save.empty()) export_step(step, {row[0], row[1]}, o.save);
        stages.clear();
        step(row[0], row[1]);
    }
    if (stages.empty()) throw Error("graph", o.network + " can't be captured; the log says why");
    return stages;
}

std::string megabytes(size_t bytes) {
    char text[32];
    std::snprintf(text, sizeof text, "%.3f MB", double(bytes) / 1e6);
    return text;
}

void print_counts(const std::vector<CapturedStage> &stages) {
    std::printf("%-19s %6s %13s %12s %9s %12s %12s\n", "", "nodes", "temporaries", "prepared",
                "in place", "arena", "at least");
    for (const CapturedStage &s : stages) {
        std::printf("%-19s %6zu %13s %12s %9zu %12s %12s\n", s.name.c_str(), s.nodes,
                    megabytes(s.temporaries).c_str(), megabytes(s.prepared).c_str(),
                    s.memory.in_place, megabytes(s.memory.bytes).c_str(),
                    megabytes(s.memory.lower_bound).c_str());
    }
}

// Compiles the regions' kernels, and prints for each why it would be used or not.
int show_regions(const std::vector<graph::Region> &regions) {
    if (!graph::can_fuse_regions()) throw Error("graph", "kernels of regions can't be made here");
    std::map<std::string, size_t> times;
    for (const graph::Region &r : regions)
        if (times[r.text()]++ == 0) graph::fused_op(r);
    graph::wait_for_fused_kernels();
    for (const graph::FusedResult &f : graph::fused_results()) {
        std::printf("%zu times %s\n    ", times[f.region], f.region.c_str());
        if (f.is_used)
            std::printf("used: the same bits, %.2f times as fast\n", f.ratio);
        else
            std::printf("not used: %s\n", f.reason.c_str());
    }
    size_t calls = 0;
    for (const graph::Region &r : regions)
        calls += r.nodes.size();
    std::printf("%zu regions of %zu calls\n", regions.size(), calls);
    return 0;
}

int show(const GraphRequest &o, const std::vector<CapturedStage> &stages) {
    const CapturedStage *last = &stages.back();
    if (o.regions) return show_regions(last->regions);
    if (!o.pass.empty()) {
        for (const CapturedStage &s : stages)
            if (s.name == o.pass) last = &s;
    }
    if (!o.dot.empty()) write_file(o.dot, last->dot, Durability::to_system);
    const bool shows_first = o.pass.empty() && stages[0].text != last->text;
    if (!o.counts && shows_first)
        std::printf("%s:\n%s\n", stages[0].name.c_str(), stages[0].text.c_str());
    if (!o.counts) std::printf("%s:\n%s\n", last->name.c_str(), last->text.c_str());
    print_counts(stages);
    return 0;
}

std::vector<std::string> networks_with_graphs() {
    std::vector<std::string> all;
    for (const examples::Recipe &r : examples::recipes())
        all.push_back(r.name);
    return all;
}

// A network that is also the name of a file is the network; ./lenet5 is the file.
std::string check_network_or_file(const std::string &name) {
    if (examples::has_recipe(name) || std::filesystem::is_regular_file(name)) return "";
    return name + " is no file, and no network: " + join(networks_with_graphs());
}

// Shows the graph of a file as the one stage that there is. Throws AttrError for options that
// choose what is captured.
int show_file(const GraphRequest &o, const CLI::App &sub) {
    for (const char *option :
         {"--part", "--after", "--data", "--batch-size", "--image-size", "--save"}) {
        if (sub.count(option)) {
            throw AttrError("graph",
                            std::string(option) + " has no effect on a saved graph, " + o.network);
        }
    }
    return show(o, {stage_of("saved", load_graph(o.network))});
}

std::vector<std::string> stage_names() {
    std::vector<std::string> all{"recorded"};
    for (const std::span<const graph::Pass> passes : {graph::passes(), graph::passes_of_programs()})
        for (const graph::Pass &pass : passes)
            all.emplace_back(pass.name);
    return all;
}

}  // namespace

void add_graph(CLI::App &app, Run &selected) {
    auto o = std::make_shared<GraphRequest>();
    CLI::App *sub = app.add_subcommand(
        "graph",
        "Show what graph mode captures of an example network, before and after its passes, or the "
        "graph of a file that export_graph() wrote");
    sub->add_option("network", o->network, "A file, or one of " + join(networks_with_graphs()))
        ->required()
        ->check(check_network_or_file);
    sub->add_option("--part", o->part,
                    "step: forward and backward pass and update; forward: an evaluation")
        ->check(CLI::IsMember({"step", "forward"}))
        ->capture_default_str();
    CLI::Option *pass = sub->add_option(
                               "--after", o->pass,
                               "Print the graph after this pass only; recorded: before all")
                            ->check(CLI::IsMember(stage_names()));
    CLI::Option *dot = sub->add_option(
        "--dot", o->dot, "Write that graph, or the last one, for Graphviz into this file");
    sub->add_option(
        "--save", o->save,
        "Write the step or the forward pass, with its untrained weights, into this file");
    sub->add_flag("--counts", o->counts, "Print no graph, only the table")
        ->excludes(pass)
        ->excludes(dot);
    sub->add_flag("--regions", o->regions,
                  "Print the regions of elementwise calls instead, and whether one kernel for each "
                  "has the same bits and is faster")
        ->excludes(pass)
        ->excludes(dot)
        ->excludes("--counts");
    sub->add_option("--data", o->data, "Folder of the training data, as for halyard train");
    sub->add_option("--batch-size", o->batch_size, "Rows of a step")->check(CLI::Range(1, 65536));
    sub->add_option("--image-size,--length", o->size,
                    "Height and width of images, or bytes of a piece of text")
        ->check(CLI::Range(1, 4096));
    sub->callback([o, sub, &selected] {
        selected = [o, sub] {
            return examples::has_recipe(o->network) ? show(*o, captured(*o)) : show_file(*o, *sub);
        };
    });
}

}  // namespace halyard::command

// halyard fuse: elementwise ops in one kernel, compared with the ops one after another. Graph mode
// runs it for the regions of a graph (graph/fused_kernels.h).
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "dsl/all_ops.h"
#include "primitives/library.h"
#include "registry/base/atomic_file.h"
#include "registry/base/parallel.h"
#include "tools/halyard/command.h"
#include "tools/halyard/fused_chain.h"

namespace halyard::command {
namespace {

struct FuseOptions {
    FusedRequest request;
    std::string isa, json;
    bool background = false;
};

// Gives way to the program that started this one, ends with it, and leaves its files alone.
void go_to_background() {
    constexpr int lowest = 19;
    setpriority(PRIO_PROCESS, 0, lowest);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (const char *name : {"HALYARD_ENABLE_PROFILING", "HALYARD_PRINT_FILE_PATH",
                             "HALYARD_SAVE_GRAPHS", "HALYARD_DEVICE_TARGET", "HALYARD_MODE",
                             "HALYARD_ENABLE_GRAPH_KERNEL", "HALYARD_NUMERICS"})
        unsetenv(name);
}

void write_json(const std::string &file, const nlohmann::ordered_json &found) {
    const std::string text = found.dump(2) + "\n";
    if (file == "-")
        std::fputs(text.c_str(), stdout);
    else
        write_file(file, text, Durability::to_system);
}

int run_fuse(FuseOptions o) {
    if (o.background) go_to_background();
    library();
    list_kit_ops();
    o.request.isa = o.isa.empty() ? active_isa() : isa_of(o.isa);
    FusedChain chain(o.request);
    chain.compile();
    const std::string difference = chain.difference();
    const FusedChain::Times times = difference.empty() ? chain.times() : FusedChain::Times();
    const RegisteredOp &op = chain.op();
    if (!o.json.empty()) {
        nlohmann::ordered_json found{{"name", op.record.name},
                                     {"signature", op.record.signature},
                                     {"dtype", op.record.dtypes[0]},
                                     {"isa", name_of(chain.isa())},
                                     {"lanes", op.kernels.front().lanes},
                                     {"library", chain.library()},
                                     {"symbol", chain.symbol()},
                                     {"same_bits", difference.empty()},
                                     {"difference", difference},
                                     {"reduction", chain.reduction()},
                                     {"variant", chain.variant()},
                                     {"ratio", times.ratio},
                                     {"seconds", times.seconds}};
        found["attributes"] = nlohmann::ordered_json::array();
        for (size_t k = 0; k < chain.numbers(); k++)
            found["attributes"].push_back(op.record.attrs[k].name);
        write_json(o.json, found);
        return 0;
    }
    std::printf("%s: %s\n%zu ops in one kernel, %s, %d threads\n", op.record.name.c_str(),
                op.record.signature.c_str(), chain.calls(), name_of(chain.isa()), threads());
    if (!difference.empty()) {
        std::printf("other bits: %s\n", difference.c_str());
        return 1;
    }
    std::printf("the same bits; %.2f times as fast as the ops one after another (%.3g us)\n",
                times.ratio, 1e6 * times.seconds);
    return 0;
}

}  // namespace

void add_fuse(CLI::App &app, Run &selected) {
    auto o = std::make_shared<FuseOptions>();
    CLI::App *sub = app.add_subcommand("fuse", "Compile elementwise ops into one kernel, compare "
                                               "its bits and its time with theirs");
    sub->add_option("ops", o->request.body,
                    "Such as \"t = mul(x, g); y = tanh(t)\"; the last may be a reduction, with its "
                    "attributes: \"y = reduce_sum(t) axis=1\"")
        ->required();
    sub->add_option("--in", o->request.inputs,
                    "The type of an input, such as f32[32,120], in the order in which they occur")
        ->required()
        ->allow_extra_args(false);
    sub->add_option("--out", o->request.outputs,
                    "A result to store; default: those that no op reads")
        ->allow_extra_args(false);
    sub->add_option("--numbers", o->request.numbers,
                    "The values of the elementwise ops' attributes, in order; default: their own")
        ->delimiter(',');
    sub->add_option("--isa", o->isa,
                    "baseline, avx2 or avx512; default: the best here. "
                    "No more than the kit's kernels of the ops have")
        ->check(CLI::IsMember({"baseline", "avx2", "avx512"}));
    sub->add_option("--json", o->json, "The file for all of this as JSON; -: standard output");
    sub->add_flag("--background", o->background,
                  "Run at the lowest priority, and end when the caller ends");
    sub->callback([o, &selected] { selected = [o] { return run_fuse(*o); }; });
}

}  // namespace halyard::command

// usage: graph_run GRAPH INPUT.npy RESULT.npy
//
// Runs a saved graph twice, and writes the second result. This program has no network's class.
#include <cstdio>

#include "nn/graph_cell.h"
#include "registry/base/error.h"
#include "registry/tensor/npy.h"
#include "train/checkpoint/saved_graph.h"

using namespace halyard;

int main(int argc, char **argv) {
    if (argc != 4) return 2;
    try {
        const nn::GraphCell net(load_graph(argv[1]));
        const Tensor x = load_npy(argv[2]);
        net(x);
        save_npy(argv[3], net(x));
    } catch (const Error &e) {
        std::fprintf(stderr, "%s\n", e.what());
        return 1;
    }
    return 0;
}

// Row loops: neighbouring calls that run for some rows of their results at a time, so that what one
// of them computes is still in a processor's cache when the next one reads it. What only they use
// takes the memory of those rows alone.
//
// Rows are counted along the leading dimensions that the results of all calls have. The calls have
// rows (registry/dispatch/call_rows.h), or copy or convert elements. They run with the kernels that
// whole calls have, which compute an element the same way however many rows there are.
#pragma once
#include <string>
#include <vector>

#include "graph/graph.h"

namespace halyard::graph {

// A tensor that nodes outside of the loop, or the caller, use too.
struct RowOperand {
    // The place where a node of the loop reads or writes it.
    size_t node = 0, place = 0;
    bool is_output = false;
    View view;
    // By leading dimension: the bytes from one row to the next; 0 if all rows have the same.
    Shape steps;
};

struct RowLoop {
    std::vector<size_t> nodes;  // they run in the place of the last one
    Shape rows;                 // the leading extents
    // The dimension that is cut into parts of about as many rows; of those before it one row is
    // taken at a time.
    int tiled = 0;
    int64_t parts = 1;
    std::vector<RowOperand> operands;
    std::vector<int> inner;  // buffers that only its nodes use

    int64_t tiles() const;  // how many times the nodes run
    // The rows of a part: the first ones may have one more than the others.
    int64_t rows_of_part(int64_t part) const;
    int64_t first_row_of_part(int64_t part) const;
};

struct RowLimits {
    // The bytes that the rows of one tile may take, so that they stay in one processor's cache.
    int64_t tile_bytes = 512 * 1024;
    // A loop with fewer tiles for each thread has tensors that nearly fit into the caches.
    int64_t fewest_tiles = 16;
};
// Sets the limits for graphs that are planned later. For tests.
void set_row_limits(const RowLimits &limits);

// Returns the loops that pay with so many threads. Lifetimes must have been found.
std::vector<RowLoop> find_row_loops(const Graph &graph, int threads);

// Sets the lifetimes that buffers have with the loops: operands are used from a loop's first node
// to its last one; inner buffers are in no arena.
void extend_lifetimes(Graph &graph, const std::vector<RowLoop> &loops);

// Returns the loop's nodes for so many rows of the tiled dimension, as a graph whose arguments are
// the operands.
Graph graph_of_rows(const Graph &graph, const RowLoop &loop, int64_t rows);

// Returns "64 of 4096 rows at a time: mul, add, tanh".
std::string text_of(const Graph &graph, const RowLoop &loop);

}  // namespace halyard::graph

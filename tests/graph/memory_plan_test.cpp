#include "graph/memory_plan.h"

#include <gtest/gtest.h>

#include <random>

namespace halyard::graph {
namespace {

View whole(int buffer) {
    return {buffer, 0, {1}, {1}, DType::f32};
}

// Returns a chain of nodes, each of which reads the buffer before its own.
Graph chain(const std::vector<size_t> &bytes) {
    Graph g;
    for (size_t k = 0; k < bytes.size(); k++) {
        Buffer b;
        b.bytes = bytes[k];
        g.buffers.push_back(b);
        Node n;
        n.name = "step";
        if (k > 0) n.in.push_back(whole(int(k) - 1));
        n.out.push_back(whole(int(k)));
        g.nodes.push_back(n);
    }
    find_lifetimes(g);
    return g;
}

TEST(MemoryPlan, ReusesTheMemoryOfWhatIsReadNoMore) {
    const MemoryPlan plan = plan_memory(chain({128, 64, 128, 64}), false);
    EXPECT_EQ(plan.lower_bound, 192u);
    EXPECT_EQ(plan.bytes, 192u);
    EXPECT_EQ(plan.offsets[0], plan.offsets[2]);
    EXPECT_NE(plan.offsets[0], plan.offsets[1]);
}

TEST(MemoryPlan, GivesNoMemoryToArgumentsAndOutputs) {
    Graph g = chain({128, 64, 128});
    g.buffers[0].role = Role::input;
    g.buffers[2].role = Role::output;
    EXPECT_EQ(plan_memory(g, false).bytes, 64u);
}

TEST(MemoryPlan, NeverPlacesLivingBuffersOnEachOther) {
    std::mt19937 random(7);
    for (int trial = 0; trial < 200; trial++) {
        Graph g;
        const int count = 1 + int(random() % 40);
        g.nodes.resize(size_t(count));
        for (int k = 0; k < count; k++) {
            Buffer b;
            b.bytes = random() % 1000;
            b.first = int(random() % unsigned(count));
            b.last = b.first + int(random() % unsigned(count - b.first));
            g.buffers.push_back(b);
        }
        const MemoryPlan plan = plan_memory(g, false);
        EXPECT_GE(plan.bytes, plan.lower_bound);
        for (int a = 0; a < count; a++) {
            const Buffer &x = g.buffers[size_t(a)];
            EXPECT_EQ(plan.offsets[size_t(a)] % 64, 0u);
            EXPECT_LE(plan.offsets[size_t(a)] + x.bytes, plan.bytes);
            for (int b = 0; b < a; b++) {
                const Buffer &y = g.buffers[size_t(b)];
                if (x.last < y.first || y.last < x.first) continue;
                EXPECT_TRUE(plan.offsets[size_t(a)] + x.bytes <= plan.offsets[size_t(b)] ||
                            plan.offsets[size_t(b)] + y.bytes <= plan.offsets[size_t(a)])
                    << trial << ": " << a << " and " << b;
            }
        }
    }
}

}  // namespace
}  // namespace halyard::graph

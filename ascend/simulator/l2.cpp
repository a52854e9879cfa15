#include "ascend/simulator/l2.h"

#include <algorithm>

namespace halyard::dv {

std::vector<std::vector<float>> l2_hits(
    const Profile &chip, int cores, int64_t blocks,
    const std::function<const std::vector<Traffic> &(int64_t)> &traffic) {
    constexpr int64_t line = 512;
    const double capacity = chip.at("l2.bytes");
    std::vector<std::vector<float>> hits(static_cast<size_t>(blocks));
    // by tensor and line: the bytes that had gone by, plus one
    std::vector<std::vector<double>> touched;
    double gone = 0;
    const auto one = [&](const Traffic &t) {
        if (size_t(t.tensor) >= touched.size()) touched.resize(size_t(t.tensor) + 1);
        auto &lines = touched[size_t(t.tensor)];
        int64_t there = 0, all = 0;
        for (int64_t i = 0; i < t.count; i++) {
            const int64_t begin = t.begin + i * t.pitch;
            const int64_t last = (begin + t.bytes - 1) / line;
            if (size_t(last) >= lines.size())
                lines.resize(size_t(std::max<int64_t>(last + 1, int64_t(lines.size()) * 2)), -1);
            for (int64_t l = begin / line; l <= last; l++) {
                double &at = lines[size_t(l)];
                all++;
                if (at >= 0 && gone - at <= capacity) there++;
                at = gone;
            }
        }
        gone += double(t.count * t.bytes);
        return all ? float(there) / float(all) : 0.0f;
    };
    // Each core's position: its block and the move in it.
    std::vector<std::pair<int64_t, size_t>> at(static_cast<size_t>(cores));
    for (int c = 0; c < cores; c++)
        at[size_t(c)] = {c, 0};
    for (bool more = true; more;) {
        std::vector<int64_t> round;  // the blocks that make a move
        double there = 0, all = 0;
        for (auto &[block, move] : at) {
            while (block < blocks && move == traffic(block).size()) {
                block += cores;
                move = 0;
            }
            if (block >= blocks) continue;
            round.push_back(block);
            const Traffic &t = traffic(block)[move++];
            const double bytes = double(t.count * t.bytes);
            all += bytes;
            there += bytes * one(t);
        }
        // What several cores ask for at once comes once: they share the wait, whoever is first.
        for (const int64_t block : round)
            hits[size_t(block)].push_back(float(there / all));
        more = !round.empty();
    }
    return hits;
}

}  // namespace halyard::dv

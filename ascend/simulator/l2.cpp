#include "ascend/simulator/l2.h"

#include <algorithm>

namespace halyard::dv {

namespace {

constexpr int64_t line_bytes = 512;

class L2 {
public:
    explicit L2(const Profile &chip) : capacity_(chip.at("l2.bytes")) {}

    // Adds a move. Returns the share of its lines that L2 has.
    float access(const Traffic &t) {
        if (size_t(t.tensor) >= touched_.size()) touched_.resize(size_t(t.tensor) + 1);
        int64_t hits = 0, all = 0;
        for (int64_t i = 0; i < t.count; i++) {
            const int64_t begin = t.begin + i * t.pitch;
            const int64_t first = begin / line_bytes;
            const int64_t last = (begin + t.bytes - 1) / line_bytes;
            hits += touch(touched_[size_t(t.tensor)], first, last);
            all += last - first + 1;
        }
        moved_ += double(t.count * t.bytes);
        return all ? float(hits) / float(all) : 0.0f;
    }

private:
    const double capacity_;
    // By tensor and line: the bytes that had been moved when it was accessed last; -1 before.
    std::vector<std::vector<double>> touched_;
    double moved_ = 0;

    // Returns how many of the lines L2 has.
    int64_t touch(std::vector<double> &lines, int64_t first, int64_t last) const {
        if (size_t(last) >= lines.size())
            lines.resize(size_t(std::max<int64_t>(last + 1, int64_t(lines.size()) * 2)), -1);
        int64_t hits = 0;
        for (int64_t l = first; l <= last; l++) {
            double &at = lines[size_t(l)];
            hits += at >= 0 && moved_ - at <= capacity_;
            at = moved_;
        }
        return hits;
    }
};

}  // namespace

std::vector<std::vector<float>> l2_hits(
    const Profile &chip, int cores, int64_t blocks,
    const std::function<const std::vector<Traffic> &(int64_t)> &traffic) {
    L2 l2(chip);
    std::vector<std::vector<float>> hits(static_cast<size_t>(blocks));
    // Each core's position: its block and the move in it.
    std::vector<std::pair<int64_t, size_t>> at(static_cast<size_t>(cores));
    for (int c = 0; c < cores; c++)
        at[size_t(c)] = {c, 0};
    for (bool more = true; more;) {
        std::vector<int64_t> round;  // the blocks that make a move
        double hit = 0, all = 0;
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
            hit += bytes * l2.access(t);
        }
        // Lines that several cores read at once are loaded once: all of them share the wait.
        for (const int64_t block : round)
            hits[size_t(block)].push_back(float(hit / all));
        more = !round.empty();
    }
    return hits;
}

}  // namespace halyard::dv

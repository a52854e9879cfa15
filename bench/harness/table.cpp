#include "bench/harness/table.h"

#include <algorithm>
#include <cstdio>

#include "bench/harness/statistics.h"

namespace halyard::bench {
namespace {

// Returns the peer's time over the case's, of the minima (and of the medians).
std::string relative_to_peer(const std::deque<BenchmarkCase> &cases, const std::string &peer,
                             const BenchmarkCase &s) {
    if (s.peer) return "";
    for (const BenchmarkCase &o : cases) {
        if (o.peer && o.label == peer && o.threads == s.threads && !o.seconds.empty()) {
            return text_of("%.2f", least(o.seconds) / least(s.seconds)) +
                   text_of(" (%.2f)", median(o.seconds) / median(s.seconds));
        }
    }
    return "";
}

std::string share_text(const roofs::Bound &bound, double seconds) {
    if (bound.by.empty()) return "-";
    return text_of("%.0f %% ", 100 * bound.seconds / seconds) + bound.by;
}

std::string padded(const std::string &text, size_t width, bool left) {
    const std::string gap(width - std::min(width, text.size()), ' ');
    return left ? text + gap : gap + text;
}

}  // namespace

std::string text_of(const char *format, double value) {
    char text[64];
    std::snprintf(text, sizeof text, format, value);
    return text;
}

std::string time_text(double s) {
    if (s < 1e-6) return text_of("%.0f ns", s * 1e9);
    return s < 1e-3 ? text_of("%.2f us", s * 1e6) : text_of("%.2f ms", s * 1e3);
}

std::vector<Column> columns_of(const std::deque<BenchmarkCase> &cases, const Roofline &roofline,
                               const Expected &expected) {
    std::vector<Column> columns = {
        {"median", [](const BenchmarkCase &s) { return time_text(median(s.seconds)); }},
        {"min", [](const BenchmarkCase &s) { return time_text(least(s.seconds)); }},
        {"GFLOP/s",
         [flops = roofline.operations()](const BenchmarkCase &s) {
             return flops > 0 && s.computes ? text_of("%.1f", flops / least(s.seconds) * 1e-9)
                                            : "-";
         }},
        {"GB/s",
         [bytes = roofline.bytes()](const BenchmarkCase &s) {
             return text_of("%.1f", bytes / least(s.seconds) * 1e-9);
         }},
        {"of the roof",
         [&roofline](const BenchmarkCase &s) {
             return s.device.empty()
                        ? share_text(roofline.bound(s.isa, s.threads), least(s.seconds))
                        : "";
         },
         true},
        {"error",
         [known = expected.known()](const BenchmarkCase &s) {
             return s.computes && known
                        ? text_of("%.2g", s.accuracy.error) + (s.imprecise.empty() ? "" : "!")
                        : "-";
         }},
    };
    std::vector<std::string> peers;  // in order, each once
    for (const BenchmarkCase &s : cases) {
        if (s.peer && !s.seconds.empty() &&
            std::find(peers.begin(), peers.end(), s.label) == peers.end())
            peers.push_back(s.label);
    }
    for (auto &p : peers) {
        columns.push_back({"x " + p, [&cases, p](const BenchmarkCase &s) {
                               return relative_to_peer(cases, p, s);
                           }});
    }
    return columns;
}

void print_table(const std::deque<BenchmarkCase> &cases, const std::vector<Column> &columns) {
    // The line of a failed case is one text, and no column is made as wide as that.
    std::vector<std::vector<std::string>> lines;
    std::vector<std::string> title = {"kernel", "threads"};
    std::vector<size_t> width;
    for (auto &c : columns)
        title.push_back(c.title);
    for (auto &t : title)
        width.push_back(t.size());
    for (const BenchmarkCase &s : cases) {
        lines.push_back({s.label, std::to_string(s.threads)});
        if (s.accuracy.violation.empty()) {
            for (auto &c : columns)
                lines.back().push_back(c.text(s));
        }
        for (size_t i = 0; i < lines.back().size(); i++)
            width[i] = std::max(width[i], lines.back()[i].size());
    }
    auto print = [&](const std::string &mark, const std::vector<std::string> &line,
                     const std::string &end) {
        std::string text = mark;
        for (size_t i = 0; i < line.size(); i++)
            text += padded(line[i], width[i], i == 0 || (i >= 2 && columns[i - 2].left)) + "  ";
        text += end;
        text.erase(text.find_last_not_of(' ') + 1);
        std::printf("%s\n", text.c_str());
    };
    print("  ", title, "");
    for (size_t i = 0; i < lines.size(); i++) {
        const BenchmarkCase &s = cases[i];
        print(s.dispatched ? "* " : "  ", lines[i],
              s.accuracy.violation.empty() ? "" : "FAIL, no time: " + s.accuracy.violation);
    }
}

}  // namespace halyard::bench

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "ascend/simulator/metrics.h"

namespace halyard::dv {
namespace {

constexpr int left = 56, top = 34, lane = 26, bar = 18, width = 900;  // pixels
constexpr double min_width =
    0.75;  // the least width of a bar; bars of one name that are closer are merged
constexpr double min_edged = 4;  // a wider bar has a white edge
constexpr double letter = 5;     // the width of a letter

struct Bar {
    std::string name;
    double start, end;  // cycles
    int count;
};

std::vector<Bar> bars(const CoreTimeline &events, Pipe pipe, double pixel) {
    std::vector<Bar> all;
    for (const Event &e : events) {
        if (e.pipe != pipe || !e.instr) continue;
        const std::string name = name_of(*e.instr);
        if (!all.empty() && all.back().name == name &&
            e.start - all.back().end < min_width * pixel) {
            all.back().end = e.end;
            all.back().count++;
        } else
            all.push_back({name, e.start, e.end, 1});
    }
    return all;
}

std::string text(double v) {
    char s[24];
    std::snprintf(s, sizeof s, "%.2f", v);
    return s;
}

std::string label(double x, double y, const std::string &anchor, const std::string &words) {
    return "<text x=\"" + text(x) + "\" y=\"" + text(y) + "\" text-anchor=\"" + anchor + "\">" +
           words + "</text>\n";
}

// Returns a bar with its name, if there is room, and a white edge unless it would hide the bar.
std::string drawn(const Bar &b, double x, double y, double wide) {
    std::string s = "<rect x=\"" + text(x) + "\" y=\"" + text(y) + "\" width=\"" +
                    text(std::max(wide, min_width)) + "\" height=\"" + std::to_string(bar) + "\"" +
                    (wide > min_edged ? " stroke=\"white\"" : "") + "><title>" +
                    (b.count > 1 ? std::to_string(b.count) + " " : "") + b.name + ", cycles " +
                    std::to_string(int64_t(b.start)) + " to " + std::to_string(int64_t(b.end)) +
                    "</title></rect>\n";
    const std::string name = b.name.substr(b.name.rfind("vec_", 0) == 0 ? 4 : 0);
    if (wide > letter * double(name.size() + 1)) {
        s += "<text x=\"" + text(x + wide / 2) + "\" y=\"" + text(y + 13) +
             "\" text-anchor=\"middle\" fill=\"white\" font-size=\"10\">" + name + "</text>\n";
    }
    return s;
}

// Returns a step of 1, 2 or 5 times a power of ten, of which there are 4 to 10.
double step_of(double cycles) {
    const double power = std::pow(10, std::floor(std::log10(cycles / 4)));
    return cycles / 4 >= 5 * power ? 5 * power : cycles / 4 >= 2 * power ? 2 * power : power;
}

}  // namespace

std::string timeline_svg(const Program &p, const SimResult &r) {
    static constexpr const char *colours[pipe_count] = {"#8c8c8c", "#3a7bbf", "#b0413e", "#d99a2b",
                                                        "#4f9d69", "#8460a8", "#2b8f8f"};
    if (r.timelines.empty()) return "";
    const CoreTimeline &events = r.timelines[0];
    double cycles = 1;
    for (const Event &e : events)
        cycles = std::max(cycles, e.end);
    const double pixel = cycles / width;  // cycles
    std::string lanes;
    int n = 0;
    for (int pipe = 0; pipe < pipe_count; pipe++) {
        const std::vector<Bar> all = bars(events, static_cast<Pipe>(pipe), pixel);
        if (all.empty()) continue;
        const double y = top + lane * n++;
        lanes += label(left - 8, y + 13, "end", name_of(static_cast<Pipe>(pipe))) + "<g fill=\"" +
                 colours[pipe] + "\">\n";
        for (const Bar &b : all)
            lanes += drawn(b, left + b.start / pixel, y, (b.end - b.start) / pixel);
        lanes += "</g>\n";
    }
    std::string axis;
    const double bottom = top + lane * n;
    for (double at = 0; at <= cycles; at += step_of(cycles)) {
        const std::string x = text(left + at / pixel);
        axis += "<path d=\"M" + x + " " + std::to_string(top - 4) + "V" + text(bottom) +
                "\" stroke=\"#dddddd\"/>\n" +
                label(left + at / pixel, bottom + 14, "middle", std::to_string(int64_t(at)));
    }
    return "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" +
           std::to_string(left + width + 40) + "\" height=\"" + text(bottom + 24) +
           "\" font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" "
           "fill=\"white\"/>\n" +
           label(left, 18, "start",
                 p.name + " on " + p.profile + ", core 0 of " + std::to_string(r.cores) + ": " +
                     std::to_string(int64_t(cycles)) + " cycles, simulated") +
           axis + lanes + "</svg>\n";
}

}  // namespace halyard::dv

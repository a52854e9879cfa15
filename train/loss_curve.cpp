// The picture of a training: steps as a thin line, epoch means as a thick one, on a linear or, over two decades, logarithmic axis.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>

#include "registry/error.h"
#include "train/callback.h"

namespace halyard {
namespace {

constexpr double width = 900, height = 480, left = 70, right = 20, top = 24, bottom = 48;

std::string number(double v, const char *pattern = "%.4g") {
    char text[32];
    std::snprintf(text, sizeof text, pattern, v);
    return text;
}

struct Axis {
    double low, high;  // of the drawn quantity: log10 of the loss when logarithmic
    bool logarithmic;
    double of(double loss) const { return logarithmic ? std::log10(std::max(loss, std::pow(10.0, low))) : loss; }
    double y(double loss) const { return top + (height - top - bottom) * (high - of(loss)) / (high - low); }
};

Axis axis_for(const std::vector<double> &values) {
    double least = values[0], most = values[0], positive = 0;
    for (const double v : values) {
        least = std::min(least, v), most = std::max(most, v);
        if (v > 0) positive = positive == 0 ? v : std::min(positive, v);
    }
    if (least >= 0 && positive > 0 && most / positive > 100) {
        // Six decades are all one can read; a loss of exactly 0 lies on the floor.
        const double high = std::ceil(std::log10(most) * 4) / 4;
        return {std::max(std::floor(std::log10(positive)), high - 6), high, true};
    }
    const double low = std::min(0.0, least);
    return {low, most > low ? most * 1.05 : low + 1, false};
}

std::vector<double> ticks_of(const Axis &axis) {
    std::vector<double> out;
    if (axis.logarithmic) {
        for (double e = std::ceil(axis.low); e <= axis.high; e++) out.push_back(std::pow(10.0, e));
        return out;
    }
    const double rough = (axis.high - axis.low) / 6, unit = std::pow(10.0, std::floor(std::log10(rough)));
    const double step = unit * (rough / unit < 1.5 ? 1 : rough / unit < 3.5 ? 2 : rough / unit < 7.5 ? 5 : 10);
    for (double v = std::ceil(axis.low / step) * step; v <= axis.high; v += step) out.push_back(std::abs(v) < step / 2 ? 0 : v);
    return out;
}

std::string escaped(const std::string &text) {
    std::string out;
    for (const char c : text) out += c == '<' ? "&lt;" : c == '&' ? "&amp;" : std::string(1, c);
    return out;
}

}  // namespace

void LossCurve::on_train_step_end(RunContext &c) { losses_.push_back(c.loss()); }

void LossCurve::on_train_epoch_end(RunContext &) {
    epoch_ends_.push_back(losses_.size());
    std::ofstream file(path_);
    if (!(file << html() << std::flush)) throw IoError(path_, "can't be written");
}

std::string LossCurve::html() const {
    std::string svg = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " + number(width) + " " + number(height) + "\" role=\"img\">\n";
    std::string summary = "no steps";
    std::vector<double> finite;
    std::copy_if(losses_.begin(), losses_.end(), std::back_inserter(finite), [](double v) { return std::isfinite(v); });
    if (!finite.empty()) {
        const Axis axis = axis_for(finite);
        const double n = std::max<double>(1, (double)losses_.size() - 1);
        const auto x = [&](double step) { return left + (width - left - right) * step / n; };
        for (const double v : ticks_of(axis)) {
            const std::string y = number(axis.y(v), "%.1f");
            svg += "<line class=\"grid\" x1=\"" + number(left) + "\" x2=\"" + number(width - right) + "\" y1=\"" + y + "\" y2=\"" + y + "\"/>";
            svg += "<text x=\"" + number(left - 8) + "\" y=\"" + y + "\" text-anchor=\"end\" dy=\".35em\">" + number(v) + "</text>\n";
        }
        for (int i = 0; i <= 5; i++) {
            const double step = std::round(n * i / 5);
            svg += "<text x=\"" + number(x(step), "%.1f") + "\" y=\"" + number(height - bottom + 20) + "\" text-anchor=\"middle\">" + number(step + 1, "%.0f") +
                   "</text>\n";
        }
        svg += "<text x=\"" + number((left + width - right) / 2) + "\" y=\"" + number(height - 8) + "\" text-anchor=\"middle\">step</text>\n";
        std::string steps, means;
        for (size_t i = 0; i < losses_.size(); i++)
            if (std::isfinite(losses_[i])) steps += number(x((double)i), "%.1f") + "," + number(axis.y(losses_[i]), "%.1f") + " ";
        double mean = 0;
        for (size_t e = 0, from = 0; e < epoch_ends_.size(); from = epoch_ends_[e++]) {
            const size_t to = epoch_ends_[e];
            if (from == to) continue;
            mean = 0;
            for (size_t i = from; i < to; i++) mean += losses_[i] / (double)(to - from);
            if (std::isfinite(mean)) means += number(x(((double)from + (double)to - 1) / 2), "%.1f") + "," + number(axis.y(mean), "%.1f") + " ";
        }
        svg += "<polyline class=\"steps\" points=\"" + steps + "\"/>\n<polyline class=\"epochs\" points=\"" + means + "\"/>\n";
        summary = std::to_string(losses_.size()) + " steps, " + std::to_string(epoch_ends_.size()) + " epochs; first loss " + number(losses_.front()) +
                  ", last loss " + number(losses_.back()) + ", mean of the last epoch " + number(mean) + (axis.logarithmic ? "; logarithmic axis" : "");
    }
    return "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>" + escaped(title_) +
           "</title>\n<style>body{font:15px system-ui,sans-serif;max-width:960px;margin:2em auto;padding:0 1em;color:#1f2933;background:#fff}"
           "svg{width:100%;height:auto}svg text{font-size:13px;fill:#52606d}.grid{stroke:#e4e7eb}"
           ".steps{fill:none;stroke:#8cb4e8;stroke-width:1}.epochs{fill:none;stroke:#c2410c;stroke-width:2.5;stroke-linejoin:round}"
           ".k{font-weight:600}</style></head>\n<body><h1>" +
           escaped(title_) + "</h1>\n<p>" + summary +
           ".</p>\n<p><span class=\"k\" style=\"color:#5b8fd6\">thin</span>: every step; <span class=\"k\" style=\"color:#c2410c\">thick</span>: mean of each "
           "epoch.</p>\n" +
           svg + "</svg></body></html>\n";
}

}  // namespace halyard

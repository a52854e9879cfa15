#include "tools/export/int8_convolution_source.h"

#include <algorithm>

#include "tools/export/int8_arena.h"
#include "tools/export/int8_expressions.h"
#include "tools/export/int8_loops.h"

namespace halyard::exporting {
namespace {

constexpr int64_t most_sums = 4;  // that share the loads of weights

class ConvolutionText {
public:
    ConvolutionText(const Int8Step &step, const Int8Network &network, bool takes_floats)
        : step_(step), c_(step.convolution), network_(network), x_(network.tensors.at(step.x)),
          takes_floats_(takes_floats), lanes_(lanes_of(step.convolution)) {}

    StepText text() {
        image_ = t_.loop("n", c_.n);
        if (takes_floats_) {
            row_ = t_.loop("i", c_.y_rows);
            write_rows();
        }
        channel_ = t_.loop("c", c_.o);
        if (!takes_floats_) row_ = t_.loop("i", c_.y_rows);
        column_ = t_.loop("j", c_.y_columns / lanes_);
        const std::vector<std::string> sums = write_sums();
        for (size_t k = 0; k < sums.size(); k++)
            write_result(sums[k], int64_t(k));
        t_.close_loops(0);
        return {parameters(), t_.text()};
    }

private:
    const Int8Step &step_;
    const Convolution &c_;
    const Int8Network &network_;
    const Int8Tensor &x_;
    const bool takes_floats_;
    const int64_t lanes_;  // neighbours in a row of y that share the loads of weights
    LoopText t_;
    // Loop variables: of images, and of y's channels, rows and columns.
    std::string image_, channel_, row_, column_;

    static int64_t windows_of(const Convolution &c) { return c.pool.rows * c.pool.columns; }

    static int64_t lanes_of(const Convolution &c) {
        if (c.is_padded || windows_of(c) > 1) return 1;
        return c.y_columns % most_sums == 0 ? most_sums : c.y_columns % 2 == 0 ? 2 : 1;
    }

    std::string parameters() const {
        return std::string(takes_floats_ ? "const float *x, int8_t *rows" : "const int8_t *x") +
               (step_.z < 0 ? "" : ", const int8_t *z") +
               ", const int8_t *weight, const int32_t *bias, const int32_t *multiplier, int8_t *y";
    }

    // Writes x's rows of a row of y as integers.
    void write_rows() {
        const size_t loops = t_.loops();
        const std::string k = t_.loop("k", c_.c);
        const std::string r = t_.loop("r", rows_of_window(c_), c_.is_padded);
        const std::string row = sum_text({{row_, c_.pool.rows * c_.stride.rows}, {r}}, -c_.top);
        if (c_.is_padded) {
            t_.line("const int32_t row = " + row + ";");
            t_.line("if (row < 0 || row >= " + std::to_string(c_.h) + ") continue;");
        }
        const std::string s = t_.loop("s", c_.w);
        const std::string from = sum_text({{image_, c_.c * c_.h * c_.w},
                                           {k, c_.h * c_.w},
                                           {c_.is_padded ? "row" : row, c_.w},
                                           {s}});
        const std::string to = sum_text({{k, rows_of_window(c_) * c_.w}, {r, c_.w}, {s}});
        t_.line("rows[" + to + "] = " + quantize_text(x_, "x[" + from + "]") + ";");
        t_.close_loops(loops);
    }

    void write_result(const std::string &sum, int64_t lane) {
        const std::string at = sum_text({{image_, c_.o * c_.y_rows * c_.y_columns},
                                         {channel_, c_.y_rows * c_.y_columns},
                                         {row_, c_.y_columns},
                                         {column_, lanes_}},
                                        lane);
        const std::string product = "(int64_t)" + sum + " * multiplier[" + sum_text({{channel_}}) +
                                    "]" + shortcut(step_, network_, at);
        t_.line("y[" + at + "] = " + requantized(step_.to_y, product) + ";");
    }

    // Writes the sums of products, each or the largest of a window of them, and returns the names
    // of those that are results.
    std::vector<std::string> write_sums() {
        const int64_t windows = windows_of(c_);
        if (c_.is_padded || windows > most_sums) return {write_largest()};
        std::vector<std::string> sums;
        for (int64_t k = 0; k < std::max(windows, lanes_); k++)
            sums.push_back("sum" + std::to_string(k));
        if (sums.size() == 1) sums = {"sum"};
        write_products(sums, "", "");
        if (windows == 1) return sums;
        for (size_t k = 1; k < sums.size(); k++)
            t_.line("if (" + sums[k] + " > sum0) sum0 = " + sums[k] + ";");
        return {sums[0]};
    }

    // Writes the sums of a window one after the other, and returns the name of the largest.
    std::string write_largest() {
        if (windows_of(c_) == 1) {
            write_products({"sum"}, "", "");
            return "sum";
        }
        t_.line("int32_t largest = INT32_MIN;");
        const size_t loops = t_.loops();
        const std::string p = t_.loop("p", c_.pool.rows);
        const std::string q = t_.loop("q", c_.pool.columns);
        write_products({"sum"}, p, q);
        t_.line("if (sum > largest) largest = sum;");
        t_.close_loops(loops);
        return "largest";
    }

    // Writes the sum of the products at row p and column q of a window of the pool, or all sums of
    // a window or of neighbours.
    void write_products(const std::vector<std::string> &sums, const std::string &p,
                        const std::string &q) {
        std::string declared = "int32_t " + sums[0] + " = bias[" + sum_text({{channel_}}) + "]";
        for (size_t k = 1; k < sums.size(); k++)
            declared += ", " + sums[k] + " = " + sums[0];
        t_.line(declared + ";");
        const int64_t per_group = c_.c / c_.group;
        const std::string filter = sum_text({{channel_, per_group * c_.u * c_.v}});
        t_.line("const int8_t *w = weight" + (filter == "0" ? "" : " + " + filter) + ";");
        const size_t loops = t_.loops();
        if (c_.is_padded)
            write_padded_taps(p, q);
        else
            write_taps(sums, p, q);
        t_.close_loops(loops);
    }

    void write_taps(const std::vector<std::string> &sums, const std::string &p,
                    const std::string &q) {
        const std::string k = t_.loop("k", c_.c / c_.group);
        const std::string r = t_.loop("r", c_.u);
        const std::string column = sum_text({{column_, c_.pool.columns * lanes_}, {q}});
        std::string x = x_at(k, row_of(p, r), p, r, sum_text({{column, c_.stride.columns}}));
        std::string s;
        if (c_.v > 1) {
            t_.line("const int8_t *line = " + std::string(takes_floats_ ? "rows" : "x") +
                    (x == "0" ? "" : " + " + x) + ";");
            s = sum_text({{t_.loop("s", c_.v), c_.dilation.columns}});
        }
        const std::string from = c_.v > 1 ? "line[" : takes_floats_ ? "rows[" : "x[";
        x = c_.v > 1 ? s : x;
        if (sums.size() == 1) return t_.line("sum += " + from + x + "] * *w++;");
        t_.line("const int32_t tap = *w++;");
        for (size_t n = 0; n < sums.size(); n++) {
            const int64_t columns = c_.pool.columns * lanes_;
            const int64_t row = int64_t(n) / columns * c_.stride.rows;
            const int64_t at = int64_t(n) % columns * c_.stride.columns;
            t_.line(sums[n] + " += " + from + sum_text({{x}}, row * c_.w + at) + "] * tap;");
        }
    }

    void write_padded_taps(const std::string &p, const std::string &q) {
        const std::string column = sum_text({{column_, c_.pool.columns}, {q}});
        write_range("row", "r", row_of(p, ""), c_.h, c_.u, c_.dilation.rows);
        write_range("column", "s", sum_text({{column, c_.stride.columns}}, -c_.left), c_.w, c_.v,
                    c_.dilation.columns);
        const std::string k = t_.loop("k", c_.c / c_.group);
        t_.loop_between("r", "r0", "r1");
        const std::string row = sum_text({{"row"}, {"r", c_.dilation.rows}});
        t_.line("const int32_t at = " + x_at(k, row, p, "r", "column") + ";");
        t_.loop_between("s", "s0", "s1");
        t_.line("sum += (" + std::string(takes_floats_ ? "rows[" : "x[") +
                sum_text({{"at"}, {"s", c_.dilation.columns}}) + "]" + minus(x_.zero) + ") * w[" +
                sum_text({{k, c_.u * c_.v}, {"r", c_.v}, {"s"}}) + "];");
    }

    // Writes the row or column of x at the first tap, and the range of taps that aren't padding:
    // from the first at or behind 0 to the last before `extent`.
    void write_range(const std::string &name, const std::string &tap, const std::string &first,
                     int64_t extent, int64_t taps, int64_t dilation) {
        const auto over_dilation = [&](const std::string &distance) {
            if (dilation == 1) return distance;
            return "(" + distance + " + " + std::to_string(dilation - 1) + ") / " +
                   std::to_string(dilation);
        };
        const std::string size = std::to_string(extent);
        t_.line("const int32_t " + name + " = " + first + ";");
        t_.line("const int32_t " + tap + "0 = " + name + " < 0 ? " + over_dilation("-" + name) +
                " : 0;");
        t_.line("const int32_t " + tap + "1 = " + name + " > " +
                std::to_string(extent - 1 - (taps - 1) * dilation) + " ? " +
                over_dilation(size + " - " + name) + " : " + std::to_string(taps) + ";");
    }

    // Returns x's row of tap r at row p of a window of the pool.
    std::string row_of(const std::string &p, const std::string &r) const {
        return sum_text(
            {{sum_text({{row_, c_.pool.rows}, {p}}), c_.stride.rows}, {r, c_.dilation.rows}},
            -c_.top);
    }

    // Returns the index of an element of x, or of the rows that are there.
    std::string x_at(const std::string &k, const std::string &row, const std::string &p,
                     const std::string &r, const std::string &column) const {
        const int64_t per_group = c_.c / c_.group;
        const int64_t of_group = c_.o / c_.group;
        const std::string group = c_.group == 1 || channel_.empty() ? ""
                                  : of_group == 1                   ? channel_
                                                  : channel_ + " / " + std::to_string(of_group);
        if (takes_floats_) {
            const int64_t rows = rows_of_window(c_);
            return sum_text({{group, per_group * rows * c_.w},
                             {k, rows * c_.w},
                             {sum_text({{p, c_.stride.rows}, {r, c_.dilation.rows}}), c_.w},
                             {column}});
        }
        return sum_text({{image_, c_.c * c_.h * c_.w},
                         {group, per_group * c_.h * c_.w},
                         {k, c_.h * c_.w},
                         {row, c_.w},
                         {column}});
    }
};

}  // namespace

StepText convolution_text(const Int8Step &step, const Int8Network &network, bool takes_floats) {
    return ConvolutionText(step, network, takes_floats).text();
}

std::vector<int32_t> bias_of(const Int8Step &step, const Int8Tensor &x) {
    const Convolution &c = step.convolution;
    std::vector<int32_t> bias = c.bias;
    if (c.is_padded) return bias;
    const size_t taps = c.weight.size() / bias.size();
    for (size_t o = 0; o < bias.size(); o++)
        for (size_t k = o * taps; k < (o + 1) * taps; k++)
            bias[o] -= x.zero * c.weight[k];
    return bias;
}

}  // namespace halyard::exporting

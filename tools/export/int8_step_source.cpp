#include "tools/export/int8_step_source.h"

#include <algorithm>
#include <utility>

#include "tools/c99/elements.h"
#include "tools/export/int8_arena.h"
#include "tools/export/int8_loops.h"

namespace halyard::exporting {
namespace {

using Kind = Int8Step::Kind;

constexpr int64_t most_sums = 4;  // of a pool's window, that share the loads of weights

// Returns "- 3", or "+ 3" for a negative number; "" for 0.
std::string minus(int32_t number) {
    if (number == 0) return "";
    return (number < 0 ? " + " : " - ") + std::to_string(std::abs(number));
}

// Returns y's element of a product.
std::string requantized(const Requantize &to, const std::string &product) {
    std::string s = "hy_requantized(" + product;
    for (const int32_t number : {to.shift, to.zero, to.low, to.high})
        s += ", " + std::to_string(number);
    return s + ")";
}

// Returns the shortcut's summand of a product; "" without one.
std::string shortcut(const Int8Step &s, const Int8Network &network, const std::string &at) {
    if (s.z < 0) return "";
    const int32_t zero = network.tensors.at(s.z).zero;
    return " + (int64_t)(z[" + at + "]" + minus(zero) + ") * " +
           std::to_string(s.to_y.multiplier_of_z);
}

// Writes a row or column of x, which the innermost loop skips if it is padding, and returns it.
std::string place(LoopText &t, const std::string &name, const std::string &value, int64_t extent,
                  bool is_padded) {
    if (!is_padded) return value;
    t.line("const int32_t " + name + " = " + value + ";");
    t.line("if (" + name + " < 0 || " + name + " >= " + std::to_string(extent) + ") continue;");
    return name;
}

class ConvolutionText {
public:
    ConvolutionText(const Int8Step &step, const Int8Network &network, bool takes_floats)
        : step_(step), c_(step.convolution), network_(network), x_(network.tensors.at(step.x)),
          takes_floats_(takes_floats) {}

    StepText text() {
        image_ = t_.loop("n", c_.n);
        if (takes_floats_) {
            row_ = t_.loop("i", c_.y_rows);
            write_rows();
        }
        channel_ = t_.loop("c", c_.o);
        if (!takes_floats_) row_ = t_.loop("i", c_.y_rows);
        column_ = t_.loop("j", c_.y_columns);
        const std::string sum = write_sum();
        const std::string at = sum_text({{image_, c_.o * c_.y_rows * c_.y_columns},
                                         {channel_, c_.y_rows * c_.y_columns},
                                         {row_, c_.y_columns},
                                         {column_}});
        const std::string product = "(int64_t)" + sum + " * multiplier[" + sum_text({{channel_}}) +
                                    "]" + shortcut(step_, network_, at);
        t_.line("y[" + at + "] = " + requantized(step_.to_y, product) + ";");
        t_.close_loops(0);
        return {parameters(), t_.text()};
    }

private:
    const Int8Step &step_;
    const Convolution &c_;
    const Int8Network &network_;
    const Int8Tensor &x_;
    const bool takes_floats_;
    LoopText t_;
    // Loop variables: of images, and of y's channels, rows and columns.
    std::string image_, channel_, row_, column_;

    bool is_pooled() const { return c_.pool.rows * c_.pool.columns > 1; }

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
        const std::string at = place(t_, "row", row, c_.h, c_.is_padded);
        const std::string s = t_.loop("s", c_.w);
        const std::string from = sum_text(
            {{image_, c_.c * c_.h * c_.w}, {k, c_.h * c_.w}, {at, c_.w}, {s}});
        const std::string to = sum_text({{k, rows_of_window(c_) * c_.w}, {r, c_.w}, {s}});
        t_.line("rows[" + to + "] = " + quantize_text(x_, "x[" + from + "]") + ";");
        t_.close_loops(loops);
    }

    // Writes the sum of products, or the largest of a window of them, and returns its name.
    std::string write_sum() {
        const int64_t windows = c_.pool.rows * c_.pool.columns;
        if (windows <= most_sums && !c_.is_padded) {
            std::vector<std::string> sums;
            for (int64_t k = 0; k < windows; k++)
                sums.push_back(windows == 1 ? "sum" : "sum" + std::to_string(k));
            write_products(sums, "", "");
            for (size_t k = 1; k < sums.size(); k++)
                t_.line("if (" + sums[k] + " > sum0) sum0 = " + sums[k] + ";");
            return sums[0];
        }
        if (!is_pooled()) {
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

    // Writes the sums of the products at row p and column q of a window of the pool, or of several
    // sums all of the window's.
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
        const std::string column = sum_text({{column_, c_.pool.columns}, {q}});
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
            const int64_t row = int64_t(n) / c_.pool.columns * c_.stride.rows;
            const int64_t at = int64_t(n) % c_.pool.columns * c_.stride.columns;
            t_.line(sums[n] + " += " + from + sum_text({{x}}, row * c_.w + at) + "] * tap;");
        }
    }

    void write_padded_taps(const std::string &p, const std::string &q) {
        const std::string k = t_.loop("k", c_.c / c_.group);
        const std::string r = t_.loop("r", c_.u, true);
        place(t_, "row", row_of(p, r), c_.h, true);
        const std::string s = t_.loop("s", c_.v, true);
        const std::string column = sum_text({{column_, c_.pool.columns}, {q}});
        place(t_, "column",
              sum_text({{column, c_.stride.columns}, {s, c_.dilation.columns}}, -c_.left), c_.w,
              true);
        t_.line("sum += (" + std::string(takes_floats_ ? "rows[" : "x[") +
                x_at(k, "row", p, r, "column") + "]" + minus(x_.zero) + ") * w[" +
                sum_text({{k, c_.u * c_.v}, {r, c_.v}, {s}}) + "];");
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

StepText pool_text(const Int8Step &step, const Int8Network &network) {
    const Pool &p = step.pool;
    const bool is_sum = step.kind == Kind::sum;
    LoopText t;
    const std::string map = t.loop("c", p.n * p.c);
    const std::string i = t.loop("i", p.y_rows);
    const std::string j = t.loop("j", p.y_columns);
    t.line(is_sum ? "int32_t sum = 0;" : "int8_t largest = -128;");
    const size_t loops = t.loops();
    const std::string r = t.loop("r", p.window.rows, p.is_padded);
    const std::string row = place(
        t, "row", sum_text({{i, p.stride.rows}, {r, p.dilation.rows}}, -p.top), p.h, p.is_padded);
    const std::string s = t.loop("s", p.window.columns, p.is_padded);
    const std::string column = place(
        t, "column", sum_text({{j, p.stride.columns}, {s, p.dilation.columns}}, -p.left), p.w,
        p.is_padded);
    const std::string x = "x[" + sum_text({{map, p.h * p.w}, {row, p.w}, {column}}) + "]";
    if (is_sum)
        t.line("sum += " + x + minus(network.tensors.at(step.x).zero) + ";");
    else
        t.line("if (" + x + " > largest) largest = " + x + ";");
    t.close_loops(loops);
    const std::string at = sum_text({{map, p.y_rows * p.y_columns}, {i, p.y_columns}, {j}});
    const std::string product = "(int64_t)sum * " + std::to_string(step.to_y.multiplier[0]);
    t.line("y[" + at + "] = " + (is_sum ? requantized(step.to_y, product) : "largest") + ";");
    t.close_loops(0);
    return {"const int8_t *x, int8_t *y", t.text()};
}

StepText elementwise_text(const Int8Step &step, const Int8Network &network) {
    LoopText t;
    const Int8Tensor &x = network.tensors.at(step.x);
    const std::string i = sum_text({{t.loop("i", x.shape.elements())}});
    const std::string product = "(int64_t)(x[" + i + "]" + minus(x.zero) + ") * " +
                                std::to_string(step.to_y.multiplier[0]) +
                                shortcut(step, network, i);
    t.line("y[" + i + "] = " + requantized(step.to_y, product) + ";");
    t.close_loops(0);
    return {std::string("const int8_t *x, ") + (step.z < 0 ? "" : "const int8_t *z, ") +
                "int8_t *y",
            t.text()};
}

}  // namespace

StepText step_text(const Int8Step &step, const Int8Network &network, bool takes_floats) {
    switch (step.kind) {
    case Kind::convolution: return ConvolutionText(step, network, takes_floats).text();
    case Kind::sum:
    case Kind::largest: return pool_text(step, network);
    case Kind::add:
    case Kind::rescale: break;
    }
    return elementwise_text(step, network);
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

std::string quantize_text(const Int8Tensor &to, const std::string &x) {
    const auto reciprocal = float(1 / double(to.scale));
    return "hy_i8_of_f32(" + x + ", " + c99::number_of(reciprocal, DType::f32) + ", " +
           std::to_string(to.zero) + ")";
}

}  // namespace halyard::exporting

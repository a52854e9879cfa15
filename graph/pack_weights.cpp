#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "graph/graph.h"
#include "graph/prepare.h"
#include "graph/view.h"
#include "registry/dispatch/plan.h"

namespace halyard::graph {
namespace {

// The columns of a panel, which are full tiles. Of products: four vectors where there are 32
// registers, else three (kernels/contraction/panel_product.cpp). Of convolutions: two vectors
// (kernels/convolution/panel_convolution.cpp).
struct PanelColumns {
    int64_t of_products, of_convolutions;
};
PanelColumns columns_of_panels() {
    switch (active_isa()) {
    case Isa::baseline: return {48, 8};
    case Isa::neon: return {64, 8};
    case Isa::avx2: return {48, 16};
    default: return {64, 32};
    }
}

// Fewer rows have another order of sums (dot_row). With more, packing in each call costs little.
constexpr int64_t least_rows = 8, most_rows = 1024;

// Fewer channels don't pay for the turn of a tile's results, and more pixels fill vectors anyway.
constexpr int64_t least_channels = 96, most_pixels = 400;

// Convolutions, and the ops that compute the same with filters in panels.
constexpr std::array<std::pair<const char *, const char *>, 3> panel_convolutions{{
    {"conv2d", "panel_convolution"},
    {"conv2d_bias_clamp", "panel_convolution_bias_clamp"},
    {"conv2d_bias_add_clamp", "panel_convolution_bias_add_clamp"},
}};

// Returns the shape as rows of the last dimension.
Shape with_rank_two(const Shape &s) {
    int64_t rows = 1;
    for (int d = 0; d + 1 < s.rank(); d++)
        rows *= s[d];
    return {rows, s[s.rank() - 1]};
}

// Packs the weights of one graph.
class Packer {
public:
    explicit Packer(Graph &graph) : g_(graph), of_parameters_(find_of_parameters(graph)) {}

    void run() {
        std::vector<Node> nodes;
        for (size_t k = 0; k < g_.nodes.size(); k++) {
            const Node &n = g_.nodes[k];
            if (!of_parameters_.nodes[k] && multiplies_by_a_weight(n))
                std::ranges::move(product_for(n), std::back_inserter(nodes));
            else if (!of_parameters_.nodes[k] && is_small_pointwise(n))
                std::ranges::move(convolution_for(n), std::back_inserter(nodes));
            else
                nodes.push_back(std::move(g_.nodes[k]));
        }
        g_.nodes = std::move(nodes);
    }

private:
    static bool has(const Node &n, const char *attribute, int64_t value) {
        const int place = n.attrs->find(attribute);
        return place >= 0 && n.attrs->integer(size_t(place)) == value;
    }

    // Returns true for matmul, and for dense without an activation.
    static bool is_product(const Node &n) {
        if (n.kind != Node::Kind::call) return false;
        return n.name == "matmul" ||
               (n.name == "dense_kernel" && has(n, "activation", 0) && is_dense(n.in[2]));
    }

    bool multiplies_by_a_weight(const Node &n) const {
        if (!is_product(n) || !has(n, "transpose_a", 0) || !has(n, "transpose_b", 1)) return false;
        const View &x = n.in[0];
        const View &weight = n.in[1];
        if (x.dtype != DType::f32 || x.shape.rank() < 2 || weight.shape.rank() != 2) return false;
        if (!is_dense(x) || !is_dense(weight) || !is_dense(n.out[0])) return false;
        const int64_t rows = with_rank_two(x.shape)[0];
        return rows >= least_rows && rows <= most_rows && weight.shape.elements() > 0 &&
               weight.shape[0] % columns_.of_products == 0 && is_of_parameters(weight);
    }

    static const char *in_panels(const Node &n) {
        const auto found = std::ranges::find(panel_convolutions, std::string_view(n.name),
                                             &std::pair<const char *, const char *>::first);
        const bool is_convolution = n.kind == Node::Kind::call && found != panel_convolutions.end();
        return is_convolution ? found->second : nullptr;
    }

    // Returns true for convolutions of small maps with filters of 1 x 1 which the kernels
    // `pointwise` compute: those of other kernels have other orders of sums.
    bool is_small_pointwise(const Node &n) const {
        if (!in_panels(n) || !std::ranges::all_of(n.in, is_dense) || !is_dense(n.out[0]))
            return false;
        const View &weight = n.in[1];
        const View &y = n.out[0];
        if (y.dtype != DType::f32 || y.shape.rank() != 4 || !has(n, "data_format", 0)) return false;
        return weight.shape[1] == n.in[0].shape[1] && weight.shape[1] >= least_channels &&
               y.shape[2] * y.shape[3] <= most_pixels &&
               weight.shape[0] % columns_.of_convolutions == 0 && is_of_parameters(weight) &&
               is_pointwise(plan_of(n));
    }

    static bool is_pointwise(const Plan &plan) {
        return plan.kernel && plan.kernel->variant.starts_with("pointwise");
    }

    bool is_of_parameters(const View &v) const { return of_parameters_.buffers[size_t(v.buffer)]; }

    // Returns the copy that makes the panels, if no earlier product has them, the product with
    // them, and the sum with dense's bias.
    std::vector<Node> product_for(const Node &n) {
        std::vector<Node> made;
        const View panels = panels_of(n.in[1], columns_.of_products, n.part, made);
        const Shape rows = with_rank_two(n.in[0].shape);
        const Shape in_panels{rows[0], panels.shape[0], panels.shape[2]};
        Node product = call_of("panel_product", n.part);
        product.in = {reshaped(n.in[0], rows), panels};
        if (n.name == "matmul") {
            product.out = {reshaped(n.out[0], in_panels)};
            made.push_back(std::move(product));
            return made;
        }
        product.out = {add_temporary(g_, in_panels, n.out[0].dtype)};
        Node sum = call_of("add", n.part);
        sum.in = {reshaped(product.out[0], n.out[0].shape), n.in[2]};
        sum.out = n.out;
        made.push_back(std::move(product));
        made.push_back(std::move(sum));
        return made;
    }

    // As product_for(), of a convolution.
    std::vector<Node> convolution_for(const Node &n) {
        std::vector<Node> made;
        const View panels = panels_of(n.in[1], columns_.of_convolutions, n.part, made);
        const View &x = n.in[0];
        const View &y = n.out[0];
        const int64_t pixels = y.shape[2] * y.shape[3];
        const Shape in_panel_shape{y.shape[0], panels.shape[0], panels.shape[2], pixels};
        Node convolution = call_of(in_panels(n), n.part);
        convolution.attrs.emplace(convolution.op->record, n.op->record, *n.attrs);
        convolution.in = {reshaped(x, {x.shape[0], x.shape[1], pixels}), panels};
        if (n.in.size() > 2)
            convolution.in.push_back(reshaped(n.in[2], {panels.shape[0], panels.shape[2]}));
        if (n.in.size() > 3) convolution.in.push_back(reshaped(n.in[3], in_panel_shape));
        convolution.out = {reshaped(y, in_panel_shape)};
        made.push_back(std::move(convolution));
        return made;
    }

    // Returns panels of so many columns of a weight [columns, terms] or [columns, terms, 1, 1].
    View panels_of(const View &weight, int64_t columns, const std::string &part,
                   std::vector<Node> &made) {
        const auto packed = std::ranges::find(packed_, weight, &std::pair<View, View>::first);
        if (packed != packed_.end()) return packed->second;
        const int64_t terms = weight.shape[1];
        View transposed = weight;
        transposed.shape = {weight.shape[0] / columns, terms, columns};
        transposed.strides = {columns * terms, 1, terms};
        Node copy;
        copy.kind = Node::Kind::copy;
        copy.name = "copy";
        copy.part = part;
        copy.in = {transposed};
        copy.out = {add_temporary(g_, transposed.shape, weight.dtype)};
        packed_.emplace_back(weight, copy.out[0]);
        made.push_back(std::move(copy));
        return packed_.back().second;
    }

    Graph &g_;
    const PanelColumns columns_ = columns_of_panels();
    const OfParameters of_parameters_;           // before anything is packed
    std::vector<std::pair<View, View>> packed_;  // weights and their panels
};

}  // namespace

void pack_weights(Graph &graph) {
    Packer(graph).run();
}

}  // namespace halyard::graph

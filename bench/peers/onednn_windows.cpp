// oneDNN's convolutions and pools. A convolution is two peers. "oneDNN" uses the library's own
// layouts, as a network that stays in them does. "oneDNN NCHW" takes row-major tensors and reorders
// them on every call, as a single call does.
#include "bench/peers/onednn.h"

namespace halyard::onednn {
namespace {

struct Window {
    Dims stride, dilation, before, after;
};

// Odd padding of `same` is at the bottom and right, as in MindSpore.
Window window_of(const halyard::Dims &d, const Tensor &x, int64_t kernel_h, int64_t kernel_w,
                 int64_t out_h, int64_t out_w) {
    auto value = [&](const char *name, int64_t otherwise) {
        const auto it = d.find(name);
        return it == d.end() ? otherwise : it->second;
    };
    Window w;
    w.stride = {value("stride_h", 1), value("stride_w", 1)};
    w.dilation = {value("dil_h", 1) - 1, value("dil_w", 1) - 1};
    const int64_t mode = value("pad_mode", 0);
    if (mode == value("pad", 2))
        w.before = {value("top", 0), value("left", 0)};
    else
        w.before = {0, 0};
    const int64_t need_h = (out_h - 1) * w.stride[0] + (kernel_h - 1) * (w.dilation[0] + 1) + 1 -
                           x.size(2);
    const int64_t need_w = (out_w - 1) * w.stride[1] + (kernel_w - 1) * (w.dilation[1] + 1) + 1 -
                           x.size(3);
    if (mode == value("same", 1))
        w.before = {std::max<int64_t>(0, need_h) / 2, std::max<int64_t>(0, need_w) / 2};
    w.after = {need_h - w.before[0], need_w - w.before[1]};
    return w;
}

// A tensor in the layout that a primitive requires, and the reorder between the two.
struct Port {
    int argument;
    Tensor tensor;
    bool output;
    dnnl::memory ours, theirs;
    Port(int arg, const Tensor &t, bool out, const dnnl::memory::desc &wanted)
        : argument(arg), tensor(t), output(out), ours(wrap(t)), theirs(wanted, engine()) {
        if (!out) reorder(true);
    }
    void reorder(bool in) const {
        dnnl::memory from = in ? ours : theirs;
        dnnl::memory to = in ? theirs : ours;  // handles of the same memory
        dnnl::reorder(from, to).execute(stream(), from, to);
    }
};

void add_both(const PeerTask &t, const dnnl::primitive &p, const std::vector<Port> &ports,
              std::vector<Peer> &peers) {
    std::unordered_map<int, dnnl::memory> args;
    for (auto &port : ports)
        args[port.argument] = port.theirs;
    auto first = std::make_shared<bool>(true);
    peers.push_back({"oneDNN", with_threads(t.threads, [=] {
                         p.execute(stream(), args);
                         if (*first) {  // for the comparison of results; it isn't timed
                             for (auto &port : ports)
                                 if (port.output) port.reorder(false);
                             *first = false;
                         }
                     })});
    peers.push_back({"oneDNN NCHW", with_threads(t.threads, [=] {
                         for (auto &port : ports)
                             if (!port.output) port.reorder(true);
                         p.execute(stream(), args);
                         for (auto &port : ports)
                             if (port.output) port.reorder(false);
                     })});
}

// Returns [o,c/g,u,v] as oneDNN's [g,o/g,c/g,u,v]; both share memory.
Tensor grouped(const Tensor &w, int64_t groups) {
    return groups == 1 ? w
                       : w.reshape({groups, w.size(0) / groups, w.size(1), w.size(2), w.size(3)});
}

}  // namespace

bool add_convolution(const PeerTask &t, std::vector<Peer> &peers) {
    using namespace dnnl;
    const std::string &name = t.op.record.name;
    if (name != "conv2d" && name != "conv2d_dx" && name != "conv2d_dweight") return false;
    if (t.dims.at("data_format") != 0) return true;
    const Tensor x = name == "conv2d_dx" ? t.out[0] : t.in[0];
    const Tensor y = name == "conv2d" ? t.out[0] : t.in[2];
    const Tensor w = grouped(name == "conv2d_dweight" ? t.out[0] : t.in[1], t.dims.at("group"));
    const Window win = window_of(t.dims, x, w.size(-2), w.size(-1), y.size(2), y.size(3));
    const auto kind = algorithm::convolution_auto;
    const convolution_forward::primitive_desc forward(
        convolution_forward::desc(prop_kind::forward_training, kind, any(x), any(w), any(y),
                                  win.stride, win.dilation, win.before, win.after),
        engine());
    if (name == "conv2d") {
        add_both(t, convolution_forward(forward),
                 {{DNNL_ARG_SRC, x, false, forward.src_desc()},
                  {DNNL_ARG_WEIGHTS, w, false, forward.weights_desc()},
                  {DNNL_ARG_DST, y, true, forward.dst_desc()}},
                 peers);
    } else if (name == "conv2d_dx") {
        const convolution_backward_data::primitive_desc p(
            convolution_backward_data::desc(kind, any(x), any(w), any(y), win.stride, win.dilation,
                                            win.before, win.after),
            engine(), forward);
        add_both(t, convolution_backward_data(p),
                 {{DNNL_ARG_DIFF_DST, y, false, p.diff_dst_desc()},
                  {DNNL_ARG_WEIGHTS, w, false, p.weights_desc()},
                  {DNNL_ARG_DIFF_SRC, x, true, p.diff_src_desc()}},
                 peers);
    } else {
        const convolution_backward_weights::primitive_desc p(
            convolution_backward_weights::desc(kind, any(x), any(w), any(y), win.stride,
                                               win.dilation, win.before, win.after),
            engine(), forward);
        add_both(t, convolution_backward_weights(p),
                 {{DNNL_ARG_DIFF_DST, y, false, p.diff_dst_desc()},
                  {DNNL_ARG_SRC, x, false, p.src_desc()},
                  {DNNL_ARG_DIFF_WEIGHTS, w, true, p.diff_weights_desc()}},
                 peers);
    }
    return true;
}

bool add_pooling(const PeerTask &t, std::vector<Peer> &peers) {
    using namespace dnnl;
    const std::string &name = t.op.record.name;
    const bool gradient = name == "avg_pool2d_dx";
    if (name != "max_pool2d" && name != "avg_pool2d" && !gradient) return false;
    if (t.dims.at("data_format") != 0) return true;
    const Tensor x = t.in[0];
    const Tensor y = gradient ? t.in[1] : t.out[0];
    const memory::dims kernel = {t.dims.at("kernel_h"), t.dims.at("kernel_w")};
    const Window w = window_of(t.dims, x, kernel[0], kernel[1], y.size(2), y.size(3));
    const bool average = name != "max_pool2d";
    const bool divided = average && t.dims.at("divisor_override") != 0;
    if (divided) return true;
    const auto kind = !average                      ? algorithm::pooling_max
                      : t.dims.at("count_all") != 0 ? algorithm::pooling_avg_include_padding
                                                    : algorithm::pooling_avg_exclude_padding;
    const pooling_forward::primitive_desc p(
        pooling_forward::desc(gradient ? prop_kind::forward_training : prop_kind::forward_inference,
                              kind, plain(x), plain(y), w.stride, kernel, w.before, w.after),
        engine());
    if (gradient) {
        const Tensor dx = t.out[0];
        const pooling_backward run(pooling_backward::primitive_desc(
            pooling_backward::desc(kind, plain(dx), plain(y), w.stride, kernel, w.before, w.after),
            engine(), p));
        const std::unordered_map<int, memory> args = {{DNNL_ARG_DIFF_DST, wrap(y)},
                                                      {DNNL_ARG_DIFF_SRC, wrap(dx)}};
        peers.push_back({"oneDNN", with_threads(t.threads, [run, args, dx, y] {
                             run.execute(stream(), args);
                         })});
        return true;
    }
    const std::unordered_map<int, memory> args = {{DNNL_ARG_SRC, wrap(x)}, {DNNL_ARG_DST, wrap(y)}};
    const pooling_forward run(p);
    peers.push_back(
        {"oneDNN", with_threads(t.threads, [run, args, x, y] { run.execute(stream(), args); })});
    return true;
}

}  // namespace halyard::onednn

// oneDNN's softmax and its kin, layer norm, activations and binary ops, on row-major tensors.
#include <optional>

#include "bench/peers/onednn.h"

namespace halyard::onednn {
namespace {

using Arguments = std::unordered_map<int, dnnl::memory>;

// Appends a primitive on the tensors of the task, which the peer keeps.
void add(const PeerTask &t, const dnnl::primitive &p, const Arguments &args,
         std::vector<Peer> &peers) {
    peers.push_back({"oneDNN", with_threads(t.threads, [p, args, in = t.in, out = t.out] {
                         p.execute(stream(), args);
                     })});
}

int axis_of(const PeerTask &t) {
    const int place = t.attrs.find("axis");
    const int rank = t.in[0].rank();
    return place < 0 ? rank - 1
                     : normal_axis(t.op.record.name.c_str(), t.attrs.integer(size_t(place)), rank);
}

bool add_softmax(const PeerTask &t, std::vector<Peer> &peers) {
    using namespace dnnl;
    const std::string &name = t.op.record.name;
    const auto inference = prop_kind::forward_inference;
    if (name == "softmax") {
        add(t,
            softmax_forward(softmax_forward::primitive_desc(
                softmax_forward::desc(inference, plain(t.in[0]), axis_of(t)), engine())),
            {{DNNL_ARG_SRC, wrap(t.in[0])}, {DNNL_ARG_DST, wrap(t.out[0])}}, peers);
    } else if (name == "log_softmax") {
        add(t,
            logsoftmax_forward(logsoftmax_forward::primitive_desc(
                logsoftmax_forward::desc(inference, plain(t.in[0]), axis_of(t)), engine())),
            {{DNNL_ARG_SRC, wrap(t.in[0])}, {DNNL_ARG_DST, wrap(t.out[0])}}, peers);
    } else if (name == "softmax_dx") {
        const softmax_forward::primitive_desc forward(
            softmax_forward::desc(prop_kind::forward_training, plain(t.in[0]), axis_of(t)),
            engine());
        add(t,
            softmax_backward(softmax_backward::primitive_desc(
                softmax_backward::desc(plain(t.in[1]), plain(t.in[0]), axis_of(t)), engine(),
                forward)),
            {{DNNL_ARG_DST, wrap(t.in[0])},
             {DNNL_ARG_DIFF_DST, wrap(t.in[1])},
             {DNNL_ARG_DIFF_SRC, wrap(t.out[0])}},
            peers);
    } else
        return false;
    return true;
}

bool add_layer_norm(const PeerTask &t, std::vector<Peer> &peers) {
    using namespace dnnl;
    if (t.op.record.name != "layer_norm_kernel") return false;
    if (t.in[0].dtype() != DType::f32) return true;  // its gamma and beta are in f32
    const float epsilon = float(t.attrs.real(size_t(t.attrs.find("epsilon"))));
    add(t,
        layer_normalization_forward(layer_normalization_forward::primitive_desc(
            layer_normalization_forward::desc(prop_kind::forward_inference, plain(t.in[0]), epsilon,
                                              normalization_flags::use_scale |
                                                  normalization_flags::use_shift),
            engine())),
        {{DNNL_ARG_SRC, wrap(t.in[0])},
         {DNNL_ARG_SCALE, wrap(t.in[1])},
         {DNNL_ARG_SHIFT, wrap(t.in[2])},
         {DNNL_ARG_DST, wrap(t.out[0])}},
        peers);
    return true;
}

// An activation with oneDNN's two parameters.
struct Activation {
    dnnl::algorithm kind;
    float alpha = 0, beta = 0;
};

std::optional<Activation> activation_of(const std::string &op) {
    using dnnl::algorithm;
    static const std::map<std::string, Activation> all = {
        {"relu", {algorithm::eltwise_relu}},        {"tanh", {algorithm::eltwise_tanh}},
        {"sigmoid", {algorithm::eltwise_logistic}}, {"gelu", {algorithm::eltwise_gelu_erf}},
        {"silu", {algorithm::eltwise_swish, 1}},    {"gelu_tanh", {algorithm::eltwise_gelu_tanh}},
        {"exp", {algorithm::eltwise_exp}},          {"relu6", {algorithm::eltwise_clip, 0, 6}},
        {"sqrt", {algorithm::eltwise_sqrt}},        {"hard_swish", {algorithm::eltwise_hardswish}},
    };
    const auto found = all.find(op);
    return found == all.end() ? std::nullopt : std::make_optional(found->second);
}

bool add_elementwise(const PeerTask &t, std::vector<Peer> &peers) {
    using namespace dnnl;
    const std::string &name = t.op.record.name;
    if (const auto activation = activation_of(name)) {
        add(t,
            eltwise_forward(eltwise_forward::primitive_desc(
                eltwise_forward::desc(prop_kind::forward_inference, activation->kind,
                                      plain(t.in[0]), activation->alpha, activation->beta),
                engine())),
            {{DNNL_ARG_SRC, wrap(t.in[0])}, {DNNL_ARG_DST, wrap(t.out[0])}}, peers);
        return true;
    }
    if (name != "add" && name != "mul") return false;
    if (!(t.in[0].shape() == t.in[1].shape())) return true;
    add(t,
        binary(binary::primitive_desc(
            binary::desc(name == "add" ? algorithm::binary_add : algorithm::binary_mul,
                         plain(t.in[0]), plain(t.in[1]), plain(t.out[0])),
            engine())),
        {{DNNL_ARG_SRC_0, wrap(t.in[0])},
         {DNNL_ARG_SRC_1, wrap(t.in[1])},
         {DNNL_ARG_DST, wrap(t.out[0])}},
        peers);
    return true;
}

}  // namespace

void add_rows(const PeerTask &t, std::vector<Peer> &peers) {
    if (!add_softmax(t, peers) && !add_layer_norm(t, peers)) add_elementwise(t, peers);
}

}  // namespace halyard::onednn

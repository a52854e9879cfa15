// oneDNN in f32 and bf16: matmul and what all sources share. Convolution and pooling are in
// onednn_windows.cpp, rows and elementwise ops in onednn_rows.cpp.
#include "bench/peers/onednn.h"

#include <omp.h>

namespace halyard {
namespace onednn {

const dnnl::engine &engine() {
    static const dnnl::engine e(dnnl::engine::kind::cpu, 0);
    return e;
}
dnnl::stream &stream() {
    static dnnl::stream s(engine());
    return s;
}
dnnl::memory::data_type type_of(const Tensor &t) {
    return t.dtype() == DType::bf16 ? dnnl::memory::data_type::bf16 : dnnl::memory::data_type::f32;
}
dnnl::memory::desc plain(const Tensor &t) {
    return {t.shape().vec(), type_of(t), Dims(dense_strides(t.shape()).vec())};
}
dnnl::memory::desc any(const Tensor &t) {
    return {t.shape().vec(), type_of(t), Tag::any};
}
dnnl::memory wrap(const Tensor &t) {
    return {plain(t), engine(), t.raw()};
}

std::function<void()> with_threads(int threads, std::function<void()> run) {
    return [threads, run = std::move(run)] {
        omp_set_num_threads(threads);
        run();
    };
}

namespace {

void add_matmul(const PeerTask &t, std::vector<Peer> &peers) {
    auto desc = [](const Tensor &x, bool swapped) {
        std::vector<int64_t> shape = x.shape().vec();
        std::vector<int64_t> strides = dense_strides(x.shape()).vec();
        const size_t r = shape.size();
        if (swapped) {
            std::swap(shape[r - 1], shape[r - 2]);
            std::swap(strides[r - 1], strides[r - 2]);
        }
        return dnnl::memory::desc(shape, type_of(x), strides);
    };
    const auto a = desc(t.in[0], t.dims.at("transpose_a") != 0);
    const auto b = desc(t.in[1], t.dims.at("transpose_b") != 0);
    const auto c = plain(t.out[0]);
    const dnnl::matmul p(dnnl::matmul::primitive_desc(dnnl::matmul::desc(a, b, c), engine()));
    const Tensor x = t.in[0];
    const Tensor w = t.in[1];
    const Tensor y = t.out[0];
    const std::unordered_map<int, dnnl::memory> args = {{DNNL_ARG_SRC, {a, engine(), x.raw()}},
                                                        {DNNL_ARG_WEIGHTS, {b, engine(), w.raw()}},
                                                        {DNNL_ARG_DST, {c, engine(), y.raw()}}};
    peers.push_back(
        {"oneDNN", with_threads(t.threads, [p, args, x, w, y] { p.execute(stream(), args); })});
}

}  // namespace
}  // namespace onednn

extern "C" void halyard_peers(const PeerTask &task, std::vector<Peer> &peers) {
    const DType dtype = task.out[0].dtype();
    if (dtype != DType::f32 && dtype != DType::bf16) return;
    for (auto *list : {&task.in, &task.out}) {
        for (const Tensor &t : *list)
            if (t.dtype() != dtype || t.elements() == 0) return;
    }
    omp_set_num_threads(task.threads);  // a primitive is made for a number of threads
    const std::string &name = task.op.record.name;
    try {
        if (name == "matmul" && task.in[0].rank() == task.in[1].rank())
            onednn::add_matmul(task, peers);
        else if (!onednn::add_convolution(task, peers) && !onednn::add_pooling(task, peers))
            onednn::add_rows(task, peers);
    } catch (const dnnl::error &e) {
        std::fprintf(stderr, "oneDNN refuses %s: %s\n", name.c_str(), e.what());
    }
}

}  // namespace halyard

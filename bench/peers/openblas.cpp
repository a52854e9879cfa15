// OpenBLAS: matmul in f32 and f64, with one gemm for each matrix of the batch.
#include <cblas-openblas.h>

#include "bench/peers/peer.h"

namespace halyard {
namespace {

template<class T>
void gemm(bool ta, bool tb, blasint m, blasint n, blasint k, const T *a, const T *b, T *c) {
    const CBLAS_TRANSPOSE at = ta ? CblasTrans : CblasNoTrans;
    const CBLAS_TRANSPOSE bt = tb ? CblasTrans : CblasNoTrans;
    const blasint lda = ta ? m : k;
    const blasint ldb = tb ? k : n;
    if constexpr (std::is_same_v<T, float>)
        cblas_sgemm(CblasRowMajor, at, bt, m, n, k, 1, a, lda, b, ldb, 0, c, n);
    else
        cblas_dgemm(CblasRowMajor, at, bt, m, n, k, 1, a, lda, b, ldb, 0, c, n);
}

template<class T> std::function<void()> matmul(const PeerTask &t) {
    const bool ta = t.dims.at("transpose_a") != 0;
    const bool tb = t.dims.at("transpose_b") != 0;
    const Tensor a = t.in[0];
    const Tensor b = t.in[1];
    const Tensor c = t.out[0];
    const int threads = t.threads;
    return [=] {
        const blasint m = (blasint)c.size(-2);
        const blasint n = (blasint)c.size(-1);
        const blasint k = (blasint)a.size(ta ? -2 : -1);
        const int64_t batch = c.elements() / std::max<int64_t>(1, int64_t(m) * n);
        openblas_set_num_threads(threads);
        for (int64_t g = 0; g < batch; g++) {
            gemm<T>(ta, tb, m, n, k, static_cast<const T *>(a.raw()) + g * m * k,
                    static_cast<const T *>(b.raw()) + g * k * n,
                    static_cast<T *>(c.raw()) + g * m * n);
        }
    };
}

}  // namespace

extern "C" void halyard_peers(const PeerTask &task, std::vector<Peer> &peers) {
    if (task.op.record.name != "matmul" || task.out[0].elements() == 0) return;
    const Tensor &a = task.in[0];
    const Tensor &b = task.in[1];
    // One operand is broadcast.
    if (a.elements() / std::max<int64_t>(1, a.size(-1) * a.size(-2)) !=
        b.elements() / std::max<int64_t>(1, b.size(-1) * b.size(-2)))
        return;
    if (a.dtype() == DType::f32) peers.push_back({"OpenBLAS", matmul<float>(task)});
    if (a.dtype() == DType::f64) peers.push_back({"OpenBLAS", matmul<double>(task)});
}

}  // namespace halyard

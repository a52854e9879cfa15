// Helpers of the sources of the oneDNN peer.
#pragma once
#include <dnnl.hpp>

#include "bench/peers/peer.h"

namespace halyard::onednn {

using Dims = dnnl::memory::dims;
using Tag = dnnl::memory::format_tag;

// The CPU engine and the stream of this module.
const dnnl::engine &engine();
dnnl::stream &stream();
dnnl::memory::data_type type_of(const Tensor &t);  // f32 or bf16
dnnl::memory::desc plain(const Tensor &t);         // row-major
dnnl::memory::desc any(const Tensor &t);           // in the layout that the primitive selects
// Returns a handle of the memory of a dense tensor, in row-major layout.
dnnl::memory wrap(const Tensor &t);

// Returns a function that runs `run` with that many threads and rethrows its exceptions as Error.
std::function<void()> with_threads(int threads, std::function<void()> run);

// Appends the peers of conv2d, conv2d_dx and conv2d_dweight. Returns false for another op.
bool add_convolution(const PeerTask &task, std::vector<Peer> &peers);
// Appends the peers of max_pool2d, avg_pool2d and avg_pool2d_dx. Returns false for another op.
bool add_pooling(const PeerTask &task, std::vector<Peer> &peers);
// Appends the peers of softmax and its kin, layer_norm_kernel, and elementwise ops.
void add_rows(const PeerTask &task, std::vector<Peer> &peers);

}  // namespace halyard::onednn

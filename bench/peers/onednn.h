// Helpers of both sources of the oneDNN peer.
#pragma once
#include <dnnl.hpp>

#include "bench/peers/peer.h"

namespace halyard::onednn {

using Dims = dnnl::memory::dims;
using Tag = dnnl::memory::format_tag;

// The CPU engine and the stream of this module.
const dnnl::engine &engine();
dnnl::stream &stream();
dnnl::memory::desc plain(const Tensor &t);  // f32, row-major
dnnl::memory::desc any(const Tensor &t);    // f32, in the layout that the primitive selects
// Returns a handle of the memory of a dense tensor, in row-major layout.
dnnl::memory wrap(const Tensor &t);

// Returns a function that runs `run` with that many threads and rethrows its exceptions as Error.
std::function<void()> with_threads(int threads, std::function<void()> run);

// Appends the peers of conv2d, conv2d_dx and conv2d_dweight. Returns false for another op.
bool add_convolution(const PeerTask &task, std::vector<Peer> &peers);
bool add_pooling(const PeerTask &task, std::vector<Peer> &peers);  // max_pool2d, avg_pool2d

}  // namespace halyard::onednn

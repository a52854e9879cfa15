// What the two halves of the oneDNN peer share.
#pragma once
#include <dnnl.hpp>

#include "bench/peers/peer.h"

namespace halyard::onednn {

using Dims = dnnl::memory::dims;
using Tag = dnnl::memory::format_tag;

const dnnl::engine &engine();
dnnl::stream &stream();
dnnl::memory::desc plain(const Tensor &t);  // f32, row-major
dnnl::memory::desc any(const Tensor &t);    // f32, in whatever layout the primitive likes
dnnl::memory wrap(const Tensor &t);

// Runs with so many threads; what it throws arrives as Error.
std::function<void()> with_threads(int threads, std::function<void()> run);

// conv2d, conv2d_dx, conv2d_dweight; false: another op
bool add_convolution(const PeerTask &task, std::vector<Peer> &peers);
bool add_pooling(const PeerTask &task, std::vector<Peer> &peers);  // max_pool2d, avg_pool2d

}  // namespace halyard::onednn

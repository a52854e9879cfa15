// The memory roof: copying, or reading, as many bytes as the op has to move, on the op's own tensors.
#include <cstring>

#include "bench/peers/peer.h"
#include "registry/parallel.h"

namespace halyard {
namespace {

constexpr int64_t block = 1 << 18;  // bytes per task

// [from, to) of `bytes` for task i.
struct Part {
    int64_t from, size;
    Part(int64_t i, int64_t bytes) : from(i * block), size(std::min(block, bytes - from)) {}
};
int64_t parts(int64_t bytes) { return (bytes + block - 1) / block; }

uint64_t sum_of(const char *p, int64_t bytes) {
    uint64_t lanes[32] = {}, word[32];
    for (int64_t at = 0; at + (int64_t)sizeof word <= bytes; at += sizeof word) {
        std::memcpy(word, p + at, sizeof word);
        for (int l = 0; l < 32; l++) lanes[l] += word[l];
    }
    uint64_t all = 0;
    for (uint64_t l : lanes) all += l;
    return all;
}

Peer reading(const std::vector<Tensor> &in) {
    auto sink = std::make_shared<std::atomic<uint64_t>>(0);
    return {"read",
            [in, sink] {
                for (const Tensor &x : in)
                    parallel_for(0, parts((int64_t)x.bytes()), [&](int64_t i) {
                        const Part p(i, (int64_t)x.bytes());
                        sink->fetch_add(sum_of((const char *)x.raw() + p.from, p.size), std::memory_order_relaxed);
                    });
            },
            false};
}

// Buffers of their own: the outputs of others keep their values. Half of the bytes are read, half written.
Peer copying(int64_t bytes) {
    const Tensor from = Tensor::zeros({bytes / 2}, DType::u8), to = Tensor::zeros({bytes / 2}, DType::u8);
    return {"memcpy",
            [from, to] {
                const int64_t n = (int64_t)from.bytes();
                parallel_for(0, parts(n), [&](int64_t i) {
                    const Part p(i, n);
                    std::memcpy((char *)to.raw() + p.from, (const char *)from.raw() + p.from, (size_t)p.size);
                });
            },
            false};
}

}  // namespace

extern "C" void halyard_peers(const PeerTask &task, std::vector<Peer> &peers) {
    const std::string &name = task.op.record.name;
    const bool rows = name.starts_with("softmax") || name.starts_with("log_softmax") || name == "copy";
    int64_t read = 0, written = 0;
    for (const Tensor &x : task.in) read += (int64_t)x.bytes();
    for (const Tensor &y : task.out) written += (int64_t)y.bytes();
    if (read == 0) return;
    if (task.op.record.form == Form::reduction && written * 8 < read) peers.push_back(reading(task.in));
    else if (rows || task.op.record.form == Form::elementwise || task.op.record.form == Form::reduction) peers.push_back(copying(read + written));
}

}  // namespace halyard

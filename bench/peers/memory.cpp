// The memory roof as a peer: reads or writes each byte of the op's tensors once and computes
// nothing. As many bytes as possible are copied by memcpy. Inputs larger than the output are read,
// outputs larger than the inputs are filled.
#include <cstring>

#include "bench/peers/peer.h"
#include "bench/roofs/streams.h"
#include "registry/base/parallel.h"

namespace halyard {
namespace {

constexpr int64_t block = 1 << 18;  // bytes copied by a task; the fastest of 64 Ki and more

struct Move {
    std::vector<Tensor> in, out;
    int64_t tasks;
    std::shared_ptr<std::atomic<uint64_t>> sink = std::make_shared<std::atomic<uint64_t>>(0);

    // Returns the part of a tensor that task i handles, in whole cache lines.
    std::pair<int64_t, int64_t> part(const Tensor &x, int64_t i) const {
        const int64_t bytes = int64_t(x.bytes());
        const int64_t share = ((bytes + tasks - 1) / tasks + 63) / 64 * 64;
        const int64_t from = std::min(bytes, i * share);
        return {from, std::min(share, bytes - from)};
    }
    void task(int64_t i) const {
        uint64_t sum = 0;
        size_t next = 0;
        int64_t done = 0;  // of `next`
        for (const Tensor &y : out) {
            auto [to, room] = part(y, i);
            for (; room > 0 && next < in.size(); done = 0, next++) {
                const auto [from, size] = part(in[next], i);
                const int64_t n = std::min(room, size - done);
                std::memcpy(static_cast<char *>(y.raw()) + to,
                            static_cast<const char *>(in[next].raw()) + from + done, size_t(n));
                to += n;
                room -= n;
                done += n;
                if (done < size) break;
            }
            std::memset(static_cast<char *>(y.raw()) + to, 0, size_t(room));
        }
        for (; next < in.size(); done = 0, next++) {
            const auto [from, size] = part(in[next], i);
            sum += roofs::read_stream(static_cast<const char *>(in[next].raw()) + from + done,
                                      size - done);
        }
        sink->fetch_add(sum, std::memory_order_relaxed);
    }
};

}  // namespace

extern "C" void halyard_peers(const PeerTask &task, std::vector<Peer> &peers) {
    const std::string &name = task.op.record.name;
    const bool rows = name.starts_with("softmax") || name.starts_with("log_softmax") ||
                      name.starts_with("arg") || name == "copy";
    if (!rows && task.op.record.form != Form::elementwise && task.op.record.form != Form::reduction)
        return;
    int64_t read = 0, written = 0;
    for (const Tensor &x : task.in)
        read += int64_t(x.bytes());
    for (const Tensor &y : task.out)
        written += int64_t(y.bytes());
    const Move move{task.in, task.out, (std::max(read, written) + block - 1) / block};
    if (move.tasks == 0) return;
    peers.push_back(
        {"roof", [move] { parallel_for(0, move.tasks, [&](int64_t i) { move.task(i); }); }, false});
}

}  // namespace halyard

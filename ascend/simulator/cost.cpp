#include "ascend/simulator/cost.h"

#include <algorithm>

namespace halyard::dv {
namespace {

constexpr int64_t line = 512;  // bytes of GM that are moved together

int64_t up(const Expr &e, int unit) {
    return (e.value() + unit - 1) / unit;
}

double mmad(const Profile &chip, const Mmad &m, DType t) {
    const int64_t m1 = up(m.m, cube);
    const int64_t n1 = up(m.n, cube);
    const int64_t k1 = up(m.k, c0(t));
    const double fractals = double(m1 * n1 * k1) * (t == DType::f32 ? chip.at("mmad.f32", 1) : 1);
    const double odd = chip.at("mmad.odd_k") != 0 && k1 > 1 && (m1 % 2 || n1 % 2) ? double(k1 - 2)
                                                                                  : 0;
    return chip.at("mmad.head") + fractals + odd;
}

std::string route(const Step &s) {
    return std::string(name_of(s.locations[1].scope)) + "_" + name_of(s.locations[0].scope);
}

double load2d(const Profile &chip, const Load2d &l, const Step &s) {
    const double fractals = double(l.repeat.value());
    const double per_fractal = chip.at(std::string("load2d.") + name_of(s.locations[0].scope), 0);
    return chip.at("load2d.head") + (per_fractal > 0
                                         ? fractals * per_fractal
                                         : fractals * fractal_bytes / chip.at(route(s) + ".rate"));
}

// 16 rows of the matrix come from `rows` rows of the image; each further one, and each step of the
// stride, costs a share of the rate.
double load3d(const Profile &chip, const Load3d &l, const Step &s) {
    const int64_t wo = (l.w.value() + l.pad[0].value() + l.pad[1].value() -
                        l.dilation_w * (l.kw - 1) - 1) /
                           l.stride_w +
                       1;
    const int64_t rows = (cube + wo - 1) / std::max<int64_t>(wo, 1);
    const int64_t n = rows - 1 + l.stride_w - 1;
    const double rate = std::max(32.0, chip.at("load3d.rate") / double(n + 2));
    const double bytes = double(l.m_extent.value() * l.k_extent.value()) *
                         double(bytes_of(s.locations[0].dtype));
    return chip.at("load3d.head") + bytes / std::min(rate, chip.at(route(s) + ".rate"));
}

double out_of_l0c(const Profile &chip, const std::string &way, double bytes) {
    return chip.at(way + ".head") + bytes / chip.at(way + ".rate");
}

}  // namespace

Cost CostModel::banks(const std::array<StridedAccess, 3> &walks, int sources, int repeat,
                      int per_repeat) const {
    const int groups = 16;
    Cost c;
    // by cycle: a bit per bank and group
    std::vector<uint64_t> written(static_cast<size_t>(repeat * 8 + delay_) * 4 + 1024);
    int64_t t = 0;
    for (int r = 0; r < repeat; r++) {
        int64_t rows[16] = {};
        int beats[groups] = {}, count = 0;
        for (int s = 1; s <= sources; s++) {
            for (int b = 0; b < 8; b++) {
                const int64_t a = (walks[size_t(s)].at + r * walks[size_t(s)].rep +
                                   b * walks[size_t(s)].blk) /
                                  block_bytes;
                if (std::find(rows, rows + count, a) == rows + count) rows[count++] = a;
            }
        }
        int beat[16], need = 1;
        for (int i = 0; i < count; i++) {
            beat[i] = beats[rows[i] % groups]++;
            need = std::max(need, beats[rows[i] % groups]);
        }
        const int64_t begin = t;
        for (int k = 0; k < need; k++, t++) {
            uint64_t wanted = 0;
            for (int i = 0; i < count; i++) {
                if (beat[i] == k) {
                    wanted |= 1ull << (rows[i] * block_bytes / bank_bytes_ % 4 * groups +
                                       rows[i] % groups);
                }
            }
            for (; size_t(t) < written.size() && (written[size_t(t)] & wanted); t++)
                c.bank_clash++;
        }
        c.group_clash += need - 1;
        t = std::max(t, begin + per_repeat);
        uint64_t writes = 0;
        for (int b = 0; b < 8; b++) {
            const int64_t a = (walks[0].at + r * walks[0].rep + b * walks[0].blk) / block_bytes;
            writes |= 1ull << (a * block_bytes / bank_bytes_ % 4 * groups + a % groups);
        }
        if (size_t(t - 1 + delay_) < written.size()) written[size_t(t - 1 + delay_)] |= writes;
    }
    c.cycles = double(t);
    return c;
}

Cost CostModel::vector(const Step &s, const std::string &key, int repeat,
                       const std::array<StridedAccess, 3> &walks, int sources) {
    const std::string full = key + "." + name_of(s.locations[s.count > 1 ? 1 : 0].dtype);
    const auto [known, fresh] = per_repeat_.try_emplace(full);
    if (fresh) known->second = int(chip_.at("vec.cost." + full, 1));
    uint64_t hash = uint64_t(known->second) * 1000003 + uint64_t(repeat) * 31 + uint64_t(sources);
    for (const StridedAccess &w : walks) {
        for (const int64_t v : {w.at, w.blk, w.rep}) {
            hash = (hash ^ uint64_t(v)) * 0x9e3779b97f4a7c15ull;
            hash ^= hash >> 29;
        }
    }
    const auto [it, unseen] = seen_.try_emplace(hash);
    if (unseen) {
        it->second = banks(walks, sources, repeat, known->second);
        it->second.cycles += head_;
    }
    return it->second;
}

Cost CostModel::of(const Step &s) {
    const auto operand = [&](int k, int blk, const Expr &rep) {
        return access_of(s.locations[size_t(k)], blk, rep);
    };
    return std::visit(
        [&](const auto &op) -> Cost {
            using T = std::decay_t<decltype(op)>;
            if constexpr (std::is_same_v<T, Vec>) {
                const int n = sources_of(op.op);
                std::array<StridedAccess, 3> w{operand(0, op.dst_blk, op.dst_rep), {}, {}};
                for (int k = 0; k < n; k++)
                    w[size_t(k) + 1] = operand(k + 1, op.src_blk[k], op.src_rep[k]);
                return vector(s, name_of(op.op), int(op.repeat.value()), w, n);
            } else if constexpr (std::is_same_v<T, VecReduce>) {
                const std::array<StridedAccess, 3> w{
                    operand(0, 1, 0), operand(1, op.src_blk, op.src_rep), {}};
                return vector(s, std::string(op.group ? "vcg" : "vc") + name_of(op.op),
                              int(op.repeat.value()), w, 1);
            } else if constexpr (std::is_same_v<T, VecConv>) {
                return vector(
                    s, "conv", int(op.repeat.value()),
                    {operand(0, op.dst_blk, op.dst_rep), operand(1, op.src_blk, op.src_rep), {}},
                    1);
            } else if constexpr (std::is_same_v<T, VecCmp>) {
                return vector(s, "cmpv", int(op.repeat.value()),
                              {operand(0, 0, 0), operand(1, op.src_blk[0], op.src_rep[0]),
                               operand(2, op.src_blk[1], op.src_rep[1])},
                              2);
            } else if constexpr (std::is_same_v<T, VecSel>) {
                std::array<StridedAccess, 3> w{operand(0, op.dst_blk, op.dst_rep),
                                      operand(2, op.src_blk[0], op.src_rep[0]),
                                      {}};
                if (s.count > 3) w[2] = operand(3, op.src_blk[1], op.src_rep[1]);
                return vector(s, "sel", int(op.repeat.value()), w, s.count > 3 ? 2 : 1);
            } else if constexpr (std::is_same_v<T, VecTrans>) {
                return {double(head_) + double(op.repeat.value()) * chip_.at("vec.cost.trans.f16"),
                        0, 0};
            } else if constexpr (std::is_same_v<T, Dma>) {
                return {chip_.at("local.head") +
                            double(op.nburst.value() * op.burst.value() * block_bytes) /
                                chip_.at(route(s) + ".rate"),
                        0, 0};
            } else if constexpr (std::is_same_v<T, Mmad>)
                return {mmad(chip_, op, s.locations[1].dtype), 0, 0};
            else if constexpr (std::is_same_v<T, Load2d>)
                return {load2d(chip_, op, s), 0, 0};
            else if constexpr (std::is_same_v<T, Load3d>)
                return {load3d(chip_, op, s), 0, 0};
            else if constexpr (std::is_same_v<T, CcToUb>) {
                return {out_of_l0c(chip_, "l0c_ubuf",
                                   double(op.nburst.value() * op.burst.value()) * cube * cube *
                                       double(bytes_of(s.locations[1].dtype))),
                        0, 0};
            } else if constexpr (std::is_same_v<T, Fixpipe>) {
                return {out_of_l0c(chip_, route(s),
                                   double(op.m.value() * op.n.value()) *
                                       double(bytes_of(s.locations[0].dtype))),
                        0, 0};
            } else if constexpr (std::is_same_v<T, ScalarLd> || std::is_same_v<T, ScalarSt>)
                return {chip_.at("scalar.ubuf"), 0, 0};
            else if constexpr (std::is_same_v<T, SetFlag> || std::is_same_v<T, WaitFlag> ||
                               std::is_same_v<T, Barrier>)
                return {chip_.at("flag"), 0, 0};
            else
                return {chip_.at("scalar"), 0, 0};
        },
        s.op);
}

Traffic gm_traffic(const Profile &chip, const Step &s) {
    Traffic t;
    int side = -1;
    for (int k = 0; k < s.count; k++)
        if (s.locations[size_t(k)].scope == Scope::gm) side = k;
    if (side < 0 || s.pipe == Pipe::s) return t;
    std::vector<Run> runs;
    footprint(s, side, runs);
    if (runs.empty()) return t;
    t.tensor = s.locations[size_t(side)].tensor;
    t.write = side == 0;
    t.begin = runs[0].begin;
    t.count = int64_t(runs.size());
    t.bytes = runs[0].bytes;
    t.pitch = runs.size() > 1 ? runs[1].begin - runs[0].begin : runs[0].bytes;
    // A burst below the 512 B of a line moves a whole power of two of bytes, from 128 on.
    double burst = double(t.bytes);
    if (t.count > 1 && t.bytes < line) burst = t.bytes <= 128 ? 128 : t.bytes <= 256 ? 256 : 512;
    t.unaligned = t.begin % line != 0 || (t.count > 1 && t.pitch % line != 0);
    // One that begins within a line takes one line more, as long as that isn't more than the
    // published share.
    if (t.unaligned)
        burst = std::min(burst / chip.at("gm.unaligned"), double(round_up(t.bytes, line) + line));
    t.effective = double(t.count) * burst;
    return t;
}

}  // namespace halyard::dv

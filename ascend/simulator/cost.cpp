#include "ascend/simulator/cost.h"

#include <algorithm>

namespace halyard::dv {
namespace {

constexpr int64_t line = 512;    // bytes of GM that are moved together
constexpr int bank_groups = 16;  // bank groups of ubuf

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

// 16 rows of the matrix are read from `rows` rows of the image. Each further row, and each step of
// the stride, reduces the rate.
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

// The blocks of 32 B that the sources of a repeat read, each once, and the cycle in which each is
// read: a bank group delivers one block per cycle.
struct CostModel::Beats {
    static constexpr int max_blocks = 16;
    int64_t blocks[max_blocks] = {};
    int beat[max_blocks] = {};
    int count = 0, beats = 1;

    Beats(const std::array<StridedAccess, 3> &operands, int sources, int repeat) {
        for (int s = 1; s <= sources; s++) {
            for (int b = 0; b < 8; b++) {
                const int64_t block = block_of(operands[size_t(s)], repeat, b);
                if (std::find(blocks, blocks + count, block) == blocks + count)
                    blocks[count++] = block;
            }
        }
        int used[bank_groups] = {};
        for (int i = 0; i < count; i++) {
            beat[i] = used[blocks[i] % bank_groups]++;
            beats = std::max(beats, used[blocks[i] % bank_groups]);
        }
    }
};

int64_t CostModel::block_of(const StridedAccess &a, int repeat, int block) {
    return (a.at + repeat * a.rep + block * a.blk) / block_bytes;
}

uint64_t CostModel::bank_bit(int64_t block) const {
    return 1ull << (block * block_bytes / bank_bytes_ % 4 * bank_groups + block % bank_groups);
}

Cost CostModel::banks(const std::array<StridedAccess, 3> &operands, int sources, int repeat,
                      int per_repeat) const {
    Cost c;
    // By cycle: a bit for each bank of each group that is written then.
    std::vector<uint64_t> written(static_cast<size_t>(repeat * 8 + delay_) * 4 + 1024);
    int64_t t = 0;
    for (int r = 0; r < repeat; r++) {
        const Beats reads(operands, sources, r);
        const int64_t begin = t;
        for (int k = 0; k < reads.beats; k++, t++) {
            uint64_t wanted = 0;
            for (int i = 0; i < reads.count; i++)
                if (reads.beat[i] == k) wanted |= bank_bit(reads.blocks[i]);
            for (; size_t(t) < written.size() && (written[size_t(t)] & wanted); t++)
                c.bank_clash++;
        }
        c.group_clash += reads.beats - 1;
        t = std::max(t, begin + per_repeat);
        uint64_t writes = 0;
        for (int b = 0; b < 8; b++)
            writes |= bank_bit(block_of(operands[0], r, b));
        if (size_t(t - 1 + delay_) < written.size()) written[size_t(t - 1 + delay_)] |= writes;
    }
    c.cycles = double(t);
    return c;
}

Cost CostModel::vector(const Step &s, const std::string &key, int repeat,
                       const std::array<StridedAccess, 3> &operands, int sources) {
    const std::string full = key + "." + name_of(s.locations[s.count > 1 ? 1 : 0].dtype);
    const auto [known, fresh] = per_repeat_.try_emplace(full);
    if (fresh) known->second = int(chip_.at("vec.cost." + full, 1));
    uint64_t hash = uint64_t(known->second) * 1000003 + uint64_t(repeat) * 31 + uint64_t(sources);
    for (const StridedAccess &w : operands) {
        for (const int64_t v : {w.at, w.blk, w.rep}) {
            hash = (hash ^ uint64_t(v)) * 0x9e3779b97f4a7c15ull;
            hash ^= hash >> 29;
        }
    }
    const auto [it, unseen] = seen_.try_emplace(hash);
    if (unseen) {
        it->second = banks(operands, sources, repeat, known->second);
        it->second.cycles += head_;
    }
    return it->second;
}

// The costs of the instructions, by kind.
struct CostModel::Visitor {
    CostModel &model;
    const Step &s;
    const Profile &chip = model.chip_;

    StridedAccess operand(int k, int blk, const Expr &rep) const {
        return access_of(s.locations[size_t(k)], blk, rep);
    }
    double operand_bytes(int k) const { return double(bytes_of(s.locations[size_t(k)].dtype)); }
    Cost vector(const std::string &key, const Expr &repeat,
                const std::array<StridedAccess, 3> &operands, int sources) const {
        return model.vector(s, key, int(repeat.value()), operands, sources);
    }

    Cost operator()(const Vec &v) const {
        const int n = sources_of(v.op);
        std::array<StridedAccess, 3> operands{operand(0, v.dst_blk, v.dst_rep), {}, {}};
        for (int k = 0; k < n; k++)
            operands[size_t(k) + 1] = operand(k + 1, v.src_blk[k], v.src_rep[k]);
        return vector(name_of(v.op), v.repeat, operands, n);
    }
    Cost operator()(const VecReduce &v) const {
        return vector(std::string(v.group ? "vcg" : "vc") + name_of(v.op), v.repeat,
                      {operand(0, 1, 0), operand(1, v.src_blk, v.src_rep), {}}, 1);
    }
    Cost operator()(const VecConv &v) const {
        return vector("conv", v.repeat,
                      {operand(0, v.dst_blk, v.dst_rep), operand(1, v.src_blk, v.src_rep), {}}, 1);
    }
    Cost operator()(const VecCmp &v) const {
        return vector("cmpv", v.repeat,
                      {operand(0, 0, 0), operand(1, v.src_blk[0], v.src_rep[0]),
                       operand(2, v.src_blk[1], v.src_rep[1])},
                      2);
    }
    Cost operator()(const VecSel &v) const {
        const bool two = s.count > 3;
        return vector("sel", v.repeat,
                      {operand(0, v.dst_blk, v.dst_rep), operand(2, v.src_blk[0], v.src_rep[0]),
                       two ? operand(3, v.src_blk[1], v.src_rep[1]) : StridedAccess{}},
                      two ? 2 : 1);
    }
    Cost operator()(const VecTrans &v) const {
        return {double(model.head_) + double(v.repeat.value()) * chip.at("vec.cost.trans.f16"), 0,
                0};
    }
    Cost operator()(const Dma &d) const {
        const double bytes = double(d.nburst.value() * d.burst.value() * block_bytes);
        return {chip.at("local.head") + bytes / chip.at(route(s) + ".rate"), 0, 0};
    }
    Cost operator()(const Mmad &m) const { return {mmad(chip, m, s.locations[1].dtype), 0, 0}; }
    Cost operator()(const Load2d &l) const { return {load2d(chip, l, s), 0, 0}; }
    Cost operator()(const Load3d &l) const { return {load3d(chip, l, s), 0, 0}; }
    Cost operator()(const CcToUb &c) const {
        const double sums = double(c.nburst.value() * c.burst.value()) * cube * cube;
        return {out_of_l0c(chip, "l0c_ubuf", sums * operand_bytes(1)), 0, 0};
    }
    Cost operator()(const Fixpipe &f) const {
        const double results = double(f.m.value() * f.n.value());
        return {out_of_l0c(chip, route(s), results * operand_bytes(0)), 0, 0};
    }
    Cost operator()(const ScalarLd &) const { return {chip.at("scalar.ubuf"), 0, 0}; }
    Cost operator()(const ScalarSt &) const { return {chip.at("scalar.ubuf"), 0, 0}; }
    Cost operator()(const SetFlag &) const { return {chip.at("flag"), 0, 0}; }
    Cost operator()(const WaitFlag &) const { return {chip.at("flag"), 0, 0}; }
    Cost operator()(const Barrier &) const { return {chip.at("flag"), 0, 0}; }
    template<class T> Cost operator()(const T &) const { return {chip.at("scalar"), 0, 0}; }
};

Cost CostModel::of(const Step &s) {
    return std::visit(Visitor{*this, s}, s.op);
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
    // A burst of less than a line is rounded up to 128, 256 or 512 bytes.
    double burst = double(t.bytes);
    if (t.count > 1 && t.bytes < line) burst = t.bytes <= 128 ? 128 : t.bytes <= 256 ? 256 : 512;
    t.unaligned = t.begin % line != 0 || (t.count > 1 && t.pitch % line != 0);
    // A burst that begins within a line moves one line more, but no more than the published share.
    if (t.unaligned)
        burst = std::min(burst / chip.at("gm.unaligned"), double(round_up(t.bytes, line) + line));
    t.effective = double(t.count) * burst;
    return t;
}

}  // namespace halyard::dv

#include "ascend/passes/footprint.h"
#include "registry/base/integer.h"

#include <algorithm>

namespace halyard::dv {
namespace {

class Runs {
public:
    explicit Runs(std::vector<Run> &out) : out_(out) { out_.clear(); }
    void add(int64_t begin, int64_t bytes) {
        if (bytes <= 0) return;
        if (!out_.empty() && out_.back().begin + out_.back().bytes == begin)
            out_.back().bytes += bytes;
        else
            out_.push_back({begin, bytes});
    }
    void rows(int64_t begin, int64_t count, int64_t bytes, int64_t pitch) {
        for (int64_t i = 0; i < count; i++)
            add(begin + i * pitch, bytes);
    }

private:
    std::vector<Run> &out_;
};

void vector_operand(Runs &runs, const StridedAccess &w, const Mask &mask, int64_t repeat,
                    int elements) {
    const int per_block = block_bytes / w.bytes;
    if (!mask.bits) {
        const int count = int(std::min<int64_t>(mask.count.value(), elements));
        if (w.blk == block_bytes) return runs.rows(w.at, repeat, int64_t(count) * w.bytes, w.rep);
        for (int64_t r = 0; r < repeat; r++) {
            for (int e = 0; e < count; e += per_block)
                runs.add(w.element(r, e), int64_t(std::min(per_block, count - e)) * w.bytes);
        }
        return;
    }
    for (int64_t r = 0; r < repeat; r++) {
        for (int e = 0; e < elements; e++)
            if (active(mask, e)) runs.add(w.element(r, e), w.bytes);
    }
}

struct Finder {
    const Step &step;
    const int k;
    Runs runs;
    int64_t at() const { return step.locations[size_t(k)].at; }
    int64_t bytes() const { return int64_t(bytes_of(step.locations[size_t(k)].dtype)); }
    void vector(int blk, const Expr &rep, const Mask &mask, const Expr &repeat, int elements) {
        vector_operand(runs, access_of(step.locations[size_t(k)], blk, rep), mask, repeat.value(),
                       elements);
    }
    void strided(const Expr &count, int64_t run, const Expr &gap, int64_t unit) {
        runs.rows(at(), count.value(), run, run + gap.value() * unit);
    }

    void operator()(const Dma &d) {
        strided(d.nburst, d.burst.value() * block_bytes, k == 0 ? d.dst_gap : d.src_gap,
                block_bytes);
    }
    void operator()(const DmaPad &d) {
        const bool gm = step.locations[size_t(k)].scope == Scope::gm;
        strided(d.nburst, gm ? d.bytes.value() : round_up(d.bytes.value(), block_bytes),
                k == 0 ? d.dst_gap : d.src_gap, gm ? 1 : block_bytes);
    }
    void operator()(const Nd2Nz &d) {
        if (k == 1) {
            return runs.rows(at(), d.rows.value(), d.columns.value() * bytes(),
                             d.pitch.value() * bytes());
        }
        runs.rows(at(), round_up(d.columns.value() * bytes(), block_bytes) / block_bytes,
                  d.rows.value() * block_bytes, d.rows_padded.value() * block_bytes);
    }
    void operator()(const Vec &v) {
        const int elements = lanes(step.locations[0].dtype);
        if (k == 0)
            vector(v.dst_blk, v.dst_rep, v.mask, v.repeat, elements);
        else
            vector(v.src_blk[k - 1], v.src_rep[k - 1], v.mask, v.repeat, elements);
    }
    void operator()(const VecReduce &v) {
        if (k == 1)
            return vector(v.src_blk, v.src_rep, v.mask, v.repeat, lanes(step.locations[1].dtype));
        const int64_t one = bytes() * (v.index ? 2 : 1);
        if (!v.group) return runs.rows(at(), v.repeat.value(), one, v.dst_rep.value() * one);
        const int64_t groups =
            v.mask.bits ? 8 : (v.mask.count.value() * bytes() + block_bytes - 1) / block_bytes;
        runs.rows(at(), v.repeat.value(), groups * bytes(), v.dst_rep.value() * 8 * bytes());
    }
    void operator()(const VecConv &v) {
        if (k == 0)
            vector(v.dst_blk, v.dst_rep, v.mask, v.repeat, repeat_elements(v));
        else
            vector(v.src_blk, v.src_rep, v.mask, v.repeat, repeat_elements(v));
    }
    void operator()(const VecCmp &v) {
        const int elements = lanes(step.locations[1].dtype);
        Mask all;
        all.count = elements;
        if (k == 0)
            runs.add(at(), v.repeat.value() * elements / 8);
        else
            vector(v.src_blk[k - 1], v.src_rep[k - 1], all, v.repeat, elements);
    }
    void operator()(const VecSel &v) {
        const int elements = lanes(step.locations[0].dtype);
        if (k == 0)
            vector(v.dst_blk, v.dst_rep, v.mask, v.repeat, elements);
        else if (k == 1)
            runs.add(at(), v.repeat.value() * elements / 8);
        else
            vector(v.src_blk[k - 2], v.src_rep[k - 2], v.mask, v.repeat, elements);
    }
    void operator()(const VecTrans &v) {
        runs.rows(at(), v.repeat.value(), fractal_bytes,
                  (k == 0 ? v.dst_rep : v.src_rep).value() * fractal_bytes);
    }
    void operator()(const Load2d &l) {
        runs.rows(at(), l.repeat.value(), fractal_bytes,
                  (k == 0 ? 1 + l.dst_gap.value() : l.src_stride.value()) * fractal_bytes);
    }
    void operator()(const Load3d &l) {
        if (k == 0)
            runs.add(at(), round_up(l.m_extent.value(), cube) * l.k_extent.value() * bytes());
        else
            runs.add(at(), l.c1.value() * l.h.value() * l.w.value() * block_bytes);
    }
    void operator()(const Mmad &m) {
        const int64_t m1 = round_up(m.m.value(), cube) / cube;
        const int64_t n1 = round_up(m.n.value(), cube) / cube;
        const int unit = c0(step.locations[1].dtype);
        const int64_t k1 = round_up(m.k.value(), unit) / unit;
        if (k == 0)
            runs.add(at(), m1 * n1 * cube * cube * bytes());
        else
            runs.add(at(), (k == 1 ? m1 : n1) * k1 * fractal_bytes);
    }
    void operator()(const CcToUb &c) {
        strided(c.nburst, c.burst.value() * cube * cube * bytes(), k == 0 ? c.dst_gap : c.src_gap,
                k == 0 ? block_bytes : cube * cube * bytes());
    }
    void operator()(const Fixpipe &f) {
        const int64_t m1 = round_up(f.m.value(), cube) / cube;
        const int64_t n1 = round_up(f.n.value(), cube) / cube;
        if (k == 1 || f.nz)
            runs.add(at(), m1 * n1 * cube * cube * bytes());
        else
            runs.rows(at(), f.m.value(), f.n.value() * bytes(), f.pitch.value() * bytes());
    }
    void operator()(const ScalarLd &) { runs.add(at(), bytes()); }
    void operator()(const ScalarSt &) { runs.add(at(), bytes()); }
    template<class T> void operator()(const T &) {}
};

}  // namespace

StridedAccess access_of(const Location &p, int blk, const Expr &rep) {
    return {p.at, int64_t(blk) * block_bytes, rep.value() * block_bytes, int(bytes_of(p.dtype))};
}

int repeat_elements(const VecConv &v) {
    return std::min(lanes(v.dst.dtype), lanes(v.src.dtype));
}
void footprint(const Step &s, int k, std::vector<Run> &runs) {
    std::visit(Finder{s, k, Runs(runs)}, s.op);
}

}  // namespace halyard::dv

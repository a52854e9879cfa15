#include "dsl/ascend/lowering/move.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "dsl/ascend/lowering/vector.h"
#include "registry/base/error.h"

namespace halyard::ascend {

using dv::Expr;
using dv::Ref;

namespace {

constexpr int64_t max_bursts = 4095, max_gap = 65535;

struct Dimension {
    int64_t extent, dst, src;
};

class MoveEmitter {
public:
    MoveEmitter(Writer &w, const Operand &dst, const Operand &src,
                std::vector<Dimension> dimensions)
        : w_(w), dst_(dst), src_(src), bytes_(int64_t(bytes_of(dst.ref.dtype))),
          unit_(dv::block_bytes / bytes_), all_(std::move(dimensions)) {}

    void emit() {
        merge();
        if (all_.empty() || all_[0].dst != 1 || all_[0].src != 1) {
            if (!all_.empty() && all_[0].src != 1 && all_[0].dst == 1 && !dst_.in_gm())
                return gather();
            all_.insert(all_.begin(), {1, 1, 1});
        }
        run_ = all_[0].extent;
        all_.erase(all_.begin());
        if (dst_.in_gm() && run_ % unit_) return uneven_rows();
        bursts((run_ + unit_ - 1) / unit_, dst_.ref, src_.ref, all_);
    }

private:
    Writer &w_;
    const Operand dst_, src_;
    const int64_t bytes_, unit_;  // bytes of an element; elements of a block
    std::vector<Dimension> all_;  // innermost first
    int64_t run_ = 1;

    void merge() {
        std::erase_if(all_, [](const Dimension &d) { return d.extent == 1; });
        std::stable_sort(all_.begin(), all_.end(), [](auto &a, auto &b) { return a.dst < b.dst; });
        const auto unit = std::find_if(all_.begin(), all_.end(),
                                       [](auto &d) { return d.dst == 1 && d.src == 1; });
        if (unit != all_.end()) std::rotate(all_.begin(), unit, unit + 1);
        for (size_t d = 1; d < all_.size();) {
            Dimension &a = all_[d - 1];
            Dimension b = all_[d];
            if (b.dst != a.dst * a.extent || b.src != a.src * a.extent) {
                d++;
                continue;
            }
            a.extent *= b.extent;
            all_.erase(all_.begin() + long(d));
        }
    }

    static Ref at(const Ref &r, const Expr &offset) {
        Ref m = r;
        m.offset = r.offset + offset;
        return m;
    }

    // Emits loops over `outer`, and body(dst, src) with both offsets in them.
    void each(const std::vector<Dimension> &outer,
              const std::function<void(const Expr &dst, const Expr &src)> &body) {
        const std::function<void(size_t, const Expr &, const Expr &)> level =
            [&](size_t d, const Expr &to, const Expr &from) {
                if (d == 0) return body(to, from);
                w_.loop("move", outer[d - 1].extent, [&](const Expr &i) {
                    level(d - 1, to + i * outer[d - 1].dst, from + i * outer[d - 1].src);
                });
            };
        level(outer.size(), 0, 0);
    }

    void at_block(const Ref &r) const {
        if (w_.program.scope(r) == dv::Scope::ub && !is_multiple(r.offset, unit_))
            throw NotVectorizable("a move to or from " + r.buffer + " within a block of 32 B");
    }

    // Emits bursts of `blocks` blocks. One dimension whose gaps are whole blocks becomes nburst,
    // the others become loops.
    void bursts(int64_t blocks, const Ref &dst, const Ref &src, std::vector<Dimension> outer) {
        at_block(dst);
        at_block(src);
        const auto gap = [&](int64_t stride) {
            return stride % unit_ ? -1 : stride / unit_ - blocks;
        };
        size_t best = outer.size();
        for (size_t d = 0; d < outer.size(); d++) {
            const int64_t to = gap(outer[d].dst);
            const int64_t from = gap(outer[d].src);
            const bool fits = to >= 0 && from >= 0 && to <= max_gap && from <= max_gap;
            if (fits && (best == outer.size() || outer[d].extent > outer[best].extent)) best = d;
        }
        if (best == outer.size() && bursts_by_period(blocks, dst, src, outer)) return;
        if (best == outer.size()) {
            return each(outer, [&](const Expr &to, const Expr &from) {
                w_.emit(dv::Dma{at(dst, to), at(src, from), 1, blocks, 0, 0});
            });
        }
        const Dimension burst = outer[best];
        outer.erase(outer.begin() + long(best));
        each(outer, [&](const Expr &to, const Expr &from) {
            const auto part = [&](const Expr &first, int64_t count) {
                w_.emit(dv::Dma{at(dst, to + first * burst.dst), at(src, from + first * burst.src),
                                count, blocks, gap(burst.src), gap(burst.dst)});
            };
            const int64_t whole = burst.extent / max_bursts;
            const int64_t rest = burst.extent % max_bursts;
            if (whole)
                w_.loop("part", whole, [&](const Expr &i) { part(i * max_bursts, max_bursts); });
            if (rest) part(whole * max_bursts, rest);
        });
    }

    // Emits the bursts of rows in GM that aren't aligned to blocks: every `period`th row has the
    // alignment of the first one. Returns false if there are no such rows.
    bool bursts_by_period(int64_t blocks, const Ref &dst, const Ref &src,
                          const std::vector<Dimension> &outer) {
        if (!src_.in_gm()) return false;
        for (size_t d = 0; d < outer.size(); d++) {
            const Dimension rows = outer[d];
            const int64_t period = unit_ / std::gcd(rows.src, unit_);
            const int64_t from = rows.src * period / unit_ - blocks;
            const int64_t to = rows.dst * period / unit_ - blocks;
            if (rows.src % unit_ == 0 || rows.dst % unit_ || from < 0 || to < 0 || from > max_gap ||
                to > max_gap || rows.extent < 2 * period)
                continue;
            std::vector<Dimension> rest = outer;
            rest[d] = {period, rows.dst, rows.src};
            const auto part = [&](const Ref &to_part, const Ref &from_part, int64_t count,
                                  int64_t n) {
                rest[d].extent = n;
                rest.push_back({count, rows.dst * period, rows.src * period});
                bursts(blocks, to_part, from_part, rest);
                rest.pop_back();
            };
            const int64_t whole = rows.extent / period;
            const int64_t more = rows.extent % period;
            if (more) part(dst, src, whole + 1, more);
            part(at(dst, more * rows.dst), at(src, more * rows.src), whole, period - more);
            return true;
        }
        return false;
    }

    // Loads elements with a stride in GM as a block each; the scalar unit copies them to contiguous
    // memory.
    void gather() {
        const Dimension line = all_[0];
        all_.erase(all_.begin());
        w_.warnings.push_back("W-SCALAR " + w_.stage + ": elements of " + src_.ref.buffer +
                              " lie " + std::to_string(line.src) +
                              " apart and are gathered one by one");
        const Ref blocks = w_.temporary(src_.ref.dtype, line.extent * unit_);
        each(all_, [&](const Expr &to, const Expr &from) {
            bursts(1, blocks, at(src_.ref, from), {{line.extent, unit_, line.src}});
            copy(line.extent, at(dst_.ref, to), 1, blocks, unit_);
        });
        w_.give_back(blocks);
    }

    void copy(int64_t n, const Ref &dst, int64_t dst_step, const Ref &src, int64_t src_step) {
        w_.loop("element", n, [&](const Expr &i) {
            const std::string reg = w_.reg();
            w_.emit(dv::ScalarLd{reg, at(src, i * src_step)});
            w_.emit(dv::ScalarSt{at(dst, i * dst_step), {reg}});
        });
    }

    // Stores rows whose last block isn't full. The block that ends with the row is stored
    // separately, and overlaps the one before it.
    void uneven_rows() {
        if (all_.empty() && run_ < unit_ && is_end()) return short_end();
        int64_t dense = run_;
        bool is_dense = true;
        for (auto &d : all_) {
            is_dense &= d.dst == dense;
            dense *= d.extent;
        }
        // Contiguous rows that are shorter than a block are stored as one run.
        if (run_ < unit_ && is_dense && !all_.empty()) {
            w_.warnings.push_back("W-SCALAR " + w_.stage + ": rows of " +
                                  std::to_string(run_ * bytes_) +
                                  " B are put together one element at a time");
            const Ref together = w_.temporary(dst_.ref.dtype, dense);
            each(all_, [&](const Expr &to, const Expr &from) {
                copy(run_, at(together, to), 1, at(src_.ref, from), 1);
            });
            MoveEmitter(w_, dst_, {together, {}, dv::Scope::ub}, {{dense, 1, 1}}).emit();
            w_.give_back(together);
            return;
        }
        if (run_ < unit_) return merged_blocks();
        const Ref last = w_.temporary(dst_.ref.dtype, unit_);
        each(all_, [&](const Expr &to, const Expr &from) {
            at_block(at(src_.ref, from));
            w_.emit(dv::Dma{at(dst_.ref, to), at(src_.ref, from), 1, run_ / unit_, 0, 0});
            copy(unit_, last, 1, at(src_.ref, from + (run_ - unit_)), 1);
            w_.emit(dv::Dma{at(dst_.ref, to + (run_ - unit_)), last, 1, 1, 0, 0});
        });
        w_.give_back(last);
    }

    // Stores less than a block at the end of a tensor, followed by zeros.
    void short_end() {
        Ref block = w_.temporary(dst_.ref.dtype, unit_);
        Ref halves = block;
        halves.dtype = DType::f16;
        Vectors(w_, {dv::c0(DType::f16)}).fill({halves, {1}}, {"", 0});
        copy(run_, block, 1, src_.ref, 1);
        w_.emit(dv::Dma{dst_.ref, block, 1, 1, 0, 0});
        w_.give_back(block);
    }

    // Stores less than a block that other elements follow: the block is read, changed and written
    // back.
    void merged_blocks() {
        // Another core's elements may be in the same block, which would be written back with old
        // values.
        if (w_.program.blocks.constant() != 1) throw SharedBlocks(w_.stage, dst_.ref.buffer);
        w_.warnings.push_back("W-SCALAR " + w_.stage + ": blocks of " + dst_.ref.buffer +
                              " are changed in part");
        const Ref block = w_.temporary(dst_.ref.dtype, unit_);
        each(all_, [&](const Expr &to, const Expr &from) {
            w_.emit(dv::Dma{block, at(dst_.ref, to), 1, 1, 0, 0});
            copy(run_, block, 1, at(src_.ref, from), 1);
            w_.emit(dv::Dma{at(dst_.ref, to), block, 1, 1, 0, 0});
        });
        w_.give_back(block);
    }

    // Returns true if the run ends with the tensor, which has whole blocks and one more
    // (lower.cpp).
    bool is_end() const {
        const auto offset = dst_.ref.offset.constant();
        const auto size = w_.program.tensor(dst_.ref.buffer)->size.constant();
        return offset && size && *offset % unit_ == 0 &&
               *offset + (run_ + unit_ - 1) / unit_ * unit_ + unit_ == *size;
    }
};

}  // namespace

void move(Writer &w, const std::vector<int64_t> &extents, const Operand &dst, const Operand &src) {
    std::vector<Dimension> dimensions;
    for (size_t d = 0; d < extents.size(); d++)
        dimensions.push_back({extents[d], dst.stride[d], src.stride[d]});
    MoveEmitter(w, dst, src, dimensions).emit();
}

}  // namespace halyard::ascend

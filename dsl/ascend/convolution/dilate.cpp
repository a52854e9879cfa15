// Dilates 16 planes at a time. Their pixels become blocks of 16, which are distributed between
// blocks of zeros and become planes again.
#include "dsl/ascend/convolution/dilate.h"

#include <algorithm>
#include <numeric>

#include "dsl/ascend/convolution/image.h"
#include "dsl/ascend/lowering/fractals.h"
#include "dsl/ascend/lowering/move.h"
#include "dsl/ascend/lowering/vector.h"

namespace halyard::ascend {

using dv::Expr;
using dv::Ref;
using dv::Scope;

namespace {

constexpr int64_t side = fractal_side;

class Dilate {
public:
    Dilate(Writer &w, const Dilation &d)
        : w_(w), d_(d), rows_(rows_at_once(d)), parts_((d.h + rows_ - 1) / rows_),
          in_(whole_fractals(rows_ * d.w)), out_(whole_fractals(rows_ * d.stride_h * d.to_w)) {}

    // Emits the program. A block dilates 16 planes, which end with a block of global memory; the
    // last one may have fewer planes.
    void write() {
        const int64_t last = d_.planes % side;
        w_.program.blocks = (d_.planes + side - 1) / side;
        planes_ub_ = w_.ring("planes_ub", Scope::ub, DType::f16, side * in_);
        columns_ub_ = w_.buffer("columns_ub", Scope::ub, DType::f16, side * in_);
        dilated_ub_ = w_.buffer("apart_ub", Scope::ub, DType::f16, side * out_);
        out_ub_ = w_.ring("out_ub", Scope::ub, DType::f16, side * out_);
        const auto zeros = [&](const Ref &at, int64_t n) {
            Vectors(w_, {n}).fill({at, {1}}, {"", 0});
        };
        zeros(dilated_ub_, side * out_);
        // Temporaries that all bodies use.
        for (const Ref &r :
             {w_.temporary(DType::f16, side * in_), w_.temporary(DType::f16, side * out_)})
            w_.give_back(r);
        const Expr block = Expr::var("block_idx");
        if (!last) return of(block, side);
        w_.branch(block + 1 == w_.program.blocks, w_.nested([&] { of(block, last); }),
                  w_.nested([&] { of(block, side); }));
    }

private:
    Writer &w_;
    const Dilation &d_;
    const int64_t rows_,
        parts_;               // rows of a part; parts of a plane, of which the last two may overlap
    const int64_t in_, out_;  // pixels of a part, in whole fractals
    Ref planes_ub_, columns_ub_, dilated_ub_, out_ub_;

    // Returns the rows of a part, so that parts end with blocks if there is room for as many rows.
    static int64_t rows_at_once(const Dilation &d) {
        const int64_t row = d.stride_h * d.to_w;
        const int64_t limit = std::max<int64_t>(1, max_dilated_row / row);
        const int64_t whole = side / std::gcd(row, side);
        return std::min(d.h, limit >= whole ? limit / whole * whole : limit);
    }

    void of(const Expr &block, int64_t planes) {
        if (parts_ > 1) {
            w_.loop("part", parts_ - 1,
                    [&](const Expr &p) { part(block, planes, p, p * rows_, false); });
        }
        part(block, planes, parts_ - 1, d_.h - rows_, true);
    }
    void part(const Expr &block, int64_t planes, const Expr &turn, const Expr &first, bool last) {
        Ref in = planes_ub_;
        Ref out = out_ub_;
        in.slot = out.slot = turn % 2;
        rows_of_channels(
            w_, {in, in_},
            {{d_.from, block * (side * d_.h * d_.w) + first * d_.w, 0, DType::f16}, d_.h * d_.w},
            planes, in_ / side);
        rows_to_columns(w_, columns_ub_, in, planes, in_);
        w_.loop("row", rows_, [&](const Expr &r) {
            const Ref from = moved(columns_ub_, r * (d_.w * side));
            const Ref to = moved(dilated_ub_, r * (d_.stride_h * d_.to_w * side));
            const int64_t whole = d_.w / side;
            const int64_t rest = d_.w % side;
            if (whole) {
                move_blocks(w_, {to, d_.stride_w, d_.stride_w * side}, {from, 1, side}, side,
                            whole);
            }
            if (rest) {
                move_blocks(w_, {moved(to, whole * d_.stride_w * fractal_size), d_.stride_w, 1},
                            {moved(from, whole * fractal_size), 1, 1}, rest, 1);
            }
        });
        columns_to_rows(w_, out, dilated_ub_, out_);
        const int64_t plane = d_.to_h * d_.to_w;
        const Ref gm{d_.to, block * (side * plane) + first * (d_.stride_h * d_.to_w), 0,
                     DType::f16};
        if (!last) {
            return store(planes, rows_ * d_.stride_h * d_.to_w, gm, out,
                         d_.to_w >= side ? planes : 0);
        }
        store(planes, (d_.to_h - (d_.h - rows_) * d_.stride_h) * d_.to_w, gm, out,
              parts_ == 1 && plane >= side ? planes - 1 : 0);
    }
    // Stores `n` pixels of each plane. The first `going_on` planes are written beyond their end, to
    // a whole block, because what follows is written later.
    void store(int64_t planes, int64_t n, const Ref &gm, const Ref &rows, int64_t going_on) {
        const int64_t plane = d_.to_h * d_.to_w;
        const int64_t before = n % side ? going_on : 0;
        if (before) {
            w_.loop("row", before, [&](const Expr &p) {
                w_.emit(dv::Dma{moved(gm, p * plane), moved(rows, p * out_), 1,
                                (n + side - 1) / side, 0, 0});
            });
        }
        if (before < planes) {
            move(w_, {planes - before, n}, {moved(gm, before * plane), {plane, 1}, Scope::gm},
                 {moved(rows, before * out_), {out_, 1}});
        }
    }
};

}  // namespace

void dilate(Writer &w, const Dilation &d) {
    Dilate(w, d).write();
}

}  // namespace halyard::ascend

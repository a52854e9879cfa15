// Checks that a call of some rows has the bits that a call of all rows has there, because graph
// mode runs neighbouring calls for some rows at a time (graph/row_loops.h).
#include <algorithm>

#include "bench/harness/case.h"
#include "bench/harness/progress.h"
#include "registry/dispatch/call_rows.h"
#include "registry/dispatch/force.h"
#include "registry/dispatch/planner.h"
#include "tools/check/check.h"

namespace halyard::check {
namespace {

struct Rows {
    int dimension = 0;
    int64_t begin = 0, end = 0;
    std::string text() const {
        return "rows " + std::to_string(begin) + " to " + std::to_string(end - 1) +
               " of dimension " + std::to_string(dimension);
    }
};

// Returns the rows of input k.
Tensor rows_of(const Case &c, size_t k, const Tensor &t, const Shape &out, const Rows &rows) {
    const int own = row_dimension_of_input(c.registered, k, t.shape(), out, rows.dimension);
    return own < 0 || t.shape()[own] == 1 ? t : t.slice(own, rows.begin, rows.end);
}

const KernelEntry *kernel_of(const Case &c, const std::vector<Tensor> &in) {
    const std::vector<OperandMeta> metas = metas_of(in);
    return make_plan(c.registered, metas, c.attrs).kernel;
}

// Compares calls of parts of the rows along each leading dimension, at one row of those before it.
void compare_rows(const Case &c, const std::string &where, Report &r) {
    std::vector<Tensor> in = c.in;
    std::vector<Tensor> whole = dispatch(c.registered, in, c.attrs);
    const KernelEntry *kernel = kernel_of(c, in);
    const Shape out = whole[0].shape();
    std::vector<Shape> shapes;
    for (const Tensor &t : in)
        shapes.push_back(t.shape());
    const Shape extents = row_extents(c.registered, c.attrs, shapes, out);
    const auto restricted = [&](const Rows &rows) {
        std::vector<Tensor> some;
        for (size_t k = 0; k < in.size(); k++)
            some.push_back(rows_of(c, k, in[k], out, rows));
        return some;
    };
    for (int d = 0; d < extents.rank(); d++) {
        const int64_t n = extents[d];
        if (n < 2) continue;
        for (const Rows &rows :
             {Rows{d, 0, 1}, Rows{d, 1, n}, Rows{d, 0, n / 2}, Rows{d, n / 2, n}}) {
            const std::vector<Tensor> some = restricted(rows);
            if (kernel_of(c, some) != kernel) continue;  // graph mode runs such calls whole
            const std::vector<Tensor> got = dispatch(c.registered, some, c.attrs);
            bool same = true;
            for (size_t k = 0; k < got.size(); k++)
                same = same && same_bits(got[k], whole[k].slice(d, rows.begin, rows.end));
            r.expect(where + ", " + rows.text(), same ? "" : "other bits than in a call of all");
        }
        in = restricted({d, n - 1, n});
        for (Tensor &t : whole)
            t = t.slice(d, n - 1, n);
    }
}

}  // namespace

void check_rows(const Op &op, const Options &o, Report &r) {
    for (const Isa isa : isas_of(op, o)) {
        for (const std::string &dtypes : op.dtypes) {
            if (!o.dtypes.empty() && dtypes != o.dtypes) continue;
            for (const std::string &sample : op.samples) {
                const Force force(isa, o.variant);
                const Case c(op, sample, dtypes, 5);
                const std::string kernel = kernel_text(c);
                if (kernel.empty()) continue;
                begin_step(kernel + " '" + sample + "'");
                compare_rows(c, kernel + " '" + sample + "'", r);
            }
        }
    }
}

}  // namespace halyard::check

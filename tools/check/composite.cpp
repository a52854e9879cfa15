// Checks composite ops, which have no kernel: the whole primitive against the reference.
#include "bench/harness/case.h"
#include "bench/harness/progress.h"
#include "primitives/primitive.h"
#include "tools/check/check.h"
#include "tools/check/guard.h"

namespace halyard::check {

void check_composite(const Op &op, const Options &, Report &r) {
    for (auto &dtypes : op.dtypes) {
        for (auto &sample : op.samples) {
            const std::string where = dtypes + " '" + sample + "'";
            begin_step(where);
            try {
                Case c(op, sample, dtypes, 1);
                std::vector<Tensor> in = c.in;
                Guards guards(Guards::after);
                guards.move(op, in, {});
                const std::vector<Tensor> out = Primitive(c.registered, c.attrs).run(in);
                r.expect(where, guards.finding());
                c.solve(op);
                for (size_t k = 0; k < out.size(); k++)
                    r.expect(where, compare(op, op.sig.outputs[k].name, out[k], c.problem));
            } catch (const Error &e) {
                r.fail(where, e.what());
            }
        }
    }
}

}  // namespace halyard::check

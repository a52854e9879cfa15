// Checks composite ops, which have no kernel: the whole primitive against the reference.
#include "bench/harness/case.h"
#include "bench/harness/progress.h"
#include "primitives/primitive.h"
#include "registry/dispatch/force.h"
#include "tools/check/check.h"
#include "tools/check/guard.h"

namespace halyard::check {

namespace {

// Returns the instruction sets for which the build has the kernels that composites are made of.
std::vector<Isa> isas_of_kernels(const Options &o) {
    return isas_of(*op_table().make("add"), o);
}

void check_call(const Op &op, const std::string &dtypes, const std::string &sample, Isa isa,
                Report &r) {
    const std::string where = dtypes + " " + std::string(name_of(isa)) + " '" + sample + "'";
    begin_step(where);
    try {
        Case c(op, sample, dtypes, 1);
        std::vector<Tensor> in = c.in;
        Guards guards(Guards::after);
        guards.move(op, in, {});
        const Force force(isa, "");
        const std::vector<Tensor> out = Primitive(c.registered, c.attrs).run(in);
        r.expect(where, guards.finding());
        c.solve(op);
        for (size_t k = 0; k < out.size(); k++)
            r.expect(where, compare(op, op.sig.outputs[k].name, out[k], c.problem));
    } catch (const Error &e) {
        r.fail(where, e.what());
    }
}

}  // namespace

void check_composite(const Op &op, const Options &o, Report &r) {
    for (auto &dtypes : op.dtypes)
        for (auto &sample : op.samples)
            for (const Isa isa : isas_of_kernels(o))
                check_call(op, dtypes, sample, isa, r);
}

}  // namespace halyard::check

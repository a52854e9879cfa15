// Checks calls with wrong ranks, dtypes, extents, attributes and sizes beyond every limit. Each
// call is either right or rejected with an error that names the op. Under the sanitizers this finds
// missing checks of arguments.
#include <limits>

#include "bench/harness/case.h"
#include "bench/harness/progress.h"
#include "registry/dispatch/plan.h"
#include "registry/dispatch/planner.h"
#include "tools/check/check.h"

namespace halyard::check {
namespace {

class Trials {
public:
    Trials(const Op &op, const Case &c, Report &r) : op_(op), c_(c), r_(r) {}

    // Plans the call, and runs it if that is cheap.
    void call(const std::string &what, const std::vector<Tensor> &in, const Attrs &attrs,
              bool run = true) {
        expect_refusal_or_result(what, [&] {
            const std::vector<OperandMeta> metas = metas_of(in);
            const Plan p = make_plan(c_.registered, metas, attrs);
            int64_t work = 0;
            for (auto &o : p.outputs)
                work += o.shape.elements();
            for (const Tensor &t : in)
                work += t.elements();
            if (run && work < 100000) dispatch(c_.registered, in, attrs);
        });
    }
    void attribute(const AttrSpec &a, const std::string &text) {
        expect_refusal_or_result(a.name + "=" + text, [&] {
            Sample s = parse_sample(op_, c_.sample);
            if (c_.attrs.find("dtype") >= 0) s.attrs["dtype"] = name_of(c_.out_dtypes[0]);
            s.attrs[a.name] = text;
            call(a.name + "=" + text, c_.in, Attrs(c_.registered.record, s.attrs), text.size() < 8);
        });
    }

private:
    template<class F> void expect_refusal_or_result(const std::string &what, const F &body) {
        std::string error;
        begin_step(kernel_text(c_) + " '" + c_.sample + "' with " + what);
        try {
            body();
        } catch (const Error &e) {
            if (!std::string(e.what()).starts_with("[" + op_.name + "] "))
                error = std::string("the error doesn't name the op: ") + e.what();
        } catch (const std::exception &e) {
            error = std::string("threw ") + e.what();
        }
        r_.expect("'" + c_.sample + "' with " + what, error);
    }
    const Op &op_;
    const Case &c_;
    Report &r_;
};

// Replaces input k by tensors of other ranks, dtypes and extents.
void try_tensors(Trials &trials, const Case &c, size_t k, const std::string &name) {
    const Tensor &t = c.in[k];
    const auto with = [&](const std::string &what, const Tensor &other) {
        std::vector<Tensor> in = c.in;
        in[k] = other;
        trials.call(name + " " + what, in, c.attrs);
    };
    with("of one rank more", t.unsqueeze(0));
    with("as a scalar", Tensor::scalar(1, t.dtype()));
    with("of rank 8", Tensor::zeros({1, 1, 1, 1, 1, 1, 1, 1}, t.dtype()));
    for (int d = 0; d < dtype_count; d++)
        with(std::string("of dtype ") + name_of(static_cast<DType>(d)),
             t.to(static_cast<DType>(d)));
    for (int d = 0; d < t.rank(); d++) {
        Shape s = t.shape();
        for (const int64_t extent :
             {t.shape()[d] + 1, int64_t{0}, int64_t{1} << 20, int64_t{INT32_MAX}}) {
            s[d] = extent;
            const int64_t rest = t.shape()[d] ? t.elements() / t.shape()[d] : 0;
            // One element, broadcast to the whole shape.
            if (rest * extent <= INT32_MAX)
                with("of shape " + s.text(), Tensor::scalar(1, t.dtype()).expand(s));
        }
    }
}

// Sets an attribute to values within and beyond its limits.
void try_attribute(Trials &trials, const AttrSpec &a) {
    constexpr int64_t lowest = std::numeric_limits<int64_t>::min();
    constexpr int64_t highest = std::numeric_limits<int64_t>::max();
    for (const int64_t v : {int64_t{-3}, int64_t{-1}, int64_t{0}, int64_t{1}, int64_t{2},
                            int64_t{7}, int64_t{INT32_MAX}, lowest, highest}) {
        trials.attribute(a, std::to_string(v));
        if (a.kind == AttrKind::ints) trials.attribute(a, "1," + std::to_string(v));
    }
    trials.attribute(a, a.kind == AttrKind::ints ? "1,1,1,1,1,1,1,1,1,1" : "none");
}

}  // namespace

void check_refusals(const Op &op, const Options &, Report &r) {
    const Case c(op, op.samples[0], op.dtypes[0], 10);
    Trials trials(op, c, r);
    for (size_t k = 0; k < c.in.size(); k++)
        try_tensors(trials, c, k, op.sig.inputs[k].name);
    const std::vector<Tensor> fewer(c.in.begin(), c.in.end() - (c.in.empty() ? 0 : 1));
    if (!c.in.empty()) trials.call("one input less", fewer, c.attrs);
    for (const AttrSpec &a : op.attrs)
        if (a.kind != AttrKind::real) try_attribute(trials, a);
}

}  // namespace halyard::check

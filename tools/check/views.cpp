// Every way for tensors to lie in memory, for the ops' samples: kernels have loops of their own for
// some of them.
#include "tools/check/check.h"
#include "tools/check/fuzz.h"

namespace halyard::check {
namespace {

using Lies = std::map<std::string, std::string>;

std::vector<std::string> lies_of(const Op &op, const TensorSpec &t) {
    const int rank = int(op.extents_of(t).size());
    if (rank == 0) return {"", "shifted"};
    std::vector<std::string> all = {"", "reversed", "gaps", "still" + std::to_string(rank - 1)};
    if (rank > 2) all.push_back("swapped");
    // elementwise kernels have no dimensions of their own
    if (rank > 1 && op.form != Form::elementwise) all.push_back("columns");
    return all;
}

// One input after the other; of an op whose kernels take any strides every combination of up to
// three.
std::vector<Lies> layouts(const Op &op, bool combined) {
    std::vector<Lies> all = {{}};
    for (auto &t : op.sig.inputs) {
        for (size_t k = 0, before = all.size(); k < (combined ? before : 1); k++) {
            for (auto &how : lies_of(op, t)) {
                if (how.empty()) continue;
                all.push_back(all[k]);
                all.back()[t.name] = how;
            }
        }
    }
    // In place, where the op may do so: all outputs on the inputs that they update, or one on each
    // dense input in turn.
    Lies updates;
    for (size_t k = 0, before = op.form == Form::elementwise ? all.size() : 0; k < before; k++) {
        for (auto &y : op.sig.outputs) {
            for (auto &t : op.sig.inputs) {
                if (y.name == t.name + "_out")
                    updates[y.name] = "on-" + t.name;
                else if (op.sig.outputs.size() == 1 && y.dtype == t.dtype &&
                         !all[k].count(t.name)) {
                    all.push_back(all[k]);
                    all.back()[y.name] = "on-" + t.name;
                }
            }
        }
    }
    if (!updates.empty()) all.push_back(updates);
    return all;
}

// Results whose rows lie across memory, as those of axis=0 do.
void expect_first_axis(const Op &op, const Options &o, Report &r) {
    int seed = 0;
    for (auto &sample : op.samples) {
        for (const bool reversed : {false, true}) {
            FuzzCase c;
            c.dtypes = o.dtypes.empty() ? op.dtypes[0] : o.dtypes;
            c.variant = o.variant;
            c.isa = isas_of(op, o).back();
            c.sample = parse_sample(op, sample);
            c.seed = ++seed;
            c.first_axis = true;
            for (auto &t : op.sig.inputs)
                if (reversed) c.lies[t.name] = "reversed";
            const std::string error = run_fuzz_case(op, c, false);
            r.expect("'" + c.text() + "'", error.empty() ? "" : error + again_line(op, c, o));
        }
    }
}

// Rows that one element decides, on every variant: what a bound or a start that is wrong by one
// leaves out is seldom it in random rows.
void check_lonely(const Op &op, const Options &o, Report &r) {
    if (op.form != Form::reduction && op.axis.empty()) return;
    for (auto &sample : op.samples) {
        for (auto &v : op.variants) {
            for (int seed : {1, 2, 4, 7}) {
                if (!o.variant.empty() && v.name != o.variant) continue;
                FuzzCase c;
                c.dtypes = o.dtypes.empty() ? op.dtypes[0] : o.dtypes;
                c.variant = v.name;
                c.isa = isas_of(op, o).back();
                c.sample = parse_sample(op, sample);
                c.seed = seed;
                c.lonely = true;
                const std::string error = run_fuzz_case(op, c, false);
                r.expect("'" + c.text() + "'", error.empty() ? "" : error + again_line(op, c, o));
            }
        }
    }
}

}  // namespace

void check_views(const Op &op, const Options &o, Report &r) {
    bool depends_on_specials = false;  // is x Inf? of ordinary numbers none is
    for (auto &t : op.sig.outputs)
        depends_on_specials |= t.dtype == "bool";
    int number = 0;
    const auto expect = [&](const std::string &sample, const std::vector<Lies> &all) {
        for (auto &lies : all) {
            FuzzCase c;
            c.dtypes = o.dtypes.empty() ? op.dtypes[0] : o.dtypes;
            c.variant = o.variant;
            c.isa = isas_of(op, o).back();
            c.sample = parse_sample(op, sample);
            c.lies = lies;
            // exact results bear any values
            c.seed = ++number;
            c.seed = depends_on_specials ? number : number % 2 ? 2 : 4;
            // sums need no bends, and products of small numbers hide much
            c.bends = op.form == Form::elementwise || number % 4 > 1;
            if (depends_on_specials && number % 3 == 0) c.specials = 8;
            const std::string error = run_fuzz_case(op, c, false);
            r.expect("'" + c.text() + "'", error.empty() ? "" : error + again_line(op, c, o));
        }
    };
    const std::vector<Lies> combined = layouts(op, op.any_strides && op.sig.inputs.size() <= 3);
    const std::vector<Lies> single = layouts(op, false);
    for (auto &sample : op.samples)
        expect(sample, combined);
    if (op.form == Form::plain && !op.axis.empty()) expect_first_axis(op, o, r);
    check_lonely(op, o, r);
    if (op.form != Form::elementwise) return;
    expect("d0=1 d1=1 d2=70001", single);  // a row longer than any task
    expect("d0=67 d1=73 d2=17", single);   // more short rows than a task has
}

}  // namespace halyard::check

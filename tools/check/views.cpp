// Checks the ops' samples with every layout of tensors in memory, because kernels have separate
// loops for some of them.
#include "tools/check/cancellation.h"
#include "tools/check/check.h"
#include "tools/check/fills.h"
#include "tools/check/fuzz.h"
#include "tools/check/ulps.h"

namespace halyard::check {
namespace {

using Layouts = std::map<std::string, std::string>;

std::vector<std::string> layouts_of(const Op &op, const TensorSpec &t) {
    const int rank = int(op.extents_of(t).size());
    if (rank == 0) return {"", "shifted"};
    std::vector<std::string> all = {"", "reversed", "gaps", "still" + std::to_string(rank - 1)};
    if (rank > 2) all.emplace_back("swapped");
    // Elementwise kernels have no dimensions of their own.
    if (rank > 1 && op.form != Form::elementwise) all.emplace_back("columns");
    return all;
}

// Returns `all`, followed by the same with one output in place of a dense input, for each. Layouts
// with every output on the input that it updates come last.
std::vector<Layouts> with_outputs_in_place(const Op &op, std::vector<Layouts> all) {
    Layouts updates;
    const size_t before = all.size();
    for (size_t k = 0; k < before; k++) {
        for (auto &y : op.sig.outputs) {
            for (auto &t : op.sig.inputs) {
                const bool fits = op.sig.outputs.size() == 1 && y.dtype == t.dtype;
                if (y.name == t.name + "_out")
                    updates[y.name] = "on-" + t.name;
                else if (fits && !all[k].count(t.name)) {
                    all.push_back(all[k]);
                    all.back()[y.name] = "on-" + t.name;
                }
            }
        }
    }
    if (!updates.empty()) all.push_back(updates);
    return all;
}

// Returns layouts in which all inputs but one are broadcast along the last dimension.
std::vector<Layouts> broadcast_but_one(const Op &op) {
    std::vector<Layouts> all;
    for (auto &whole : op.sig.inputs) {
        Layouts layouts;
        for (auto &t : op.sig.inputs) {
            const size_t rank = op.extents_of(t).size();
            if (&t != &whole && rank > 0) layouts[t.name] = "still" + std::to_string(rank - 1);
        }
        all.push_back(layouts);
    }
    return all;
}

// Returns layouts for one input at a time; for an op whose kernels accept any strides, also every
// combination of up to three. Elementwise ops also run in place.
std::vector<Layouts> input_layouts(const Op &op, bool combined) {
    std::vector<Layouts> all = {{}};
    for (auto &t : op.sig.inputs) {
        for (size_t k = 0, before = all.size(); k < (combined ? before : 1); k++) {
            for (auto &how : layouts_of(op, t)) {
                if (how.empty()) continue;
                all.push_back(all[k]);
                all.back()[t.name] = how;
            }
        }
    }
    if (op.form != Form::elementwise) return all;
    if (!combined) {
        for (auto &layouts : broadcast_but_one(op))
            all.push_back(layouts);
    }
    return with_outputs_in_place(op, std::move(all));
}

// Returns a call of the sample in the dtypes and the variant that the options ask for.
FuzzCase case_of(const Op &op, const Options &o, const std::string &sample) {
    FuzzCase c;
    c.dtypes = o.dtypes.empty() ? op.dtypes[0] : o.dtypes;
    c.variant = o.variant;
    c.device = o.device;
    c.isa = isas_of(op, o).back();
    c.sample = parse_sample(op, sample);
    return c;
}

void expect_right(const Op &op, const FuzzCase &c, const Options &o, Report &r) {
    const std::string error = run_fuzz_case(op, c, false);
    r.expect("'" + c.text() + "'", error.empty() ? "" : error + repro_line(op, c, o));
}

// Checks results whose rows are strided in memory, as with axis=0.
void expect_first_axis(const Op &op, const Options &o, Report &r) {
    int seed = 0;
    for (auto &sample : op.samples) {
        for (const bool reversed : {false, true}) {
            FuzzCase c = case_of(op, o, sample);
            c.seed = ++seed;
            c.first_axis = true;
            for (auto &t : op.sig.inputs)
                if (reversed) c.layouts[t.name] = "reversed";
            expect_right(op, c, o, r);
        }
    }
}

// Checks rows that one element decides, on every variant. A loop bound that is wrong by one rarely
// skips that element in random rows.
void check_lonely(const Op &op, const Options &o, Report &r) {
    if (op.form != Form::reduction && op.axis.empty()) return;
    for (auto &sample : op.samples) {
        for (auto &v : op.variants) {
            if (!o.variant.empty() && v.name != o.variant) continue;
            for (int seed : {1, 2, 4, 7}) {
                FuzzCase c = case_of(op, o, sample);
                c.variant = v.name;
                c.seed = seed;
                c.lonely = true;
                expect_right(op, c, o, r);
            }
        }
    }
}

// Checks rows that are long enough for every level of a sum of sums: integers, and rows that their
// first, their last or any other element decides. The variant that takes every shape, which
// dispatch doesn't choose for the longest, has a loop of its own for elements with gaps.
void check_long_rows(const Op &op, const Options &o, Report &r) {
    if (op.form != Form::reduction || o.quick) return;  // seconds an op
    const Dims long_rows[] = {{{"o", 1}, {"r", 1}, {"i", 1}, {"s", 300007}},
                              {{"o", 1}, {"r", 300007}, {"i", 1}, {"s", 1}},
                              {{"o", 1}, {"r", 4099}, {"i", 2}, {"s", 65}},
                              {{"o", 1}, {"r", 1}, {"i", 1}, {"s", 4300001}}};
    for (const Dims &dims : long_rows) {
        FuzzCase c = case_of(op, o, op.samples[0]);
        c.sample.dims = dims;
        c.integers = true;
        expect_right(op, c, o, r);
        c.integers = false;
        c.lonely = true;
        // One less than the others decides a minimum, but makes a product of ones 0.
        for (int seed : {1, 2, 3, 5, 6, 7, 9, 10, 11}) {
            c.seed = seed;
            expect_right(op, c, o, r);
        }
        if (!o.variant.empty() && o.variant != op.variants.back().name) continue;
        c.variant = op.variants.back().name;
        for (const int seed : {1, 3}) {
            c.seed = seed;
            for (const std::string how : {"", "gaps"}) {
                c.layouts[op.sig.inputs[0].name] = how;
                expect_right(op, c, o, r);
            }
        }
    }
}

// Returns the name of one of the op's inputs of type T other than dy; "" if there is none.
std::string one_input(const Op &op, int number) {
    std::vector<std::string> names;
    for (auto &t : op.sig.inputs)
        if (t.dtype == "T" && t.name != "dy") names.push_back(t.name);
    return names.empty() ? "" : names[size_t(number) % names.size()];
}

// Chooses one of several kinds of values, by a number that counts. Formulas of several numbers
// overflow in between, so only functions of one number get those of all magnitudes.
void choose_values(const Op &op, FuzzCase &c, int number) {
    using enum FuzzCase::Magnitudes;
    if (!has_ulps(op)) {
        switch (number % 8) {
        case 0: c.integers = true; break;
        case 1: c.magnitudes = wide; break;
        case 2: break;
        // Of several special values together, references and kernels may overflow otherwise.
        case 3: c.specials = op.sig.inputs.size() == 1 ? many_specials : 0; break;
        case 4: c.constants = true; break;
        case 5: c.tiny = one_input(op, number / 8); break;
        default: c.breakpoints = true;
        }
        return;
    }
    switch (number % 5) {
    case 0: c.magnitudes = wide; break;
    // The reference is in double, so it overflows where f64 does.
    case 1: c.magnitudes = c.dtypes == "f64" ? wide : extreme; break;
    case 2: c.specials = many_specials; break;
    case 3: c.constants = true; break;
    default: c.breakpoints = true;
    }
}

// Returns true for an input that gets every number.
bool is_swept(const TensorSpec &t) {
    return t.dtype == "T" && t.name != "dy";
}

// Checks every value of one input at a time, in each of the layouts, with a pitch between the rows
// of the others, by turns with and without breakpoints.
void expect_numbers_of_each(const Op &op, FuzzCase c, const std::vector<Layouts> &all,
                            const Options &o, Report &r) {
    for (auto &swept : op.sig.inputs) {
        if (!is_swept(swept)) continue;
        c.every_value_of = swept.name;
        for (Layouts layouts : all) {
            for (auto &t : op.sig.inputs)
                layouts.emplace(t.name, "pitch");
            c.layouts = layouts;
            c.breakpoints = !c.breakpoints;
            c.seed++;
            expect_right(op, c, o, r);
        }
    }
}

// Checks a formula of several numbers with every value of one of them at a time, in whole vectors
// and, with rows of three, in what remains of a row. Returns false if the op isn't such a formula.
bool check_all_numbers_of_each(const Op &op, const Options &o, Report &r) {
    if (op.form != Form::elementwise || std::ranges::count_if(op.sig.inputs, is_swept) == 0)
        return false;
    for (const char *sample : {"d0=1 d1=1 d2=65536", "d0=1 d1=21846 d2=3"}) {
        FuzzCase c = case_of(op, o, sample);
        c.every_value = true;
        expect_numbers_of_each(op, c, input_layouts(op, false), o, r);
    }
    return true;
}

// Checks every value of a 16-bit float, in every layout.
void check_every_value(const Op &op, const Options &o, const std::vector<Layouts> &all, Report &r) {
    FuzzCase c = case_of(op, o, "d0=1 d1=1 d2=65536");
    if (!is_half_float(c.dtypes)) return;
    if (!has_ulps(op)) {
        check_all_numbers_of_each(op, o, r);
        return;
    }
    c.every_value = true;
    for (auto &layouts : all) {
        c.layouts = layouts;
        expect_right(op, c, o, r);
    }
}

// Checks every pair of values of 8-bit integers, in whole vectors and in what remains of a row.
void check_every_pair(const Op &op, const Options &o, Report &r) {
    for (const std::string &dtypes : op.dtypes) {
        const bool is_asked = o.dtypes.empty() || o.dtypes == dtypes;
        if (!is_asked || (dtypes != "i8" && dtypes != "u8")) continue;
        for (const char *sample : {"d0=1 d1=1 d2=65536", "d0=1 d1=21846 d2=3"}) {
            FuzzCase c = case_of(op, o, sample);
            c.dtypes = dtypes;
            c.every_pair = true;
            expect_right(op, c, o, r);
        }
    }
}

// Returns true if ordinary numbers give a constant, as in "is x Inf?", or if results may be
// integers, which have no NaN.
bool needs_specials(const Op &op) {
    return std::ranges::any_of(op.sig.outputs, [&](const TensorSpec &t) {
        return t.dtype == "bool" || (op.form == Form::elementwise && t.dtype == "U");
    });
}

}  // namespace

// Rows of 65 elements have every one of the 65,536 numbers in each column. A pitch between the rows
// keeps them from being one long row.
bool check_all_numbers(const Op &op, const Options &o, Report &r) {
    if (!is_half_float(o.dtypes)) return false;
    if (!has_ulps(op)) return check_all_numbers_of_each(op, o, r);
    FuzzCase c = case_of(op, o, "d0=1 d1=65536 d2=65");
    c.every_value = true;
    std::vector<Layouts> all = input_layouts(op, op.sig.inputs.size() <= 2);
    for (auto &t : op.sig.inputs)
        all.push_back({{t.name, "pitch"}});
    for (auto &layouts : broadcast_but_one(op)) {
        all.push_back(layouts);
        for (auto &t : op.sig.inputs)
            if (!layouts.count(t.name)) all.back()[t.name] = "pitch";
    }
    for (auto &layouts : all) {
        c.layouts = layouts;
        expect_right(op, c, o, r);
    }
    return true;
}

void check_numbers_on_device(const Op &op, const Options &o, Report &r) {
    if (op.form != Form::elementwise || !is_half_float(o.dtypes)) return;
    // Whole blocks of threads, then rows that are shorter than a block. A pitch between the rows
    // keeps them from being one long row.
    for (const char *sample : {"d0=1 d1=1 d2=65536", "d0=1 d1=1041 d2=63"}) {
        FuzzCase c = case_of(op, o, sample);
        c.every_value = true;
        if (has_ulps(op)) {
            for (auto &t : op.sig.inputs)
                c.layouts[t.name] = "pitch";
            expect_right(op, c, o, r);
            continue;
        }
        c.breakpoints = true;  // and not in the first turn
        expect_numbers_of_each(op, c, {{}, {}}, o, r);
    }
}

void check_views(const Op &op, const Options &o, Report &r) {
    const bool depends_on_specials = needs_specials(op);
    int number = 0;
    int first = 0;  // the values of a sample's first layout: every layout has all of them in turn
    const auto expect = [&](const std::string &sample, const std::vector<Layouts> &all) {
        int values = first++;
        for (auto &layouts : all) {
            FuzzCase c = case_of(op, o, sample);
            c.layouts = layouts;
            number++;
            // Exact results allow any values.
            c.seed = depends_on_specials ? number : number % 2 ? 2 : 4;
            if (op.form == Form::elementwise)
                choose_values(op, c, values++);
            else if (op.form == Form::plain && !is_contraction(op) && number % 8 == 5)
                c.magnitudes = FuzzCase::Magnitudes::wide;
            else  // Sums need no breakpoints, and products of small numbers hide errors.
                c.breakpoints = number % 4 > 1;
            if (depends_on_specials && number % 3 == 0) c.specials = 8;
            expect_right(op, c, o, r);
        }
    };
    const std::vector<Layouts> combined = input_layouts(op, op.any_strides &&
                                                                op.sig.inputs.size() <= 3);
    const std::vector<Layouts> single = input_layouts(op, false);
    for (auto &sample : op.samples)
        expect(sample, combined);
    if (op.form == Form::plain && !op.axis.empty()) expect_first_axis(op, o, r);
    check_lonely(op, o, r);
    check_long_rows(op, o, r);
    if (op.form != Form::elementwise) return;
    expect("d0=1 d1=1 d2=70001", single);  // a row longer than any task
    expect("d0=67 d1=73 d2=17", single);   // more short rows than a task has
    check_every_value(op, o, single, r);
    check_every_pair(op, o, r);
}

}  // namespace halyard::check

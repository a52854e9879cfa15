#include "tools/check/fuzz.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <random>

#include "dsl/work.h"
#include "primitives/library.h"
#include "registry/dispatch/plan.h"
#include "registry/op/names.h"

namespace halyard::check {
namespace {

using Clock = std::chrono::steady_clock;
double since(Clock::time_point t) {
    return std::chrono::duration<double>(Clock::now() - t).count();
}

class Generator {
public:
    Generator(const Op &op, const Options &o)
        : op_(op), registered_(library().at(op.name)), isas_(isas_of(op, o)), rng_(o.seed) {
        for (char c : op.name)
            rng_.discard((unsigned char)c);  // a sequence of its own for every op
        for (auto &d : op.dtypes)
            if (o.dtypes.empty() || d == o.dtypes) dtypes_.push_back(d);
        for (auto &text : op.samples)
            samples_.push_back(parse_sample(op, text));
    }

    FuzzCase next() {
        FuzzCase c;
        c.dtypes = one_of(dtypes_);
        c.isa = one_of(isas_);
        if (chance(2)) c.variant = one_of(op_.variants).name;
        c.seed = 1 + int(rng_() % 1000);
        c.sample = one_of(samples_);
        if (chance(4)) c.sample.attrs = one_of(samples_).attrs;
        const bool all = chance(3);
        for (auto &[name, value] : c.sample.dims)
            if (all || chance(2)) value = extent(lanes(c));
        if (chance(8) && !c.sample.dims.empty()) {
            std::next(c.sample.dims.begin(), long(rng_() % c.sample.dims.size()))->second =
                1 + int64_t(rng_() % 50000);
        }
        const int64_t limit = chance(8) ? 200000 : 10000;
        while (work(c.sample, limit) > limit) {
            auto most = std::max_element(c.sample.dims.begin(), c.sample.dims.end(),
                                         [](auto &a, auto &b) { return a.second < b.second; });
            // Extents that an attribute fixes stay as they are.
            if (most == c.sample.dims.end() || most->second <= 1) break;
            most->second = most->second / 2 + int64_t(rng_() % 2) * (most->second > 3);
        }
        for (auto &t : op_.sig.inputs)
            if (chance(3)) c.layouts[t.name] = input_layout(int(op_.extents_of(t).size()));
        for (size_t k = 0; k < op_.sig.outputs.size(); k++)
            if (chance(2)) c.layouts[op_.sig.outputs[k].name] = output_layout(k);
        if (chance(4))
            c.specials = 1 + int(rng_() % 8);
        else
            c.breakpoints = chance(2);  // not both: a NaN would hide other errors
        return c;
    }

private:
    bool chance(unsigned in) { return rng_() % in == 0; }
    template<class T> const T &one_of(const std::vector<T> &all) {
        return all[rng_() % all.size()];
    }
    int64_t lanes(const FuzzCase &c) const {
        for (auto &k : registered_.kernels)
            if (k.backend == "cpu" && k.dtypes == c.dtypes && k.isa == c.isa) return k.lanes;
        return 4;
    }
    int64_t extent(int64_t lanes) {
        return one_of<int64_t>({0, 1, 1, 2, 3, 5, 7, 13, 37, 101, lanes - 1, lanes, lanes + 1,
                                2 * lanes - 1, 2 * lanes, 2 * lanes + 1, 4 * lanes + 3, 64, 131});
    }
    std::string input_layout(int rank) {
        const std::string how = one_of<std::string>(
            {"reversed", "swapped", "gaps", "pitch", "columns", "shifted", "still"});
        return how == "still" ? how + std::to_string(rank ? rng_() % unsigned(rank) : 0) : how;
    }
    // In place and overlapping, both where the op may do so and where it has to refuse.
    std::string output_layout(size_t k) {
        const std::string &own = op_.sig.outputs[k].name;
        std::vector<std::string> others;
        for (auto &t : op_.sig.inputs) {
            if (own == t.name + "_out" && !chance(4)) return "on-" + t.name;
            others.push_back(t.name);
        }
        for (size_t i = 0; i < k; i++)
            others.push_back(op_.sig.outputs[i].name);
        if (others.empty() || chance(3)) return "shifted";
        const bool in_place = op_.form == Form::elementwise ? !chance(6) : chance(2);
        return (in_place ? "on-" : "over-") + one_of(others);
    }
    // Returns the size of the sample's tensors, or of its operations if the tensors are small.
    int64_t work(const Sample &s, int64_t limit) const try {
        Dims dims = s.dims;
        bind_attributes(Attrs(op_, s.attrs), dims);
        bind_derived(op_, dims);
        int64_t most = 0;
        for (auto *all : {&op_.sig.inputs, &op_.sig.outputs}) {
            for (auto &t : *all) {
                int64_t elements = 1;
                for (auto &e : op_.extents_of(t))
                    elements *= evaluate<int64_t>(e, dims);
                most = std::max(most, elements);
            }
        }
        if (const OpPtr op = most > limit ? nullptr : op_table().make(op_.name))
            most = std::max(most, work_of(*op, dims, op->variants.back().name).operations());
        return most;
    } catch (const Error &) {
        return 0;  // it will be rejected
    }

    const Op &op_;
    const RegisteredOp &registered_;
    std::vector<Isa> isas_;
    std::vector<std::string> dtypes_;
    std::vector<Sample> samples_;
    std::mt19937 rng_;
};

// Returns all calls that are a little simpler than c, in the order in which they are tried.
std::vector<FuzzCase> simpler(const FuzzCase &c) {
    std::vector<FuzzCase> all;
    const auto with = [&](const std::function<void(FuzzCase &)> &change) {
        all.push_back(c);
        change(all.back());
    };
    for (auto &[name, value] : c.sample.dims) {
        for (int64_t smaller = 1; value > 1 && smaller < value;
             smaller += (value - smaller + 1) / 2)
            with([&](FuzzCase &f) { f.sample.dims[name] = smaller; });
    }
    for (auto &[name, how] : c.layouts)
        with([&](FuzzCase &f) { f.layouts.erase(name); });
    for (auto &[name, value] : c.sample.attrs)
        with([&](FuzzCase &f) { f.sample.attrs.erase(name); });
    if (c.breakpoints) with([](FuzzCase &f) { f.breakpoints = false; });
    if (c.lonely) with([](FuzzCase &f) { f.lonely = false; });
    if (c.first_axis) with([](FuzzCase &f) { f.first_axis = false; });
    if (c.specials) with([](FuzzCase &f) { f.specials = 0; });
    if (c.specials > 1) with([](FuzzCase &f) { f.specials /= 2; });
    if (!c.variant.empty()) with([](FuzzCase &f) { f.variant = ""; });
    if (c.seed != 1) with([](FuzzCase &f) { f.seed = 1; });
    return all;
}

}  // namespace

std::string repro_line(const Op &op, const FuzzCase &c, const Options &o) {
    return "\n      repeat: halyard check " + op.name + " --fuzz-case \"" + c.text() + "\"" +
           o.repro_options;
}

FuzzCase shrink(const Op &op, FuzzCase c, double seconds) {
    const auto from = Clock::now();
    for (bool smaller = true; smaller;) {
        smaller = false;
        for (auto &candidate : simpler(c)) {
            if (since(from) > seconds) return c;
            if (run_fuzz_case(op, candidate).empty()) continue;
            c = candidate;
            smaller = true;
            break;
        }
    }
    return c;
}

void check_fuzz(const Op &op, const Options &o, Report &r) {
    if (op.form == Form::composite) return r.skip("composite: its parts are checked");
    Generator generator(op, o);
    const auto from = Clock::now();
    for (int i = 0; o.fuzz_seconds > 0 ? since(from) < o.fuzz_seconds : i < o.fuzz_cases; i++) {
        FuzzCase c = generator.next();
        if (run_fuzz_case(op, c).empty()) {
            r.pass();
            continue;
        }
        c = shrink(op, c, o.shrink_seconds);
        return r.fail("'" + c.text() + "'", run_fuzz_case(op, c) + repro_line(op, c, o));
    }
}

}  // namespace halyard::check

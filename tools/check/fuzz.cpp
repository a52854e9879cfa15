#include "tools/check/fuzz.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <optional>
#include <random>
#include <sstream>

#include "dsl/gpu/gpu_kernels.h"
#include "dsl/work.h"
#include "primitives/library.h"
#include "registry/dispatch/force.h"
#include "registry/dispatch/planner.h"
#include "registry/op/names.h"
#include "tools/check/cancellation.h"
#include "tools/check/fills.h"
#include "tools/check/kernel_sizes.h"
#include "tools/check/ulps.h"

namespace halyard::check {
namespace {

using Clock = std::chrono::steady_clock;
double since(Clock::time_point t) {
    return std::chrono::duration<double>(Clock::now() - t).count();
}

// What a call may have many of. Counting operations takes milliseconds, as long as the reference
// that takes so many steps; a call without a reference needs no such limit.
enum class Limited : uint8_t { operations, elements };

class Generator {
public:
    Generator(const Op &op, const Options &o, Limited limited)
        : op_(op), registered_(library().at(op.name)), device_(o.device), isas_(isas_of(op, o)),
          variant_(o.variant), limited_(limited), kernel_sizes_(o.kernel_sizes), rng_(o.seed) {
        for (char c : op.name)
            rng_.discard((unsigned char)c);  // a sequence of its own for every op
        for (auto &d : op.dtypes) {
            const bool is_built = device_.empty() || gpu::has_kernel(op, d);
            if (is_built && (o.dtypes.empty() || d == o.dtypes)) dtypes_.push_back(d);
        }
        for (auto &text : op.samples)
            samples_.push_back(parse_sample(op, text));
    }

    FuzzCase next() {
        FuzzCase c;
        c.dtypes = one_of(dtypes_);
        c.device = device_;
        c.isa = one_of(isas_);
        const std::vector<VariantSpec> &variants = device_.empty() ? op_.variants
                                                                   : op_.gpu_variants;
        if (!variants.empty() && (!variant_.empty() || chance(2)))
            c.variant = variant_.empty() ? one_of(variants).name : variant_;
        c.seed = 1 + int(rng_() % 1000);
        c.sample = problem(c);
        for (int tries = 0; tries < max_tries && !takes(c); tries++)
            c.sample = problem(c);
        if (!kernel_sizes_.empty()) work_of_all_ += work(c.sample, largest_kernel_size);
        for (auto &t : op_.sig.inputs)
            if (chance(3)) c.layouts[t.name] = input_layout(int(op_.extents_of(t).size()));
        if (op_.form == Form::elementwise && chance(6)) broadcast_inputs(c);
        c.first_axis = op_.form == Form::plain && !op_.axis.empty() && chance(6);
        for (size_t k = 0; k < op_.sig.outputs.size(); k++)
            if (!c.first_axis && chance(2)) c.layouts[op_.sig.outputs[k].name] = output_layout(k);
        choose_values(c);
        return c;
    }

private:
    // Broadcasts most inputs along one dimension each, so that few dimensions can be joined.
    void broadcast_inputs(FuzzCase &c) {
        for (auto &t : op_.sig.inputs) {
            const size_t rank = op_.extents_of(t).size();
            if (rank > 0 && !chance(3)) c.layouts[t.name] = "still" + std::to_string(rng_() % rank);
        }
    }
    // Chooses one kind of values: a NaN would hide other errors.
    void choose_values(FuzzCase &c) {
        if (chance(4)) {
            const bool of_one_number = op_.sig.inputs.size() == 1;
            c.specials = of_one_number && chance(3) ? many_specials : 1 + int(rng_() % 8);
            return;
        }
        // A product of many integers is 0 in all but some of its bits.
        if (op_.form == Form::reduction && chance(6)) {
            c.lonely = true;
            return;
        }
        if (op_.form == Form::elementwise && !has_ulps(op_) && chance(8)) {
            const TensorSpec &t = one_of(op_.sig.inputs);
            if (t.dtype == "T" && t.name != "dy") c.tiny = t.name;
            return;
        }
        if (chance(3)) {
            c.integers = true;
            return;
        }
        // Sweeps over all magnitudes have no f64.
        const bool is_swept = has_ulps(op_) && c.dtypes != "f64";
        if (c.seed % 4 == 3 && !is_swept && !is_contraction(op_)) {
            c.magnitudes = FuzzCase::Magnitudes::wide;
            return;
        }
        if (op_.form == Form::elementwise && chance(3))
            c.constants = true;
        else
            c.breakpoints = chance(2);
    }

    static constexpr int max_tries = 50;  // problems drawn for one that a variant takes

    // Returns true unless the case's variant refuses the problem, with dense tensors.
    bool takes(const FuzzCase &c) const {
        if (c.variant.empty()) return true;
        try {
            const auto [attrs, metas] = call_of(op_, c.sample, c.dtypes);
            const Force force(c.isa, c.variant, c.device.empty() ? "cpu" : c.device);
            make_plan(registered_, metas, attrs);
        } catch (const DispatchError &) {
            return false;
        } catch (const Error &) {
            return true;  // it is rejected whatever the variant
        }
        return true;
    }
    Sample problem(const FuzzCase &c) {
        Sample s = one_of(samples_);
        if (chance(4)) s.attrs = one_of(samples_).attrs;
        if (chance(2)) vary_attributes(s);
        const std::vector<int64_t> sizes = sizes_of(c);
        const bool all = chance(3);
        for (auto &[name, value] : s.dims)
            if (all || chance(2)) value = extent(sizes);
        if (chance(8) && !s.dims.empty())
            std::next(s.dims.begin(), long(rng_() % s.dims.size()))->second = long_extent();
        if (chance(4)) fit_output(s, extent(sizes));
        const int64_t limit = most_work();
        while (work(s, limit) > limit) {
            auto most = std::max_element(s.dims.begin(), s.dims.end(),
                                         [](auto &a, auto &b) { return a.second < b.second; });
            // Extents that an attribute fixes stay as they are.
            if (most == s.dims.end() || most->second <= 1) break;
            most->second = most->second / 2 + int64_t(rng_() % 2) * (most->second > 3);
        }
        return s;
    }
    int64_t long_extent() {
        if (!kernel_sizes_.empty() && chance(2)) return beside_kernel_size();
        return 1 + int64_t(rng_() % 50000);
    }
    // Returns the limit of a call's work. The last level of a sum takes millions of elements.
    int64_t most_work() {
        constexpr int64_t long_sum = 20'000;
        constexpr int64_t small = 10'000;
        // A device may be simulated, instruction by instruction.
        if (!device_.empty()) return chance(8) ? 3 * small : small / 3;
        // Extents beside a kernel's constants are often as large as the limit.
        constexpr int64_t most_of_all = 60'000'000;
        int64_t limit = chance(16) ? 2'000'000 : chance(2) ? 200'000 : small;
        if (!kernel_sizes_.empty() && kernel_sizes_.back() > long_sum && chance(32))
            limit = largest_kernel_size;
        const bool is_spent = limited_ == Limited::operations && work_of_all_ > most_of_all;
        return is_spent ? std::min(limit, small) : limit;
    }
    // Returns an extent of an output; nothing if the op rejects the sample.
    std::optional<int64_t> extent_of(const std::string &text, const Sample &s) const try {
        Dims dims = s.dims;
        bind_attributes(Attrs(op_, s.attrs), dims);
        bind_derived(op_, dims);
        return evaluate<int64_t>(text, dims);
    } catch (const Error &) {
        return std::nullopt;
    }
    // Changes a dimension so that an extent that the op computes, such as a convolution's width, is
    // `wanted`, if the extent grows with that dimension.
    void fit_output(Sample &s, int64_t wanted) {
        constexpr int64_t step = 64;
        std::vector<std::string> computed;
        for (auto &t : op_.sig.outputs) {
            for (auto &e : op_.extents_of(t))
                if (!s.dims.count(e)) computed.push_back(e);
        }
        if (computed.empty() || s.dims.empty()) return;
        const std::string text = one_of(computed);
        Sample fitted = s;
        int64_t &dim = std::next(fitted.dims.begin(), long(rng_() % s.dims.size()))->second;
        const std::optional<int64_t> before = extent_of(text, fitted);
        dim += step;
        const std::optional<int64_t> after = extent_of(text, fitted);
        if (!before || !after || *after <= *before) return;
        dim += (wanted - *after) * step / (*after - *before);
        if (dim < 1) return;
        if (extent_of(text, fitted) == wanted && is_legal(fitted)) s = fitted;
    }
    // Changes attributes of a legal problem, as long as it stays legal.
    void vary_attributes(Sample &s) {
        for (const AttrSpec &a : op_.attrs) {
            if (a.name == "axis" || !chance(3)) continue;
            const auto given = s.attrs.find(a.name);
            const std::string now = given != s.attrs.end() ? given->second : a.value;
            Sample changed = s;
            if (a.kind == AttrKind::choice)
                changed.attrs[a.name] = one_of(a.choices);
            else if (a.kind == AttrKind::boolean)
                changed.attrs[a.name] = rng_() % 2 ? "1" : "0";
            else if ((a.kind == AttrKind::integer || a.kind == AttrKind::ints) && is_integers(now))
                changed.attrs[a.name] = varied(now);
            if (is_legal(changed)) s = changed;
        }
    }
    static bool is_integers(const std::string &text) {
        return !text.empty() && text.find_first_not_of("0123456789,-") == std::string::npos;
    }
    // Returns a list of integers, some of which are a little larger or smaller.
    std::string varied(const std::string &integers) {
        std::string all;
        std::stringstream words(integers);
        for (std::string word; std::getline(words, word, ',');) {
            const int64_t step = chance(2) ? one_of<int64_t>({-1, 1, 1, 2, 3}) : 0;
            all += (all.empty() ? "" : ",") + std::to_string(std::stoll(word) + step);
        }
        return all;
    }
    bool is_legal(const Sample &s) const try {
        Dims dims = s.dims;
        bind_attributes(Attrs(op_, s.attrs), dims);
        bind_derived(op_, dims);
        check_conditions(op_, dims, true);
        return true;
    } catch (const Error &) {
        return false;
    }
    // Returns the sizes of the kernel's vectors, tiles and tasks: its lanes, the values of its
    // tunables, and their products.
    std::vector<int64_t> sizes_of(const FuzzCase &c) const {
        constexpr int64_t largest = 1 << 16;
        if (!device_.empty()) return {32, 128, 256, 1024};  // warps, blocks and long rows
        std::vector<int64_t> all;
        for (auto &k : registered_.kernels) {
            if (k.backend != "cpu" || k.dtypes != c.dtypes || k.isa != c.isa ||
                (!c.variant.empty() && k.variant != c.variant))
                continue;
            all.insert(all.end(), {k.lanes, k.lanes});
            for (auto &[name, value] : k.tunables) {
                for (const int64_t size : {int64_t(value), int64_t(value) * k.lanes})
                    if (size > 1 && size <= largest) all.push_back(size);
            }
        }
        if (all.empty()) all.push_back(4);
        return all;
    }
    bool chance(unsigned in) { return rng_() % in == 0; }
    template<class T> const T &one_of(const std::vector<T> &all) {
        return all[rng_() % all.size()];
    }
    int64_t beside_kernel_size() {
        const int64_t size = one_of(kernel_sizes_) * one_of<int64_t>({1, 1, 1, 2, 17});
        return std::clamp<int64_t>(size + one_of<int64_t>({-1, 0, 0, 1, 1, 3}), 1,
                                   largest_kernel_size);
    }
    int64_t extent(const std::vector<int64_t> &sizes) {
        if (!kernel_sizes_.empty() && chance(3)) return beside_kernel_size();
        // Dispatch sends no empty tensors to a device.
        const int64_t least = device_.empty() ? 0 : 1;
        if (chance(2)) return one_of<int64_t>({least, 1, 1, 2, 3, 5, 7, 13, 37, 64, 101, 131});
        const int64_t whole = one_of(sizes) * one_of<int64_t>({1, 1, 1, 2, 2, 3, 4});
        return std::max<int64_t>(1, whole + one_of<int64_t>({-1, 0, 0, 1, 1, 3}));
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
        // The operations of these are in proportion to their elements.
        const bool is_simple = op_.form == Form::elementwise || op_.form == Form::reduction;
        if (most > limit || limited_ == Limited::elements || is_simple) return most;
        if (const OpPtr op = op_table().make(op_.name))
            most = std::max(most, work_of(*op, dims, op->variants.back().name).operations());
        return most;
    } catch (const Error &) {
        return 0;  // it will be rejected
    }

    const Op &op_;
    const RegisteredOp &registered_;
    const std::string device_;
    std::vector<Isa> isas_;
    const std::string variant_;  // "" for any
    const Limited limited_;
    const std::vector<int64_t> kernel_sizes_;
    std::vector<std::string> dtypes_;
    std::vector<Sample> samples_;
    int64_t work_of_all_ = 0;  // of the calls so far
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
            with([&, name = name](FuzzCase &f) { f.sample.dims[name] = smaller; });
    }
    for (auto &[name, how] : c.layouts)
        with([name = name](FuzzCase &f) { f.layouts.erase(name); });
    for (auto &[name, value] : c.sample.attrs)
        with([name = name](FuzzCase &f) { f.sample.attrs.erase(name); });
    if (c.breakpoints) with([](FuzzCase &f) { f.breakpoints = false; });
    if (!c.tiny.empty()) with([](FuzzCase &f) { f.tiny = ""; });
    if (c.every_value) with([](FuzzCase &f) { f.every_value = false; });
    if (c.constants) with([](FuzzCase &f) { f.constants = false; });
    if (c.integers) with([](FuzzCase &f) { f.integers = false; });
    if (c.lonely) with([](FuzzCase &f) { f.lonely = false; });
    if (c.first_axis) with([](FuzzCase &f) { f.first_axis = false; });
    if (c.specials) with([](FuzzCase &f) { f.specials = 0; });
    if (c.specials > 1) with([](FuzzCase &f) { f.specials /= 2; });
    if (c.magnitudes != FuzzCase::Magnitudes::usual)
        with([](FuzzCase &f) { f.magnitudes = FuzzCase::Magnitudes::usual; });
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

int make_random_calls(const Op &op, const Options &o, double seconds,
                      const std::function<void(const FuzzCase &)> &before) {
    Generator generator(op, o, Limited::elements);
    const auto from = Clock::now();
    int made = 0;
    for (; made < o.fuzz_cases && since(from) < seconds; made++) {
        const FuzzCase c = generator.next();
        before(c);
        call_fuzz_case(op, c);
    }
    return made;
}

void check_fuzz(const Op &op, const Options &o, Report &r) {
    if (op.form == Form::composite) return r.skip("composite: its parts are checked");
    Generator generator(op, o, Limited::operations);
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

#include "dsl/ascend/convolution/prove_convolution.h"

#include <map>
#include <memory>
#include <unordered_map>

#include "ascend/passes/passes.h"
#include "ascend/simulator/provenance.h"
#include "ascend/simulator/stop.h"
#include "registry/base/error.h"
#include "registry/base/integer.h"

namespace halyard::ascend {

using dv::Origin;
using dv::Provenance;

namespace {

constexpr int64_t side = fractal_side;

// A sparse array of numbers, in pages; elements that aren't set are `nothing`.
class Sparse {
public:
    static constexpr int64_t nothing = -1;
    int64_t get(int64_t i) const {
        const auto it = pages_.find(i / page);
        return it == pages_.end() ? nothing : (*it->second)[size_t(i % page)];
    }
    void set(int64_t i, int64_t value) {
        auto &p = pages_[i / page];
        if (!p) {
            p = std::make_unique<Page>();
            p->fill(nothing);
        }
        (*p)[size_t(i % page)] = value;
    }
    template<class F> void each(F f) const {
        for (auto &[number, p] : pages_) {
            for (int64_t i = 0; i < page; i++)
                if ((*p)[size_t(i)] != nothing) f(number * page + i, (*p)[size_t(i)]);
        }
    }

private:
    static constexpr int64_t page = 4096;
    using Page = std::array<int64_t, size_t(page)>;
    std::unordered_map<int64_t, std::unique_ptr<Page>> pages_;
};

// Returns the name of element `index` of a tensor, given its extents, outermost first:
// "x[0,3,5,7]".
std::string element(const std::string &tensor, int64_t index, const std::vector<int64_t> &extents) {
    std::string text;
    for (size_t d = extents.size(); d-- > 0; index /= extents[d])
        text = std::to_string(index % extents[d]) + (text.empty() ? "" : "," + text);
    return tensor + "[" + text + "]";
}

// out[row][column] = sum over terms of left[row][term] right[term][column]; factors are elements of
// a tensor, or 0 (none).
struct ProductSum {
    static constexpr int64_t none = -1;
    std::string left, right, out;
    int64_t terms = 0, outs = 0;
    struct Cell {
        int64_t row, column;
    };
    std::function<Cell(int64_t index)> of_out;
    // Returns row and term; none if the element is a 0 for padding.
    std::function<Cell(int64_t index)> of_left;
    std::function<int64_t(int64_t row, int64_t term)> in_left;
    std::function<int64_t(int64_t term, int64_t column)> in_right;
    std::function<std::string(const std::string &tensor, int64_t index)> name;
};

// Returns the program with addresses; nothing if it doesn't fit, which compile() reports.
std::optional<dv::Program> placed(dv::Program p) {
    if (dv::has_errors(dv::place_buffers(p))) return {};
    return p;
}

int number_of(const dv::Program &p, const std::string &tensor) {
    for (size_t t = 0; t < p.tensors.size(); t++)
        if (p.tensors[t].name == tensor) return int(t);
    throw AttrError(p.name, "has no tensor " + tensor);
}

// Calls run(block) for the first block, the last one, and those halfway between, as long as it
// returns true.
template<class F> void each_block(int64_t blocks, F run) {
    std::vector<std::pair<int64_t, int64_t>> between = {{0, blocks - 1}};
    if (!run(0) || blocks == 1 || !run(blocks - 1)) return;
    for (size_t k = 0; k < between.size(); k++) {
        const auto [first, last] = between[k];
        if (last - first < 2) continue;
        const int64_t middle = (first + last) / 2;
        if (!run(middle)) return;
        between.push_back({first, middle});
        between.push_back({middle, last});
    }
}

class Proof {
public:
    Proof(const dv::Program &p, const ProductSum &sums)
        : p_(p), sums_(sums), left_(number_of(p, sums.left)), right_(number_of(p, sums.right)),
          out_(number_of(p, sums.out)),
          moves_(p, {[this](int tensor, int64_t index) { return before(tensor, index); },
                     [this](int tensor, int64_t index, const Origin &o, const dv::Step &) {
                         write(tensor, index, o);
                     },
                     {}}),
          terms_(p, {[this](int tensor, int64_t index) { return read(tensor, index); },
                     {},
                     [this](const Provenance::Products &products) { check(products); }}) {}

    void run() {
        dv::Walker walker(p_, {});
        each_block(walker.blocks(), [&](int64_t block) {
            block_ = block;
            before_ = elements_checked();
            targets(walker);
            states_.clear();
            try {
                terms_.run(walker, block);
                for (auto &[place, state] : states_)
                    finish(state);
            } catch (const dv::Stop &) {
            }  // enough products of this block have been checked
            return elements_checked() < max_elements;
        });
    }

private:
    struct State {
        int64_t sums = 0;
        // Rows and columns of the result; none if nothing of them is stored.
        std::vector<int64_t> rows, columns;
        std::vector<bool> seen;
        int64_t count = 0;
    };
    static constexpr int as_it_was =
        2;  // the tensor number of the result; 0 and 1 are the operands
    const dv::Program &p_;
    const ProductSum &sums_;
    const int left_, right_, out_;
    int64_t block_ = 0, before_ = 0;  // before_: elements looked at before this block
    // In this block: the element to which a sum is stored, and the sum that an element got last.
    Sparse target_, last_;
    std::map<int64_t, State> states_;  // states of accumulators, by their position
    Provenance moves_, terms_;
    int64_t elements_checked() const {
        return moves_.elements_checked() + terms_.elements_checked();
    }

    [[noreturn]] void fail(const std::string &what) const {
        throw Error(p_.name, "its program isn't the convolution: block " + std::to_string(block_) +
                                 " " + what);
    }
    std::string name(const Origin &o) const {
        switch (o.kind) {
        case Origin::zero: return "0";
        case Origin::element: return sums_.name(o.tensor ? sums_.right : sums_.left, o.index);
        case Origin::sum: return "a sum";
        default: return "what nobody wrote";
        }
    }
    std::string out(int64_t index) const { return sums_.name(sums_.out, index); }

    Origin read(int tensor, int64_t index) const {
        if (tensor == right_) return {Origin::element, 1, index};
        if (tensor != left_) return {Origin::unknown};
        if (sums_.of_left(index).row == ProductSum::none) return {};
        return {Origin::element, 0, index};
    }

    // Sets the targets of all sums: the elements that have them at the end of the block.
    void targets(dv::Walker &walker) {
        target_ = {};
        last_ = {};
        moves_.run(walker, block_);
        last_.each([&](int64_t index, int64_t sum) {
            if (sum < 0) fail("writes " + out(index) + ", which is no sum");
            target_.set(sum, index);
        });
    }
    void write(int tensor, int64_t index, const Origin &o) {
        if (tensor != out_) fail("writes " + p_.tensors[size_t(tensor)].name);
        if (index >= sums_.outs || o == Origin{Origin::element, as_it_was, index}) return;
        last_.set(index, o.kind == Origin::sum ? o.index : Sparse::nothing - 1);
    }
    // Returns the result's element before a store: blocks that are changed in part are read.
    Origin before(int tensor, int64_t index) const {
        if (tensor != out_) return {Origin::unknown};
        const int64_t sum = last_.get(index);
        return sum >= 0 ? Origin{Origin::sum, 0, sum} : Origin{Origin::element, as_it_was, index};
    }

    void begin(const Provenance::Products &p, State &s) {
        const int64_t rows = round_up(p.rows, side);
        s = {p.sums, std::vector<int64_t>(size_t(p.rows), ProductSum::none),
             std::vector<int64_t>(size_t(p.columns), ProductSum::none),
             std::vector<bool>(size_t(sums_.terms)), 0};
        for (int64_t c = 0; c < p.columns; c++) {
            for (int64_t r = 0; r < p.rows; r++) {
                const int64_t index = target_.get(p.sums + (c / side * rows + r) * side + c % side);
                if (index == Sparse::nothing) continue;
                const ProductSum::Cell at = sums_.of_out(index);
                int64_t &row = s.rows[size_t(r)];
                int64_t &column = s.columns[size_t(c)];
                if ((row != ProductSum::none && row != at.row) ||
                    (column != ProductSum::none && column != at.column)) {
                    fail("lays the sum of row " + std::to_string(r) + " and column " +
                         std::to_string(c) + " of an mmad into " + out(index) +
                         ", which takes others");
                }
                row = at.row;
                column = at.column;
            }
        }
    }
    void finish(const State &s) const {
        if (s.count == sums_.terms || s.seen.empty()) return;
        for (const int64_t row : s.rows) {
            for (int64_t t = 0; row != ProductSum::none && t < sums_.terms; t++) {
                if (!s.seen[size_t(t)]) {
                    fail("has sums without the product of " +
                         sums_.name(sums_.left, sums_.in_left(row, t)));
                }
            }
        }
    }

    void check(const Provenance::Products &p) {
        State &s = states_[p.sums % Provenance::sums_at_once];
        if (p.begins) {
            finish(s);
            begin(p, s);
        }
        for (int64_t k = 0; k < p.depth; k++) {
            const int64_t term = term_of(p, s, k);
            for (int64_t c = 0; c < p.columns; c++) {
                if (const int64_t column = s.columns[size_t(c)]; column != ProductSum::none)
                    check_factor(p, s, k, term, c, column);
            }
        }
        if (elements_checked() - before_ > max_elements / 4) throw dv::Stop();
    }
    // Returns the term of all rows at depth k; none if they are 0.
    int64_t term_of(const Provenance::Products &p, State &s, int64_t k) const {
        int64_t term = ProductSum::none;
        Origin first;
        for (int64_t r = 0; r < p.rows; r++) {
            const int64_t row = s.rows[size_t(r)];
            if (row == ProductSum::none) continue;
            const Origin o = p.left(r, k);
            if (o.kind == Origin::zero) continue;
            if (o.kind != Origin::element || o.tensor != 0)
                fail("multiplies " + name(o) + " in a filter's row");
            const ProductSum::Cell at = sums_.of_left(o.index);
            if (term != ProductSum::none && (at.row != row || at.column != term)) {
                fail("multiplies " + name(o) + " where " +
                     sums_.name(sums_.left, sums_.in_left(row, term)) + " is to be");
            }
            if (at.row != row) fail("multiplies " + name(o) + " in another filter's row");
            if (term == ProductSum::none) first = o;
            term = at.column;
        }
        if (term == ProductSum::none) return term;
        if (s.seen[size_t(term)]) fail("adds the product of " + name(first) + " twice");
        s.seen[size_t(term)] = true;
        s.count++;
        return term;
    }
    void check_factor(const Provenance::Products &p, const State &s, int64_t k, int64_t term,
                      int64_t c, int64_t column) const {
        const Origin got = p.right(k, c);
        if (term == ProductSum::none) {
            if (got.kind == Origin::unknown) fail("multiplies 0 by what nobody wrote");
            return;
        }
        const int64_t index = sums_.in_right(term, column);
        const Origin expected = index == ProductSum::none ? Origin{}
                                                          : Origin{Origin::element, 1, index};
        if (got == expected) return;
        int64_t r = 0;
        while (s.rows[size_t(r)] == ProductSum::none)
            r++;
        fail("multiplies " + sums_.name(sums_.left, sums_.in_left(s.rows[size_t(r)], term)) +
             " by " + name(got) + ", not by " + name(expected) + ", for " +
             out(target_.get(s.sums + (c / side * round_up(p.rows, side) + r) * side + c % side)));
    }
};

// The definition of a program that only moves: out[i] is in[source(i)], or 0.
struct Copy {
    std::string in, out;
    int64_t outs = 0;
    std::function<int64_t(int64_t index)> source;
};
class CopyProof {
public:
    CopyProof(const dv::Program &p, const Copy &copy)
        : p_(p), copy_(copy), in_(number_of(p, copy.in)), out_(number_of(p, copy.out)),
          moves_(p, {[this](int tensor, int64_t index) { return read(tensor, index); },
                     [this](int tensor, int64_t index, const Origin &o, const dv::Step &) {
                         write(tensor, index, o);
                     },
                     {}}) {}

    void run() {
        dv::Walker walker(p_, {});
        each_block(walker.blocks(), [&](int64_t block) {
            last_ = {};
            moves_.run(walker, block);
            last_.each([&](int64_t index, int64_t got) { check(index, got); });
            return moves_.elements_checked() < max_elements;
        });
    }

private:
    const dv::Program &p_;
    const Copy &copy_;
    const int in_, out_;
    // The last value of each element of the result in a block: an input element's index + 1, or 0.
    Sparse last_;
    Provenance moves_;

    [[noreturn]] void fail(const std::string &what) const {
        throw Error(p_.name, "its program isn't what was to be moved: " + what);
    }
    Origin read(int tensor, int64_t index) const {
        return tensor == in_ ? Origin{Origin::element, 0, index} : Origin{Origin::unknown};
    }
    void write(int tensor, int64_t index, const Origin &o) {
        if (tensor != out_) fail("writes " + p_.tensors[size_t(tensor)].name);
        if (index >= copy_.outs) return;
        last_.set(index, o.kind == Origin::zero      ? 0
                         : o.kind == Origin::element ? o.index + 1
                                                     : Sparse::nothing - 1);
    }
    std::string name(int64_t got) const {
        return got < 0    ? "what nobody wrote"
               : got == 0 ? "0"
                          : copy_.in + "[" + std::to_string(got - 1) + "]";
    }
    void check(int64_t index, int64_t got) const {
        const int64_t expected = copy_.source(index) + 1;
        if (got != expected) {
            fail(copy_.out + "[" + std::to_string(index) + "] gets " + name(got) + ", not " +
                 name(expected));
        }
    }
};

void prove_copy(const dv::Program &unplaced, const Copy &copy) {
    if (const auto p = placed(unplaced)) CopyProof(*p, copy).run();
}

// Returns the pixel of the image that tap `tap` of result `pixel` reads; none outside of the image.
int64_t input_pixel(const Correlation &c, int64_t pixel, int64_t tap) {
    const int64_t y = pixel / c.ow * c.stride_h - c.top + tap / c.v * c.dil_h;
    const int64_t x = pixel % c.ow * c.stride_w - c.left + tap % c.v * c.dil_w;
    return y >= 0 && y < c.h && x >= 0 && x < c.w ? y * c.w + x : ProductSum::none;
}

}  // namespace

void prove(const dv::Program &p, const Filters &f) {
    const int64_t in1 = fractals_of(f.transposed ? f.o : f.c);
    const int64_t out1 = fractals_of(f.transposed ? f.c : f.o);
    prove_copy(p, {f.from, f.to, f.size(), [=](int64_t i) -> int64_t {
                       const int64_t in0 = i % side;
                       const int64_t out0 = i / side % side;
                       const int64_t fractal = i / fractal_size;
                       const int64_t in = fractal / out1 / f.taps % in1 * side + in0;
                       const int64_t out = fractal % out1 * side + out0;
                       const int64_t tap = fractal / out1 % f.taps;
                       const int64_t g = fractal / out1 / f.taps / in1;
                       const int64_t o = f.transposed ? in : out;
                       const int64_t c = f.transposed ? out : in;
                       return o < f.o && c < f.c ? ((g * f.o + o) * f.c + c) * f.taps +
                                                       (f.transposed ? f.taps - 1 - tap : tap)
                                                 : ProductSum::none;
                   }});
}

void prove(const dv::Program &p, const Dilation &d) {
    prove_copy(p, {d.from, d.to, d.planes * d.to_h * d.to_w, [=](int64_t i) -> int64_t {
                       const int64_t x = i % d.to_w;
                       const int64_t y = i / d.to_w % d.to_h;
                       const int64_t plane = i / d.to_w / d.to_h;
                       const bool between = x % d.stride_w || y % d.stride_h ||
                                            x / d.stride_w >= d.w || y / d.stride_h >= d.h;
                       return between ? ProductSum::none
                                      : (plane * d.h + y / d.stride_h) * d.w + x / d.stride_w;
                   }});
}

// Rows are the filters of all groups, columns the pixels of all groups' results, terms channels and
// taps.
void prove(const dv::Program &unplaced, const Correlation &c, const CorrelationTensors &t) {
    const auto p = placed(unplaced);
    if (!p) return;
    const int64_t o1 = fractals_of(c.o);
    const int64_t c1 = fractals_of(c.c);
    const int64_t taps = c.taps();
    const int64_t map = c.oh * c.ow;
    ProductSum s{t.fractals, t.image, t.out, c.c * taps, c.n * c.group * c.o * map,
                 {},         {},      {},    {},         {}};
    s.of_out = [=](int64_t i) -> ProductSum::Cell {
        return {i / map % (c.group * c.o), i / map / c.o * map + i % map};
    };
    s.of_left = [=](int64_t i) -> ProductSum::Cell {
        const int64_t c0 = i % side;
        const int64_t o0 = i / side % side;
        const int64_t fractal = i / fractal_size;
        const int64_t tap = fractal / o1 % taps;
        const int64_t channel = fractal / o1 / taps % c1 * side + c0;
        const int64_t filter = fractal % o1 * side + o0;
        const int64_t g = fractal / o1 / taps / c1;
        return g < c.group && channel < c.c && filter < c.o
                   ? ProductSum::Cell{g * c.o + filter, channel * taps + tap}
                   : ProductSum::Cell{ProductSum::none, ProductSum::none};
    };
    s.in_left = [=](int64_t row, int64_t term) {
        const int64_t filter = row % c.o;
        const int64_t channel = term / taps;
        const int64_t fractal = ((row / c.o * c1 + channel / side) * taps + term % taps) * o1 +
                                filter / side;
        return fractal * fractal_size + filter % side * side + channel % side;
    };
    s.in_right = [=](int64_t term, int64_t column) {
        const int64_t pixel = input_pixel(c, column % map, term % taps);
        return pixel == ProductSum::none ? pixel
                                         : (column / map * c.c + term / taps) * (c.h * c.w) + pixel;
    };
    s.name = [=, left = s.of_left](const std::string &tensor, int64_t i) {
        if (tensor == t.image) return element(tensor, i, {c.n, c.group * c.c, c.h, c.w});
        if (tensor == t.out) return element(tensor, i, {c.n, c.group * c.o, c.oh, c.ow});
        const ProductSum::Cell at = left(i);
        return element("filter", (at.row * c.c + at.column / taps) * taps + at.column % taps,
                       {c.group * c.o, c.c, c.u, c.v});
    };
    Proof(*p, s).run();
}

// Rows are filters of all groups, columns channels of all groups and taps, terms the pixels of the
// results.
void prove_taps(const dv::Program &unplaced, const Correlation &c, const std::string &image,
                const std::string &dout, const std::string &dfilters) {
    const auto p = placed(unplaced);
    if (!p) return;
    const int64_t taps = c.taps();
    const int64_t map = c.oh * c.ow;
    ProductSum s{dout, image, dfilters, c.n * map, c.group * c.o * c.c * taps, {}, {}, {}, {}, {}};
    s.of_out = [=](int64_t i) -> ProductSum::Cell {
        return {i / taps / c.c, (i / taps / c.c / c.o * c.c + i / taps % c.c) * taps + i % taps};
    };
    s.of_left = [=](int64_t i) -> ProductSum::Cell {
        const int64_t plane = i / map;
        return plane < c.n * c.group * c.o
                   ? ProductSum::Cell{plane % (c.group * c.o),
                                      plane / (c.group * c.o) * map + i % map}
                   : ProductSum::Cell{ProductSum::none, ProductSum::none};
    };
    s.in_left = [=](int64_t row, int64_t term) {
        return (term / map * (c.group * c.o) + row) * map + term % map;
    };
    s.in_right = [=](int64_t term, int64_t column) {
        const int64_t pixel = input_pixel(c, term % map, column % taps);
        return pixel == ProductSum::none
                   ? pixel
                   : (term / map * (c.group * c.c) + column / taps) * (c.h * c.w) + pixel;
    };
    s.name = [=](const std::string &tensor, int64_t i) {
        if (tensor == image) return element(tensor, i, {c.n, c.group * c.c, c.h, c.w});
        if (tensor == dout) return element(tensor, i, {c.n, c.group * c.o, c.oh, c.ow});
        return element(tensor, i, {c.group * c.o, c.c, c.u, c.v});
    };
    Proof(*p, s).run();
}

}  // namespace halyard::ascend

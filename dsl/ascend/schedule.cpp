#include "dsl/ascend/schedule.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>

#include "ascend/program/ir.h"
#include "dsl/ascend/graph.h"
#include "dsl/op.h"
#include "dsl/variables.h"
#include "registry/base/integer.h"

namespace halyard {

using namespace Halide;
using ascend::FuncNode;
using ascend::Graph;

namespace {

constexpr int part_elements = 128;  // parts of rows are multiples of it: whole repeats
constexpr int row_elements = 16;  // rows on the chip are multiples of it: 32 B of the smallest real

// The Funcs that several outputs of a program need.
struct SharedFuncs {
    std::map<std::string, int> outputs;  // the number of outputs that reach each Func
    std::set<std::string> computed;      // reductions that have been stored to global memory
    bool contains(const std::string &name) const { return outputs.at(name) > 1; }
};

// A Func that is stored to global memory, and the Funcs that are kept on the chip for its tiles.
struct Root {
    Func f;
    std::vector<int64_t> extents;   // innermost first
    int64_t bytes = 4;              // bytes of one element of all its values
    int64_t min_bytes = 4;          // bytes of its narrowest value: each value has its own tensor
    std::vector<std::string> kept;  // names of the Funcs on the chip
};

class AutoSchedule {
public:
    AutoSchedule(const Ascend &npu, const Func &gm, const FixedCall::Layout &layout,
                 SharedFuncs &shared)
        : npu_(npu), graph_(gm), gm_(gm), shared_(shared) {
        for (auto &dim : layout)
            extents_.push_back(dim.extent);
        graph_.infer_extents(extents_);
        apart_ = npu.pick("apart", {0, 1});
        one_core_ = npu.pick("one_core", {0, 1});
        std::vector<int> steps(ascend::shrink_steps);
        std::iota(steps.begin(), steps.end(), 0);
        steps_ = npu.pick("shrink", steps);
        shrink_ = steps_ / 5;
    }

    void schedule() {
        std::vector<Root> roots = {{gm_, extents_, bytes_of(gm_), min_bytes_of(gm_), {}}};
        // Reductions that all tiles of the output need are roots, which are computed before it; so
        // are reductions that several outputs, or several of these roots need.
        std::map<std::string, size_t> root_of = {{gm_.name(), 0}};
        for (auto &name : graph_.order) {
            const FuncNode &n = graph_.nodes.at(name);
            if (name == gm_.name()) continue;
            std::set<std::string> consumers = consumers_of(name);
            std::set<size_t> homes;
            for (auto &c : consumers)
                homes.insert(root_of.at(c));
            if (shared_.computed.count(name) || homes.empty()) {
                elsewhere_.insert(name);
            } else if (n.reduces && ((apart_ && !whole_dims(n).empty()) || homes.size() > 1 ||
                                     shared_.contains(name))) {
                Func f(n.function);
                Func out = f.in();
                out.compute_root();
                root_of[name] = roots.size();
                roots.push_back({out, extents_of(n), bytes_of(f), min_bytes_of(f), {name}});
                keeps_.insert(name);
                shared_.computed.insert(name);
            } else if (n.reduces || (homes.size() == 1 && !shared_.contains(name) &&
                                     worth_keeping(n, consumers))) {
                root_of[name] = *homes.begin();
                roots[*homes.begin()].kept.push_back(name);
                keeps_.insert(name);
            }
        }
        for (const Root &r : roots)
            schedule_tiles(r);
    }

private:
    const Ascend &npu_;
    Graph graph_;
    const Func gm_;
    SharedFuncs &shared_;
    std::vector<int64_t> extents_;
    int apart_ = 0;               // 1: reductions over whole rows are roots
    int one_core_ = 0;            // 1: no loop is shared by the cores
    int steps_ = 0, shrink_ = 0;  // how often tiles are reduced by an eighth, and squares by a half
    std::set<std::string> keeps_;      // Funcs that are computed on the chip
    std::set<std::string> elsewhere_;  // Funcs that only earlier outputs need

    static int64_t bytes_of(const Func &f) {
        int64_t bytes = 0;
        for (const Type &t : f.types())
            bytes += t.bytes();
        return bytes;
    }
    static int64_t min_bytes_of(const Func &f) {
        int64_t bytes = f.types()[0].bytes();
        for (const Type &t : f.types())
            bytes = std::min<int64_t>(bytes, t.bytes());
        return bytes;
    }
    // Returns the kept Funcs that need a Func, directly or through inlined ones.
    std::set<std::string> consumers_of(const std::string &name) const {
        std::set<std::string> all;
        for (auto &c : graph_.nodes.at(name).callers) {
            if (elsewhere_.count(c)) continue;
            if (c == gm_.name() || keeps_.count(c)) {
                all.insert(c);
                continue;
            }
            const auto further = consumers_of(c);
            all.insert(further.begin(), further.end());
        }
        return all;
    }
    // Returns the output's dimensions along which `n` doesn't change. If a tile were a part of
    // them, `n` would be computed again for each tile.
    std::set<int> whole_dims(const FuncNode &n) const {
        std::set<int> whole;
        const std::set<int> moves_with = n.dims();
        for (int d = 0; d < int(extents_.size()); d++)
            if (extents_[size_t(d)] > 1 && !moves_with.count(d)) whole.insert(d);
        return whole;
    }
    bool worth_keeping(const FuncNode &n, const std::set<std::string> &consumers) const {
        // One number for each row.
        if (n.computes && n.function.dimensions() > 0 && !whole_dims(n).empty()) return true;
        if (apart_) return false;
        // A conversion for several reductions is done once; comparisons are cheaper on the narrower
        // elements, unless several others need the conversion.
        if (n.converts) {
            const auto comparing = std::count_if(consumers.begin(), consumers.end(), [&](auto &c) {
                return graph_.nodes.at(c).compares;
            });
            return ptrdiff_t(consumers.size()) - comparing > (comparing ? 2 : 1) &&
                   std::any_of(consumers.begin(), consumers.end(),
                               [&](auto &c) { return graph_.nodes.at(c).reduces; });
        }
        return consumers.size() > 1 && (n.computes || n.loads);
    }
    static std::vector<int64_t> extents_of(const FuncNode &n) {
        for (const int64_t extent : n.extents) {
            if (extent == 0) {
                throw DispatchError(
                    n.function.name(),
                    "no automatic Ascend schedule: a stage of a call without elements");
            } else if (extent < 0) {
                throw DispatchError(n.function.name(),
                                    "no automatic Ascend schedule: its indices depend on data");
            }
        }
        return n.extents;
    }

    struct Range {
        RVar var;
        int64_t extent;
    };
    static std::vector<Range> ranges_of(const Func &f, int update) {
        std::vector<Range> all;
        for (auto &r : f.function().update(update).schedule().rvars())
            all.push_back({RVar(r.var), ascend::constant(r.extent, f.name())});
        return all;
    }

    // Returns how many elements of a tile fit the Unified Buffer. Temporaries of expressions aren't
    // counted: they are known once all buffers are placed.
    int64_t room(const Root &r) const {
        const bool reduces = std::any_of(r.kept.begin(), r.kept.end(),
                                         [&](auto &name) { return graph_.nodes.at(name).reduces; });
        int64_t bytes = (reduces ? 1 : 2) * r.bytes;
        for (auto &[name, n] : graph_.nodes) {
            bytes += n.loads && n.dims().size() >= r.extents.size()
                         ? 2 * n.function.output_types()[0].bytes()
                         : 0;
        }
        for (auto &name : r.kept) {
            const FuncNode &n = graph_.nodes.at(name);
            if (n.computes && n.function.dimensions() >= r.f.dimensions())
                bytes += bytes_of(Func(n.function));
        }
        int64_t elements = npu_.chip().bytes(dv::Scope::ub) / bytes;
        for (int k = 0; k < steps_; k++)
            elements = elements * 7 / 8;
        return std::max<int64_t>(32, elements);
    }

    // Returns the cycles that a core takes for a product: the cube, or loads from L2 if these take
    // longer, and then the store of the results (ascend/simulator/cost.h).
    static double cycles(int64_t rows, int64_t columns, int64_t depth) {
        // Products and bytes per cycle; `begin`: cycles until the first product.
        constexpr double products = 4096, from_l2 = 90, out = 40, begin = 2000;
        const double r = double(round_up(rows, dv::cube));
        const double c = double(round_up(columns, dv::cube));
        return begin + double(depth) * std::max(r * c / products, (r + c) * 2 / from_l2) +
               r * c * 2 / out;
    }
    // Returns true unless the last of several parts of a row is shorter than a block.
    static bool ends_well(int64_t columns, int64_t part, int64_t bytes) {
        const int64_t rest = columns % part;
        return columns <= part || columns * bytes % dv::block_bytes == 0 || rest == 0 ||
               rest * bytes >= dv::block_bytes;
    }
    int64_t depth_of(const std::string &sums) const {
        int64_t depth = 1;
        for (auto &range : ranges_of(Func(graph_.nodes.at(sums).function), 0))
            depth *= range.extent;
        return depth;
    }
    // Returns the rows and columns of the rectangles for which a product takes the fewest cycles.
    std::pair<int, int> best_square(const Root &root, int64_t others, int64_t depth) const {
        const int64_t rows = root.extents.size() > 1 ? root.extents[1] : 1;
        const int64_t columns = root.extents[0];
        std::pair<int, int> best = {256, 256};
        double lowest = std::numeric_limits<double>::infinity();
        // Wide squares come first, because their bursts are longer.
        for (const int c : {256, 240, 128, 112, 64, 48, 32, 16}) {
            for (const int r : {256, 128, 64, 32, 16}) {
                if (!ends_well(columns, c, root.min_bytes)) continue;
                const int64_t blocks = ceil_div(rows, r) * ceil_div(columns, c) * others;
                const double all = double(ceil_div(blocks, npu_.cores())) *
                                   cycles(std::min<int64_t>(rows, r), std::min<int64_t>(columns, c),
                                          depth);
                if (all < lowest) {
                    lowest = all;
                    best = {r, c};
                }
            }
        }
        return best;
    }

    // Returns true if the cube unit can compute the sums of products for a rectangle of the root's
    // elements: one factor alone changes along the sums' columns, and the other one along their
    // rows. The rectangle is one element wide in all further dimensions.
    bool is_product_of_matrices(const Root &r, const FuncNode &n) const {
        if (!n.multiplies || r.f.dimensions() == 0 || n.function.dimensions() == 0) return false;
        const auto *sum = n.function.update(0).values()[0].as<Internal::Add>();
        const auto *product = sum->b.as<Internal::Mul>();
        const std::set<std::string> in_a = variables_of(product->a);
        const std::set<std::string> in_b = variables_of(product->b);
        const std::vector<std::string> args = n.function.args();
        std::set<bool> used;  // factors that change along rows or columns: true is the first one
        for (size_t d = 0; d < args.size(); d++) {
            if (n.extents[d] == 1) continue;
            if (d >= 2) {
                if (is_in_rectangle(r, n, d)) return false;
                continue;
            }
            const bool a = in_a.count(args[d]);
            if (a == bool(in_b.count(args[d])) || !used.insert(a).second) return false;
        }
        return true;
    }
    // Returns true if a dimension of a Func may have more than one element in a rectangle.
    bool is_in_rectangle(const Root &r, const FuncNode &n, size_t d) const {
        if (r.f.name() != gm_.name()) return d < 2;
        const std::set<int> &reach = n.reach[d];
        return reach.empty() || *reach.begin() < 2;
    }

    // Schedules sums of products for the cube unit: each block of the program computes a rectangle
    // of the output.
    void schedule_product(const Root &r, const std::string &sums) {
        Func f = r.f;
        const std::vector<Var> args = f.args();
        int64_t others = 1;
        for (size_t d = 2; d < args.size(); d++)
            others *= r.extents[d];
        const auto [best_rows, best_columns] = best_square(r, others, depth_of(sums));
        const int columns = std::max(16,
                                     npu_.pick("columns", {best_columns, 256, 128, 64}) >> shrink_);
        const int rows = std::max(16, npu_.pick("rows", {best_rows, 256, 128, 64}) >> shrink_);
        std::vector<VarOrRVar> order, loops;
        std::vector<Outer> shared;
        int64_t inside = r.min_bytes;
        for (size_t d = 0; d < args.size(); d++) {
            Var loop("tile_" + args[d].name());
            Var in("in_" + args[d].name());
            const int64_t part = d == 0 ? columns : d == 1 ? rows : 1;
            if (d < 2) {
                f.split(args[d], loop, in, int(part), TailStrategy::GuardWithIf);
                order.push_back(in);
            } else {
                f.rename(args[d], loop);
            }
            if (d == 0) inside *= r.extents[0];
            // Cores don't share a block of global memory.
            if (!one_core_ && (inside % dv::block_bytes == 0 ||
                               (d == 1 && rows_end_well(r, rows, columns, others))))
                shared.push_back({loop, ceil_div(r.extents[d], part)});
            else
                loops.push_back(loop);
            if (d > 0) inside *= r.extents[d];
        }
        keep_largest_two(shared, loops);
        order.insert(order.end(), loops.begin(), loops.end());
        for (auto &s : shared)
            order.push_back(s.loop);
        f.reorder(order);
        for (auto &s : shared)
            f.parallel(s.loop);
        const Ascend::At at{f, order[std::min(args.size(), size_t(2))]};
        npu_.l0c(Func(graph_.nodes.at(sums).function), at);
        for (auto &name : r.kept)
            if (name != sums) npu_.ub(Func(graph_.nodes.at(name).function), at);
    }
    // A loop over tiles and its number of iterations.
    struct Outer {
        Var loop;
        int64_t count;
    };
    static bool rows_end_well(const Root &r, int64_t rows, int64_t columns, int64_t others) {
        return ends_well(r.extents[0], columns, r.min_bytes) &&
               (others == 1 ||
                ends_well(r.extents[1] * r.extents[0], rows * r.extents[0], r.min_bytes));
    }
    // Moves all but the two longest of the `shared` loops to `loops`.
    static void keep_largest_two(std::vector<Outer> &shared, std::vector<VarOrRVar> &loops) {
        std::stable_sort(shared.begin(), shared.end(),
                         [](auto &a, auto &b) { return a.count < b.count; });
        while (shared.size() > 2) {
            loops.push_back(shared[0].loop);
            shared.erase(shared.begin());
        }
    }

    // The reductions that are computed on the chip with the tiles of a root.
    struct Reductions {
        std::set<int> whole_dims;   // the root's dimensions that they need as a whole
        int64_t max_terms = 1;      // terms of the longest one
        int64_t max_innermost = 1;  // terms of the longest innermost loop
    };
    Reductions reductions_of(const Root &r) const {
        Reductions all;
        for (auto &name : r.kept) {
            const FuncNode &n = graph_.nodes.at(name);
            if (!n.reduces) continue;
            if (!apart_ && r.f.name() == gm_.name()) all.whole_dims.merge(whole_dims(n));
            for (int u = 0; u < int(n.function.updates().size()); u++) {
                const auto ranges = ranges_of(Func(n.function), u);
                int64_t terms = 1;
                for (auto &range : ranges)
                    terms *= range.extent;
                all.max_terms = std::max(all.max_terms, terms);
                if (!ranges.empty())
                    all.max_innermost = std::max(all.max_innermost, ranges[0].extent);
            }
        }
        return all;
    }

    // Returns the extents of a tile of at most `max_elements` elements.
    std::vector<int64_t> tile_of(const Root &r, const Reductions &reductions,
                                 int64_t max_elements) const {
        const std::set<int> &whole = reductions.whole_dims;
        const size_t rank = r.extents.size();
        int64_t left = whole.empty() && reductions.max_terms <= max_elements
                           ? std::max<int64_t>(max_elements / reductions.max_terms, 1)
                           : max_elements;
        std::vector<int64_t> tile(rank, 1);
        for (size_t d = 0; d < rank; d++) {
            if (whole.count(int(d))) {
                tile[d] = r.extents[d];
                left = std::max<int64_t>(1, left / tile[d]);
            }
        }
        // If results are contiguous, so are the terms of many of them: a wide row costs as much as
        // a narrow one.
        if (rank && !whole.count(0) && reductions.max_innermost == 1)
            left = std::max(left, std::min<int64_t>(r.extents[0], 128));
        for (size_t d = 0; d < rank; d++) {
            if (!whole.count(int(d))) {
                tile[d] = std::min(r.extents[d], left);
                left = std::max<int64_t>(1, left / tile[d]);
            }
        }
        // A last part of a row that is shorter than a block would be written over what follows,
        // which may be another core's.
        const int64_t block = dv::block_bytes / r.min_bytes;
        while (rank && !ends_well(r.extents[0], tile[0], r.min_bytes) && tile[0] > block)
            tile[0] = (tile[0] - 1) / block * block;
        return tile;
    }

    // Returns the unit in which cores may share dimension `d`: parts begin at blocks of global
    // memory.
    static int64_t granule_of(const Root &r, size_t d, int64_t max_innermost) {
        int64_t inside = r.min_bytes;
        for (size_t e = 0; e < d; e++)
            inside *= r.extents[e];
        const int64_t blocks = 32 / std::gcd<int64_t>(32, inside);
        return d == 0 && max_innermost == 1 ? std::max<int64_t>(blocks, 32) : blocks;
    }
    // Returns true unless two cores would share the block in which one row ends and the next
    // begins.
    static bool ends_at_block(const Root &r, size_t d) {
        int64_t rows = r.min_bytes;
        int64_t further = 1;
        for (size_t e = 0; e < r.extents.size(); e++)
            (e <= d ? rows : further) *= r.extents[e];
        return further == 1 || rows % dv::block_bytes == 0;
    }
    // Returns the dimension that the cores share: the outermost one, unless another has more than
    // twice as many parts.
    std::optional<size_t> shared_dim(const Root &r, const Reductions &reductions) const {
        if (one_core_) return std::nullopt;
        const auto parts = [&](size_t d) {
            return ceil_div(r.extents[d], granule_of(r, d, reductions.max_innermost));
        };
        std::optional<size_t> shared;
        for (size_t d = r.extents.size(); d-- > 0;) {
            if (!reductions.whole_dims.count(int(d)) && ends_at_block(r, d) &&
                (!shared || parts(d) > 2 * parts(*shared)))
                shared = d;
        }
        return shared;
    }

    // Schedules the loops of a root: tiles, shared by the cores, with the kept Funcs computed in
    // them.
    void schedule_tiles(const Root &r) {
        for (auto &name : r.kept) {
            if (is_product_of_matrices(r, graph_.nodes.at(name))) return schedule_product(r, name);
        }
        Func f = r.f;
        const std::vector<Var> args = f.args();
        const Reductions reductions = reductions_of(r);
        const int64_t max_elements = room(r);
        std::vector<int64_t> tile = tile_of(r, reductions, max_elements);
        std::optional<size_t> shared = shared_dim(r, reductions);
        std::vector<Var> inner(args), loops;
        Var core("core");
        for (size_t d = 0; d < args.size(); d++) {
            Var at = args[d];
            if (shared == d) {
                const int64_t g = granule_of(r, d, reductions.max_innermost);
                if (r.extents[d] > g) {
                    const int64_t chunk = round_up(ceil_div(r.extents[d], npu_.cores()), g);
                    Var part("part");
                    f.split(at, core, part, int(chunk), TailStrategy::GuardWithIf);
                    at = inner[d] = part;
                    // A core has two tiles in two slots at a time: two halves are better than a
                    // whole.
                    tile[d] = std::min(tile[d], chunk);
                    tile[d] = std::min(chunk, even_tile(chunk, tile[d], g));
                    if (chunk > tile[d]) split(f, at, tile[d], inner[d], loops);
                    continue;
                }
                shared = std::nullopt;
            }
            if (r.extents[d] > tile[d]) split(f, at, tile[d], inner[d], loops);
        }
        std::vector<VarOrRVar> order(inner.begin(), inner.end());
        order.insert(order.end(), loops.begin(), loops.end());
        if (shared) order.push_back(core);
        if (order.size() > 1) f.reorder(order);
        if (shared) f.parallel(core);
        const Ascend::At at{f, !loops.empty() ? loops[0] : shared ? core : Var::outermost()};
        const bool row_reduced = !reductions.whole_dims.empty();
        for (auto &name : r.kept)
            keep(name, at, tile, row_reduced ? std::numeric_limits<int64_t>::max() : max_elements);
    }

    // Returns the size of equal tiles of at most `tile` elements, if twice the least number of
    // tiles is enough for it: a last tile that is shorter would be lowered a second time.
    static int64_t even_tile(int64_t chunk, int64_t tile, int64_t granule) {
        const int64_t count = ceil_div(chunk, tile);
        for (int64_t n = count; n <= 2 * count; n++)
            if (chunk % n == 0 && chunk / n % granule == 0) return chunk / n;
        return round_up(ceil_div(chunk, count), granule);
    }

    static void split(Func f, const Var &at, int64_t tile, Var &inner, std::vector<Var> &loops) {
        Var outer("tile_" + at.name());
        Var rest("in_" + at.name());
        f.split(at, outer, rest, int(tile), TailStrategy::GuardWithIf);
        inner = rest;
        loops.push_back(outer);
    }

    // Computes a Func on the chip, at the loop `at`. A reduction of more than `max_elements` terms
    // is split into parts.
    void keep(const std::string &name, const Ascend::At &at, const std::vector<int64_t> &tile,
              int64_t max_elements) {
        const FuncNode &n = graph_.nodes.at(name);
        Func f(n.function);
        npu_.ub(f, at);
        if (n.loads && !n.computes && !n.reduces) npu_.dbuf(f);
        int64_t results = 1;
        for (auto &reach : n.reach) {
            for (int d : reach)
                if (size_t(d) < tile.size()) results *= tile[size_t(d)];
        }
        for (int u = 0; u < int(n.function.updates().size()); u++) {
            const auto ranges = ranges_of(f, u);
            int64_t left = std::max<int64_t>(1, max_elements / std::max<int64_t>(1, results));
            std::vector<VarOrRVar> inner, outer;
            Halide::Stage stage = f.update(u);
            for (auto &range : ranges) {
                int64_t part = std::min(range.extent, left);
                left = std::max<int64_t>(1, left / std::max<int64_t>(1, part));
                if (part < range.extent && part > part_elements)
                    part = part / part_elements * part_elements;
                if (part == range.extent) {
                    inner.push_back(range.var);
                    continue;
                }
                RVar loop("tile_" + range.var.name());
                RVar rest("in_" + range.var.name());
                stage.split(range.var, loop, rest, int(part), TailStrategy::GuardWithIf);
                inner.push_back(rest);
                outer.push_back(loop);
            }
            if (outer.empty()) continue;
            const std::vector<std::string> loops = stage_vars(n.function, u);
            for (auto &v : f.args())
                if (std::count(loops.begin(), loops.end(), v.name())) inner.push_back(v);
            inner.insert(inner.end(), outer.begin(), outer.end());
            stage.reorder(inner);
        }
    }
    static std::vector<std::string> stage_vars(const Internal::Function &f, int update) {
        std::vector<std::string> names;
        for (auto &d : f.update(update).schedule().dims())
            names.push_back(d.var);
        return names;
    }
};

}  // namespace

void Ascend::keep(Func f, const At &at, dv::Scope scope) const {
    (at.loop.is_rvar ? f.compute_at(at.f, at.loop.rvar) : f.compute_at(at.f, at.loop.var))
        .store_in(MemoryType::VTCM);
    if (f.dimensions() > 1) f.align_storage(f.args()[0], row_elements);
    buffer_plan->scope[f.name()] = scope;
}

int64_t Ascend::scalar(const Op &op, const std::string &name) const {
    for (size_t k = 0; k < op.scalars.size(); k++)
        if (op.scalars[k].name == name) return call->integers[k];
    return 0;
}

void Ascend::handwritten(const std::string &name, const std::function<dv::Program()> &make) const {
    buffer_plan->handwritten.push_back(name);
    if (variant == name) buffer_plan->program = std::make_shared<const dv::Program>(make());
}

void Ascend::automatic() const {
    SharedFuncs shared;
    for (const Func &f : gm) {
        for (auto &[name, n] : Graph(f).nodes)
            shared.outputs[name]++;
    }
    size_t first = 0;
    for (const Func &f : gm) {
        AutoSchedule(*this, f, call->outputs[first], shared).schedule();
        first += f.types().size();
    }
}

void Op::schedule(const Ascend &npu) {
    npu.automatic();
}

}  // namespace halyard

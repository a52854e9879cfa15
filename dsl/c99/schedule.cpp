#include "dsl/c99/schedule.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string>

#include "dsl/sum_tree.h"

namespace halyard::c99 {
namespace {

using namespace Halide;
using namespace Halide::Internal;

using Bindings = std::map<std::string, Expr>;  // of a Func's variables

// The reads of one reduction, with indices in terms of the loops of the output that is computed.
struct Reads {
    Function function;
    std::set<size_t> outputs;                // that read it
    std::vector<std::vector<Expr>> indices;  // of each different read
    std::set<std::string> readers;           // reductions that read it
};

// Follows reads from the outputs to all Funcs.
class FindReads {
public:
    // The number of visits after which find() gives up: a Func that is read in many places by Funcs
    // that are read in many places, and so on.
    static constexpr int max_visits = 4000;

    std::map<std::string, Reads> reads;
    bool is_complete() const { return visits_ < max_visits; }

    void find(const std::vector<Func> &outputs) {
        for (output_ = 0; output_ < outputs.size(); output_++) {
            const Function f = outputs[output_].function();
            Bindings own;
            for (const std::string &arg : f.args())
                own[arg] = Variable::make(Int(32), arg);
            visit(f, own, "");
        }
    }

private:
    // Visits the calls of one expression.
    class Calls : public IRVisitor {
    public:
        Calls(FindReads &all, const Bindings &bindings, const std::string &reader)
            : all_(all), bindings_(bindings), reader_(reader) {}

    private:
        using IRVisitor::visit;
        void visit(const Call *op) override {
            IRVisitor::visit(op);
            if (op->call_type == Call::Halide) all_.read(*op, bindings_, reader_);
        }
        FindReads &all_;
        const Bindings &bindings_;
        const std::string &reader_;
    };

    void visit(const Function &f, const Bindings &bindings, const std::string &reader) {
        Calls calls(*this, bindings, reader);
        const auto visit_all = [&](const std::vector<Expr> &all) {
            for (const Expr &e : all)
                e.accept(&calls);
        };
        visit_all(f.definition().values());
        for (const Definition &update : f.updates()) {
            visit_all(update.args());
            visit_all(update.values());
            update.predicate().accept(&calls);
        }
    }

    void read(const Call &call, const Bindings &bindings, const std::string &reader) {
        const Function f(call.func);
        if (f.name() == reader || !is_complete()) return;
        std::vector<Expr> indices;
        std::ostringstream key;
        key << output_ << " " << reader << " " << f.name();
        for (const Expr &e : call.args) {
            indices.push_back(simplify(substitute(bindings, e)));
            key << "," << indices.back();
        }
        if (!seen_.insert(key.str()).second) return;
        visits_++;
        const bool is_reduction = f.has_update_definition();
        if (is_reduction) {
            Reads &r = reads[f.name()];
            r.function = f;
            r.outputs.insert(output_);
            r.indices.push_back(indices);
            if (!reader.empty()) r.readers.insert(reader);
        }
        Bindings inner;
        for (size_t d = 0; d < indices.size(); d++)
            inner[f.args()[d]] = indices[d];
        visit(f, inner, is_reduction ? f.name() : reader);
    }

    size_t output_ = 0;
    int visits_ = 0;
    std::set<std::string> seen_;
};

// Returns true if every update writes dimension d where it was asked for: no update needs the value
// at another index of d.
bool is_pure(const Function &f, size_t d) {
    return std::ranges::all_of(f.updates(), [&](const Definition &update) {
        const auto *v = update.args()[d].as<Variable>();
        return v && v->name == f.args()[d];
    });
}

// An index scale * v + offset, which differs from one iteration of v to the next.
struct Place {
    int64_t scale = 1, offset = 0;
};

// Returns the place that e is; none if it isn't one.
std::optional<Place> place_of(const Expr &e, const std::string &v) {
    if (const auto *variable = e.as<Variable>())
        return variable->name == v ? std::optional(Place{}) : std::nullopt;
    const auto with = [&](const Expr &a, const Expr &b, const auto &f) -> std::optional<Place> {
        const std::optional<Place> place = place_of(a, v);
        const auto constant = as_const_int(b);
        return place && constant ? std::optional(f(*place, *constant)) : std::nullopt;
    };
    if (const auto *add = e.as<Add>())
        return with(add->a, add->b, [](Place p, int64_t c) {
            return Place{p.scale, p.offset + c};
        });
    if (const auto *sub = e.as<Sub>())
        return with(sub->a, sub->b, [](Place p, int64_t c) {
            return Place{p.scale, p.offset - c};
        });
    if (const auto *mul = e.as<Mul>())
        return with(mul->a, mul->b, [](Place p, int64_t c) {
            return Place{p.scale * c, p.offset * c};
        });
    return std::nullopt;
}

// Returns true if all reads have indices in a dimension that no other iteration of loop v has: the
// same one, or those of a window that doesn't overlap its neighbours.
bool depends_on(const Reads &r, const std::string &v) {
    for (size_t d = 0; d < r.indices[0].size(); d++) {
        if (!is_pure(r.function, d)) continue;
        const std::optional<Place> first = place_of(r.indices[0][d], v);
        if (!first || first->scale == 0) continue;
        int64_t least = first->offset, most = first->offset;
        const bool alike = std::ranges::all_of(r.indices, [&](const std::vector<Expr> &read) {
            const std::optional<Place> place = place_of(read[d], v);
            if (!place || place->scale != first->scale) return false;
            least = std::min(least, place->offset);
            most = std::max(most, place->offset);
            return true;
        });
        if (alike && most - least < std::abs(first->scale)) return true;
    }
    return false;
}

// Returns the number of loops, from the outermost, inside of which the reduction is computed.
int depth_of(const Reads &r, const std::vector<Func> &outputs) {
    if (r.outputs.size() != 1) return 0;
    const std::vector<Var> loops = outputs[*r.outputs.begin()].args();
    int depth = 0;
    for (auto loop = loops.rbegin(); loop != loops.rend() && depends_on(r, loop->name()); ++loop)
        depth++;
    return depth;
}

// Sums of more terms are trees.
constexpr int64_t max_terms_in_a_row = 128;
constexpr int max_chunk = 64, min_chunk = 8;

// Returns the largest chunk that divides the extent, or else the largest, whose last loop ends
// early.
std::vector<int> chunks_of(std::optional<int64_t> extent, bool is_alone) {
    std::vector<int> all;
    while (extent && *extent > max_chunk && all.size() < (is_alone ? 2 : 1)) {
        int chunk = max_chunk;
        while (chunk >= min_chunk && *extent % chunk != 0)
            chunk--;
        all.push_back(chunk >= min_chunk ? chunk : max_chunk);
        extent = (*extent + all.back() - 1) / all.back();
    }
    return all;
}

// Returns the number of terms of an update; 0 if it isn't constant.
int64_t terms_of(const Definition &update) {
    int64_t terms = 1;
    for (const ReductionVariable &r : update.schedule().rvars()) {
        const auto extent = as_const_int(simplify(r.extent));
        terms *= extent ? *extent : 0;
    }
    return terms;
}

constexpr int least_lanes = 4;

// Returns how many neighbours of an output share the loops over a reduction's terms: a divisor of
// the innermost loop, so that none is left over. 1 if they can't.
int lanes_of(const Reads &r, const Func &output, int depth, int most) {
    const std::vector<Var> loops = output.args();
    const bool is_alone = r.indices.size() == 1 && r.readers.empty() &&
                          r.function.updates().size() == 1;
    if (most < least_lanes || !is_alone || depth != int(loops.size()) || loops.empty()) return 1;
    // The reduction's first dimension is the innermost in its memory.
    const std::optional<Place> place = place_of(r.indices[0][0], loops[0].name());
    if (!place || place->scale != 1 || !is_pure(r.function, 0)) return 1;
    for (const Bound &b : output.function().schedule().bounds()) {
        const auto extent = b.var == loops[0].name() ? as_const_int(b.extent) : std::nullopt;
        if (!extent) continue;
        for (int lanes = int(std::min<int64_t>(most, *extent)); lanes >= least_lanes; lanes--)
            if (*extent % lanes == 0) return lanes;
    }
    return 1;
}

// Makes trees of long sums. With lanes, their loop goes inside of those over the terms.
void order_sums(const Reads &r, bool has_lanes) {
    Func f(r.function);
    const auto lane = has_lanes ? std::optional(f.args()[0]) : std::nullopt;
    for (int k = 0; k < f.num_update_definitions(); k++) {
        const Definition &update = r.function.update(k);
        const bool is_long = terms_of(update) > max_terms_in_a_row;
        if ((is_long && sum_in_tree(f, k, chunks_of, lane)) || !lane) continue;
        std::vector<VarOrRVar> order = {*lane};
        for (const ReductionVariable &term : update.schedule().rvars())
            order.emplace_back(RVar(term.var));
        f.update(k).reorder(order);
    }
}

}  // namespace

void schedule(const std::vector<Func> &outputs, int lanes) {
    FindReads found;
    found.find(outputs);
    std::map<std::string, int> depths;
    for (auto &[name, r] : found.reads)
        depths[name] = found.is_complete() ? depth_of(r, outputs) : 0;
    // A reduction is computed no deeper than those that read it.
    for (bool changed = true; changed;) {
        changed = false;
        for (auto &[name, r] : found.reads) {
            for (const std::string &reader : r.readers) {
                if (depths[name] <= depths[reader]) continue;
                depths[name] = depths[reader];
                changed = true;
            }
        }
    }
    std::set<std::string> has_lanes;
    for (auto &[name, r] : found.reads) {
        Func f(r.function);
        if (depths[name] == 0) {
            f.compute_root();
            continue;
        }
        Func output = outputs[*r.outputs.begin()];
        const std::vector<Var> loops = output.args();
        if (const int side_by_side = lanes_of(r, output, depths[name], lanes); side_by_side > 1) {
            const Var inner("lane");
            output.split(loops[0], loops[0], inner, side_by_side, TailStrategy::GuardWithIf);
            has_lanes.insert(name);
        }
        f.compute_at(output, loops[loops.size() - size_t(depths[name])]);
    }
    for (auto &[name, r] : found.reads)
        order_sums(r, has_lanes.count(name) > 0);
    for (Func f : outputs)
        f.compute_root();
}

}  // namespace halyard::c99

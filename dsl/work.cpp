#include "dsl/work.h"

#include "dsl/index_set.h"
#include "dsl/integer_value.h"
#include "dsl/kernel.h"

namespace halyard {
using namespace Halide;
using namespace Halide::Internal;

int64_t Work::operations() const {
    int64_t n = arithmetic;
    for (auto &[name, calls] : functions)
        n += calls;
    return n;
}

namespace {

// places of an index that are listed one by one; beyond, all between the least and the largest
constexpr int64_t most_listed = 1 << 18;
// points at which a predicate is looked at; beyond, it counts as true
constexpr int64_t most_counted = 1 << 26;

bool is_access(const Call &c) {
    return c.call_type == Call::Halide || c.call_type == Call::Image;
}

// What an expression is made of: variables of loops, and data.
class Uses : public IRGraphVisitor {
    using IRGraphVisitor::visit;
    void visit(const Variable *v) override {
        if (!v->param.defined()) variables.insert(v->name);
    }
    void visit(const Call *c) override {
        data |= is_access(*c);
        IRGraphVisitor::visit(c);
    }

public:
    std::set<std::string> variables;
    bool data = false;
    explicit Uses(const Expr &e) { e.accept(this); }
};

// The operations of one evaluation of some expressions; what they share is evaluated once.
class Operations : public IRGraphVisitor {
    using IRGraphVisitor::visit;
    static bool varies(const Expr &e) {
        const Uses uses(e);
        return uses.data || !uses.variables.empty();
    }
    template<class Op> void found(const Op *op) {
        arithmetic += op->a.type().is_float() && varies(op);
        IRGraphVisitor::visit(op);
    }
    void visit(const Add *op) override { found(op); }
    void visit(const Sub *op) override { found(op); }
    void visit(const Mul *op) override { found(op); }
    void visit(const Div *op) override { found(op); }
    void visit(const Mod *op) override { found(op); }
    void visit(const Min *op) override { found(op); }
    void visit(const Max *op) override { found(op); }
    void visit(const EQ *op) override { found(op); }
    void visit(const NE *op) override { found(op); }
    void visit(const LT *op) override { found(op); }
    void visit(const LE *op) override { found(op); }
    void visit(const GT *op) override { found(op); }
    void visit(const GE *op) override { found(op); }
    void visit(const Call *c) override {
        IRGraphVisitor::visit(c);
        const bool of_reals = c->type.is_float() ||
                              (!c->args.empty() && c->args[0].type().is_float());
        if (is_access(*c) || !of_reals || !varies(c)) return;
        std::string name = c->name;
        if (ends_with(name, "_f64")) name.resize(name.size() - 4);
        static const std::set<std::string> simple = {"abs",   "floor",  "ceil",   "round",
                                                     "trunc", "is_nan", "is_inf", "is_finite"};
        if (simple.count(name))
            arithmetic++;
        else if (!c->is_intrinsic())
            functions[name]++;
    }

public:
    int64_t arithmetic = 0;
    std::map<std::string, int64_t> functions;
};

// What is promised to lie between two bounds does wherever it counts: where a predicate doesn't
// hold it may be anything, and isn't needed.
class Promises : public IRMutator {
    using IRMutator::visit;
    Expr visit(const Call *c) override {
        if (!c->is_intrinsic({Call::promise_clamped, Call::unsafe_promise_clamped}))
            return IRMutator::visit(c);
        return max(min(mutate(c->args[0]), mutate(c->args[2])), mutate(c->args[1]));
    }
};

using Domain = std::map<std::string, IndexSet>;  // of the loops around an expression

// Calls f(known) for every combination of the variables.
template<class F> void each_point(const std::vector<std::string> &variables, const Domain &domain,
                                  Known &known, const F &f, size_t from = 0) {
    if (from == variables.size()) return f(known);
    int64_t &value = known[variables[from]];
    domain.at(variables[from]).each([&](int64_t v) {
        value = v;
        each_point(variables, domain, known, f, from + 1);
    });
    known.erase(variables[from]);
}

class Counter {
public:
    Counter(const Op &op, const Known &known) : op_(op), known_(known) {}

    Work count(const std::vector<std::pair<Func, std::vector<IndexSet>>> &outputs) {
        for (auto &[f, region] : outputs) {
            need(f.name(), region);
            visit(f.function());
        }
        // whoever reads a Func stands before it
        for (auto f = order_.rbegin(); f != order_.rend(); ++f)
            definitions(*f);
        return work_;
    }
    int64_t elements(const std::string &name) const {
        const auto it = regions_.find(name);
        if (it == regions_.end()) return 0;
        int64_t n = 1;
        for (const IndexSet &s : it->second)
            n *= s.size();
        return n;
    }

private:
    const Op &op_;
    Known known_;
    Work work_;
    std::map<std::string, std::vector<IndexSet>> regions_;  // of Funcs and images, innermost first
    std::set<std::string> seen_;
    std::vector<Function> order_;  // producers first

    void visit(const Function &f) {
        if (!seen_.insert(f.name()).second) return;
        for (auto &[name, producer] : find_direct_calls(f))
            visit(producer);
        order_.push_back(f);
    }
    void need(const std::string &name, const std::vector<IndexSet> &region) {
        auto &all = regions_[name];
        all.resize(std::max(all.size(), region.size()));
        for (size_t d = 0; d < region.size(); d++)
            all[d].add(region[d]);
    }
    int64_t settled(const Expr &e, const Known &known) const {
        if (const auto v = integer_value(e, known)) return *v;
        std::ostringstream text;
        text << e;
        throw Error(op_.name, "the problem doesn't settle " + text.str());
    }

    void definitions(const Function &f) {
        if (f.has_extern_definition())
            throw Error(op_.name, f.name() + " is not a definition that can be counted");
        std::vector<IndexSet> region = regions_[f.name()];
        region.resize(f.args().size());  // nobody needs it: its readers have no points
        Domain pure;
        for (size_t d = 0; d < f.args().size(); d++)
            pure[f.args()[d]] = region[d];
        definition(f, f.definition(), pure);
        for (const Definition &u : f.updates()) {
            Domain domain;
            for (const Expr &at : u.args())  // the pure ones keep their names
            {
                if (const auto *v = at.as<Variable>())
                    if (const auto it = pure.find(v->name); it != pure.end()) domain.insert(*it);
            }
            for (const ReductionVariable &r : u.schedule().rvars()) {
                const int64_t least = settled(r.min, known_);
                domain[r.var] = IndexSet(least, least + settled(r.extent, known_) - 1);
            }
            definition(f, u, domain);
        }
    }

    void definition(const Function &f, const Definition &d, const Domain &domain) {
        const int64_t points = points_of(d, domain);
        if (points == 0) return;
        // All it evaluates as one expression, in which what occurs twice is one node: that is how
        // often it is computed.
        std::vector<Expr> all = d.values();
        all.insert(all.end(), d.args().begin(), d.args().end());
        for (const Expr &condition : d.split_predicate())
            all.push_back(condition);
        for (Expr &e : all)
            e = substitute_in_all_lets(e);
        const Expr together = substitute_in_all_lets(common_subexpression_elimination(
            Call::make(Int(32), Call::bundle, all, Call::PureIntrinsic), true));
        Operations once;
        together.accept(&once);
        work_.arithmetic += points * once.arithmetic;
        for (auto &[name, calls] : once.functions)
            work_.functions[name] += points * calls;
        accesses(f, together, domain);
    }

    // Points of the domain where the definition's predicate holds. Conditions that share no
    // variable are counted apart.
    int64_t points_of(const Definition &d, const Domain &domain) const {
        struct Group {
            std::set<std::string> variables;
            std::vector<Expr> conditions;
        };
        std::vector<Group> groups;
        for (auto &[name, places] : domain)
            groups.push_back({{name}, {}});
        for (const Expr &e : d.split_predicate()) {
            const Expr condition = substitute_in_all_lets(e);
            Group joined{{}, {condition}};
            const Uses uses(condition);
            std::vector<Group> apart;
            for (Group &g : groups) {
                const bool used = std::any_of(
                    g.variables.begin(), g.variables.end(),
                    [&](const std::string &v) { return uses.variables.count(v) > 0; });
                if (!used) {
                    apart.push_back(g);
                    continue;
                }
                joined.variables.insert(g.variables.begin(), g.variables.end());
                joined.conditions.insert(joined.conditions.end(), g.conditions.begin(),
                                         g.conditions.end());
            }
            apart.push_back(joined);
            groups = apart;
        }
        int64_t points = 1;
        for (const Group &g : groups) {
            int64_t all = 1, held = 0;
            for (auto &v : g.variables)
                all *= domain.at(v).size();
            if (!g.conditions.empty() && all <= most_counted) {
                Known known = known_;
                each_point({g.variables.begin(), g.variables.end()}, domain, known,
                           [&](const Known &at) {
                               held += std::all_of(g.conditions.begin(), g.conditions.end(),
                                                   [&](const Expr &c) {
                                                       return integer_value(c, at).value_or(1) != 0;
                                                   });
                           });
                all = held;
            }
            points *= all;
        }
        return points;
    }

    // The places that an index takes over its loops.
    IndexSet places(const Expr &index, const Domain &domain) const {
        const Uses uses(index);
        std::vector<std::string> variables;
        int64_t all = 1;
        for (auto &v : uses.variables) {
            if (const auto it = domain.find(v); it != domain.end()) {
                variables.push_back(v);
                all *= it->second.size();
            }
        }
        if (all == 0) return {};
        if (uses.data) return IndexSet(0, all - 1);
        if (const auto *v = index.as<Variable>(); v && domain.count(v->name))
            return domain.at(v->name);
        if (all > most_listed) return between(index, domain);
        std::vector<int64_t> listed;
        Known known = known_;
        each_point(variables, domain, known,
                   [&](const Known &at) { listed.push_back(settled(index, at)); });
        return IndexSet(std::move(listed));
    }
    IndexSet between(const Expr &index, const Domain &domain) const {
        Scope<Interval> scope;
        for (auto &[name, places] : domain) {
            if (!places.empty()) {
                scope.push(name, Interval(make_const(Int(32), places.runs().front().first),
                                          make_const(Int(32), places.runs().back().last)));
            }
        }
        const Interval bounds = bounds_of_expr_in_scope(index, scope);
        return {settled(bounds.min, known_), settled(bounds.max, known_)};
    }

    void accesses(const Function &f, const Expr &e, const Domain &domain) {
        struct Calls : IRGraphVisitor {
            using IRGraphVisitor::visit;
            void visit(const Call *c) override {
                if (is_access(*c)) found.push_back(c);
                IRGraphVisitor::visit(c);
            }
            std::vector<const Call *> found;
        } calls;
        e.accept(&calls);
        for (const Call *c : calls.found) {
            if (c->name == f.name()) continue;
            std::vector<IndexSet> region;
            for (size_t d = 0; d < c->args.size(); d++) {
                region.push_back(places(Promises().mutate(c->args[d]), domain));
                // No legal program reads an input anywhere else: what predicates keep away from its
                // edges is cut off.
                const auto extent = known_.find(c->name + ".extent." + std::to_string(d));
                if (extent != known_.end())
                    region.back() = region.back().within(0, extent->second - 1);
            }
            need(c->name, region);
        }
    }
};

// As Kernel feeds an op, but of no dtype yet.
void feed_reals(Op &op) {
    for (size_t k = 0; k < op.in.size(); k++) {
        const TensorSpec &spec = op.sig.inputs[k];
        const bool variable = spec.dtype.size() == 1;
        const bool is_bool = spec.dtype == "bool";
        const Type type = variable || is_float(dtype_of(spec.dtype))
                              ? Type(Float(64))
                              : halide_type(dtype_of(spec.dtype));
        op.memory.emplace_back(type, int(op.extents_of(spec).size()), spec.name);
        const ImageParam &m = op.memory.back();
        Func loaded("loaded");
        loaded(_) = is_bool ? m(_) != 0 : Expr(m(_));
        Op::Extents extents;
        for (int d = 0; d < m.dimensions(); d++)
            extents.push_back(m.dim(d).extent());
        op.feed(k, loaded, extents);
    }
}

}  // namespace

Known known_of(const Op &op, const Dims &dims) {
    Known known;
    for (auto &[name, parameter] : op.parameters)
        if (const auto it = dims.find(name); it != dims.end()) known.insert(*it);
    const auto add = [&](const std::string &buffer, const TensorSpec &spec) {
        const std::vector<std::string> extents = op.extents_of(spec);
        int64_t stride = 1;
        for (size_t d = 0; d < extents.size(); d++) {
            const std::string at = "." + std::to_string(d);
            const int64_t extent = evaluate<int64_t>(extents[extents.size() - 1 - d], dims);
            known[buffer + ".min" + at] = 0;
            known[buffer + ".extent" + at] = extent;
            known[buffer + ".stride" + at] = stride;
            stride *= extent;
        }
    };
    for (auto &spec : op.sig.inputs)
        add(spec.name, spec);
    for (size_t k = 0; k < op.out.size(); k++)
        add(op.out[k].name(), op.sig.outputs[k]);
    return known;
}

Work work_of(Op &op, const Dims &dims, const std::string &variant, int lanes) try {
    feed_reals(op);
    op.define({variant, lanes, {}});
    std::vector<std::pair<Func, std::vector<IndexSet>>> outputs;
    for (size_t k = 0; k < op.out.size(); k++) {
        std::vector<IndexSet> region;
        for (auto &extent : op.extents_of(op.sig.outputs[k]))
            region.insert(region.begin(), IndexSet(0, evaluate<int64_t>(extent, dims) - 1));
        outputs.emplace_back(op.out[k], region);
    }
    Counter counter(op, known_of(op, dims));
    Work work = counter.count(outputs);
    for (auto &t : op.sig.inputs)
        work.read[t.name] = counter.elements(t.name);
    for (size_t k = 0; k < op.out.size(); k++) {
        int64_t &n = work.written[op.sig.outputs[k].name] = 1;
        for (auto &places : outputs[k].second)
            n *= places.size();
    }
    return work;
} catch (const Halide::Error &e) {  // no std::exception
    throw Error(op.name, e.what());
}

Work work_of(const OpTable &ops, const std::string &name, const Dims &dims) {
    const OpPtr op = ops.make(name);
    if (!op) throw Error(name, "no such op");
    return work_of(*op, dims, op->variants.back().name);
}

}  // namespace halyard

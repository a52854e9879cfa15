#include "dsl/work.h"

#include <algorithm>
#include <set>
#include <sstream>

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

// An index that takes more values than this is assumed to take all between its minimum and maximum.
constexpr int64_t max_index_values = 1 << 18;
// A predicate over more points than this is assumed to be true.
constexpr int64_t max_predicate_points = 1 << 26;

bool is_access(const Call &c) {
    return c.call_type == Call::Halide || c.call_type == Call::Image;
}

// Finds the loop variables that an expression uses, and whether it reads data.
class FindUses : public IRGraphVisitor {
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
    explicit FindUses(const Expr &e) { e.accept(this); }
};

// Counts the operations of an expression. Common subexpressions are one node and count once.
class CountOperations : public IRGraphVisitor {
    using IRGraphVisitor::visit;
    static bool varies(const Expr &e) {
        const FindUses uses(e);
        return uses.data || !uses.variables.empty();
    }
    template<class Op> void count(const Op *op) {
        arithmetic += op->a.type().is_float() && varies(op);
        IRGraphVisitor::visit(op);
    }
    void visit(const Add *op) override { count(op); }
    void visit(const Sub *op) override { count(op); }
    void visit(const Mul *op) override { count(op); }
    void visit(const Div *op) override { count(op); }
    void visit(const Mod *op) override { count(op); }
    void visit(const Min *op) override { count(op); }
    void visit(const Max *op) override { count(op); }
    void visit(const EQ *op) override { count(op); }
    void visit(const NE *op) override { count(op); }
    void visit(const LT *op) override { count(op); }
    void visit(const LE *op) override { count(op); }
    void visit(const GT *op) override { count(op); }
    void visit(const GE *op) override { count(op); }
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

// Clamps values that are promised to be within bounds. They are outside only where a predicate is
// false, and there they are not needed.
class ClampPromises : public IRMutator {
    using IRMutator::visit;
    Expr visit(const Call *c) override {
        if (!c->is_intrinsic({Call::promise_clamped, Call::unsafe_promise_clamped}))
            return IRMutator::visit(c);
        return max(min(mutate(c->args[0]), mutate(c->args[2])), mutate(c->args[1]));
    }
};

// The values of the loops around an expression, by variable.
using Domain = std::map<std::string, IndexSet>;

// Calls f(bindings) for every combination of the variables' values.
template<class F> void for_each_point(const std::vector<std::string> &variables,
                                      const Domain &domain, IntegerBindings &bindings, const F &f,
                                      size_t from = 0) {
    if (from == variables.size()) return f(bindings);
    int64_t &value = bindings[variables[from]];
    domain.at(variables[from]).for_each([&](int64_t v) {
        value = v;
        for_each_point(variables, domain, bindings, f, from + 1);
    });
    bindings.erase(variables[from]);
}

class CountWork {
public:
    CountWork(const Op &op, const IntegerBindings &bindings) : op_(op), bindings_(bindings) {}

    Work count(const std::vector<std::pair<Func, std::vector<IndexSet>>> &outputs) {
        for (auto &[f, region] : outputs) {
            add_needed(f.name(), region);
            visit(f.function());
        }
        // Consumers come first, because they determine which elements of a producer are needed.
        for (auto f = order_.rbegin(); f != order_.rend(); ++f)
            count_definitions(*f);
        return work_;
    }
    // Returns the number of elements of a Func or input that are needed.
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
    IntegerBindings bindings_;
    Work work_;
    // The elements that are needed, by Func and input; dimensions are innermost first.
    std::map<std::string, std::vector<IndexSet>> regions_;
    std::set<std::string> visited_;
    std::vector<Function> order_;  // producers first

    // Appends `f`, after the Funcs that it reads, to order_.
    void visit(const Function &f) {
        if (!visited_.insert(f.name()).second) return;
        for (auto &[name, producer] : find_direct_calls(f))
            visit(producer);
        order_.push_back(f);
    }
    // Adds to the elements of a Func or input that are needed.
    void add_needed(const std::string &name, const std::vector<IndexSet> &region) {
        auto &all = regions_[name];
        all.resize(std::max(all.size(), region.size()));
        for (size_t d = 0; d < region.size(); d++)
            all[d].add(region[d]);
    }
    // Returns the value of `e`. Throws Error if it depends on anything but `bindings`.
    int64_t value_of(const Expr &e, const IntegerBindings &bindings) const {
        if (const auto v = integer_value(e, bindings)) return *v;
        std::ostringstream text;
        text << e;
        throw Error(op_.name, "the problem doesn't settle " + text.str());
    }

    // Counts all definitions of a Func whose needed elements are known.
    void count_definitions(const Function &f) {
        if (f.has_extern_definition())
            throw Error(op_.name, f.name() + " is not a definition that can be counted");
        std::vector<IndexSet> region = regions_[f.name()];
        region.resize(f.args().size());  // it is empty if no consumer needs an element
        Domain pure;
        for (size_t d = 0; d < f.args().size(); d++)
            pure[f.args()[d]] = region[d];
        count_definition(f, f.definition(), pure);
        for (const Definition &u : f.updates()) {
            Domain domain;
            for (const Expr &index : u.args()) {
                // Pure variables have the same names in an update.
                if (const auto *v = index.as<Variable>())
                    if (const auto it = pure.find(v->name); it != pure.end()) domain.insert(*it);
            }
            for (const ReductionVariable &r : u.schedule().rvars()) {
                const int64_t min = value_of(r.min, bindings_);
                domain[r.var] = IndexSet(min, min + value_of(r.extent, bindings_) - 1);
            }
            count_definition(f, u, domain);
        }
    }

    void count_definition(const Function &f, const Definition &d, const Domain &domain) {
        const int64_t points = points_of(d, domain);
        if (points == 0) return;
        // Everything that a point evaluates becomes one expression, in which a common subexpression
        // is one node, because it is computed once.
        std::vector<Expr> all = d.values();
        all.insert(all.end(), d.args().begin(), d.args().end());
        for (const Expr &condition : d.split_predicate())
            all.push_back(condition);
        for (Expr &e : all)
            e = substitute_in_all_lets(e);
        const Expr together = substitute_in_all_lets(common_subexpression_elimination(
            Call::make(Int(32), Call::bundle, all, Call::PureIntrinsic), true));
        CountOperations once;
        together.accept(&once);
        work_.arithmetic += points * once.arithmetic;
        for (auto &[name, calls] : once.functions)
            work_.functions[name] += points * calls;
        add_accesses(f, together, domain);
    }

    // Returns the number of points of the domain at which the definition's predicate is true.
    // Conditions that share no variable are counted separately and multiplied.
    int64_t points_of(const Definition &d, const Domain &domain) const {
        int64_t points = 1;
        for (const Group &g : groups_of(d, domain))
            points *= points_of(g, domain);
        return points;
    }

    // Variables, and the conditions that use them and no others.
    struct Group {
        std::set<std::string> variables;
        std::vector<Expr> conditions;

        bool shares_variable(const std::set<std::string> &others) const {
            return std::any_of(variables.begin(), variables.end(),
                               [&](const std::string &v) { return others.count(v) > 0; });
        }
        void merge(const Group &g) {
            variables.insert(g.variables.begin(), g.variables.end());
            conditions.insert(conditions.end(), g.conditions.begin(), g.conditions.end());
        }
    };

    static std::vector<Group> groups_of(const Definition &d, const Domain &domain) {
        std::vector<Group> groups;
        for (auto &[name, indices] : domain)
            groups.push_back({{name}, {}});
        for (const Expr &e : d.split_predicate()) {
            const Expr condition = substitute_in_all_lets(e);
            const FindUses uses(condition);
            Group merged{{}, {condition}};
            std::vector<Group> others;
            for (const Group &g : groups) {
                if (g.shares_variable(uses.variables))
                    merged.merge(g);
                else
                    others.push_back(g);
            }
            others.push_back(merged);
            groups = others;
        }
        return groups;
    }

    int64_t points_of(const Group &g, const Domain &domain) const {
        int64_t all = 1;
        for (auto &v : g.variables)
            all *= domain.at(v).size();
        if (g.conditions.empty() || all > max_predicate_points) return all;
        int64_t true_points = 0;
        IntegerBindings bindings = bindings_;
        for_each_point({g.variables.begin(), g.variables.end()}, domain, bindings,
                       [&](const IntegerBindings &at) {
                           true_points += std::all_of(
                               g.conditions.begin(), g.conditions.end(), [&](const Expr &c) {
                                   return integer_value(c, at).value_or(1) != 0;
                               });
                       });
        return true_points;
    }

    // Returns the values that an index takes over its loops.
    IndexSet values_of(const Expr &index, const Domain &domain) const {
        const FindUses uses(index);
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
        if (all > max_index_values) return bounds_of(index, domain);
        std::vector<int64_t> values;
        IntegerBindings bindings = bindings_;
        for_each_point(variables, domain, bindings,
                       [&](const IntegerBindings &at) { values.push_back(value_of(index, at)); });
        return IndexSet(std::move(values));
    }
    // Returns all values between the minimum and the maximum of an index.
    IndexSet bounds_of(const Expr &index, const Domain &domain) const {
        Scope<Interval> scope;
        for (auto &[name, indices] : domain) {
            if (!indices.empty()) {
                scope.push(name, Interval(make_const(Int(32), indices.runs().front().first),
                                          make_const(Int(32), indices.runs().back().last)));
            }
        }
        const Interval bounds = bounds_of_expr_in_scope(index, scope);
        return {value_of(bounds.min, bindings_), value_of(bounds.max, bindings_)};
    }

    // Adds the elements that a definition reads to those that are needed.
    void add_accesses(const Function &f, const Expr &e, const Domain &domain) {
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
                region.push_back(values_of(ClampPromises().mutate(c->args[d]), domain));
                // A legal program reads an input only within its extents. Indices beyond them occur
                // only where a predicate is false.
                const auto extent = bindings_.find(c->name + ".extent." + std::to_string(d));
                if (extent != bindings_.end())
                    region.back() = region.back().within(0, extent->second - 1);
            }
            add_needed(c->name, region);
        }
    }
};

// Defines the op's inputs as reals in memory, without a dtype. Kernel::bind_inputs() does it for
// one.
void bind_real_inputs(Op &op) {
    for (size_t k = 0; k < op.in.size(); k++) {
        const TensorSpec &spec = op.sig.inputs[k];
        const bool is_variable = spec.dtype.size() == 1;
        const bool is_bool = spec.dtype == "bool";
        const Type type = is_variable || is_float(dtype_of(spec.dtype))
                              ? Type(Float(64))
                              : halide_type(dtype_of(spec.dtype));
        op.memory.emplace_back(type, int(op.extents_of(spec).size()), spec.name);
        const ImageParam &m = op.memory.back();
        Func loaded("loaded");
        loaded(_) = is_bool ? m(_) != 0 : Expr(m(_));
        Op::Extents extents;
        for (int d = 0; d < m.dimensions(); d++)
            extents.push_back(m.dim(d).extent());
        op.bind_input(k, loaded, extents);
    }
}

}  // namespace

IntegerBindings bindings_of(const Op &op, const Dims &dims) {
    IntegerBindings bindings;
    for (auto &[name, parameter] : op.parameters)
        if (const auto it = dims.find(name); it != dims.end()) bindings.insert(*it);
    const auto add = [&](const std::string &buffer, const TensorSpec &spec) {
        const std::vector<std::string> extents = op.extents_of(spec);
        int64_t stride = 1;
        for (size_t d = 0; d < extents.size(); d++) {
            const std::string at = "." + std::to_string(d);
            const int64_t extent = evaluate<int64_t>(extents[extents.size() - 1 - d], dims);
            bindings[buffer + ".min" + at] = 0;
            bindings[buffer + ".extent" + at] = extent;
            bindings[buffer + ".stride" + at] = stride;
            stride *= extent;
        }
    };
    for (auto &spec : op.sig.inputs)
        add(spec.name, spec);
    for (size_t k = 0; k < op.out.size(); k++)
        add(op.out[k].name(), op.sig.outputs[k]);
    return bindings;
}

Work work_of(Op &op, const Dims &dims, const std::string &variant, int lanes) try {
    bind_real_inputs(op);
    op.define({variant, lanes, {}});
    std::vector<std::pair<Func, std::vector<IndexSet>>> outputs;
    for (size_t k = 0; k < op.out.size(); k++) {
        std::vector<IndexSet> region;
        for (auto &extent : op.extents_of(op.sig.outputs[k]))
            region.insert(region.begin(), IndexSet(0, evaluate<int64_t>(extent, dims) - 1));
        outputs.emplace_back(op.out[k], region);
    }
    CountWork counter(op, bindings_of(op, dims));
    Work work = counter.count(outputs);
    for (auto &t : op.sig.inputs)
        work.read[t.name] = counter.elements(t.name);
    for (size_t k = 0; k < op.out.size(); k++) {
        int64_t &n = work.written[op.sig.outputs[k].name] = 1;
        for (auto &indices : outputs[k].second)
            n *= indices.size();
    }
    return work;
} catch (const Halide::Error &e) {  // it is no std::exception
    throw Error(op.name, e.what());
}

Work work_of(const OpTable &ops, const std::string &name, const Dims &dims) {
    const OpPtr op = ops.make(name);
    if (!op) throw Error(name, "no such op");
    return work_of(*op, dims, op->variants.back().name);
}

}  // namespace halyard

#include "dsl/ascend/graph.h"

#include <algorithm>
#include <functional>

#include "registry/base/error.h"

namespace halyard::ascend {
using namespace Halide;
using namespace Halide::Internal;

namespace {

struct CallOf {
    std::string func;
    std::vector<Expr> args;
};

// Names that stand for parts of an expression: an index may be one of them.
class LetsAround {
public:
    void add(const Let *l) { lets_.emplace_back(l->name, l->value); }
    Expr in_place(Expr e) const {
        for (size_t k = lets_.size(); k-- > 0;) {
            if (expr_uses_var(e, lets_[k].first))
                e = substitute(lets_[k].first, lets_[k].second, e);
        }
        return e;
    }
    std::vector<Expr> in_place(const std::vector<Expr> &all) const {
        std::vector<Expr> written_out;
        for (const Expr &e : all)
            written_out.push_back(in_place(e));
        return written_out;
    }

private:
    std::vector<std::pair<std::string, Expr>> lets_;
};

// What a definition calls, and whether it does more than that.
class Calls : public IRVisitor {
    using IRVisitor::visit;
    template<class Op> void operation(const Op *op) {
        computes |= !op->type.is_int() || op->type.bits() != 32 || inside == 0;
        IRVisitor::visit(op);
    }
    void visit(const Add *op) override { operation(op); }
    void visit(const Sub *op) override { operation(op); }
    void visit(const Mul *op) override { operation(op); }
    void visit(const Div *op) override { operation(op); }
    void visit(const Max *op) override { operation(op); }
    void visit(const Min *op) override { operation(op); }
    void visit(const Select *op) override { operation(op); }
    void visit(const Let *op) override {
        op->value.accept(this);
        lets.add(op);
        op->body.accept(this);
    }
    void visit(const Call *op) override {
        if (op->call_type == Call::Halide)
            all.push_back({op->name, lets.in_place(op->args)});
        else if (op->call_type == Call::Image) {
            loads = true;
            type = op->type;
        } else
            computes = true;
        inside++;  // of an index
        IRVisitor::visit(op);
        inside--;
    }
    int inside = 0;
    LetsAround lets;

public:
    std::vector<CallOf> all;
    bool computes = false, loads = false;
    Type type;  // of what it loads
};

}  // namespace

std::set<std::string> variables_of(const Expr &e) {
    struct : IRVisitor {
        using IRVisitor::visit;
        void visit(const Variable *v) override { names.insert(v->name); }
        std::set<std::string> names;
    } found;
    e.accept(&found);
    return std::move(found.names);
}

int64_t constant(const Expr &e, const std::string &what) {
    const auto value = as_const_int(simplify(e));
    if (value) return int64_t(*value);
    std::ostringstream text;
    text << e;
    throw DispatchError(what, "its Ascend program needs a number, not " + text.str());
}

std::set<int> FuncNode::dims() const {
    std::set<int> all;
    for (auto &r : reach)
        all.insert(r.begin(), r.end());
    return all;
}

namespace {

// What a call comes to through Funcs that only convert: a tensor of f16?
bool is_f16(const Expr &e, const std::map<std::string, Function> &environment,
            const std::map<std::string, Calls> &calls) {
    Expr inside = e;
    while (const Cast *c = inside.as<Cast>())
        inside = c->value;
    const Call *c = inside.as<Call>();
    if (!c || c->call_type != Call::Halide) return false;
    const Calls &of = calls.at(c->name);
    if (of.loads) return of.all.empty() && !of.computes && of.type == Float(16);
    const Function &f = environment.at(c->name);
    return !f.has_update_definition() && !of.computes && is_f16(f.values()[0], environment, calls);
}

bool compares(const Expr &e) {
    const Call *c = e.as<Call>();
    return e.as<Max>() || e.as<Min>() ||
           (c && c->is_intrinsic({Call::strict_max, Call::strict_min}));
}

// Are all terms of the sum known before the call? The cube unit's first product is written over
// what its accumulators held, the others are added: a sum that a condition takes terms from has no
// first one that is known, and one of no terms none at all.
bool has_all_terms(const Definition &update) {
    if (!is_const_one(update.predicate())) return false;
    const auto &ranges = update.schedule().rvars();
    return std::all_of(ranges.begin(), ranges.end(), [](const ReductionVariable &r) {
        const auto extent = as_const_int(simplify(r.extent));
        return extent && *extent > 0;
    });
}

bool adds_products(const Function &f, const std::map<std::string, Function> &environment,
                   const std::map<std::string, Calls> &calls) {
    if (f.updates().size() != 1 || f.values().size() != 1 || !is_const_zero(f.values()[0]))
        return false;
    if (!has_all_terms(f.update(0))) return false;
    const Add *sum = f.update(0).values()[0].as<Add>();
    const Mul *product = sum ? sum->b.as<Mul>() : nullptr;
    return product && is_f16(product->a, environment, calls) &&
           is_f16(product->b, environment, calls);
}

}  // namespace

Graph::Graph(const Func &output) {
    const auto environment = build_environment({output.function()});
    std::map<std::string, Calls> calls;
    for (auto &[name, f] : environment) {
        Calls &c = calls[name];
        f.accept(&c);
        FuncNode n;
        n.function = f;
        n.reduces = f.has_update_definition();
        n.computes = c.computes;
        n.loads = c.loads;
        n.converts = !n.reduces && !n.computes && f.values().size() == 1 &&
                     f.values()[0].as<Cast>();
        n.compares = n.reduces && compares(f.update(0).values()[0]);
        n.reach.resize(size_t(f.dimensions()));
        nodes[name] = n;
    }
    for (auto &[name, f] : environment)
        nodes[name].multiplies = adds_products(f, environment, calls);
    std::set<std::string> seen;
    // post-order
    const std::function<void(const std::string &)> visit = [&](const std::string &name) {
        if (!seen.insert(name).second) return;
        for (auto &c : calls[name].all) {
            if (c.func != name) {
                nodes[c.func].callers.insert(name);
                visit(c.func);
            }
        }
        order.insert(order.begin(), name);
    };
    visit(output.name());
    FuncNode &first = nodes[output.name()];
    for (size_t d = 0; d < first.reach.size(); d++)
        first.reach[d].insert(int(d));
    for (auto &name : order) {
        const FuncNode &from = nodes[name];
        const std::vector<std::string> args = from.function.args();
        for (auto &c : calls[name].all) {
            if (c.func == name) continue;
            FuncNode &to = nodes[c.func];
            for (size_t a = 0; a < c.args.size(); a++) {
                for (auto &v : variables_of(c.args[a])) {
                    for (size_t p = 0; p < args.size(); p++) {
                        if (args[p] == v)
                            to.reach[a].insert(from.reach[p].begin(), from.reach[p].end());
                    }
                }
            }
        }
    }
}

namespace {

// Calls of Funcs with their arguments.
struct CallsIn : IRVisitor {
    using IRVisitor::visit;
    void visit(const Let *l) override {
        l->value.accept(this);
        lets.add(l);
        l->body.accept(this);
    }
    void visit(const Call *c) override {
        if (c->call_type == Call::Halide) all.push_back({c->name, lets.in_place(c->args)});
        IRVisitor::visit(c);
    }
    LetsAround lets;
    std::vector<CallOf> all;
};

// What a call's argument asks of a dimension: elements from 0 to its greatest value.
int64_t asked_by(const Expr &argument, const Scope<Interval> &bounds) {
    const Interval reach = bounds_of_expr_in_scope(argument, bounds);
    if (!reach.has_upper_bound()) return -1;
    const auto last = as_const_int(simplify(reach.max));
    return last ? int64_t(*last) + 1 : -1;
}

}  // namespace

void Graph::measure(const std::vector<int64_t> &output_extents) {
    for (auto &[name, n] : nodes)
        n.extents.assign(size_t(n.function.dimensions()), 0);
    nodes.at(order[0]).extents = output_extents;
    const auto add = [](int64_t &extent, int64_t asked) {
        extent = extent < 0 || asked < 0 ? -1 : std::max(extent, asked);
    };
    for (auto &name : order) {
        const FuncNode &from = nodes.at(name);
        const bool is_empty = std::count(from.extents.begin(), from.extents.end(), 0) > 0;
        const auto ask = [&](const Definition &d) {
            if (is_empty) return;
            Scope<Interval> bounds;
            const std::vector<std::string> args = from.function.args();
            for (size_t a = 0; a < args.size(); a++) {
                if (from.extents[a] > 0)
                    bounds.push(args[a], Interval(0, int(from.extents[a]) - 1));
            }
            for (auto &r : d.schedule().rvars())
                bounds.push(r.var, Interval(r.min, simplify(r.min + r.extent - 1)));
            CallsIn calls;
            for (const Expr &e : d.values())
                e.accept(&calls);
            for (const Expr &e : d.args())
                e.accept(&calls);
            d.predicate().accept(&calls);
            for (const CallOf &c : calls.all) {
                for (size_t a = 0; a < c.args.size() && c.func != name; a++)
                    add(nodes.at(c.func).extents[a], asked_by(c.args[a], bounds));
            }
        };
        ask(from.function.definition());
        for (auto &update : from.function.updates())
            ask(update);
    }
}

}  // namespace halyard::ascend

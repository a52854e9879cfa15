#include "dsl/ascend/graph.h"

#include <algorithm>
#include <functional>

#include "dsl/variables.h"
#include "registry/base/error.h"

namespace halyard::ascend {
using namespace Halide;
using namespace Halide::Internal;

namespace {

// A call of a Func with its arguments.
struct CallOf {
    std::string func;
    std::vector<Expr> args;
};

// The lets around an expression, which may use their names as indices.
class LetScope {
public:
    void add(const Let *l) { lets_.emplace_back(l->name, l->value); }
    Expr inlined(Expr e) const {
        for (size_t k = lets_.size(); k-- > 0;) {
            if (expr_uses_var(e, lets_[k].first))
                e = substitute(lets_[k].first, lets_[k].second, e);
        }
        return e;
    }
    std::vector<Expr> inlined(const std::vector<Expr> &all) const {
        std::vector<Expr> inlined_all;
        for (const Expr &e : all)
            inlined_all.push_back(inlined(e));
        return inlined_all;
    }

private:
    std::vector<std::pair<std::string, Expr>> lets_;
};

// Collects the calls of a definition, and whether it computes more than they return.
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
            all.push_back({op->name, lets.inlined(op->args)});
        else if (op->call_type == Call::Image) {
            loads = true;
            type = op->type;
        } else
            computes = true;
        inside++;  // its arguments are indices
        IRVisitor::visit(op);
        inside--;
    }
    int inside = 0;
    LetScope lets;

public:
    std::vector<CallOf> all;
    bool computes = false, loads = false;
    Type type;  // the type of loaded elements
};

}  // namespace

std::string stage_name(const std::string &halide_name) {
    return halide_name.substr(0, halide_name.find('$'));
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

// Returns true if `e` loads a tensor of f16, directly or through Funcs that only convert.
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

// Returns true if the number of terms is known and not 0, and no condition leaves out terms. The
// cube unit overwrites its accumulators with the first product, so a first product must always
// exist.
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

FuncNode node_of(const Function &f, const Calls &calls) {
    FuncNode n;
    n.function = f;
    n.reduces = f.has_update_definition();
    n.computes = calls.computes;
    n.loads = calls.loads;
    n.converts = !n.reduces && !n.computes && f.values().size() == 1 && f.values()[0].as<Cast>();
    n.compares = n.reduces && compares(f.update(0).values()[0]);
    n.reach.resize(size_t(f.dimensions()));
    return n;
}

// Extends the reach of the callee's arguments by that of the caller's variables in them.
void add_reach(const FuncNode &caller, const CallOf &call, FuncNode &callee) {
    const std::vector<std::string> args = caller.function.args();
    for (size_t a = 0; a < call.args.size(); a++) {
        for (auto &v : variables_of(call.args[a])) {
            const auto p = std::find(args.begin(), args.end(), v);
            if (p == args.end()) continue;
            const std::set<int> &reach = caller.reach[size_t(p - args.begin())];
            callee.reach[a].insert(reach.begin(), reach.end());
        }
    }
}

}  // namespace

Graph::Graph(const Func &output) {
    const auto environment = build_environment({output.function()});
    std::map<std::string, Calls> calls;
    for (auto &[name, f] : environment) {
        Calls &c = calls[name];
        f.accept(&c);
        nodes[name] = node_of(f, c);
    }
    for (auto &[name, f] : environment)
        nodes[name].multiplies = adds_products(f, environment, calls);
    std::set<std::string> seen;
    // Visits in post-order: the reverse has callers first.
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
        for (auto &c : calls[name].all)
            if (c.func != name) add_reach(nodes[name], c, nodes[c.func]);
    }
}

namespace {

// Collects the calls of Funcs, with their arguments.
struct CallsIn : IRVisitor {
    using IRVisitor::visit;
    void visit(const Let *l) override {
        l->value.accept(this);
        lets.add(l);
        l->body.accept(this);
    }
    void visit(const Call *c) override {
        if (c->call_type == Call::Halide) all.push_back({c->name, lets.inlined(c->args)});
        IRVisitor::visit(c);
    }
    LetScope lets;
    std::vector<CallOf> all;
};

// Returns the extent that a call's argument needs: its maximum + 1, or -1 if that isn't known.
int64_t required_extent(const Expr &argument, const Scope<Interval> &bounds) {
    const Interval reach = bounds_of_expr_in_scope(argument, bounds);
    if (!reach.has_upper_bound()) return -1;
    const auto last = as_const_int(simplify(reach.max));
    return last ? int64_t(*last) + 1 : -1;
}

}  // namespace

void Graph::add_extents(const std::string &name, const Definition &d) {
    const FuncNode &from = nodes.at(name);
    Scope<Interval> bounds;
    const std::vector<std::string> args = from.function.args();
    for (size_t a = 0; a < args.size(); a++) {
        if (from.extents[a] > 0) bounds.push(args[a], Interval(0, int(from.extents[a]) - 1));
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
        for (size_t a = 0; a < c.args.size() && c.func != name; a++) {
            int64_t &extent = nodes.at(c.func).extents[a];
            const int64_t required = required_extent(c.args[a], bounds);
            extent = extent < 0 || required < 0 ? -1 : std::max(extent, required);
        }
    }
}

void Graph::infer_extents(const std::vector<int64_t> &output_extents) {
    for (auto &[name, n] : nodes)
        n.extents.assign(size_t(n.function.dimensions()), 0);
    nodes.at(order[0]).extents = output_extents;
    for (auto &name : order) {
        const FuncNode &from = nodes.at(name);
        if (std::count(from.extents.begin(), from.extents.end(), 0) > 0) continue;  // no element
        add_extents(name, from.function.definition());
        for (auto &update : from.function.updates())
            add_extents(name, update);
    }
}

}  // namespace halyard::ascend

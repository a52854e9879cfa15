#include "dsl/ascend/lowering/affine.h"

#include <algorithm>

#include "registry/base/error.h"

namespace halyard::ascend {
using namespace Halide;
using namespace Halide::Internal;

namespace {

class Sum {
public:
    explicit Sum(const std::vector<Loop> &loops) : loops_(loops), rest_(0) {}

    void add(const Expr &e, int64_t factor) {
        if (const auto *op = e.as<Add>()) {
            add(op->a, factor);
            return add(op->b, factor);
        }
        if (const auto *op = e.as<Sub>()) {
            add(op->a, factor);
            return add(op->b, -factor);
        }
        if (const auto *op = e.as<Mul>()) {
            const auto a = as_const_int(op->a);
            const auto b = as_const_int(op->b);
            if (b) return add(op->a, factor * *b);
            if (a) return add(op->b, factor * *a);
        }
        if (const auto *op = e.as<Cast>(); op && op->type.is_int() && op->value.type().is_int())
            return add(op->value, factor);
        if (const auto *op = e.as<Variable>()) {
            for (size_t k = 0; k < loops_.size(); k++)
                if (loops_[k].var == op->name) {
                    stride_[op->name] += factor;
                    return;
                }
        }
        std::set<std::string> used;
        for (auto &l : loops_)
            if (expr_uses_var(e, l.var)) used.insert(l.var);
        if (used.empty()) rest_ = rest_ + e * int(factor);
        nonlinear_.merge(used);
    }
    Affine result() const {
        Affine a;
        a.nonlinear = nonlinear_;
        if (!nonlinear_.empty()) return a;
        a.base = simplify(rest_);
        for (auto &l : loops_) {
            const auto it = stride_.find(l.var);
            a.stride.push_back(it == stride_.end() ? 0 : it->second);
        }
        return a;
    }

private:
    const std::vector<Loop> &loops_;
    std::map<std::string, int64_t> stride_;
    std::set<std::string> nonlinear_;
    Expr rest_;
};

}  // namespace

Affine affine(const Expr &index, const std::vector<Loop> &loops) {
    Sum as_it_is(loops);
    as_it_is.add(index, 1);
    Affine a = as_it_is.result();
    if (a.nonlinear.empty()) return a;
    Scope<Interval> bounds;
    for (auto &l : loops)
        bounds.push(l.var, Interval(0, Expr(int(l.extent) - 1)));
    Sum simpler(loops);
    simpler.add(simplify(index, true, bounds), 1);
    return simpler.result();
}

namespace {

struct Step {
    std::string var;
    int64_t stride, max_count;  // max_count: the largest distance in iterations
};

// Inserts into `moved` the loops of all combinations of steps from `k` on that move by `distance`
// elements. Returns false if there is no combination.
bool insert_moving_loops(const std::vector<Step> &steps, size_t k, int64_t distance,
                         std::set<std::string> &moved) {
    if (k == steps.size()) return distance == 0;
    int64_t further = 0;  // the distance that the loops after this one can cover
    for (size_t j = k + 1; j < steps.size(); j++)
        further += steps[j].stride * steps[j].max_count;
    const Step &s = steps[k];
    const int64_t first = std::max(-s.max_count, (distance - further) / s.stride - 1);
    const int64_t last = std::min(s.max_count, (distance + further) / s.stride + 1);
    bool any = false;
    for (int64_t i = first; i <= last; i++) {
        if (insert_moving_loops(steps, k + 1, distance - i * s.stride, moved)) {
            any = true;
            if (i) moved.insert(s.var);
        }
    }
    return any;
}

}  // namespace

std::set<std::string> carried_dependences(const Expr &written, const Expr &read,
                                          const std::vector<Loop> &loops) {
    const Affine to = affine(written, loops);
    const Affine from = affine(read, loops);
    const bool alike = to.nonlinear.empty() && from.nonlinear.empty() && to.stride == from.stride;
    const auto distance = alike ? as_const_int(simplify(to.base - from.base)) : std::nullopt;
    std::set<std::string> moved;
    if (!distance) {
        for (auto &l : loops)
            if (expr_uses_var(written, l.var) || expr_uses_var(read, l.var)) moved.insert(l.var);
        return moved;
    }
    std::vector<Step> steps;
    for (size_t k = 0; k < loops.size(); k++) {
        if (to.stride[k])
            steps.push_back({loops[k].var, std::abs(to.stride[k]), loops[k].extent - 1});
    }
    std::sort(steps.begin(), steps.end(),
              [](const Step &a, const Step &b) { return a.stride > b.stride; });
    insert_moving_loops(steps, 0, *distance, moved);
    return moved;
}

int64_t evaluate(const Expr &e, const Lookup &lookup) {
    const auto both = [&](const auto *op, auto f) {
        return int64_t(f(evaluate(op->a, lookup), evaluate(op->b, lookup)));
    };
    const auto floor_div = [](int64_t a, int64_t b) {
        return b == 0 ? 0 : a / b - ((a % b != 0) && ((a < 0) != (b < 0)));
    };
    switch (e.node_type()) {
    case IRNodeType::IntImm: return e.as<IntImm>()->value;
    case IRNodeType::UIntImm: return int64_t(e.as<UIntImm>()->value);
    case IRNodeType::Variable: return lookup(e.as<Variable>()->name);
    case IRNodeType::Load: return lookup(e.as<Load>()->name);
    case IRNodeType::Cast: return evaluate(e.as<Cast>()->value, lookup);
    case IRNodeType::Add: return both(e.as<Add>(), std::plus<int64_t>());
    case IRNodeType::Sub: return both(e.as<Sub>(), std::minus<int64_t>());
    case IRNodeType::Mul: return both(e.as<Mul>(), std::multiplies<int64_t>());
    case IRNodeType::Div: return both(e.as<Div>(), floor_div);
    case IRNodeType::Mod:
        return both(e.as<Mod>(),
                    [&](int64_t a, int64_t b) { return b == 0 ? 0 : a - floor_div(a, b) * b; });
    case IRNodeType::Min:
        return both(e.as<Min>(), [](int64_t a, int64_t b) { return std::min(a, b); });
    case IRNodeType::Max:
        return both(e.as<Max>(), [](int64_t a, int64_t b) { return std::max(a, b); });
    case IRNodeType::EQ: return both(e.as<EQ>(), std::equal_to<int64_t>());
    case IRNodeType::NE: return both(e.as<NE>(), std::not_equal_to<int64_t>());
    case IRNodeType::LT: return both(e.as<LT>(), std::less<int64_t>());
    case IRNodeType::LE: return both(e.as<LE>(), std::less_equal<int64_t>());
    case IRNodeType::GT: return both(e.as<GT>(), std::greater<int64_t>());
    case IRNodeType::GE: return both(e.as<GE>(), std::greater_equal<int64_t>());
    case IRNodeType::And: return both(e.as<And>(), std::logical_and<int64_t>());
    case IRNodeType::Or: return both(e.as<Or>(), std::logical_or<int64_t>());
    case IRNodeType::Not: return !evaluate(e.as<Not>()->a, lookup);
    case IRNodeType::Select: {
        const auto *op = e.as<Select>();
        return evaluate(evaluate(op->condition, lookup) ? op->true_value : op->false_value, lookup);
    }
    default: break;
    }
    if (const auto *op = e.as<Call>();
        op && op->is_intrinsic({Call::likely, Call::likely_if_innermost}))
        return evaluate(op->args[0], lookup);
    std::ostringstream text;
    text << e;
    throw Error("ascend", "no integer value: " + text.str());
}

}  // namespace halyard::ascend

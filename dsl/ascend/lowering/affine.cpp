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
        hard_.merge(used);
    }
    Affine result() const {
        Affine a;
        a.hard = hard_;
        if (!hard_.empty()) return a;
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
    std::set<std::string> hard_;
    Expr rest_;
};

}  // namespace

Affine affine(const Expr &index, const std::vector<Loop> &loops) {
    Sum as_it_is(loops);
    as_it_is.add(index, 1);
    Affine a = as_it_is.result();
    if (a.hard.empty()) return a;
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
    int64_t stride, most;  // most: iterations apart
};

// Adds the loops of every way to go `distance` elements; false where there is none.
bool ways(const std::vector<Step> &steps, size_t k, int64_t distance,
          std::set<std::string> &moved) {
    if (k == steps.size()) return distance == 0;
    int64_t further = 0;  // that the loops behind this one can go
    for (size_t j = k + 1; j < steps.size(); j++)
        further += steps[j].stride * steps[j].most;
    const Step &s = steps[k];
    const int64_t first = std::max(-s.most, (distance - further) / s.stride - 1);
    const int64_t last = std::min(s.most, (distance + further) / s.stride + 1);
    bool any = false;
    for (int64_t i = first; i <= last; i++) {
        if (ways(steps, k + 1, distance - i * s.stride, moved)) {
            any = true;
            if (i) moved.insert(s.var);
        }
    }
    return any;
}

}  // namespace

std::set<std::string> carrying(const Expr &written, const Expr &read,
                               const std::vector<Loop> &loops) {
    const Affine to = affine(written, loops);
    const Affine from = affine(read, loops);
    const bool alike = to.hard.empty() && from.hard.empty() && to.stride == from.stride;
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
    ways(steps, 0, *distance, moved);
    return moved;
}

int64_t evaluate(const Expr &e, const Lookup &lookup) {
    const auto both = [&](const auto *op, auto f) {
        return int64_t(f(evaluate(op->a, lookup), evaluate(op->b, lookup)));
    };
    const auto floor_div = [](int64_t a, int64_t b) {
        return b == 0 ? 0 : a / b - ((a % b != 0) && ((a < 0) != (b < 0)));
    };
    if (const auto *op = e.as<IntImm>()) return op->value;
    if (const auto *op = e.as<UIntImm>()) return int64_t(op->value);
    if (const auto *op = e.as<Variable>()) return lookup(op->name);
    if (const auto *op = e.as<Load>()) return lookup(op->name);
    if (const auto *op = e.as<Cast>()) return evaluate(op->value, lookup);
    if (const auto *op = e.as<Add>()) return both(op, [](int64_t a, int64_t b) { return a + b; });
    if (const auto *op = e.as<Sub>()) return both(op, [](int64_t a, int64_t b) { return a - b; });
    if (const auto *op = e.as<Mul>()) return both(op, [](int64_t a, int64_t b) { return a * b; });
    if (const auto *op = e.as<Div>()) return both(op, floor_div);
    if (const auto *op = e.as<Mod>())
        return both(op, [&](int64_t a, int64_t b) { return b == 0 ? 0 : a - floor_div(a, b) * b; });
    if (const auto *op = e.as<Min>())
        return both(op, [](int64_t a, int64_t b) { return std::min(a, b); });
    if (const auto *op = e.as<Max>())
        return both(op, [](int64_t a, int64_t b) { return std::max(a, b); });
    if (const auto *op = e.as<EQ>()) return both(op, [](int64_t a, int64_t b) { return a == b; });
    if (const auto *op = e.as<NE>()) return both(op, [](int64_t a, int64_t b) { return a != b; });
    if (const auto *op = e.as<LT>()) return both(op, [](int64_t a, int64_t b) { return a < b; });
    if (const auto *op = e.as<LE>()) return both(op, [](int64_t a, int64_t b) { return a <= b; });
    if (const auto *op = e.as<GT>()) return both(op, [](int64_t a, int64_t b) { return a > b; });
    if (const auto *op = e.as<GE>()) return both(op, [](int64_t a, int64_t b) { return a >= b; });
    if (const auto *op = e.as<And>()) return both(op, [](int64_t a, int64_t b) { return a && b; });
    if (const auto *op = e.as<Or>()) return both(op, [](int64_t a, int64_t b) { return a || b; });
    if (const auto *op = e.as<Not>()) return !evaluate(op->a, lookup);
    if (const auto *op = e.as<Select>()) {
        return evaluate(op->condition, lookup) ? evaluate(op->true_value, lookup)
                                               : evaluate(op->false_value, lookup);
    }
    if (const auto *op = e.as<Call>();
        op && op->is_intrinsic({Call::likely, Call::likely_if_innermost}))
        return evaluate(op->args[0], lookup);
    std::ostringstream text;
    text << e;
    throw Error("ascend", "no integer value: " + text.str());
}

}  // namespace halyard::ascend

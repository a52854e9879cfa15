#include "dsl/integer_proof.h"

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <unordered_map>
#include <vector>

#include "dsl/variables.h"

namespace halyard {
namespace {
using namespace Halide;
using namespace Halide::Internal;

// Numbers the unknowns of a proof. An unknown is a variable, or a product or another expression by
// its text.
class Unknowns {
public:
    int of(const std::string &name) {
        const auto [at, is_new] = numbers_.emplace(name, int(names_.size()));
        if (is_new) names_.push_back(name);
        return at->second;
    }
    const std::string &name(int unknown) const { return names_[size_t(unknown)]; }

private:
    std::unordered_map<std::string, int> numbers_;
    std::vector<std::string> names_;
};

struct Term {
    int unknown;
    int64_t factor;
};

// A sum of unknowns with factors, and a constant.
struct Sum {
    std::vector<Term> terms;  // by unknown, none with the factor 0
    int64_t constant = 0;

    void add(const Sum &other, int64_t factor) { *this = combination(*this, 1, other, factor); }
    bool is_constant() const { return terms.empty(); }
    // Returns the unknown's factor, or 0.
    int64_t factor_of(int unknown) const {
        const auto at = std::ranges::lower_bound(terms, unknown, {}, &Term::unknown);
        return at == terms.end() || at->unknown != unknown ? 0 : at->factor;
    }

    // Returns a * by_a + b * by_b.
    static Sum combination(const Sum &a, int64_t by_a, const Sum &b, int64_t by_b) {
        Sum sum;
        sum.constant = a.constant * by_a + b.constant * by_b;
        sum.terms.reserve(a.terms.size() + b.terms.size());
        const auto append = [&](int unknown, int64_t factor) {
            if (factor != 0) sum.terms.push_back({unknown, factor});
        };
        auto left = a.terms.begin();
        auto right = b.terms.begin();
        while (left != a.terms.end() || right != b.terms.end()) {
            const int x = left == a.terms.end() ? INT_MAX : left->unknown;
            const int y = right == b.terms.end() ? INT_MAX : right->unknown;
            const int64_t of_a = x <= y ? (left++)->factor : 0;
            const int64_t of_b = y <= x ? (right++)->factor : 0;
            append(std::min(x, y), of_a * by_a + of_b * by_b);
        }
        return sum;
    }
};

Sum sum_of(int64_t constant) {
    Sum s;
    s.constant = constant;
    return s;
}
Sum difference(const Sum &a, const Sum &b) {
    return Sum::combination(a, 1, b, -1);
}

// Inequalities s >= 0 that hold together.
class Inequalities {
public:
    void add(Sum s) {
        tighten(s);
        all_.push_back(std::move(s));
    }
    // Returns true if no integers satisfy all of them, found by eliminating one unknown after the
    // other (Fourier and Motzkin).
    bool are_contradictory() const {
        std::vector<Sum> left = all_;
        if (!std::ranges::all_of(left, is_small)) return false;
        for (int step = 0; step < max_unknowns; step++) {
            if (std::ranges::any_of(left,
                                    [](const Sum &s) { return s.is_constant() && s.constant < 0; }))
                return true;
            const std::optional<int> unknown = cheapest(left);
            if (!unknown || !eliminate(left, *unknown)) return false;
        }
        return false;
    }

private:
    static constexpr int max_unknowns = 40;
    static constexpr size_t max_inequalities = 60;
    static constexpr int64_t max_factor = int64_t(1) << 20;
    static constexpr int64_t max_constant = int64_t(1) << 40;

    // Divides by the common factor and rounds the constant down, because unknowns are integers.
    static void tighten(Sum &s) {
        int64_t common = 0;
        for (const Term &t : s.terms)
            common = std::gcd(common, t.factor);
        if (common <= 1) return;
        for (Term &t : s.terms)
            t.factor /= common;
        s.constant = s.constant >= 0 ? s.constant / common : -((-s.constant + common - 1) / common);
    }
    // Counts the inequalities in which an unknown has a positive and a negative factor.
    struct Signs {
        int64_t positive = 0, negative = 0;
        bool positive_ones = true, negative_ones = true;  // all those factors are 1 or -1

        void count(int64_t factor) {
            (factor > 0 ? positive : negative)++;
            (factor > 0 ? positive_ones : negative_ones) &= std::abs(factor) == 1;
        }
        // Returns true if the elimination is exact for integers, and not only for fractions.
        bool is_exact() const { return positive_ones || negative_ones; }
        bool occurs() const { return positive + negative > 0; }
        int64_t more() const { return positive * negative - positive - negative; }
    };
    // Returns the unknown whose elimination is exact for integers and leaves fewest inequalities.
    static std::optional<int> cheapest(const std::vector<Sum> &left) {
        std::vector<Signs> signs;  // by unknown
        for (const Sum &s : left) {
            if (s.is_constant()) continue;
            signs.resize(std::max(signs.size(), size_t(s.terms.back().unknown) + 1));
            for (const Term &t : s.terms)
                signs[size_t(t.unknown)].count(t.factor);
        }
        std::optional<int> best;
        const auto is_better = [&](const Signs &n) {
            if (!best) return true;
            const Signs &least = signs[size_t(*best)];
            return n.is_exact() != least.is_exact() ? n.is_exact() : n.more() < least.more();
        };
        for (size_t k = 0; k < signs.size(); k++)
            if (signs[k].occurs() && is_better(signs[k])) best = int(k);
        return best;
    }
    // Returns true if the next step can't overflow.
    static bool is_small(const Sum &s) {
        return std::abs(s.constant) <= max_constant &&
               std::ranges::all_of(s.terms,
                                   [](const Term &t) { return std::abs(t.factor) <= max_factor; });
    }
    static bool eliminate(std::vector<Sum> &left, int unknown) {
        std::vector<Sum> rest;
        std::vector<Sum> lower;
        std::vector<Sum> upper;
        for (Sum &s : left) {
            const int64_t factor = s.factor_of(unknown);
            (factor == 0 ? rest : factor > 0 ? lower : upper).push_back(std::move(s));
        }
        for (const Sum &a : lower) {
            for (const Sum &b : upper) {
                Sum s = Sum::combination(a, -b.factor_of(unknown), b, a.factor_of(unknown));
                tighten(s);
                if (!is_small(s)) return false;
                if (!s.is_constant() || s.constant < 0) rest.push_back(std::move(s));
                if (rest.size() > max_inequalities) return false;
            }
        }
        left = std::move(rest);
        return true;
    }

    std::vector<Sum> all_;
};

// Searches for a contradiction in formulas that hold together.
class Refutation {
public:
    bool refutes(const std::vector<Expr> &formulas) {
        State start;
        for (const Expr &f : formulas)
            start.formulas.push_back(f);
        return refutes(std::move(start), 0);
    }

private:
    static constexpr int max_depth = 9;
    static constexpr int max_trials = 200;

    // Either of both formulas holds.
    struct Alternative {
        Expr a, b;
    };
    struct State {
        std::vector<Expr> formulas;  // not yet inequalities
        std::vector<Alternative> alternatives;
        Inequalities inequalities;
        std::map<int, bool> truths;  // of unknown conditions
        std::set<int> defined;
        bool is_contradictory = false;
    };

    // Adds the formulas to the inequalities. Returns true if they contradict each other.
    bool settle(State &s) {
        while (!s.formulas.empty() && !s.is_contradictory) {
            const Expr f = s.formulas.back();
            s.formulas.pop_back();
            add(s, f);
        }
        trials_++;
        return s.is_contradictory || s.inequalities.are_contradictory();
    }
    bool settle_with(State s, const Expr &f) {
        s.formulas.push_back(f);
        return settle(s);
    }
    // Looks for an alternative of which one side is impossible, and adds the other side. Returns
    // false if there is none.
    bool take_only_sides(State &s) {
        for (size_t k = s.alternatives.size(); k-- > 0;) {
            if (trials_ > max_trials) return false;
            const Alternative either = s.alternatives[k];
            const bool not_a = settle_with(s, either.a);
            if (!not_a && !settle_with(s, either.b)) continue;
            s.alternatives.erase(s.alternatives.begin() + long(k));
            s.formulas.push_back(not_a ? either.b : either.a);
            return true;
        }
        return false;
    }
    bool refutes(State s, int depth) {
        do {
            if (settle(s)) return true;
        } while (take_only_sides(s));
        if (s.alternatives.empty() || depth >= max_depth || trials_ > max_trials) return false;
        const Alternative next = s.alternatives.back();
        s.alternatives.pop_back();
        for (const Expr &side : {next.a, next.b}) {
            State one = s;
            one.formulas.push_back(side);
            if (!refutes(std::move(one), depth + 1)) return false;
        }
        return true;
    }

    static bool is_integer(const Expr &e) { return e.type() == Int(32) || e.type() == Int(64); }

    void add(State &s, const Expr &f) {
        if (!f.type().is_bool() || !f.type().is_scalar()) return;
        if (const And *both = f.as<And>()) {
            s.formulas.push_back(both->a);
            s.formulas.push_back(both->b);
        } else if (const Or *either = f.as<Or>())
            s.alternatives.insert(s.alternatives.begin(), {either->a, either->b});
        else if (const Not *no = f.as<Not>())
            add_negated(s, no->a);
        else if (const LT *lt = f.as<LT>())
            compare(s, f, lt->b, lt->a, 1);
        else if (const LE *le = f.as<LE>())
            compare(s, f, le->b, le->a, 0);
        else if (const GT *gt = f.as<GT>())
            compare(s, f, gt->a, gt->b, 1);
        else if (const GE *ge = f.as<GE>())
            compare(s, f, ge->a, ge->b, 0);
        else if (const EQ *eq = f.as<EQ>(); eq && is_integer(eq->a)) {
            compare(s, f, eq->a, eq->b, 0);
            compare(s, f, eq->b, eq->a, 0);
        } else if (const NE *ne = f.as<NE>(); ne && is_integer(ne->a))
            s.alternatives.insert(s.alternatives.begin(), {ne->a < ne->b, ne->b < ne->a});
        else if (is_const_zero(f))
            s.is_contradictory = true;
        else
            remember(s, f, true);
    }
    void add_negated(State &s, const Expr &f) {
        if (const And *both = f.as<And>())
            s.alternatives.insert(s.alternatives.begin(), {!both->a, !both->b});
        else if (const Or *either = f.as<Or>()) {
            s.formulas.push_back(!either->a);
            s.formulas.push_back(!either->b);
        } else if (const Not *no = f.as<Not>())
            s.formulas.push_back(no->a);
        else if (const LT *lt = f.as<LT>())
            compare(s, f, lt->a, lt->b, 0, false);
        else if (const LE *le = f.as<LE>())
            compare(s, f, le->a, le->b, 1, false);
        else if (const GT *gt = f.as<GT>())
            compare(s, f, gt->b, gt->a, 0, false);
        else if (const GE *ge = f.as<GE>())
            compare(s, f, ge->b, ge->a, 1, false);
        else if (const EQ *eq = f.as<EQ>(); eq && is_integer(eq->a))
            s.formulas.push_back(eq->a != eq->b);
        else if (const NE *ne = f.as<NE>(); ne && is_integer(ne->a))
            s.formulas.push_back(ne->a == ne->b);
        else if (is_const_one(f))
            s.is_contradictory = true;
        else
            remember(s, f, false);
    }
    // Adds larger >= smaller + by, if they are integers.
    void compare(State &s, const Expr &f, const Expr &larger, const Expr &smaller, int64_t by,
                 bool truth = true) {
        if (!is_integer(larger)) return remember(s, f, truth);
        Sum d = difference(value(s, larger), value(s, smaller));
        d.constant -= by;
        s.inequalities.add(d);
    }
    void remember(State &s, const Expr &f, bool truth) {
        const auto [at, is_new] = s.truths.emplace(unknowns_.of(text(f)), truth);
        if (!is_new && at->second != truth) s.is_contradictory = true;
    }
    static std::string text(const Expr &e) {
        std::ostringstream s;
        s << e;
        return s.str();
    }
    static Sum sum_of_unknown(int unknown) {
        Sum s;
        s.terms.push_back({unknown, 1});
        return s;
    }
    Sum unknown(const std::string &name) { return sum_of_unknown(unknowns_.of(name)); }
    static Expr variable(const Expr &e) { return Variable::make(e.type(), text(e)); }
    // Returns true the first time, when facts about the unknown are to be added.
    bool is_new(State &s, const std::string &name) {
        return s.defined.insert(unknowns_.of(name)).second;
    }

    Sum value(State &s, const Expr &e) {
        if (const auto constant = as_const_int(e)) return sum_of(*constant);
        if (const Variable *v = e.as<Variable>()) return unknown(v->name);
        if (const Add *op = e.as<Add>()) {
            Sum sum = value(s, op->a);
            sum.add(value(s, op->b), 1);
            return sum;
        }
        if (const Sub *op = e.as<Sub>()) return difference(value(s, op->a), value(s, op->b));
        if (const Mul *op = e.as<Mul>()) return product(s, op->a, op->b);
        if (const Div *op = e.as<Div>()) return quotient(s, e, op->a, op->b);
        if (const Mod *op = e.as<Mod>()) return remainder(s, e, op->a, op->b);
        if (const Min *op = e.as<Min>()) return extremum(s, e, op->a, op->b, true);
        if (const Max *op = e.as<Max>()) return extremum(s, e, op->a, op->b, false);
        if (const Select *op = e.as<Select>(); op && op->condition.type().is_scalar()) {
            const Expr v = variable(e);
            if (is_new(s, text(e))) {
                s.alternatives.push_back(
                    {op->condition && v == op->true_value, !op->condition && v == op->false_value});
            }
        }
        return unknown(text(e));
    }
    Sum product(State &s, const Expr &left, const Expr &right) {
        const Sum a = value(s, left);
        const Sum b = value(s, right);
        if (!a.is_constant() && !b.is_constant()) add_sign(s, left, right, product(a, b));
        return product(a, b);
    }
    Sum product(const Sum &a, const Sum &b) {
        Sum sum;
        for (const Term &x : a.terms) {
            for (const Term &y : b.terms) {
                const auto [first, second] = std::minmax(unknowns_.name(x.unknown),
                                                         unknowns_.name(y.unknown));
                sum.add(unknown(first + " * " + second), x.factor * y.factor);
            }
        }
        for (const Term &x : a.terms)
            sum.add(sum_of_unknown(x.unknown), x.factor * b.constant);
        for (const Term &y : b.terms)
            sum.add(sum_of_unknown(y.unknown), y.factor * a.constant);
        sum.constant = a.constant * b.constant;
        return sum;
    }
    // The product of two numbers that aren't negative isn't either.
    void add_sign(State &s, const Expr &left, const Expr &right, const Sum &product) {
        if (product.terms.size() != 1 || product.constant != 0) return;
        const Term &only = product.terms.front();
        const std::string name = unknowns_.name(only.unknown);
        if (only.factor != 1 || !is_new(s, "sign of " + name)) return;
        const Expr is_negative = left < 0 || right < 0;
        s.alternatives.push_back({is_negative, Variable::make(left.type(), name) >= 0});
    }
    // A quotient is rounded down: c q <= a < c q + c.
    Sum quotient(State &s, const Expr &e, const Expr &a, const Expr &b) {
        const auto c = as_const_int(b);
        Sum q = unknown(text(e));
        if ((c && *c <= 0) || !is_new(s, text(e))) return q;
        if (!c) {
            s.alternatives.push_back({a < 0 || b <= 0, variable(e) >= 0});
            return q;
        }
        Sum rest = value(s, a);
        rest.add(q, -*c);
        s.inequalities.add(rest);
        s.inequalities.add(difference(sum_of(*c - 1), rest));
        return q;
    }
    Sum remainder(State &s, const Expr &e, const Expr &a, const Expr &b) {
        const auto c = as_const_int(b);
        if (!c || *c <= 0) return unknown(text(e));
        Sum rest = value(s, a);
        rest.add(quotient(s, Div::make(a, b), a, b), -*c);
        return rest;
    }
    Sum extremum(State &s, const Expr &e, const Expr &a, const Expr &b, bool is_min) {
        Sum m = unknown(text(e));
        if (!is_new(s, text(e))) return m;
        const int sign = is_min ? 1 : -1;
        for (const Expr &side : {a, b}) {
            Sum d;
            d.add(value(s, side), sign);
            d.add(m, -sign);
            s.inequalities.add(d);
        }
        const Expr v = variable(e);
        s.alternatives.push_back(is_min ? Alternative{v >= a, v >= b}
                                        : Alternative{v <= a, v <= b});
        return m;
    }

    Unknowns unknowns_;
    int trials_ = 0;
};

}  // namespace

// Conditions of other numbers than the goal's may take all trials, so those of its own come first.
bool implies(const std::vector<Expr> &conditions, const Expr &goal) {
    const std::set<std::string> names = variables_of(goal);
    std::vector<Expr> own = {!goal};
    for (const Expr &c : conditions)
        if (std::ranges::includes(names, variables_of(c))) own.push_back(c);
    if (own.size() <= conditions.size() && Refutation().refutes(own)) return true;
    std::vector<Expr> all = conditions;
    all.push_back(!goal);
    return Refutation().refutes(all);
}

}  // namespace halyard

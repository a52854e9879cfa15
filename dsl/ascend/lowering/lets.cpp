#include "dsl/ascend/lowering/lets.h"

#include <map>
#include <set>

namespace halyard::ascend {
using namespace Halide;
using namespace Halide::Internal;

namespace {

// Collects the names that indices, loops and conditions use.
class IndexNames : public IRVisitor {
public:
    std::set<std::string> names;
    explicit IndexNames(const Stmt &s) {
        s.accept(this);
        for (size_t before = 0; before != names.size();) {
            before = names.size();
            for (auto &[name, value] : lets_)
                if (names.count(name)) index(value);
        }
    }

private:
    using IRVisitor::visit;
    std::vector<std::pair<std::string, Expr>> lets_;
    int inside_ = 0;
    void index(const Expr &e) {
        inside_++;
        e.accept(this);
        inside_--;
    }
    void visit(const Variable *v) override {
        if (inside_) names.insert(v->name);
    }
    void visit(const LetStmt *l) override {
        lets_.emplace_back(l->name, l->value);
        IRVisitor::visit(l);
    }
    void visit(const For *f) override {
        index(f->min);
        index(f->extent);
        f->body.accept(this);
    }
    void visit(const IfThenElse *op) override {
        index(op->condition);
        IRVisitor::visit(op);
    }
    void visit(const Load *l) override { index(l->index); }
    void visit(const Store *op) override {
        index(op->index);
        op->value.accept(this);
    }
};

// Inlines lets, except those of reals within expressions; common subexpressions are found again in
// each expression. Values that would become long become lets of the expression, because nested ones
// would grow exponentially.
class WithoutLets : public IRMutator {
public:
    explicit WithoutLets(const Stmt &s) : indices_(s) {}

private:
    using IRMutator::visit;
    static constexpr double max_terms = 200;
    const IndexNames indices_;
    std::map<std::string, Expr> values_;
    std::map<std::string, double> terms_;  // the number of terms of values with all lets inlined
    std::vector<std::pair<std::string, Expr>> kept_;

    double terms_of(const Expr &e) const {
        struct : IRVisitor {
            using IRVisitor::visit;
            void visit(const Variable *v) override {
                const auto it = of->find(v->name);
                terms += it == of->end() ? 1 : it->second;
            }
            void visit(const Call *c) override {
                terms++;
                IRVisitor::visit(c);
            }
            const std::map<std::string, double> *of = nullptr;
            double terms = 0;
        } count;
        count.of = &terms_;
        e.accept(&count);
        return count.terms;
    }
    Expr visit(const Variable *v) override {
        const auto it = values_.find(v->name);
        return it == values_.end() ? Expr(v) : it->second;
    }
    Expr visit(const Let *l) override {
        if (l->value.type().is_float()) return IRMutator::visit(l);
        values_[l->name] = mutate(l->value);
        return mutate(l->body);
    }
    Stmt visit(const LetStmt *l) override {
        terms_[l->name] = terms_of(l->value);
        const Expr value = mutate(l->value);
        if (terms_[l->name] <= max_terms || indices_.names.count(l->name)) {
            values_[l->name] = value;
            return mutate(l->body);
        }
        terms_[l->name] = 1;
        kept_.emplace_back(l->name, value);
        const Stmt body = mutate(l->body);
        kept_.pop_back();
        return body;
    }
    Stmt visit(const Store *op) override {
        Expr value = mutate(op->value);
        for (size_t k = kept_.size(); k-- > 0;) {
            if (expr_uses_var(value, kept_[k].first))
                value = Let::make(kept_[k].first, kept_[k].second, value);
        }
        return Store::make(op->name, value, mutate(op->index), op->param, op->predicate,
                           op->alignment);
    }
};

}  // namespace

Stmt without_lets(const Stmt &s) {
    return WithoutLets(s).mutate(s);
}

}  // namespace halyard::ascend

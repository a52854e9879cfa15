#include "dsl/tuple_update.h"

#include <dlfcn.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "registry/base/error.h"

namespace halyard {
using namespace Halide;
using namespace Halide::Internal;

namespace {

// The distinct reads of one Func.
class Reads : public IRGraphVisitor {
public:
    explicit Reads(const std::string &func) : func_(func) {}
    std::vector<Expr> found;

private:
    using IRGraphVisitor::visit;
    void visit(const Call *op) override {
        if (op->call_type == Call::Halide && op->name == func_) found.emplace_back(op);
        IRGraphVisitor::visit(op);
    }
    const std::string &func_;
};

// What is bound around an expression, outermost first.
using Lets = std::vector<std::pair<std::string, Expr>>;

Expr unwrapped(Expr e, Lets &lets) {
    while (const Let *let = e.as<Let>()) {
        lets.emplace_back(let->name, let->value);
        const Expr body = let->body;
        e = body;
    }
    return e;
}

Expr wrapped(Expr e, const Lets &lets) {
    for (auto let = lets.rbegin(); let != lets.rend(); ++let)
        e = Let::make(let->first, let->second, e);
    return e;
}

// `value` with all that it reads of `func` as variables, where it reads components other than
// `own`. Elimination of common subexpressions binds those that stand twice outermost; in a bundle
// with the value each read does.
Expr with_bound_reads(const std::string &func, const Expr &value, int own) {
    Lets lets;
    // which leaves lets nowhere else
    const Expr body = unwrapped(common_subexpression_elimination(value), lets);
    Reads reads(func);
    for (auto &[name, bound] : lets)
        bound.accept(&reads);
    body.accept(&reads);
    const auto is_another = [&](const Expr &read) { return read.as<Call>()->value_index != own; };
    if (std::none_of(reads.found.begin(), reads.found.end(), is_another)) return value;
    std::vector<Expr> bundled = {body};
    bundled.insert(bundled.end(), reads.found.begin(), reads.found.end());
    const Expr bundle = wrapped(Call::make(Int(32), Call::bundle, bundled, Call::PureIntrinsic),
                                lets);
    Lets bindings;
    const Expr left = unwrapped(common_subexpression_elimination(bundle), bindings);
    return wrapped(left.as<Call>()->args[0], bindings);
}

class BindOldValues : public IRMutator {
    using IRMutator::visit;
    Stmt visit(const Provide *op) override {
        if (op->values.size() == 1) return op;
        std::vector<Expr> values;
        for (size_t i = 0; i < op->values.size(); i++)
            values.push_back(with_bound_reads(op->name, op->values[i], int(i)));
        return Provide::make(op->name, values, op->args, op->predicate);
    }
};

}  // namespace

bool update_index_reads_self(const Function &f, int update) {
    Reads reads(f.name());
    for (const Expr &place : f.update(update).args())
        place.accept(&reads);
    return !reads.found.empty();
}

bool components_read_each_other(const Pipeline &p) {
    std::vector<Function> outputs;
    Pipeline pipeline = p;
    for (const Func &f : pipeline.outputs())
        outputs.push_back(f.function());
    for (auto &[name, f] : build_environment(outputs)) {
        if (f.outputs() == 1) continue;
        for (const Definition &u : f.updates()) {
            for (size_t i = 0; i < u.values().size(); i++) {
                Reads reads(name);
                u.values()[i].accept(&reads);
                for (const Expr &read : reads.found)
                    if (read.as<Call>()->value_index != int(i)) return true;
            }
        }
    }
    return false;
}

}  // namespace halyard

namespace Halide::Internal {

// no header of Halide's has it
Stmt split_tuples(const Stmt &s, const std::map<std::string, Function> &env);
Stmt split_tuples(const Stmt &s, const std::map<std::string, Function> &env) {
    using Pass = Stmt (*)(const Stmt &, const std::map<std::string, Function> &);
    static const Pass theirs = [] {
        Dl_info info;
        void *const next = dladdr((void *)(Pass)&split_tuples, &info) && info.dli_sname
                               ? dlsym(RTLD_NEXT, info.dli_sname)
                               : nullptr;
        if (!next) throw halyard::Error("lowering", "libHalide has no split_tuples()");
        return (Pass)next;
    }();
    return theirs(halyard::BindOldValues().mutate(s), env);
}

}  // namespace Halide::Internal

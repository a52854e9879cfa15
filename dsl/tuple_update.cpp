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

// Collects the distinct reads of one Func.
class FindReads : public IRGraphVisitor {
public:
    explicit FindReads(const std::string &func) : func_(func) {}
    std::vector<Expr> found;

private:
    using IRGraphVisitor::visit;
    void visit(const Call *op) override {
        if (op->call_type == Call::Halide && op->name == func_) found.emplace_back(op);
        IRGraphVisitor::visit(op);
    }
    const std::string &func_;
};

// The lets around an expression, outermost first.
using Lets = std::vector<std::pair<std::string, Expr>>;

// Returns the expression within the lets around `e`, and appends these to `lets`.
Expr strip_lets(Expr e, Lets &lets) {
    while (const Let *let = e.as<Let>()) {
        lets.emplace_back(let->name, let->value);
        const Expr body = let->body;
        e = body;
    }
    return e;
}

// Returns `e` with `lets` around it.
Expr with_lets(Expr e, const Lets &lets) {
    for (auto let = lets.rbegin(); let != lets.rend(); ++let)
        e = Let::make(let->first, let->second, e);
    return e;
}

// Returns `value` with every read of `func` bound to a variable, if it reads a component other than
// `own`. Elimination of common subexpressions binds what occurs twice, outermost. So the value is
// put in a bundle together with each read, where every read occurs twice.
Expr bind_reads(const std::string &func, const Expr &value, int own) {
    Lets lets;
    // The elimination leaves lets only around the whole expression.
    const Expr body = strip_lets(common_subexpression_elimination(value), lets);
    FindReads reads(func);
    for (auto &[name, bound] : lets)
        bound.accept(&reads);
    body.accept(&reads);
    const auto is_another = [&](const Expr &read) { return read.as<Call>()->value_index != own; };
    if (std::none_of(reads.found.begin(), reads.found.end(), is_another)) return value;
    std::vector<Expr> bundled = {body};
    bundled.insert(bundled.end(), reads.found.begin(), reads.found.end());
    const Expr bundle = with_lets(Call::make(Int(32), Call::bundle, bundled, Call::PureIntrinsic),
                                  lets);
    Lets bindings;
    const Expr new_bundle = strip_lets(common_subexpression_elimination(bundle), bindings);
    return with_lets(new_bundle.as<Call>()->args[0], bindings);
}

class BindOldValues : public IRMutator {
    using IRMutator::visit;
    Stmt visit(const Provide *op) override {
        if (op->values.size() == 1) return op;
        std::vector<Expr> values;
        for (size_t i = 0; i < op->values.size(); i++)
            values.push_back(bind_reads(op->name, op->values[i], int(i)));
        return Provide::make(op->name, values, op->args, op->predicate);
    }
};

}  // namespace

bool update_index_reads_self(const Function &f, int update) {
    FindReads reads(f.name());
    for (const Expr &index : f.update(update).args())
        index.accept(&reads);
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
                FindReads reads(name);
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

// None of Halide's headers declares it.
Stmt split_tuples(const Stmt &s, const std::map<std::string, Function> &env);
Stmt split_tuples(const Stmt &s, const std::map<std::string, Function> &env) {
    using Pass = Stmt (*)(const Stmt &, const std::map<std::string, Function> &);
    static const Pass halides = [] {
        Dl_info info;
        void *const next = dladdr(reinterpret_cast<void *>(static_cast<Pass>(&split_tuples)),
                                  &info) &&
                                   info.dli_sname
                               ? dlsym(RTLD_NEXT, info.dli_sname)
                               : nullptr;
        if (!next) throw halyard::Error("lowering", "libHalide has no split_tuples()");
        return reinterpret_cast<Pass>(next);
    }();
    return halides(halyard::BindOldValues().mutate(s), env);
}

}  // namespace Halide::Internal

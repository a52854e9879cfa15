#include "tools/tune/algorithm.h"

#include <cstring>
#include <sstream>

#include "dsl/name_counters.h"

namespace halyard::tune {
namespace {
using namespace Halide;
using namespace Halide::Internal;

// Collects the stages that an expression reads, in order.
class Reads : public IRGraphVisitor {
    using IRGraphVisitor::visit;
    void visit(const Call *op) override {
        IRGraphVisitor::visit(op);
        if (op->call_type == Call::Halide) names.push_back(op->name);
    }

public:
    std::vector<std::string> names;
};

class Renamed : public IRMutator {
    using IRMutator::visit;
    const std::map<std::string, std::string> &stages_, &variables_;
    Expr visit(const Variable *op) override {
        const auto at = variables_.find(op->name);
        return at == variables_.end() ? Expr(op) : Variable::make(op->type, at->second);
    }
    Expr visit(const FloatImm *op) override {  // Halide prints six decimals
        uint64_t bits;
        std::memcpy(&bits, &op->value, sizeof bits);
        std::ostringstream name;
        name << "bits_" << std::hex << bits;
        return Call::make(op->type, name.str(), {}, Call::PureExtern);
    }
    Expr visit(const Call *op) override {
        std::vector<Expr> args;
        for (const Expr &e : op->args)
            args.push_back(mutate(e));
        const auto at = stages_.find(op->name);
        const bool stage = op->call_type == Call::Halide && at != stages_.end();
        const std::string name = stage ? at->second + "." + std::to_string(op->value_index)
                                       : op->name;
        return Call::make(op->type, name, args,
                          op->call_type == Call::Halide ? Call::PureExtern : op->call_type, {}, 0,
                          op->image, op->param);
    }

public:
    Renamed(const std::map<std::string, std::string> &stages,
            const std::map<std::string, std::string> &variables)
        : stages_(stages), variables_(variables) {}
};

class Writer {
public:
    explicit Writer(const Kernel &k) {
        for (const Halide::Argument &a : k.arguments())
            text_ << a.name << " " << a.type << " " << int(a.dimensions) << "\n";
        std::vector<Function> roots;
        for (const Func &f : k.pipeline.outputs())
            roots.push_back(f.function());
        environment_ = build_environment(roots);
        for (const Function &f : roots)
            number(f);
        for (const std::string &name : order_)
            write(environment_.at(name));
    }
    // Without the counters in the names of lets that sharing makes.
    std::string text() const { return without_counters(text_.str()); }

private:
    std::map<std::string, Function> environment_;
    std::map<std::string, std::string> stages_;
    std::vector<std::string> order_;
    std::ostringstream text_;

    void number(const Function &f) {
        if (!stages_.emplace(f.name(), "stage" + std::to_string(order_.size())).second) return;
        order_.push_back(f.name());
        Reads reads;
        auto visit = [&](const Definition &d) {
            for (auto *list : {&d.args(), &d.values()}) {
                for (const Expr &e : *list)
                    e.accept(&reads);
            }
            if (d.predicate().defined()) d.predicate().accept(&reads);
        };
        if (f.has_pure_definition()) visit(f.definition());
        for (const Definition &d : f.updates())
            visit(d);
        for (auto &name : reads.names)
            if (environment_.count(name)) number(environment_.at(name));
    }

    void write(const Function &f) {
        text_ << stages_.at(f.name()) << " of " << f.dimensions() << " dimensions:";
        for (const Type &t : f.output_types())
            text_ << " " << t;
        text_ << "\n";
        std::map<std::string, std::string> names;
        for (size_t k = 0; k < f.args().size(); k++)
            names[f.args()[k]] = "i" + std::to_string(k);
        if (f.has_pure_definition()) write(f.definition(), names);
        for (const Definition &d : f.updates())
            write(d, names);
    }
    void write(const Definition &d, std::map<std::string, std::string> names) {
        const auto &loops = d.schedule().rvars();
        for (size_t k = 0; k < loops.size(); k++)
            names[loops[k].var] = "along" + std::to_string(k);
        Renamed renamed(stages_, names);
        auto put = [&](const char *what, const Expr &e) {
            text_ << what << renamed.mutate(common_subexpression_elimination(e));
        };
        text_ << " ";
        for (const ReductionVariable &r : loops) {
            put(" from ", r.min);
            put(" extent ", r.extent);
        }
        for (const Expr &e : d.args())
            put(" at ", e);
        for (const Expr &e : d.values())
            put(" = ", e);
        if (d.predicate().defined()) put(" where ", d.predicate());
        text_ << "\n";
    }
};

}  // namespace

std::string algorithm_text(const Kernel &k) {
    return Writer(k).text();
}

std::string algorithm_of(OpPtr op, Instance i) {
    i.scheduled = false;
    i.tunables = {};
    uint64_t h = 1469598103934665603u;  // FNV-1a
    for (char c : algorithm_text(Kernel(std::move(op), i)))
        h = (h ^ uint8_t(c)) * 1099511628211u;
    char digits[20];
    std::snprintf(digits, sizeof digits, "%016llx", (unsigned long long)h);
    return digits;
}

std::string algorithm_of(const std::string &op, Instance i) {
    return algorithm_of(op_table().make(op), std::move(i));
}

}  // namespace halyard::tune

#include "dsl/ascend/least.h"

#include <algorithm>
#include <set>

#include "dsl/ascend/graph.h"
#include "dsl/ascend/lowering/narrow.h"
#include "dsl/ascend/lowering/values.h"
#include "dsl/ascend/tbe/axes.h"
#include "dsl/variables.h"
#include "registry/base/error.h"

namespace halyard::ascend {
using namespace Halide;
using namespace Halide::Internal;

namespace {

constexpr double max_repeats = 255;

// Adds up the cycles of an algorithm's operations, each at all points of its variables.
class Operations : public IRVisitor {
public:
    Operations(const Kernel &k) : axes_(k), chip_(dv::Profile::named(k.instance.call->chip)) {
        std::vector<Function> outputs;
        for (const Func &f : k.pipeline.outputs())
            outputs.push_back(f.function());
        for (auto &[name, f] : build_environment(outputs)) {
            if (axes_.is_product(name) || is_conversion(f)) continue;  // the cube's; its callers'
            const auto variables = axes_.variables(name);
            const std::vector<Definition> &updates = f.updates();
            for (const Definition &d :
                 updates.empty() ? std::vector<Definition>{f.definition()} : updates) {
                for (const Expr &value : d.values()) {
                    std::map<std::string, Expr> by_axis;
                    for (auto &[variable, axis] : variables)
                        by_axis[variable] = Variable::make(Int(32), "axis" + std::to_string(axis));
                    narrowed(strictify_float(substitute(by_axis, with_conversions(value))))
                        .accept(this);
                }
            }
        }
    }
    double cycles = 0;

private:
    using IRVisitor::visit;
    const Axes axes_;
    const dv::Profile &chip_;
    std::set<std::string> seen_;                 // the texts of counted operations
    std::map<std::string, std::set<int>> lets_;  // the axes along which a let changes

    static bool is_conversion(const Function &f) {
        if (f.has_update_definition() || f.values().size() != 1) return false;
        Expr e = f.values()[0];
        while (const Cast *c = e.as<Cast>())
            e = c->value;
        const Call *c = e.as<Call>();
        return c && (c->call_type == Call::Halide || c->call_type == Call::Image);
    }
    // Inlines the calls of stages that only convert.
    Expr with_conversions(const Expr &e) const {
        struct Inline : IRMutator {
            explicit Inline(const Axes &a) : axes(a) {}
            using IRMutator::visit;
            Expr visit(const Call *c) override {
                if (c->call_type != Call::Halide || !is_conversion(axes.function(c->name)))
                    return IRMutator::visit(c);
                const Function &f = axes.function(c->name);
                std::map<std::string, Expr> arguments;
                for (size_t a = 0; a < c->args.size(); a++)
                    arguments[f.args()[a]] = c->args[a];
                return mutate(substitute(arguments, f.values()[0]));
            }
            const Axes &axes;
        };
        return Inline(axes_).mutate(e);
    }

    std::set<int> axes_of(const Expr &e) const {
        std::set<int> axes;
        for (auto &name : variables_of(e)) {
            if (const auto let = lets_.find(name); let != lets_.end())
                axes.insert(let->second.begin(), let->second.end());
            else if (starts_with(name, "axis"))
                axes.insert(std::stoi(name.substr(4)));
        }
        return axes;
    }
    static bool is_real(const Type &t) { return t == Float(32) || t == Float(16); }
    // Returns the f16 value that `e` converts, or an undefined Expr.
    static Expr as_f16(const Expr &e) {
        const Cast *c = e.as<Cast>();
        return c && c->value.type() == Float(16) ? c->value : Expr();
    }

    // Counts an operation on elements of type `t`, unless it has been counted.
    void count(const std::string &name, const Expr &e, const Type &t,
               const std::vector<Expr> &operands) {
        std::ostringstream text;
        text << name << " " << e;
        if (!is_real(t) || !seen_.insert(text.str()).second) return;
        double points = 1;
        const std::set<int> axes = axes_of(e);
        if (axes.empty()) return;
        for (const int a : axes)
            points *= double(axes_.extent(a));
        const DType type = dtype_of(t);
        cycles += points / dv::lanes(type) *
                  (chip_.at("vec.cost." + name + "." + name_of(type), 1) +
                   chip_.at("vec.head") / max_repeats);
        for (const Expr &o : operands)
            o.accept(this);
    }
    // Counts a maximum or minimum, which is one of its operands, in the operands' narrower type.
    void chosen(const char *name, const Expr &e, const Expr &a, const Expr &b) {
        const Expr x = as_f16(a);
        const Expr y = as_f16(b);
        if (!x.defined() && !y.defined()) return count(name, e, e.type(), {a, b});
        count(name, e, Float(16), {x.defined() ? x : a, y.defined() ? y : b});
    }

    void visit(const Select *op) override {
        count("sel", op, op->type, {op->condition, op->true_value, op->false_value});
    }
    void visit(const Cast *op) override {
        if (is_real(op->type) && is_real(op->value.type()))
            count("conv", op, Float(32), {op->value});
        else
            op->value.accept(this);
    }
    void visit(const Let *op) override {
        op->value.accept(this);
        lets_[op->name] = axes_of(op->value);
        op->body.accept(this);
    }
    void visit(const Call *c) override {
        // Index expressions aren't counted.
        if (c->call_type == Call::Halide || c->call_type == Call::Image) return;
        static const std::map<std::string, std::string> names = {
            {"strict_add", "add"}, {"strict_sub", "sub"}, {"strict_mul", "mul"}, {"abs", "abs"},
            {"exp_f32", "exp"},    {"exp_f16", "exp"},    {"log_f32", "ln"},     {"log_f16", "ln"},
            {"sqrt_f32", "sqrt"},  {"sqrt_f16", "sqrt"},
        };
        if (c->is_intrinsic(Call::strict_div))
            return count(is_const(c->args[1]) ? "mul" : "div", c, c->type, c->args);
        if (c->is_intrinsic(Call::strict_max)) return chosen("max", c, c->args[0], c->args[1]);
        if (c->is_intrinsic(Call::strict_min)) return chosen("min", c, c->args[0], c->args[1]);
        if (c->is_intrinsic({Call::strict_eq, Call::strict_lt, Call::strict_le}))
            return count("cmpv", c, c->args[0].type(), c->args);
        if (const auto name = names.find(c->name); name != names.end())
            return count(name->second, c, c->type, c->args);
        IRVisitor::visit(c);
    }
};

}  // namespace

double min_vector_cycles(const Kernel &k) {
    try {
        return Operations(k).cycles / dv::Profile::named(k.instance.call->chip).at("cores");
    } catch (const AttrError &) {  // by Axes
        return 0;
    }
}

}  // namespace halyard::ascend

#include "dsl/real.h"

#include <cmath>
#include <cstring>

#include "dsl/convert.h"
#include "dsl/math/integer_math.h"
#include "dsl/math/math.h"
#include "registry/base/error.h"

namespace halyard {
using namespace Halide;
using namespace Halide::Internal;

Expr operator""_r(long double v) {
    return FloatImm::make(Float(64), double(v));
}
Expr operator""_r(unsigned long long v) {
    return FloatImm::make(Float(64), double(v));
}

namespace math {
Expr real(const Expr &e) {
    return cast(Float(64), e);
}
Expr call(const char *name, std::vector<Expr> args) {
    return Call::make(Float(64), std::string(name) + "_f64", std::move(args), Call::PureExtern);
}
Expr lowest() {
    return FloatImm::make(Float(64), -INFINITY);
}
Expr number(double v) {
    return FloatImm::make(Float(64), v);
}
Expr negative(const Expr &x) {
    return x * number(-1);
}
Expr highest() {
    return FloatImm::make(Float(64), INFINITY);
}
}  // namespace math

namespace {

Expr mix(Expr e, uint32_t salt) {  // a fixed bijection of 32 bits per salt
    e = (e ^ (e >> 15)) * make_const(UInt(32), 0x2c1b3c6du) +
        make_const(UInt(32), salt * 2654435761u + 12345u);
    e = (e ^ (e >> 12)) * make_const(UInt(32), 0x297a2d39u);
    return e ^ (e >> 15);
}
uint32_t salt_of(const std::string &s) {
    uint32_t h = 2166136261u;
    for (char c : s)
        h = (h ^ uint8_t(c)) * 16777619u;
    return h;
}

// Does anything ask what a real is, rather than only compute with it?
class Asks : public IRVisitor {
    using IRVisitor::visit;
    template<class Op> void found(const Op *op) {
        any |= op->a.type().is_float();
        IRVisitor::visit(op);
    }
    void visit(const LT *op) override { found(op); }
    void visit(const LE *op) override { found(op); }
    void visit(const GT *op) override { found(op); }
    void visit(const GE *op) override { found(op); }
    void visit(const EQ *op) override { found(op); }
    void visit(const NE *op) override { found(op); }
    void visit(const Max *op) override { found(op); }
    void visit(const Min *op) override { found(op); }
    void visit(const Call *op) override {  // functions do, strict comparisons too
        any |= op->call_type != Call::Halide && op->call_type != Call::Image && !op->args.empty() &&
               op->args[0].type().is_float();
        IRVisitor::visit(op);
    }

public:
    bool any = false;
};

class Interpret : public IRMutator {
    const Arithmetic &a;
    const std::string func;                      // that is being rewritten
    const std::map<std::string, Type> &outputs;  // what each is stored as

    // LLVM takes a conversion from or to f16 as a promise of no NaN and no Inf, and drops what asks
    // for them. A 0 that it doesn't know, or-ed in between, makes it forget.
    const bool hide;
    Expr hidden(const Expr &v) const {
        return reinterpret(Float(32), reinterpret(UInt(32), v) | reinterpret(UInt(32), a.zero));
    }
    bool exact() const { return a.kind == Arithmetic::exact; }
    bool ieee() const { return a.kind == Arithmetic::ieee; }
    static bool is_real(const Type &t) { return t.is_float() && t.bits() == 64; }
    Type map(const Type &t) const { return is_real(t) ? a.real.with_lanes(t.lanes()) : t; }

    // Sums, products and quotients of nothing but run-time scalars and constants: 1 - beta2, in
    // which a float would keep few digits of beta2. `scalars` counts what isn't a constant.
    static bool settled(const Expr &e, int &scalars) {
        auto both = [&](const auto *op) {
            return settled(op->a, scalars) && settled(op->b, scalars);
        };
        if (const auto *v = e.as<Variable>()) return v->param.defined() && ++scalars;
        if (const auto *op = e.as<Add>()) return both(op);
        if (const auto *op = e.as<Sub>()) return both(op);
        if (const auto *op = e.as<Mul>()) return both(op);
        if (const auto *op = e.as<Div>()) return both(op);
        return e.as<FloatImm>() != nullptr;
    }

    Expr visit(const FloatImm *op) override {
        if (!is_real(op->type)) return op;
        const double v = op->value;
        if (ieee()) return FloatImm::make(a.real, v);
        if (v == INFINITY) return a.real.max();
        if (v == -INFINITY) return a.real.min();
        if (!exact()) {
            if (v != std::floor(v)) {
                throw DTypeError(func, "the constant " + std::to_string(v) +
                                           " has no value in integer arithmetic");
            }
            return cast(a.real, make_const(Int(64), int64_t(v)));
        }
        if (v == std::floor(v) && std::fabs(v) < 1e9)
            return make_const(UInt(32), uint32_t(int64_t(v)));
        uint64_t bits;
        std::memcpy(&bits, &v, 8);
        return make_const(UInt(32), uint32_t(bits ^ (bits >> 32)) * 2654435761u | 1u);
    }
    Expr visit(const Cast *op) override {
        Expr v = mutate(op->value);
        Type t = map(op->type);
        if (exact() && is_real(op->value.type()) && !is_real(op->type)) v = mix(v, 77);
        if (hide && t == Float(32) && v.type() == Float(16)) return hidden(Cast::make(t, v));
        return v.type() == t ? v : Cast::make(t, v);
    }
    Expr visit(const Variable *op) override {  // a run-time scalar, or a let
        if (!is_real(op->type)) return op;
        if (!op->param.defined()) return Variable::make(a.real, op->name);
        return exact() ? modular(op) : cast(a.real, Expr(op));
    }
    // A scalar as FloatImm is: whole numbers as they are, others as a hash of their bits. A mere
    // cast of infinity differs between machines.
    static Expr modular(const Expr &v) {
        const Expr whole = v == floor(v) && abs(v) < Expr(1e9);
        const Expr bits = reinterpret(UInt(64), v);
        return select(whole, cast(UInt(32), cast(Int(64), select(whole, v, Expr(0.0)))),
                      cast(UInt(32), bits ^ (bits >> 32)) * Expr(2654435761u) | Expr(1u));
    }
    Expr visit(const Div *op) override {
        if (!exact() || !is_real(op->type)) return IRMutator::visit(op);
        Expr n = mutate(op->a);
        Expr d = mutate(op->b);
        return mix(n ^ mix(d, 1), 2);
    }
    // Comparisons of reals see NaN; Halide's own may be folded as if there were none.
    template<class Op> Expr compare(const Op *op) {
        if (!is_real(op->a.type())) return IRMutator::visit(op);
        Expr e = Op::make(mutate(op->a), mutate(op->b));
        return ieee() ? strict_float(e) : e;
    }
    Expr visit(const LT *op) override { return compare(op); }
    // Halide turns x <= y into !(y < x), which NaN makes true.
    template<class Op> Expr compare_or_equal(const Op *op, const Expr &low, const Expr &high) {
        if (!is_real(low.type()) || !ieee()) return compare(op);
        const Expr x = mutate(low);
        const Expr y = mutate(high);
        return strict_float(x < y) || strict_float(x == y);
    }
    Expr visit(const LE *op) override { return compare_or_equal(op, op->a, op->b); }
    Expr visit(const GT *op) override { return compare(op); }
    Expr visit(const GE *op) override { return compare_or_equal(op, op->b, op->a); }
    Expr visit(const EQ *op) override { return compare(op); }
    Expr visit(const NE *op) override { return compare(op); }

    bool reads_self(const Expr &e) const {
        const Call *c = e.as<Call>();
        return c && c->call_type == Call::Halide && c->name == func;
    }
    template<class Op> Expr extremum(const Op *op, bool is_max) {
        Expr x = mutate(op->a);
        Expr y = mutate(op->b);
        if (!is_real(op->type) || !ieee() || !a.own_math || reads_self(op->a) || reads_self(op->b))
            return Op::make(x, y);
        if (op->a.template as<FloatImm>()) std::swap(x, y);
        Expr y_wins = strict_float(is_max ? x < y : x > y);
        return select(y_wins || is_nan(y), y, x);  // the simplifier drops is_nan of a constant
    }
    Expr visit(const Max *op) override { return extremum(op, true); }
    Expr visit(const Min *op) override { return extremum(op, false); }

    Expr visit(const Call *op) override {
        std::vector<Expr> args;
        for (const Expr &e : op->args)
            args.push_back(mutate(e));
        const Type t = map(op->type);
        const bool of_reals = is_real(op->type) ||
                              (!op->args.empty() && is_real(op->args[0].type()));
        if (op->call_type == Call::Halide) {  // an output may be read by the next
            const auto stored = outputs.find(op->name);
            const Expr e = Call::make(stored == outputs.end() ? t : stored->second, op->name, args,
                                      op->call_type, op->func, op->value_index, op->image,
                                      op->param);
            return e.type() == t ? e : cast(t, e);
        }
        // a tensor that is f64 whatever T is
        if (op->call_type == Call::Image && op->type == Float(64) && t != op->type) {
            return cast(t, Call::make(op->type, op->name, args, op->call_type, op->func,
                                      op->value_index, op->image, op->param));
        }
        if (!of_reals || op->call_type == Call::Image ||
            op->is_intrinsic({Call::likely, Call::likely_if_innermost})) {
            return Call::make(op->call_type == Call::Image ? op->type : t, op->name, args,
                              op->call_type, op->func, op->value_index, op->image, op->param);
        }
        if (exact()) {
            if (starts_with(op->name, "is_nan") || starts_with(op->name, "is_inf"))
                return const_false();
            if (starts_with(op->name, "is_finite")) return const_true();
            if (op->is_intrinsic(Call::abs) || t != a.real) return cast(t, mix(args[0], 5));
            Expr e = mix(args[0], salt_of(op->name));
            for (size_t i = 1; i < args.size(); i++)
                e = mix(e ^ args[i], 3);
            return e;
        }
        std::string name = op->name;
        if (ends_with(name, "_f64")) name.resize(name.size() - 4);
        if (!ieee()) {
            // the lowest value wraps, as in NumPy
            if (op->is_intrinsic(Call::abs))
                return a.real.is_uint() ? args[0] : select(args[0] < 0, -args[0], args[0]);
            if (name == "floor" || name == "ceil" || name == "round" || name == "trunc")
                return args[0];
            if (starts_with(name, "is_nan") || starts_with(name, "is_inf")) return const_false();
            if (starts_with(name, "is_finite")) return const_true();
            if (Expr e = integer_function(name, args); e.defined()) return e;
            throw DTypeError(func, name + " is not defined on integers");
        }
        if (Expr e = float_division(name, args, a.own_math); e.defined()) return e;
        if (op->is_intrinsic()) return Call::make(t, op->name, args, op->call_type);
        return math::expand(name, args, a.own_math);
    }

public:
    using IRMutator::mutate;
    Expr mutate(const Expr &e) override {
        int scalars = 0;
        const bool once = ieee() && e.defined() && is_real(e.type()) && settled(e, scalars) &&
                          scalars;
        return once ? cast(a.real, e) : IRMutator::mutate(e);  // as doubles, rounded at the end
    }
    Interpret(const Arithmetic &a, std::string func, const std::map<std::string, Type> &outputs,
              bool hide)
        : a(a), func(std::move(func)), outputs(outputs), hide(hide) {}
    void rewrite(Function f, const Type *stored) {
        f.mutate(this);
        // a mixing function uses its argument several times: nested, the tree would grow without
        // bound
        if (exact()) {
            for (Expr &v : f.definition().values())
                v = common_subexpression_elimination(v);
            for (int u = 0; u < int(f.updates().size()); u++) {
                for (Expr &v : f.update(u).values())
                    v = common_subexpression_elimination(v);
            }
        }
        std::vector<Type> types;
        for (const Type &t : f.output_types())
            types.push_back(stored ? *stored : map(t));
        if (stored && hide && *stored == Float(16)) {
            for (Expr &v : f.definition().values())
                if (v.type() == Float(32)) v = hidden(v);
        }
        if (stored) {
            for (Expr &v : f.definition().values()) {
                v = exact()      ? cast(*stored, v)
                    : a.own_math ? converted(v, *stored, a.f16_by_halide)
                                 : cast(*stored, v);
            }
        }
        // The one place that leans on a function Halide made for deserialisation: it resets a
        // Func's output types.
        std::vector<Parameter> buffers;
        for (size_t i = 0; i < types.size(); i++) {
            buffers.emplace_back(types[i], true, f.dimensions(),
                                 f.name() + (types.size() > 1 ? "." + std::to_string(i) : ""));
        }
        f.update_with_deserialization(f.name(), f.origin_name(), types, {}, -1, f.args(),
                                      f.schedule(), f.definition(), f.updates(), "", buffers, {},
                                      "", NameMangling::Default, DeviceAPI::Host, Expr(), false,
                                      false, false, {}, false, f.frozen());
    }
};

}  // namespace

void interpret(const std::vector<Func> &outputs, const std::vector<Type> &storage,
               const Arithmetic &a) {
    std::vector<Function> roots;
    for (const Func &f : outputs)
        roots.push_back(f.function());
    std::map<std::string, Type> stored;
    for (size_t i = 0; i < outputs.size(); i++)
        stored[outputs[i].name()] = storage[i];
    const auto environment = build_environment(roots);
    Asks asks;
    if (a.zero.defined()) {
        for (auto &[name, f] : environment)
            f.accept(&asks);
    }
    for (auto &[name, f] : environment) {
        const auto it = stored.find(name);
        Interpret(a, name, stored, asks.any).rewrite(f, it == stored.end() ? nullptr : &it->second);
    }
}

}  // namespace halyard

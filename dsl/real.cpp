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
Expr edge(const Expr &x) {
    return call("edge", {x});
}
Expr twin(const Expr &x) {
    return call("twin", {x});
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

// Returns a bijection of 32 bits, a different one for each salt.
Expr mix(Expr e, uint32_t salt) {
    e = (e ^ (e >> 15)) * make_const(UInt(32), 0x2c1b3c6du) +
        make_const(UInt(32), salt * 2654435761u + 12345u);
    e = (e ^ (e >> 12)) * make_const(UInt(32), 0x297a2d39u);
    return e ^ (e >> 15);
}
// Returns a hash (FNV-1a) of a function's name.
uint32_t salt_of(const std::string &s) {
    uint32_t h = 2166136261u;
    for (char c : s)
        h = (h ^ uint8_t(c)) * 16777619u;
    return h;
}

// Finds out whether a definition compares reals or calls functions of them, so that its result may
// depend on NaN or infinity other than by + - * /.
class FindComparisons : public IRVisitor {
    using IRVisitor::visit;
    template<class Op> void compare(const Op *op) {
        found |= op->a.type().is_float();
        IRVisitor::visit(op);
    }
    void visit(const LT *op) override { compare(op); }
    void visit(const LE *op) override { compare(op); }
    void visit(const GT *op) override { compare(op); }
    void visit(const GE *op) override { compare(op); }
    void visit(const EQ *op) override { compare(op); }
    void visit(const NE *op) override { compare(op); }
    void visit(const Max *op) override { compare(op); }
    void visit(const Min *op) override { compare(op); }
    // A strict comparison is a call as well.
    void visit(const Call *op) override {
        found |= op->call_type != Call::Halide && op->call_type != Call::Image &&
                 !op->args.empty() && op->args[0].type().is_float();
        IRVisitor::visit(op);
    }

public:
    bool found = false;
};

class Interpret : public IRMutator {
    const Arithmetic &a;
    const std::string func;                      // the Func that is rewritten
    const std::map<std::string, Type> &outputs;  // the types in which outputs are stored

    // LLVM assumes that a value which is converted from or to f16 is neither NaN nor infinite, and
    // removes comparisons that only matter for those. If `hide_f16` is true, such values are or-ed
    // with a 0 that LLVM cannot derive.
    const bool hide_f16;
    Expr hidden(const Expr &v) const {
        return reinterpret(Float(32), reinterpret(UInt(32), v) | reinterpret(UInt(32), a.zero));
    }
    // Returns what math::edge() stands for.
    Expr edge_of(const Expr &v) const {
        if (!ieee()) return v;
        const bool is_narrow = a.edge.bits() < a.real.bits();
        Expr rounded = is_narrow ? Cast::make(a.real, stored(v, a.edge)) : v;
        if (!a.edge_zero.defined()) return rounded;
        const Type bits = a.real.with_code(Type::UInt);
        return reinterpret(a.real, reinterpret(bits, rounded) | cast(bits, a.edge_zero));
    }
    // Returns what math::twin() stands for: a xor, as the compiler removes a second or.
    Expr twin_of(const Expr &v) const {
        if (!ieee() || !a.edge_zero.defined()) return v;
        const Type bits = a.real.with_code(Type::UInt);
        return reinterpret(a.real, reinterpret(bits, v) ^ cast(bits, a.edge_zero));
    }
    bool exact() const { return a.kind == Arithmetic::exact; }
    bool ieee() const { return a.kind == Arithmetic::ieee; }
    static bool is_real(const Type &t) { return t.is_float() && t.bits() == 64; }
    Type map(const Type &t) const { return is_real(t) ? a.real.with_lanes(t.lanes()) : t; }

    // Returns true if `e` consists of + - * / of run-time scalars and constants only. An example is
    // 1 - beta2, of which float arithmetic would keep few digits. Adds the number of scalars in `e`
    // to `scalars`.
    static bool is_scalar_arithmetic(const Expr &e, int &scalars) {
        auto both = [&](const auto *op) {
            return is_scalar_arithmetic(op->a, scalars) && is_scalar_arithmetic(op->b, scalars);
        };
        if (const auto *v = e.as<Variable>()) return v->param.defined() && ++scalars;
        if (const auto *op = e.as<Add>()) return both(op);
        if (const auto *op = e.as<Sub>()) return both(op);
        if (const auto *op = e.as<Mul>()) return both(op);
        if (const auto *op = e.as<Div>()) return both(op);
        return e.as<FloatImm>() != nullptr;
    }

    static bool is_integer(double v) { return v == std::floor(v); }

    Expr visit(const FloatImm *op) override {
        if (!is_real(op->type)) return op;
        const double v = op->value;
        if (ieee()) return FloatImm::make(a.real, v);
        if (v == INFINITY) return a.real.max();
        if (v == -INFINITY) return a.real.min();
        if (!exact()) {
            if (!is_integer(v)) {
                throw DTypeError(func, "the constant " + std::to_string(v) +
                                           " has no value in integer arithmetic");
            }
            return cast(a.real, make_const(Int(64), int64_t(v)));
        }
        if (is_integer(v) && std::fabs(v) < 1e9) return make_const(UInt(32), uint32_t(int64_t(v)));
        uint64_t bits;
        std::memcpy(&bits, &v, 8);
        return make_const(UInt(32), uint32_t(bits ^ (bits >> 32)) * 2654435761u | 1u);
    }
    Expr visit(const Cast *op) override {
        Expr v = mutate(op->value);
        Type t = map(op->type);
        if (exact() && is_real(op->value.type()) && !is_real(op->type))
            return as_type(t, mix(v, 77));
        if (hide_f16 && t == Float(32) && v.type() == Float(16)) return hidden(Cast::make(t, v));
        return v.type() == t ? v : Cast::make(t, v);
    }
    Expr visit(const Variable *op) override {
        if (!is_real(op->type)) return op;
        if (!op->param.defined()) return Variable::make(a.real, op->name);  // a let
        return exact() ? modular(op) : cast(a.real, Expr(op));
    }
    // Returns the value of a scalar in exact mode, as for a FloatImm: integers keep their value,
    // other numbers become a hash of their bits. The inner select avoids casts of infinity, whose
    // result differs between machines.
    static Expr modular(const Expr &v) {
        const Expr is_integer = v == floor(v) && abs(v) < Expr(1e9);
        const Expr bits = reinterpret(UInt(64), v);
        return select(is_integer, cast(UInt(32), cast(Int(64), select(is_integer, v, Expr(0.0)))),
                      cast(UInt(32), bits ^ (bits >> 32)) * Expr(2654435761u) | Expr(1u));
    }
    Expr visit(const Div *op) override {
        if (!exact() || !is_real(op->type)) return IRMutator::visit(op);
        Expr n = mutate(op->a);
        Expr d = mutate(op->b);
        return mix(n ^ mix(d, 1), 2);
    }
    // Makes comparisons of reals strict: Halide folds others as if no value were NaN.
    template<class Op> Expr compare(const Op *op) {
        if (!is_real(op->a.type())) return IRMutator::visit(op);
        Expr e = Op::make(mutate(op->a), mutate(op->b));
        return ieee() ? strict_float(e) : e;
    }
    Expr visit(const LT *op) override { return compare(op); }
    // Halide rewrites x <= y as !(y < x), which is true for NaN. So it is stated with < and ==.
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

    // Returns true if `e` reads the Func that is rewritten, as the update of a maximum does.
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
        // A constant is x here, because the simplifier would fold is_nan() of a constant.
        return select(y_wins || is_nan(y), y, x);
    }
    Expr visit(const Max *op) override { return extremum(op, true); }
    Expr visit(const Min *op) override { return extremum(op, false); }

    static Expr call_of(const Call *op, const Type &t, const std::vector<Expr> &args) {
        return Call::make(t, op->name, args, op->call_type, op->func, op->value_index, op->image,
                          op->param);
    }

    // Returns a read of a Func as a real. An output is stored in its own type, and other outputs
    // may read it.
    Expr read(const Call *op, const std::vector<Expr> &args) const {
        const Type t = map(op->type);
        const auto output = outputs.find(op->name);
        const Expr e = call_of(op, output == outputs.end() ? t : output->second, args);
        return e.type() == t ? e : cast(t, e);
    }

    // Returns a load of a tensor, cast if the signature says f64, whatever T is.
    Expr load(const Call *op, const std::vector<Expr> &args) const {
        const Type t = map(op->type);
        const Expr e = call_of(op, op->type, args);
        return op->type == Float(64) && t != op->type ? cast(t, e) : e;
    }

    // Converts a modular integer to another type. A truth value is its lowest bit: of a cast to
    // bool, LLVM keeps that bit, and OpenCL compares all bits with 0.
    static Expr as_type(const Type &t, const Expr &modular) {
        return t.is_bool() ? (modular & Expr(1u)) != Expr(0u) : cast(t, modular);
    }

    // Returns a function of modular integers, which stands for any function of reals.
    Expr exact_function(const Call *op, const std::vector<Expr> &args) const {
        if (starts_with(op->name, "is_nan") || starts_with(op->name, "is_inf"))
            return const_false();
        if (starts_with(op->name, "is_finite")) return const_true();
        const Type t = map(op->type);
        if (op->is_intrinsic(Call::abs) || t != a.real) return as_type(t, mix(args[0], 5));
        Expr e = mix(args[0], salt_of(op->name));
        for (size_t i = 1; i < args.size(); i++)
            e = mix(e ^ args[i], 3);
        return e;
    }

    Divider divider() const {
        if (a.on_gpu) return Divider::gpu;
        return a.own_math ? Divider::cpu : Divider::ascend;
    }

    // Returns a function of reals in integer arithmetic. Throws DTypeError if integers lack it.
    Expr function_of_integers(const Call *op, const std::string &name,
                              const std::vector<Expr> &args) const {
        // The absolute value of the lowest integer wraps, as in NumPy.
        if (op->is_intrinsic(Call::abs))
            return a.real.is_uint() ? args[0] : select(args[0] < 0, -args[0], args[0]);
        if (name == "floor" || name == "ceil" || name == "round" || name == "trunc") return args[0];
        if (starts_with(name, "is_nan") || starts_with(name, "is_inf")) return const_false();
        if (starts_with(name, "is_finite")) return const_true();
        if (Expr e = integer_function(name, args, divider()); e.defined()) return e;
        throw DTypeError(func, name + " is not defined on integers");
    }

    Expr function_of_floats(const Call *op, const std::string &name,
                            const std::vector<Expr> &args) const {
        if (Expr e = float_division(name, args, divider()); e.defined()) return e;
        if (op->is_intrinsic()) return Call::make(map(op->type), op->name, args, op->call_type);
        return math::expand(name, args, a.own_math);
    }

    Expr visit(const Call *op) override {
        std::vector<Expr> args;
        for (const Expr &e : op->args)
            args.push_back(mutate(e));
        if (op->call_type == Call::Halide) return read(op, args);
        if (op->call_type == Call::Image) return load(op, args);
        if (op->name == "edge_f64") return edge_of(args[0]);
        if (op->name == "twin_f64") return twin_of(args[0]);
        const bool of_reals = is_real(op->type) ||
                              (!op->args.empty() && is_real(op->args[0].type()));
        if (!of_reals || op->is_intrinsic({Call::likely, Call::likely_if_innermost}))
            return call_of(op, map(op->type), args);
        if (exact()) return exact_function(op, args);
        const bool has_suffix = ends_with(op->name, "_f64");
        const std::string name = op->name.substr(0, op->name.size() - (has_suffix ? 4 : 0));
        return ieee() ? function_of_floats(op, name, args) : function_of_integers(op, name, args);
    }

    // A mixing function uses its argument several times. Nested calls would make the expression
    // grow exponentially.
    static void eliminate_common_subexpressions(Function &f) {
        for (Expr &v : f.definition().values())
            v = common_subexpression_elimination(v);
        for (int u = 0; u < int(f.updates().size()); u++) {
            for (Expr &v : f.update(u).values())
                v = common_subexpression_elimination(v);
        }
    }

    // Converts the value of an output to the type in which it is stored.
    Expr stored(const Expr &value, const Type &t) const {
        const bool hide = hide_f16 && t == Float(16) && value.type() == Float(32);
        const Expr v = hide ? hidden(value) : value;
        return exact() || !a.own_math ? cast(t, v) : converted(v, t, a.f16_by_halide);
    }

    // Sets the types of the Func's values. Halide has no function for this alone, so this uses the
    // one that it has for deserialisation, with everything else unchanged.
    static void set_output_types(Function &f, const std::vector<Type> &types) {
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

public:
    using IRMutator::mutate;
    // Computes expressions over scalars alone in double, and rounds the result.
    Expr mutate(const Expr &e) override {
        int scalars = 0;
        const bool in_double = ieee() && e.defined() && is_real(e.type()) &&
                               is_scalar_arithmetic(e, scalars) && scalars;
        return in_double ? cast(a.real, e) : IRMutator::mutate(e);
    }
    Interpret(const Arithmetic &a, std::string func, const std::map<std::string, Type> &outputs,
              bool hide_f16)
        : a(a), func(std::move(func)), outputs(outputs), hide_f16(hide_f16) {}

    // Rewrites `f`. If it is an output, `storage` is the type in which it is stored; else null.
    void rewrite(Function f, const Type *storage) {
        f.mutate(this);
        if (exact()) eliminate_common_subexpressions(f);
        std::vector<Type> types;
        for (const Type &t : f.output_types())
            types.push_back(storage ? *storage : map(t));
        if (storage) {
            for (Expr &v : f.definition().values())
                v = stored(v, *storage);
        }
        set_output_types(f, types);
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
    FindComparisons comparisons;
    if (a.zero.defined()) {
        for (auto &[name, f] : environment)
            f.accept(&comparisons);
    }
    for (auto &[name, f] : environment) {
        const auto it = stored.find(name);
        Interpret(a, name, stored, comparisons.found)
            .rewrite(f, it == stored.end() ? nullptr : &it->second);
    }
}

}  // namespace halyard

#include "dsl/integer_value.h"

namespace halyard {
using namespace Halide;
using namespace Halide::Internal;

namespace {

using Value = std::optional<int64_t>;

class Evaluate {
public:
    Evaluate(const IntegerBindings &known, int lane) : known_(known), lane_(lane) {}

    Value operator()(const Expr &e) const {
        switch (e.node_type()) {
        case IRNodeType::IntImm: return e.as<IntImm>()->value;
        case IRNodeType::UIntImm: return int64_t(e.as<UIntImm>()->value);
        case IRNodeType::Variable: return look_up(known_, e.as<Variable>()->name);
        case IRNodeType::Cast: return cast(*e.as<Cast>());
        case IRNodeType::Add: return both(*e.as<Add>(), [](int64_t a, int64_t b) { return a + b; });
        case IRNodeType::Sub: return both(*e.as<Sub>(), [](int64_t a, int64_t b) { return a - b; });
        case IRNodeType::Mul: return both(*e.as<Mul>(), [](int64_t a, int64_t b) { return a * b; });
        case IRNodeType::Div:
            return both(*e.as<Div>(), [](int64_t a, int64_t b) { return div_imp(a, b); });
        case IRNodeType::Mod:
            return both(*e.as<Mod>(), [](int64_t a, int64_t b) { return mod_imp(a, b); });
        case IRNodeType::Min:
            return both(*e.as<Min>(), [](int64_t a, int64_t b) { return std::min(a, b); });
        case IRNodeType::Max:
            return both(*e.as<Max>(), [](int64_t a, int64_t b) { return std::max(a, b); });
        case IRNodeType::EQ: return both(*e.as<EQ>(), [](int64_t a, int64_t b) { return a == b; });
        case IRNodeType::NE: return both(*e.as<NE>(), [](int64_t a, int64_t b) { return a != b; });
        case IRNodeType::LT: return both(*e.as<LT>(), [](int64_t a, int64_t b) { return a < b; });
        case IRNodeType::LE: return both(*e.as<LE>(), [](int64_t a, int64_t b) { return a <= b; });
        case IRNodeType::GT: return both(*e.as<GT>(), [](int64_t a, int64_t b) { return a > b; });
        case IRNodeType::GE: return both(*e.as<GE>(), [](int64_t a, int64_t b) { return a >= b; });
        case IRNodeType::And: return either(*e.as<And>(), 0);
        case IRNodeType::Or: return either(*e.as<Or>(), 1);
        case IRNodeType::Not:
            if (const Value v = (*this)(e.as<Not>()->a)) return !*v;
            return {};
        case IRNodeType::Select: {
            const auto *s = e.as<Select>();
            if (const Value condition = (*this)(s->condition))
                return (*this)(*condition ? s->true_value : s->false_value);
            return {};
        }
        case IRNodeType::Let: {
            const auto *l = e.as<Let>();
            IntegerBindings inner = known_;
            inner.erase(l->name);
            if (const Value v = (*this)(l->value)) inner[l->name] = *v;
            return Evaluate(inner, lane_)(l->body);
        }
        case IRNodeType::Ramp: {
            const auto *r = e.as<Ramp>();
            const int inner = r->base.type().lanes();
            const Evaluate part(known_, lane_ % inner);
            const Value base = part(r->base);
            const Value stride = part(r->stride);
            return base && stride ? Value(*base + lane_ / inner * *stride) : Value();
        }
        case IRNodeType::Broadcast: {
            const Expr &v = e.as<Broadcast>()->value;
            return Evaluate(known_, lane_ % v.type().lanes())(v);
        }
        case IRNodeType::Call: return call(*e.as<Call>());
        default: return {};
        }
    }

    static Value look_up(const IntegerBindings &known, const std::string &name) {
        const auto it = known.find(name);
        return it == known.end() ? Value() : it->second;
    }

private:
    const IntegerBindings &known_;
    const int lane_;

    template<class Op, class F> Value both(const Op &op, F f) const {
        if (!op.a.type().is_int_or_uint()) return {};
        const Value a = (*this)(op.a);
        const Value b = (*this)(op.b);
        return a && b ? Value(f(*a, *b)) : Value();
    }
    // One side alone decides where it is `settles`.
    template<class Op> Value either(const Op &op, int64_t settles) const {
        const Value a = (*this)(op.a);
        if (a && *a == settles) return settles;
        const Value b = (*this)(op.b);
        if (b && *b == settles) return settles;
        return a && b ? Value(1 - settles) : Value();
    }
    Value cast(const Cast &c) const {
        if (!c.type.is_int_or_uint() || !c.value.type().is_int_or_uint()) return {};
        const Value v = (*this)(c.value);
        if (!v || c.type.bits() == 64) return v;
        return c.type.is_uint() ? int64_t(uint64_t(*v) & ((uint64_t{1} << c.type.bits()) - 1)) : *v;
    }
    Value call(const Call &c) const {
        if (c.is_intrinsic({Call::likely, Call::likely_if_innermost, Call::promise_clamped,
                            Call::unsafe_promise_clamped}))
            return (*this)(c.args[0]);
        if (c.is_intrinsic(Call::if_then_else)) {
            if (const Value condition = (*this)(c.args[0])) {
                return *condition          ? (*this)(c.args[1])
                       : c.args.size() > 2 ? (*this)(c.args[2])
                                           : Value();
            }
            return {};
        }
        if (c.is_intrinsic({Call::shift_left, Call::shift_right}) &&
            c.args[1].type().is_int_or_uint()) {
            const Value a = (*this)(c.args[0]);
            const Value b = (*this)(c.args[1]);
            return a && b ? Value(c.is_intrinsic(Call::shift_left) ? *a << *b : *a >> *b) : Value();
        }
        if (c.is_intrinsic(Call::bitwise_and)) {
            const Value a = (*this)(c.args[0]);
            const Value b = (*this)(c.args[1]);
            return a && b ? Value(*a & *b) : Value();
        }
        // The geometry of a buffer in a lowered statement stands in `known` under the name of the
        // parameter: x.extent.0.
        if (c.name.starts_with("_halide_buffer_get_") && c.args.size() == 2) {
            const auto *buffer = c.args[0].as<Variable>();
            const Value d = (*this)(c.args[1]);
            if (!buffer || !d || !ends_with(buffer->name, ".buffer")) return {};
            const std::string stem = buffer->name.substr(0, buffer->name.size() - 7);
            const std::string what = c.name.substr(19);
            return look_up(known_, stem + "." + what + "." + std::to_string(*d));
        }
        return {};
    }
};

}  // namespace

std::optional<int64_t> integer_value(const Expr &e, const IntegerBindings &known, int lane) {
    return Evaluate(known, lane)(e);
}

}  // namespace halyard

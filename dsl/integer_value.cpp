#include "dsl/integer_value.h"

namespace halyard {
using namespace Halide;
using namespace Halide::Internal;

namespace {

using Value = std::optional<int64_t>;

class Evaluate {
public:
    Evaluate(const IntegerBindings &bindings, int lane) : bindings_(bindings), lane_(lane) {}

    Value operator()(const Expr &e) const {
        switch (e.node_type()) {
        case IRNodeType::IntImm: return e.as<IntImm>()->value;
        case IRNodeType::UIntImm: return int64_t(e.as<UIntImm>()->value);
        case IRNodeType::Variable: return look_up(bindings_, e.as<Variable>()->name);
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
        case IRNodeType::And: return logical(*e.as<And>(), 0);
        case IRNodeType::Or: return logical(*e.as<Or>(), 1);
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
            IntegerBindings inner = bindings_;
            inner.erase(l->name);
            if (const Value v = (*this)(l->value)) inner[l->name] = *v;
            return Evaluate(inner, lane_)(l->body);
        }
        case IRNodeType::Ramp: {
            const auto *r = e.as<Ramp>();
            const int inner = r->base.type().lanes();
            const Evaluate part(bindings_, lane_ % inner);
            const Value base = part(r->base);
            const Value stride = part(r->stride);
            return base && stride ? Value(*base + lane_ / inner * *stride) : Value();
        }
        case IRNodeType::Broadcast: {
            const Expr &v = e.as<Broadcast>()->value;
            return Evaluate(bindings_, lane_ % v.type().lanes())(v);
        }
        case IRNodeType::Call: return call(*e.as<Call>());
        default: return {};
        }
    }

    static Value look_up(const IntegerBindings &bindings, const std::string &name) {
        const auto it = bindings.find(name);
        return it == bindings.end() ? Value() : it->second;
    }

private:
    const IntegerBindings &bindings_;
    const int lane_;

    template<class Op, class F> Value both(const Op &op, F f) const {
        if (!op.a.type().is_int_or_uint()) return {};
        const Value a = (*this)(op.a);
        const Value b = (*this)(op.b);
        return a && b ? Value(f(*a, *b)) : Value();
    }
    // Evaluates && (`decisive` is 0) or || (`decisive` is 1): one operand with that value is
    // enough.
    template<class Op> Value logical(const Op &op, int64_t decisive) const {
        const Value a = (*this)(op.a);
        if (a && *a == decisive) return decisive;
        const Value b = (*this)(op.b);
        if (b && *b == decisive) return decisive;
        return a && b ? Value(1 - decisive) : Value();
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
        if (c.is_intrinsic(Call::if_then_else)) return if_then_else(c);
        if (c.is_intrinsic({Call::shift_left, Call::shift_right})) {
            if (!c.args[1].type().is_int_or_uint()) return {};
            const bool left = c.is_intrinsic(Call::shift_left);
            return both(c.args, [=](int64_t a, int64_t b) { return left ? a << b : a >> b; });
        }
        if (c.is_intrinsic(Call::bitwise_and))
            return both(c.args, [](int64_t a, int64_t b) { return a & b; });
        if (c.name.starts_with(buffer_get) && c.args.size() == 2) return buffer_geometry(c);
        return {};
    }
    template<class F> Value both(const std::vector<Expr> &args, F f) const {
        const Value a = (*this)(args[0]);
        const Value b = (*this)(args[1]);
        return a && b ? Value(f(*a, *b)) : Value();
    }
    Value if_then_else(const Call &c) const {
        const Value condition = (*this)(c.args[0]);
        if (!condition) return {};
        if (*condition) return (*this)(c.args[1]);
        return c.args.size() > 2 ? (*this)(c.args[2]) : Value();
    }
    // Evaluates _halide_buffer_get_extent(x.buffer, 0), which lowered statements contain, as the
    // binding of x.extent.0.
    Value buffer_geometry(const Call &c) const {
        const auto *buffer = c.args[0].as<Variable>();
        const Value dimension = (*this)(c.args[1]);
        if (!buffer || !dimension || !ends_with(buffer->name, ".buffer")) return {};
        const std::string tensor = buffer->name.substr(0, buffer->name.size() - 7);
        const std::string property = c.name.substr(buffer_get.size());
        return look_up(bindings_, tensor + "." + property + "." + std::to_string(*dimension));
    }
    static constexpr std::string_view buffer_get = "_halide_buffer_get_";
};

}  // namespace

std::optional<int64_t> integer_value(const Expr &e, const IntegerBindings &bindings, int lane) {
    return Evaluate(bindings, lane)(e);
}

}  // namespace halyard

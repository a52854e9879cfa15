#include "dsl/gpu/half_floats.h"

namespace halyard::gpu {
using namespace Halide;
using namespace Halide::Internal;

namespace {

Expr in_words(const Expr &e) {
    return cast(UInt(32, e.type().lanes()), e);
}

Expr word(const Expr &like, uint32_t value) {
    return make_const(UInt(32, like.type().lanes()), value);
}

Expr as_float(const Expr &word) {
    return reinterpret(Float(32, word.type().lanes()), word);
}

Expr as_word(const Expr &value) {
    return reinterpret(UInt(32, value.type().lanes()), value);
}

Expr narrowed(const Expr &word) {
    return cast(UInt(16, word.type().lanes()), word);
}

constexpr uint32_t magnitude_of_f32 = 0x7fffffff;
constexpr uint32_t infinity_of_f32 = 0x7f800000;

// Returns a word without its `dropped` last bits, rounded to nearest even, shifted down.
Expr shifted_to_even(const Expr &w, int dropped) {
    const Expr half_less_one = word(w, (1U << (dropped - 1)) - 1);
    return (w + half_less_one + ((w >> dropped) & 1)) >> dropped;
}

}  // namespace

Expr f32_of_bf16(const Expr &bits) {
    return as_float(in_words(bits) << 16);
}

// The exponent of f32 is biased by 112 more, that of infinity and NaN by twice as much. A subnormal
// is its integer times 2^-24.
Expr f32_of_f16(const Expr &bits) {
    const Expr w = in_words(bits);
    const Expr exponent = w & 0x7c00;
    const Expr sign = (w & 0x8000) << 16;
    const Expr shifted = (w & 0x7fff) << 13;
    const Expr normal = shifted + word(w, 112U << 23);
    const Expr special = shifted + word(w, 224U << 23);
    const Expr subnormal = as_word(cast(Float(32, w.type().lanes()), w & 0x3ff) *
                                   make_const(Float(32, w.type().lanes()), 0x1p-24));
    return as_float(sign | select(exponent == 0, subnormal, exponent == 0x7c00, special, normal));
}

Expr bf16_of_f32(const Expr &value) {
    const Expr w = as_word(value);
    const Expr is_nan = (w & magnitude_of_f32) > word(w, infinity_of_f32);
    return narrowed(select(is_nan, (w >> 16) | 0x40, shifted_to_even(w, 16)));
}

// Below 2^-14, the smallest normal f16, the sum with 1/2 rounds to multiples of 2^-24, of which
// f16's bits are the number.
Expr f16_of_f32(const Expr &value) {
    const Expr w = as_word(value);
    const Expr magnitude = w & magnitude_of_f32;
    const Expr sign = (w >> 16) & 0x8000;
    const Expr half = make_const(Float(32, w.type().lanes()), 0.5);
    const Expr subnormal = as_word(strict_float(as_float(magnitude) + half)) - as_word(half);
    const Expr normal = shifted_to_even(magnitude - word(w, 112U << 23), 13);
    const Expr finite = select(magnitude < word(w, 113U << 23), subnormal, normal);
    const Expr rounds_to_infinity = magnitude >= word(w, 0x477ff000);  // 65520
    const Expr is_nan = magnitude > word(w, infinity_of_f32);
    return narrowed(sign |
                    select(is_nan, word(w, 0x7e00), rounds_to_infinity, word(w, 0x7c00), finite));
}

namespace {

bool is_half(const Type &t) {
    return t.is_float() && t.bits() == 16;
}

Type held(const Type &t) {
    return is_half(t) ? UInt(16, t.lanes()) : t;
}

Expr widened(const Type &half, const Expr &bits) {
    return half.is_bfloat() ? f32_of_bf16(bits) : f32_of_f16(bits);
}

class HoldHalfFloats : public IRMutator {
    using IRMutator::visit;

    Expr visit(const FloatImm *op) override {
        if (!is_half(op->type)) return op;
        const uint16_t bits = op->type.is_bfloat() ? bfloat16_t(op->value).to_bits()
                                                   : float16_t(op->value).to_bits();
        return make_const(UInt(16), bits);
    }
    Expr visit(const Variable *op) override {
        return is_half(op->type) ? Variable::make(UInt(16), op->name) : Expr(op);
    }
    Expr visit(const Load *op) override {
        if (!is_half(op->type)) return IRMutator::visit(op);
        return Load::make(held(op->type), op->name, mutate(op->index), op->image, op->param,
                          mutate(op->predicate), op->alignment);
    }
    Stmt visit(const Allocate *op) override {
        Stmt mutated = IRMutator::visit(op);
        const Allocate *a = mutated.as<Allocate>();
        if (!is_half(op->type)) return mutated;
        return Allocate::make(a->name, held(a->type), a->memory_type, a->extents, a->condition,
                              a->body, a->new_expr, a->free_function, a->padding);
    }
    Expr visit(const Cast *op) override {
        const Type from = op->value.type();
        if (!is_half(from) && !is_half(op->type)) return IRMutator::visit(op);
        Expr value = mutate(op->value);
        if (is_half(from)) value = widened(from, value);
        if (!is_half(op->type)) return cast(op->type, value);
        value = cast(Float(32, from.lanes()), value);
        return op->type.is_bfloat() ? bf16_of_f32(value) : f16_of_f32(value);
    }
    Expr visit(const Reinterpret *op) override {
        const Expr value = mutate(op->value);
        const Type to = held(op->type);
        return value.type() == to ? value : reinterpret(to, value);
    }
    Expr visit(const Call *op) override {
        Expr mutated = IRMutator::visit(op);
        const Call *call = mutated.as<Call>();
        if (!call || !is_half(op->type)) return mutated;
        return Call::make(held(call->type), call->name, call->args, call->call_type, call->func,
                          call->value_index, call->image, call->param);
    }

    template<class Comparison> Expr compared(const Comparison *op) {
        const Type t = op->a.type();
        if (!is_half(t)) return IRMutator::visit(op);
        return Comparison::make(widened(t, mutate(op->a)), widened(t, mutate(op->b)));
    }
    Expr visit(const EQ *op) override { return compared(op); }
    Expr visit(const NE *op) override { return compared(op); }
    Expr visit(const LT *op) override { return compared(op); }
    Expr visit(const LE *op) override { return compared(op); }
    Expr visit(const GT *op) override { return compared(op); }
    Expr visit(const GE *op) override { return compared(op); }

    template<class Operation> Expr refused(const Operation *op) {
        if (is_half(op->type)) throw CompileError("arithmetic of 16-bit floats on a GPU");
        return IRMutator::visit(op);
    }
    Expr visit(const Add *op) override { return refused(op); }
    Expr visit(const Sub *op) override { return refused(op); }
    Expr visit(const Mul *op) override { return refused(op); }
    Expr visit(const Div *op) override { return refused(op); }
    Expr visit(const Mod *op) override { return refused(op); }
    Expr visit(const Min *op) override { return refused(op); }
    Expr visit(const Max *op) override { return refused(op); }
};

}  // namespace

void hold_half_floats_as_integers(Pipeline &pipeline) {
    pipeline.add_custom_lowering_pass(new HoldHalfFloats);
}

}  // namespace halyard::gpu

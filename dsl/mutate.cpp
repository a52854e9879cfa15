#include "dsl/mutate.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "dsl/fault_names.h"
#include "dsl/fault_probes.h"
#include "dsl/kernel_summary.h"
#include "dsl/known_facts.h"
#include "dsl/signed_uses.h"

namespace halyard {
namespace {
using namespace Halide;
using namespace Halide::Internal;

// The sign, the exponent and the upper 10 of the 23 bits of mantissa of an f32.
constexpr uint64_t upper_mantissa_bits = 0xffffe000;

// Rewrites an update so that it ignores the old value. A minimum or maximum with the old value
// becomes its other operand; elsewhere 0 replaces the old value.
class IgnoreOldValue : public IRMutator {
public:
    explicit IgnoreOldValue(const std::string &buffer) : buffer_(buffer) {}

private:
    using IRMutator::visit;
    bool is_old_value(const Expr &e) const {
        const Load *l = e.as<Load>();
        return l && l->name == buffer_;
    }
    template<class Op> Expr other_operand(const Op *op) {
        return is_old_value(op->a) ? op->b : is_old_value(op->b) ? op->a : IRMutator::visit(op);
    }
    Expr visit(const Max *op) override { return other_operand(op); }
    Expr visit(const Min *op) override { return other_operand(op); }
    Expr visit(const Load *op) override {
        return is_old_value(op) ? make_zero(op->type) : Expr(op);
    }
    const std::string &buffer_;
};

// Returns true for the types of elements, and false for int32, the type of indices. In exact mode
// (docs/adr/001-values-are-reals.md) reals are uint32.
bool is_element_type(Type t) {
    return t.is_float() || (t.is_uint() && t.bits() >= 32);
}

Expr other_constant(const Expr &e) {
    return is_const_zero(e) ? make_one(e.type()) : make_zero(e.type());
}

// Returns what memory may contain in the place of `start`: a large number of the other sign, or the
// other end of an unsigned type, which a minimum or maximum doesn't drop. A local array that
// nothing initialises has undefined values, for which LLVM selects those that make the code
// shortest; one on the heap often has those of the loop's last turn.
Expr garbage_for(const Expr &start) {
    const Type t = start.type();
    if (t.is_uint()) return is_positive_const(start) ? make_zero(t) : t.max();
    uint64_t bits = is_positive_const(start) ? 0xdadadadadadadada : 0x5a5a5a5a5a5a5a5a;
    if (t.bits() < 64) bits &= (uint64_t(1) << t.bits()) - 1;
    return reinterpret(t, make_const(t.with_code(Type::UInt), bits));
}

// A fault in the arithmetic of strict floats: another operator, or swapped operands.
struct StrictFault {
    Call::IntrinsicOp right;
    const char *kind, *location;
    Call::IntrinsicOp faulty;
    bool swaps_operands = false;
};
constexpr StrictFault strict_faults[] = {
    {Call::strict_add, kind::wrong_operator, "strict +", Call::strict_sub},
    {Call::strict_mul, kind::wrong_operator, "strict *", Call::strict_add},
    {Call::strict_min, kind::wrong_operator, "strict min", Call::strict_max},
    {Call::strict_max, kind::wrong_operator, "strict max", Call::strict_min},
    {Call::strict_sub, kind::swapped_operands, "strict -", Call::strict_sub, true},
    {Call::strict_div, kind::swapped_operands, "strict /", Call::strict_div, true},
};

// Plants one fault into a lowered kernel, or lists those that could be planted.
// Code outside the stages, which unpacks and checks the arguments, is not changed.
class FaultPlanter : public IRMutator {
public:
    // `fault` is one of faults_of(), or the probe of one.
    FaultPlanter(const std::string &fault, const CallFacts &facts)
        : is_probe_(fault.starts_with(fault_name::probe)),
          spoiler_(fault.starts_with(fault_name::upper) - fault.starts_with(fault_name::lower)),
          fault_(without_prefix(fault)), known_(facts) {}
    // Appends the faults of every kernel that is lowered to `faults`, and those in the computation
    // of values to `of_values` as well.
    FaultPlanter(std::vector<std::string> &faults, std::vector<std::string> &of_values,
                 const CallFacts &facts)
        : is_probe_(false), faults_(&faults), of_values_(&of_values), known_(facts) {}

    using IRMutator::mutate;
    // Halide calls this with a kernel's statement; IRMutator calls it with the statements inside.
    Stmt mutate(const Stmt &s) override {
        if (is_inside_) return IRMutator::mutate(s);
        is_inside_ = true;
        planted_ = false;
        spoiled_ = false;
        location_counts_.clear();
        summary_ = KernelSummary(s);
        Stmt result = IRMutator::mutate(s);
        is_inside_ = false;
        if (!fault_.empty() && !planted_)
            throw CompileError("no place for the fault '" + fault_ + "'");
        if (spoiler_ && !spoiled_)
            throw CompileError("the fault '" + fault_ + "' changes no float");
        return result;
    }

private:
    using IRMutator::visit;

    // Returns true if the fault to plant is of this kind and at this location, and notes that it is
    // planted. Lists the fault if faults are listed. Equal locations are numbered in the order of
    // the calls, so each location is tried once, and always in the same order.
    // A fault is not listed where it has no effect in any call: where the place never runs, or
    // where `has_effect` is false. Only a listing looks for proofs of that.
    bool try_plant(const std::string &kind, const std::string &location, bool has_effect = true) {
        if (stages_.empty()) return false;
        std::string text = kind + ": " + location;
        if (const int n = ++location_counts_[text]; n > 1) text += " #" + std::to_string(n);
        if (faults_ && !never_runs_ && has_effect) {
            faults_->push_back(text);
            if (in_value_) of_values_->push_back(text);
        }
        if (text != fault_) return false;
        planted_ = true;
        return true;
    }
    // Returns true if faults are listed and the condition is proved to hold here in every call.
    bool proves(const Expr &condition) const {
        return faults_ && !never_runs_ && known_.proves(condition);
    }
    // Returns true if the same holds for the statement's having no effect under the condition.
    bool proves_idle(const Stmt &s, const Expr &condition, bool details = false) {
        if (!faults_ || never_runs_) return false;
        known_.assume(condition);
        const bool is_idle = !may_have_effect(s, known_, details);
        known_.forget();
        return is_idle;
    }
    // Returns true if faults are listed and the order of the loop's turns is proved to be no
    // matter.
    bool has_one_turn_that_stores(const For *op) const {
        return faults_ && !never_runs_ && only_first_turn_stores(op, known_);
    }
    // Rewrites what `runs`, or else never does.
    template<class Node> Node mutate_where(bool runs, const Node &s) {
        never_runs_ += !runs;
        const Node result = mutate(s);
        never_runs_ -= !runs;
        return result;
    }
    // Returns the faulty value or, for a probe, the right one, with an abort if they differ.
    Expr wrong(const Expr &right, const Expr &faulty) {
        if (spoiler_) return spoil(right, differ(right, faulty));
        return is_probe_ ? abort_if(uses_.where_used(differ(right, faulty)), right) : faulty;
    }
    // Returns a faulty load or, for a probe, an abort: the faulty element may not be accessible.
    Expr wrong_load(const Expr &right, const Expr &faulty) {
        if (spoiler_) return spoil_all(right);
        const Expr all = const_true(right.type().lanes());
        return is_probe_ ? abort_if(uses_.where_used(all), right) : faulty;
    }
    // Returns the value with a large number where the condition holds.
    Expr spoil(const Expr &value, const Expr &condition) {
        constexpr double large = 0x1p60;
        if (!value.type().is_float() || value.type().bits() < 32) return value;
        spoiled_ = true;
        return Select::make(condition, make_const(value.type(), spoiler_ * large), value);
    }
    Expr spoil_all(const Expr &value) { return spoil(value, const_true(value.type().lanes())); }
    // Returns true for x.min.0 and the like, the least coordinates of a tensor. They are 0, so a
    // fault in their factors has no effect.
    static bool is_min_coordinate(const Expr &e) {
        const Variable *v = e.as<Variable>();
        return v && v->name.find(".min.") != std::string::npos;
    }
    std::string stage() const { return stages_.empty() ? "" : stem(stages_.back()); }
    // Rewrites the index of a load or a store. With a mask that only its first lane passes, the
    // strides of a ramp have no effect.
    Expr mutate_index(const Expr &index, const Expr &mask) {
        const bool outer = std::exchange(in_one_lane_, faults_ && known_.only_first_lane(mask));
        Expr result = mutate(index);
        in_one_lane_ = outer;
        return result;
    }
    Expr visit(const Ramp *op) override {
        const bool is_idle = std::exchange(in_one_lane_, false);
        const Expr base = mutate(op->base);
        const bool outer = std::exchange(in_idle_stride_, is_idle || in_idle_stride_);
        const Expr stride = mutate(op->stride);
        in_idle_stride_ = outer;
        in_one_lane_ = is_idle;
        if (base.same_as(op->base) && stride.same_as(op->stride)) return op;
        return Ramp::make(base, stride, op->lanes);
    }

    Stmt visit(const ProducerConsumer *op) override {
        if (!op->is_producer) return IRMutator::visit(op);
        stages_.push_back(op->name);
        Stmt s = IRMutator::visit(op);
        stages_.pop_back();
        return s;
    }
    Stmt visit(const AssertStmt *op) override { return op; }
    // The extents of an allocation are computed by Halide, and are not changed.
    Stmt visit(const Allocate *op) override {
        const bool is_array = summary_.is_array(op->name);
        if (is_array) arrays_of_turn_.insert(op->name);
        const Stmt body = mutate(op->body);
        if (is_array) arrays_of_turn_.erase(op->name);
        return Allocate::make(op->name, op->type, op->memory_type, op->extents, op->condition, body,
                              op->new_expr, op->free_function, op->padding);
    }

    // Rewrites a loop bound. Clamps in a bound are not mutated: Halide adds them to divide work
    // among loops, so shrinking one loop only moves work to another.
    Expr mutate_bound(const Expr &e) {
        const bool before = std::exchange(in_bound_, true);
        Expr result = mutate(e);
        in_bound_ = before;
        return result;
    }
    // Returns the value of a let, rewritten. (b - a)^2 is (a - b)^2, and abs(b - a) is abs(a - b).
    template<class AnyLet> Expr let_value(const AnyLet *op) {
        Expr unsigned_value = has_no_sign(op->name, op->body) ? difference(op->value) : Expr();
        if (unsigned_value.defined()) return unsigned_value;
        return mutate_where(!summary_.masks_arrays_only(op->name) &&
                                !summary_.is_size_of_buffer(op->name),
                            op->value);
    }
    Stmt visit(const LetStmt *op) override {
        // Halide's bounds inference computes these values.
        const bool is_inferred = op->name.ends_with("_realized");
        const bool outer = std::exchange(in_value_, !summary_.is_index(op->name));
        const bool in_bound = std::exchange(in_bound_, true);
        const Expr value = is_inferred ? op->value : let_value(op);
        in_bound_ = in_bound;
        in_value_ = outer;
        lets_.emplace_back(op->name, op->value);
        known_.add_let(op->name, op->value);
        const Stmt body = mutate(op->body);
        known_.remove_let(op->name);
        lets_.pop_back();
        return LetStmt::make(op->name, value, body);
    }
    Expr visit(const Let *op) override {
        const bool outer = std::exchange(in_value_, !summary_.is_index(op->name));
        const Expr value = let_value(op);
        in_value_ = outer;
        return Let::make(op->name, value, mutate(op->body));
    }
    // Returns `e` with the values of the lets around it.
    Expr substitute_lets(Expr e) const {
        for (size_t k = lets_.size(); k-- > 0;) {
            if (expr_uses_var(e, lets_[k].first))
                e = substitute(lets_[k].first, lets_[k].second, e);
        }
        return e;
    }
    // Returns true for the guard in a loop that several Funcs share (compute_with). Its else case
    // is for Funcs of different extents, and in this project they have equal extents.
    static bool is_fused_loop_guard(const Expr &condition) {
        const LT *within = condition.as<LT>();
        const Variable *loop = within ? within->a.as<Variable>() : nullptr;
        return loop && loop->name.find(".fused.") != std::string::npos;
    }
    struct LoopBounds {
        Expr min, extent;
        bool is_shorter = false, is_longer = false;  // than without the fault

        void end_early() {
            extent = extent - 1;
            is_shorter = true;
        }
        void end_late() {
            extent = extent + 1;
            is_longer = true;
        }
        void begin_late() {
            min = min + 1;
            end_early();
        }
        void begin_early() {
            min = min - 1;
            end_late();
        }
    };
    // Returns true for the turns of a loop before those in which the conditions of its formula are
    // known. They have the whole formula, which is right in every turn.
    static bool is_prologue(const For *op) {
        const Variable *extent = op->extent.as<Variable>();
        return extent && extent->name.ends_with(".prologue");
    }
    // A remainder loop runs the last, incomplete iteration of a guarded split. Halide copies the
    // whole body into it, so one more iteration has no effect: the guards in the copy exclude it.
    void plant_in_bounds(LoopBounds &bounds, const LoopStores &stores, const For *op,
                         bool is_remainder) {
        const std::string loop = "loop " + stem(op->name);
        const Expr variable = Variable::make(Int(32), op->name);
        const auto matters = [&](const Expr &iteration, bool details) {
            return !proves_idle(op->body, variable == iteration, details);
        };
        const bool first = matters(op->min, false);
        const bool last = matters(op->min + op->extent - 1, false);
        // One turn more of a sum may add an empty sum.
        const bool next = matters(op->min + op->extent, stores.accumulates);
        const bool previous = matters(op->min - 1, stores.accumulates);
        if (stores.accumulates) {
            if (try_plant(kind::reduction_bounds, loop + " ends early", last)) bounds.end_early();
            if (!is_remainder && try_plant(kind::reduction_bounds, loop + " ends late", next))
                bounds.end_late();
            if (try_plant(kind::reduction_bounds, loop + " begins late", first))
                bounds.begin_late();
            if (try_plant(kind::reduction_bounds, loop + " begins early", previous))
                bounds.begin_early();
        } else {
            if (try_plant(kind::dropped_tail, loop, last)) bounds.end_early();
            if (try_plant(kind::late_start, loop, first)) bounds.begin_late();
            // What one turn more of a prologue computes is computed again by the next loop.
            if (!is_remainder && !is_prologue(op) && !stores.bounds_inner_loop &&
                try_plant(kind::extra_iteration, loop, next))
                bounds.end_late();
        }
    }
    Stmt visit(const For *op) override {
        const LoopStores stores = stores_of(op);
        const bool is_remainder = op->name.ends_with(".rebased");
        const bool runs = !proves(op->extent <= 0) &&
                          !(is_remainder && can_prove(substitute_lets(op->extent) <= 0));
        never_runs_ += !runs;
        const LoopBounds right{mutate_bound(op->min), mutate_bound(op->extent)};
        LoopBounds bounds = right;
        plant_in_bounds(bounds, stores, op, is_remainder);
        const bool races = stores.repeats_store && stores.differs &&
                           op->for_type == ForType::Serial &&
                           try_plant(kind::racy_parallel, "loop " + stem(op->name),
                                     !proves(op->extent <= 1) && !has_one_turn_that_stores(op));
        const bool outer = std::exchange(in_remainder_, is_remainder);
        const Expr variable = Variable::make(Int(32), op->name);
        known_.assume(variable >= op->min);
        known_.assume(variable < op->min + op->extent);
        const auto arrays_outside = std::exchange(arrays_of_turn_, {});
        const Stmt body = mutate(op->body);
        arrays_of_turn_ = arrays_outside;
        known_.forget();
        known_.forget();
        never_runs_ -= !runs;
        in_remainder_ = outer;
        if (is_probe_ && (bounds.is_shorter || bounds.is_longer || races))
            return probe(op, right, body, bounds.is_longer, races);
        return For::make(op->name, bounds.min, bounds.extent,
                         races ? ForType::Parallel : op->for_type, op->partition_policy,
                         op->device_api, body);
    }
    // Returns the right loop, after an abort if a wrong number or order of iterations would have an
    // effect. For an extra iteration it always aborts; for a missing one, if the loop runs at all;
    // for a race, if it runs more than once.
    static Stmt probe(const For *op, const LoopBounds &right, const Stmt &body, bool is_longer,
                      bool races) {
        const Stmt abort = Evaluate::make(abort_call());
        const Stmt first = is_longer ? abort
                                     : IfThenElse::make(right.extent > (races ? 1 : 0), abort);
        return Block::make(first, For::make(op->name, right.min, right.extent, op->for_type,
                                            op->partition_policy, op->device_api, body));
    }
    // Returns true for the guard of what computes a Func for one turn of a loop, if it fills arrays
    // of that turn. Without the guard it computes elements that the turn doesn't use.
    bool fills_ahead(const IfThenElse *op) const {
        const LT *any = op->condition.as<LT>();
        const Variable *extent = any && is_const_zero(any->a) ? any->b.as<Variable>() : nullptr;
        const ProducerConsumer *producer = op->then_case.as<ProducerConsumer>();
        return extent && extent->name.find(".extent_realized") != std::string::npos && producer &&
               producer->is_producer && only_fills(producer->body, arrays_of_turn_);
    }
    Stmt visit(const IfThenElse *op) override {
        // An if with an else case comes from specialize() or a split: the then case is faster and
        // for some extents only, and the else case is right for all. A condition that is false too
        // often has no effect on the result; only the other direction is a fault.
        const bool is_always = proves(op->condition);
        const bool is_never = !is_always && proves(!op->condition);
        if (op->else_case.defined()) {
            if (is_fused_loop_guard(op->condition)) {
                return IfThenElse::make(op->condition, mutate_if(op->condition, op->then_case),
                                        op->else_case);
            }
            if (!in_remainder_ &&
                try_plant(kind::lost_guard, "special case in " + stage(), !is_always)) {
                if (!is_probe_) return mutate(op->then_case);
                return IfThenElse::make(op->condition, mutate(op->then_case),
                                        abort_before(op->else_case));
            }
            // The iteration of a remainder loop is never complete, so the then case, for complete
            // ones, never runs there.
            const Stmt then_case = in_remainder_
                                       ? op->then_case
                                       : mutate_if(op->condition, op->then_case, !is_never);
            return IfThenElse::make(op->condition, then_case,
                                    mutate_if(!op->condition, op->else_case, !is_always));
        }
        const Stmt aborts = Evaluate::make(abort_call());
        never_runs_ += is_never;
        const bool guards = !is_always && !fills_ahead(op) &&
                            !proves_idle(op->then_case, !op->condition);
        const bool is_lost = try_plant(kind::lost_guard, "guard in " + stage(), guards);
        const bool is_dropped = !is_lost &&
                                try_plant(kind::dropped_tail, "guarded code in " + stage());
        never_runs_ -= is_never;
        if (is_lost) {
            const Stmt guarded = mutate(op->then_case);
            return is_probe_ ? IfThenElse::make(op->condition, guarded, aborts) : guarded;
        }
        if (is_dropped)
            return is_probe_ ? IfThenElse::make(op->condition, aborts) : Evaluate::make(0);
        const Expr condition = mutate(op->condition);
        return IfThenElse::make(condition, mutate_if(op->condition, op->then_case, !is_never));
    }
    // Rewrites the side of a branch that runs under this condition.
    Stmt mutate_if(const Expr &condition, const Stmt &side, bool runs = true) {
        known_.assume(condition);
        Stmt s = mutate_where(runs, side);
        known_.forget();
        return s;
    }

    Stmt visit(const Store *op) override {
        const bool updates = loads(op->value, op->name);
        const bool starts = !updates && summary_.accumulators.count(op->name);
        const std::string to = "store to " + stem(op->name);
        const bool outer = std::exchange(in_value_, true);
        uses_.push(op->predicate);
        Expr value = starts && is_const(op->value) ? op->value : mutate(op->value);
        in_value_ = outer;
        Expr index = mutate_index(op->index, op->predicate);
        uses_.pop();
        Expr mask = mutate(op->predicate);
        ModulusRemainder alignment = index.same_as(op->index) ? op->alignment : ModulusRemainder();
        if (starts && try_plant(kind::missing_init, to)) {
            // The checks fill the outputs.
            if (is_probe_ || (op->param.defined() && !spoiler_)) return without(op);
            value = spoiler_ ? spoil_all(value) : garbage_for(value);
        }
        if (starts && is_const(value) && try_plant(kind::wrong_start, to))
            value = wrong(value, other_constant(value));
        if (!starts && !updates && try_plant(kind::missing_store, to)) {
            if (!spoiler_) return without(op);
            value = spoil_all(value);
        }
        if (updates && try_plant(kind::overwrites, to))
            value = wrong(value, IgnoreOldValue(op->name).mutate(value));
        if (try_plant(kind::wrong_index, to)) {
            if (is_probe_) return abort_before(op);
            index = index + make_one(index.type());
            alignment = ModulusRemainder();
        }
        if (!is_const_one(mask) && try_plant(kind::lost_mask, to))
            mask = wrong(mask, const_true(mask.type().lanes()));
        return Store::make(op->name, less_precise(value, to), index, op->param, mask, alignment);
    }
    Stmt without(const Store *op) { return is_probe_ ? abort_before(op) : Evaluate::make(0); }
    // Returns the value, or one with fewer bits if that is the fault.
    Expr less_precise(const Expr &value, const std::string &to) {
        const bool has_bits = value.type().element_of() == Float(32) && !is_const(value);
        if (!has_bits || !try_plant(kind::lost_precision, to, !summary_.has_few_bits(value)))
            return value;
        const Type bits = UInt(32, value.type().lanes());
        return wrong(value, reinterpret(value.type(), reinterpret(bits, value) &
                                                          make_const(bits, upper_mantissa_bits)));
    }
    Expr visit(const Load *op) override {
        const bool outer = std::exchange(in_value_, false);
        Expr index = mutate_index(op->index, op->predicate);
        Expr mask = mutate_where(!summary_.is_array(op->name), op->predicate);
        in_value_ = outer;
        const std::string from = "load of " + stem(op->name) + " in " + stage();
        ModulusRemainder alignment = index.same_as(op->index) ? op->alignment : ModulusRemainder();
        Expr right = Load::make(op->type, op->name, index, op->image, op->param, mask, alignment);
        if (try_plant(kind::wrong_index, from)) {
            index = index + make_one(index.type());
            return wrong_load(right, Load::make(op->type, op->name, index, op->image, op->param,
                                                mask, ModulusRemainder()));
        }
        if (op->param.defined()) {
            const auto &all = summary_.inputs_of_type.at(op->type.element_of());
            auto next = all.upper_bound(op->name);
            if (next == all.end()) next = all.begin();
            if (all.size() > 1 && try_plant(kind::wrong_input, from)) {
                return wrong_load(right, Load::make(op->type, next->first, index, op->image,
                                                    next->second, mask, alignment));
            }
        }
        return right;
    }
    Expr visit(const Variable *op) override {
        const auto strides = summary_.strides.find(op->name.substr(0, op->name.find(".stride.")));
        if (strides == summary_.strides.end() || strides->second.size() < 2) return op;
        const auto at = std::find(strides->second.begin(), strides->second.end(), op->name);
        if (at == strides->second.end()) return op;
        const Expr other = Variable::make(
            op->type, at + 1 == strides->second.end() ? strides->second[0] : at[1]);
        if (!try_plant(kind::swapped_stride, stem(op->name) + " in " + stage(),
                       !in_idle_stride_ && !proves(Expr(op) == other)))
            return op;
        return wrong(op, other);
    }

    // Returns true for comparisons of numbers that are never equal where the result is used: < and
    // <= are the same there.
    bool never_equal(const Expr &a, const Expr &b) const {
        if (!faults_ || never_runs_) return false;
        return (a.type() == Int(32) && proves(a != b)) || uses_.exclude_equality(a, b);
    }
    // Returns the clamp in v < max(min(e, n), least) if v is less than n, as the number of a thread
    // is less than the block's size: then any larger n is as good. Otherwise null.
    const Min *idle_clamp(const LT *op) const {
        const Max *bound = op->b.as<Max>();
        const Min *clamp = bound ? bound->a.as<Min>() : nullptr;
        return clamp && proves(op->a < clamp->b) ? clamp : nullptr;
    }
    Expr visit(const LT *op) override {
        if (try_plant(kind::wrong_comparison, "< in " + stage(), !never_equal(op->a, op->b)))
            return wrong(op, LE::make(op->a, op->b));
        const Min *outer = std::exchange(idle_clamp_, idle_clamp(op));
        Expr result = IRMutator::visit(op);
        idle_clamp_ = outer;
        return result;
    }
    Expr visit(const LE *op) override {
        return try_plant(kind::wrong_comparison, "<= in " + stage(), !never_equal(op->a, op->b))
                   ? wrong(op, LT::make(op->a, op->b))
                   : IRMutator::visit(op);
    }
    // For strict floats, a <= b is lowered as a < b || a == b. Writing <= for that < is no fault.
    Expr visit(const Or *op) override {
        const Call *lt = op->a.as<Call>();
        const Call *eq = op->b.as<Call>();
        const bool is_le = lt && eq && lt->is_intrinsic(Call::strict_lt) &&
                           eq->is_intrinsic(Call::strict_eq) &&
                           Halide::Internal::equal(lt->args[0], eq->args[0]) &&
                           Halide::Internal::equal(lt->args[1], eq->args[1]);
        if (!is_le) return IRMutator::visit(op);
        if (try_plant(kind::wrong_comparison, "<= in " + stage())) return wrong(op, op->a);
        const std::vector<Expr> sides = {mutate(lt->args[0]), mutate(lt->args[1])};
        return Or::make(Call::make(lt->type, lt->name, sides, lt->call_type),
                        Call::make(eq->type, eq->name, sides, eq->call_type));
    }
    // Returns a - b with its operands rewritten, but not swapped; nothing if `e` is something else
    // or an index.
    Expr difference(const Expr &e) {
        if (!is_element_type(e.type())) return {};
        if (const Let *l = e.as<Let>()) {
            const Expr inside = difference(l->body);
            return inside.defined() ? Let::make(l->name, mutate(l->value), inside) : Expr();
        }
        if (const Sub *d = e.as<Sub>()) return Sub::make(mutate(d->a), mutate(d->b));
        const Call *d = e.as<Call>();
        if (!d || !d->is_intrinsic(Call::strict_sub)) return {};
        return Call::make(d->type, d->name, {mutate(d->args[0]), mutate(d->args[1])}, d->call_type);
    }
    // Returns abs(a - b) with the operands rewritten, or nothing if `op` is something else.
    Expr absolute_difference(const Call *op) {
        if (!op->is_intrinsic(Call::abs)) return {};
        const Expr inside = difference(op->args[0]);
        if (!inside.defined()) return {};
        return Call::make(op->type, op->name, {inside}, op->call_type);
    }
    Expr visit(const Call *op) override {
        if (op->is_intrinsic(Call::prefetch)) return op;  // any address is right
        if (Expr difference = absolute_difference(op); difference.defined()) return difference;
        const bool lt = op->is_intrinsic(Call::strict_lt);
        const bool le = op->is_intrinsic(Call::strict_le);
        if ((lt || le) &&
            try_plant(kind::wrong_comparison, std::string(lt ? "<" : "<=") + " in " + stage())) {
            return wrong(
                op, Call::make(op->type,
                               Call::get_intrinsic_name(lt ? Call::strict_le : Call::strict_lt),
                               op->args, op->call_type));
        }
        for (const StrictFault &f : strict_faults) {
            if (!op->is_intrinsic(f.right) ||
                !try_plant(f.kind, std::string(f.location) + " in " + stage()))
                continue;
            std::vector<Expr> operands = op->args;
            if (f.swaps_operands) std::swap(operands[0], operands[1]);
            return wrong(op, Call::make(op->type, f.faulty, operands, op->call_type));
        }
        return IRMutator::visit(op);
    }
    // Returns true for select(a < b, b, a) and the like: where a and b are equal, either side is
    // right. If one side is 0 the sign of a zero depends on the comparison.
    static bool is_extremum(const Select *op) {
        const Or *or_nan = op->condition.as<Or>();
        const Expr &compares = or_nan ? or_nan->a : op->condition;
        const Call *strict = compares.as<Call>();
        Expr a, b;
        if (strict && strict->is_intrinsic({Call::strict_lt, Call::strict_le})) {
            a = strict->args[0];
            b = strict->args[1];
        } else if (const LT *lt = compares.as<LT>()) {
            a = lt->a;
            b = lt->b;
        } else if (const LE *le = compares.as<LE>()) {
            a = le->a;
            b = le->b;
        }
        if (!a.defined() || is_const_zero(a) || is_const_zero(b)) return false;
        const auto are = [&](const Expr &x, const Expr &y) {
            return Halide::Internal::equal(op->true_value, x) &&
                   Halide::Internal::equal(op->false_value, y);
        };
        return are(a, b) || are(b, a);
    }
    Expr visit(const Select *op) override {
        if (is_min_coordinate(op->true_value) || is_min_coordinate(op->false_value)) return op;
        const Expr condition = is_extremum(op) ? op->condition : mutate(op->condition);
        Expr yes = op->true_value;
        Expr no = op->false_value;
        const auto select = [&] { return Select::make(op->condition, yes, no); };
        for (Expr *side : {&yes, &no}) {
            if (!is_const(*side) || !try_plant(kind::wrong_pad, "constant in " + stage())) continue;
            *side = other_constant(*side);
            return wrong(op, select());
        }
        yes = mutate_used_if(op->condition, yes);
        no = mutate_used_if(!op->condition, no);
        return Select::make(condition, yes, no);
    }
    // Rewrites a value that is used only where the condition is true.
    Expr mutate_used_if(const Expr &condition, const Expr &value) {
        uses_.push(condition);
        Expr result = mutate(value);
        uses_.pop();
        return result;
    }
    // Integers that are values, such as the bits of a float, aren't indices.
    bool is_clamp() const { return !in_bound_ && !in_value_; }
    Expr visit(const Min *op) override {
        if (is_element_type(op->type)) {
            return try_plant(kind::wrong_operator, "min in " + stage())
                       ? wrong(op, Max::make(op->a, op->b))
                       : IRMutator::visit(op);
        }
        const bool has_effect = op != idle_clamp_ && !proves(op->a <= op->b);
        return is_clamp() && try_plant(kind::wrong_clamp, "min in " + stage(), has_effect)
                   ? wrong(op, Min::make(op->a, op->b + make_one(op->type)))
                   : IRMutator::visit(op);
    }
    Expr visit(const Max *op) override {
        if (is_element_type(op->type)) {
            return try_plant(kind::wrong_operator, "max in " + stage())
                       ? wrong(op, Min::make(op->a, op->b))
                       : IRMutator::visit(op);
        }
        return is_clamp() &&
                       try_plant(kind::wrong_clamp, "max in " + stage(), !proves(op->a > op->b))
                   ? wrong(op, Max::make(op->a, op->b + make_one(op->type)))
                   : IRMutator::visit(op);
    }
    Expr visit(const Add *op) override {
        return is_element_type(op->type) && try_plant(kind::wrong_operator, "+ in " + stage())
                   ? wrong(op, Sub::make(op->a, op->b))
                   : IRMutator::visit(op);
    }
    Expr visit(const Mul *op) override {
        if (is_min_coordinate(op->a) || is_min_coordinate(op->b)) return op;
        const Expr squared = Halide::Internal::equal(op->a, op->b) ? difference(op->a) : Expr();
        if (squared.defined()) return Mul::make(squared, squared);
        return is_element_type(op->type) && try_plant(kind::wrong_operator, "* in " + stage())
                   ? wrong(op, Add::make(op->a, op->b))
                   : IRMutator::visit(op);
    }
    Expr visit(const Sub *op) override {
        return is_element_type(op->type) && try_plant(kind::swapped_operands, "- in " + stage())
                   ? wrong(op, Sub::make(op->b, op->a))
                   : IRMutator::visit(op);
    }
    Expr visit(const Div *op) override {
        return is_element_type(op->type) && try_plant(kind::swapped_operands, "/ in " + stage())
                   ? wrong(op, Div::make(op->b, op->a))
                   : IRMutator::visit(op);
    }
    Expr visit(const FloatImm *op) override {
        if (op->value == 0 || !try_plant(kind::wrong_constant, "constant in " + stage())) return op;
        return wrong(op, FloatImm::make(op->type, -op->value));
    }

    const bool is_probe_;
    const int spoiler_ = 0;  // the sign of the numbers of a spoiler
    bool spoiled_ = false;   // a number of this statement
    UseConditions uses_;
    const std::string fault_;
    std::vector<std::string> *const faults_ = nullptr;  // null if a fault is planted
    std::vector<std::string> *const of_values_ = nullptr;
    bool is_inside_ = false;           // in the kernel's statement, rather than before it
    const Min *idle_clamp_ = nullptr;  // in the comparison that is rewritten
    bool planted_ = false, in_bound_ = false, in_remainder_ = false;
    bool in_value_ = false;        // in a stored value, rather than in an index
    bool in_one_lane_ = false;     // in an index of which only the first lane counts
    bool in_idle_stride_ = false;  // in a stride that no lane that counts is multiplied with
    int never_runs_ = 0;           // > 0: at a place that no call reaches
    KernelSummary summary_;
    KnownFacts known_;
    std::vector<std::string> stages_;  // the stages around the current statement
    // The arrays of constant size that are allocated in a turn of the innermost loop around.
    std::set<std::string> arrays_of_turn_;
    std::vector<std::pair<std::string, Expr>> lets_;
    std::map<std::string, int> location_counts_;  // of "kind: location"
};

}  // namespace

void list_faults(Halide::Pipeline &pipeline, const CallFacts &facts,
                 std::vector<std::string> &faults, std::vector<std::string> &of_values) {
    pipeline.add_custom_lowering_pass(new FaultPlanter(faults, of_values, facts));
}

void plant(Halide::Pipeline &pipeline, const CallFacts &facts, const std::string &fault) {
    pipeline.add_custom_lowering_pass(new FaultPlanter(fault, facts));
}

}  // namespace halyard

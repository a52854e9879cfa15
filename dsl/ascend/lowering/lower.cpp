#include "dsl/ascend/lowering/lower.h"

#include <functional>

#include "ascend/passes/passes.h"
#include "ascend/program/dump.h"
#include "dsl/ascend/graph.h"
#include "dsl/ascend/lowering/call_numbers.h"
#include "dsl/ascend/lowering/lets.h"
#include "dsl/ascend/lowering/nest.h"
#include "dsl/ascend/lowering/tuple.h"
#include "dsl/ascend/lowering/update.h"
#include "dsl/ascend/lowering/uses.h"
#include "dsl/diagnostic.h"
#include "registry/base/error.h"

namespace halyard::ascend {
using namespace Halide;
using namespace Halide::Internal;
using HExpr = Halide::Expr;

namespace {

// Returns the name of a loop or buffer in a program, given Halide's: "tile_x" for
// "x.s1.r10$x.tile_x".
std::string short_name(const std::string &halide_name) {
    std::string s = halide_name.substr(halide_name.rfind('.') + 1);
    if (const size_t counter = s.find('$'); counter != 0) s = s.substr(0, counter);
    if (std::isdigit((unsigned char)s[0])) s = stage_name(halide_name) + "_" + s;
    for (char &c : s)
        if (!std::isalnum((unsigned char)c) && c != '_') c = '_';
    return s;
}

// Replaces stores under a condition on reals by stores of a selection, which the vector unit
// computes; it can't branch. The first store to a buffer is its definition, which Halide leaves out
// if nothing reads it: it stays unconditional.
class PredicatedStores : public IRMutator {
public:
    PredicatedStores(const HExpr &condition, const std::set<std::string> &written)
        : condition_(condition), written_(written) {}

private:
    using IRMutator::visit;
    const HExpr condition_;
    std::set<std::string> written_;
    Stmt visit(const Store *op) override {
        if (written_.insert(op->name).second) return op;
        const Type t = op->value.type();
        const HExpr before = Load::make(t, op->name, op->index, Buffer<>(), op->param,
                                        op->predicate, op->alignment);
        const HExpr value = Select::make(condition_, op->value, before);
        return Store::make(op->name, value, op->index, op->param, op->predicate, op->alignment);
    }
    Stmt visit(const Allocate *op) override {  // holds nothing yet to be kept
        throw DispatchError("ascend", op->name + ": no stages under a condition on reals");
    }
};

// Returns the scope of an allocation, which is a Func or a part of it: "sums$2.1" is the second
// value of a Tuple.
auto scope_of(const Kernel &k, const std::string &name) {
    const auto own = k.buffer_plan.scope.find(name);
    return own != k.buffer_plan.scope.end()
               ? own
               : k.buffer_plan.scope.find(name.substr(0, name.rfind('.')));
}

class StatementLowering : public IRVisitor {
public:
    StatementLowering(Kernel &k, CallNumbers &numbers, dv::Program &program)
        : k_(k), w_(program), s_{w_, program.chip(),
                                 {}, {},
                                 {}, [&numbers](const HExpr &e) { return numbers.of(e); },
                                 {}} {}

    std::vector<std::string> warnings() const { return w_.warnings; }
    std::map<std::string, dv::Ref> &buffers() { return s_.buffers; }
    void lower(const std::string &stage, const Stmt &body) {
        w_.stage = stage_name(stage);
        inside(body);
    }

private:
    using IRVisitor::visit;
    Kernel &k_;
    Writer w_;
    LoweringContext s_;
    Uses uses_;
    int64_t inner_cores_ = 0;  // in a parallel loop: iterations of the parallel loop within it
    // The loops and branches around, outermost first: a loop's variable, or "" for a branch.
    std::vector<std::string> around_;
    std::set<std::string> written_;  // buffers that stores before this one have written
    // The number of loops and branches around the allocation of each accumulator.
    std::map<std::string, size_t> around_allocation_;

    // Lowers the body of a loop or branch with this name in around_.
    void in_one(const std::string &name, const Stmt &s) {
        around_.push_back(name);
        inside(s);
        around_.pop_back();
    }
    // The cube unit's first product overwrites the accumulator. Which product is the first isn't
    // known if terms are added in parts, by a loop with other stages in it, or under a condition:
    // throws DispatchError then.
    void refuse_partial_sums(const Store &store) const {
        const auto allocation = around_allocation_.find(store.name);
        if (allocation == around_allocation_.end() || is_const(store.value)) return;
        for (size_t k = allocation->second; k < around_.size(); k++) {
            if (around_[k].empty() || !expr_uses_var(store.index, around_[k])) {
                throw DispatchError(k_.op->name,
                                    "no Ascend program: the sum of products " +
                                        stage_name(store.name) + " has its terms " +
                                        (around_[k].empty()
                                             ? "under a condition"
                                             : "in parts, by the loop " + short_name(around_[k])));
            }
        }
    }

    // Returns the largest value of an extent, which may depend on the loops around: the tiles of a
    // causal mask need fewer keys at the beginning.
    int64_t largest(const HExpr &extent) const {
        Scope<Interval> loops;
        for (auto &[name, range] : s_.bounds)
            loops.push(name, Interval(int(range.first), int(range.second)));
        const HExpr bound = find_constant_bound(extent, Direction::Upper, loops);
        return constant(bound.defined() ? bound : extent, k_.op->name);
    }

    // Lowers the statements of one body of the program.
    void inside(const Stmt &s) {
        s_.write_fills();
        s.accept(this);
        s_.write_fills();
    }
    void visit(const ProducerConsumer *op) override {
        const std::string before = w_.stage;
        if (op->is_producer) w_.stage = stage_name(op->name);
        op->body.accept(this);
        w_.stage = before;
    }
    void visit(const Allocate *op) override {
        written_.erase(op->name);
        s_.initialised.erase(op->name);
        const auto at = scope_of(k_, op->name);
        if (at == k_.buffer_plan.scope.end())
            throw DispatchError(k_.op->name, "its stage " + op->name + " has no place on the chip");
        std::vector<int64_t> extents;
        int64_t size = 1;
        for (const HExpr &e : op->extents)
            extents.push_back(largest(e));
        if (at->second == dv::Scope::l0c) {
            around_allocation_[op->name] = around_.size();
            s_.buffers[op->name] =
                (s_.accumulators[op->name] = accumulator(w_, short_name(op->name), extents)).ref;
            return op->body.accept(this);
        }
        for (const int64_t e : extents)
            size *= e;
        // A Func that only loads has two slots, like inputs that aren't kept.
        const bool loaded = k_.buffer_plan.loaded.count(op->name) != 0;
        const Uses::Buffer uses = uses_.add(op, loaded);
        if (uses.readers) s_.readers[op->name] = *uses.readers;
        if (!uses.reused.empty()) {
            s_.buffers[op->name] = s_.buffers.at(uses.reused);
            return op->body.accept(this);
        }
        s_.buffers[op->name] =
            loaded ? w_.double_buffer(short_name(op->name), at->second, dtype_of(op->type), size)
                   : w_.buffer(short_name(op->name), at->second, dtype_of(op->type), size);
        op->body.accept(this);
    }
    void visit(const Free *) override {}
    void visit(const Evaluate *) override {}
    void visit(const AssertStmt *) override {}
    void visit(const IfThenElse *op) override {
        if (reads_reals(op->condition) && !op->else_case.defined()) {
            const Stmt chosen = PredicatedStores(op->condition, written_).mutate(op->then_case);
            return chosen.accept(this);
        }
        s_.write_fills();
        const dv::Expr condition = s_.index(op->condition);
        dv::Body then = w_.nested([&] { in_one("", op->then_case); });
        dv::Body otherwise;
        if (op->else_case.defined()) otherwise = w_.nested([&] { in_one("", op->else_case); });
        w_.branch(condition, std::move(then), std::move(otherwise));
    }
    void visit(const Store *op) override {
        refuse_partial_sums(*op);
        written_.insert(op->name);
        lower_nest(s_, {}, *op);
    }
    // "best$2.0" and "best$2.1"
    static bool of_one_tuple(const std::string &a, const std::string &b) {
        return a != b && a.find('.') != std::string::npos &&
               a.substr(0, a.rfind('.')) == b.substr(0, b.rfind('.'));
    }
    // Consecutive stores may be a Tuple's, whose values are all computed before any is stored.
    void visit(const Block *op) override {
        std::vector<Stmt> parts;
        const std::function<void(const Stmt &)> flat = [&](const Stmt &s) {
            if (const auto *b = s.as<Block>()) {
                flat(b->first);
                return flat(b->rest);
            }
            parts.push_back(s);
        };
        flat(op);
        for (size_t k = 0; k < parts.size();) {
            std::vector<const Store *> tuple;
            for (; k < parts.size() && parts[k].as<Store>(); k++) {
                if (!tuple.empty() && !of_one_tuple(tuple[0]->name, parts[k].as<Store>()->name))
                    break;
                tuple.push_back(parts[k].as<Store>());
            }
            if (!tuple.empty()) {
                lower_stores({}, tuple);
                continue;
            }
            // What follows a loop of tiles, for example the shorter last tile, reuses the memory of
            // its buffers.
            const For *tiles = parts[k].as<For>();
            if (tiles && is_tile_loop(tiles->name) && k + 1 < parts.size())
                w_.scope([&] { inside(parts[k]); });
            else
                parts[k].accept(this);
            k++;
        }
    }
    // Lowers stores within loops.
    void lower_stores(const std::vector<Loop> &loops, const std::vector<const Store *> &stores) {
        for (const Store *store : stores) {
            refuse_partial_sums(*store);
            written_.insert(store->name);
        }
        if (reads_another(stores)) return lower_tuple(s_, loops, stores);
        lower_nests(s_, loops, stores);
    }

    void visit(const For *op) override {
        if (op->for_type == ForType::Parallel) return parallel_loop(op);
        std::vector<Loop> loops;
        std::vector<const Store *> stores;
        const Stmt whole = op;
        std::vector<Stmt> made;  // keeps what `stores` points to
        if (nest(whole, loops, stores, made)) return lower_stores(loops, stores);
        const auto first = as_const_int(op->min);
        const auto count = as_const_int(op->extent);
        if (first && count && *count > 1 && is_ragged(op))
            return peel(op, *first, *first + *count - 1);
        const dv::Expr begin = s_.index(op->min);
        const dv::Expr end = begin + s_.index(op->extent);
        const auto lower = begin.constant();
        const auto past = end.constant();
        if (lower && past) s_.bounds[op->name] = {*lower, *past - 1};
        s_.write_fills();
        const bool before = s_.reduced;
        s_.reduced = false;
        w_.loop(w_.reg(short_name(op->name)), begin, end, [&](const dv::Expr &i) {
            s_.variables[op->name] = i;
            in_one(op->name, op->body);
        });
        s_.reduced |= before;
    }

    // Returns true if an extent in the body isn't constant and depends on this loop.
    static bool is_ragged(const For *op) {
        struct : IRVisitor {
            using IRVisitor::visit;
            void visit(const For *f) override {
                length(f->extent);
                IRVisitor::visit(f);
            }
            void visit(const Allocate *a) override {
                for (const HExpr &e : a->extents)
                    length(e);
                IRVisitor::visit(a);
            }
            void length(const HExpr &e) { found |= !as_const_int(e) && expr_uses_var(e, *outer); }
            const std::string *outer = nullptr;
            bool found = false;
        } lengths;
        lengths.outer = &op->name;
        op->body.accept(&lengths);
        return lengths.found;
    }
    // Lowers the last iteration, whose tiles are shorter, separately. If the others are still
    // ragged, they are peeled again.
    void peel(const For *op, int64_t first, int64_t last) {
        Scope<Interval> bounds;
        bounds.push(op->name, Interval(int(first), int(last) - 1));
        const Stmt before = For::make(op->name, op->min, int(last - first), op->for_type,
                                      op->partition_policy, op->device_api,
                                      simplify(op->body, true, bounds));
        w_.scope([&] { before.accept(this); });
        s_.variables.erase(op->name);
        simplify(substitute(op->name, int(last), op->body)).accept(this);
    }

    // Makes the iterations of a parallel loop, and of one within it, the program's blocks.
    void parallel_loop(const For *op) {
        const int64_t extent = constant(op->extent, k_.op->name);
        const dv::Expr block = dv::Expr::var("block_idx");
        s_.bounds[op->name] = {0, extent - 1};
        if (inner_cores_) {
            s_.variables[op->name] = block % inner_cores_;
            if (extent == inner_cores_) return iteration(op, extent);
            return w_.branch(block % inner_cores_ < extent,
                             w_.nested([&] { iteration(op, extent); }), {});
        }
        struct : IRVisitor {
            using IRVisitor::visit;
            void visit(const For *f) override {
                if (f->for_type == ForType::Parallel) {
                    if (const auto n = as_const_int(simplify(f->extent)))
                        iterations = std::max(iterations, int64_t(*n));
                }
                IRVisitor::visit(f);
            }
            int64_t iterations = 1;
        } within;
        op->body.accept(&within);
        inner_cores_ = within.iterations;
        w_.program.blocks = extent * inner_cores_;
        s_.variables[op->name] = inner_cores_ > 1 ? block / inner_cores_ : block;
        iteration(op, extent);
        inner_cores_ = 0;
    }
    // Lowers an iteration of a parallel loop. The last one is lowered separately if its tile is
    // shorter, and so is the first one if it differs from those between.
    void iteration(const For *op, int64_t extent) {
        if (extent == 1 || !is_ragged(op)) return inside(op->body);
        const dv::Expr core = s_.variables.at(op->name);
        dv::Body last = w_.nested([&] { one_core(op, extent - 1); });
        dv::Body others = w_.nested([&] {
            const Stmt before = between(op, 0, extent - 2);
            const Stmt rest = between(op, 1, extent - 2);
            const bool alike = extent < 4 || !is_ragged(before.as<For>()) ||
                               is_ragged(rest.as<For>());
            if (alike) return inside(before.as<For>()->body);
            dv::Body first = w_.nested([&] { one_core(op, 0); });
            dv::Body middle = w_.nested([&] { inside(rest.as<For>()->body); });
            w_.branch(core == 0, std::move(first), std::move(middle));
        });
        w_.branch(core == extent - 1, std::move(last), std::move(others));
    }
    void one_core(const For *op, int64_t core) {
        inside(simplify(substitute(op->name, int(core), op->body)));
    }
    // Returns the loop with a body that is valid for the iterations from `first` to `last` only.
    static Stmt between(const For *op, int64_t first, int64_t last) {
        Scope<Interval> bounds;
        bounds.push(op->name, Interval(int(first), int(last)));
        const Stmt body = simplify(op->body, true, bounds);
        return For::make(op->name, op->min, op->extent, op->for_type, op->partition_policy,
                         op->device_api, body);
    }

    // Returns true if `s` is loops around stores alone, which are appended to `loops`, outermost
    // first and beginning at 0, and `stores`. Several stores either don't read each other, or are a
    // Tuple's.
    static bool nest(const Stmt &s, std::vector<Loop> &loops, std::vector<const Store *> &stores,
                     std::vector<Stmt> &made) {
        if (const auto *f = s.as<For>()) {
            const auto extent = as_const_int(simplify(f->extent));
            if (f->for_type != ForType::Serial || is_tile_loop(f->name) || !extent ||
                !stores.empty())
                return false;
            loops.push_back({f->name, *extent});
            made.push_back(
                is_const_zero(f->min)
                    ? f->body
                    : substitute(f->name, Variable::make(Int(32), f->name) + f->min, f->body));
            const Stmt body = made.back();
            return nest(body, loops, stores, made);
        }
        if (const auto *b = s.as<Block>()) {
            return nest(b->first, loops, stores, made) && nest(b->rest, loops, stores, made) &&
                   (!reads_another(stores) || is_tuple(stores));
        }
        if (const auto *store = s.as<Store>()) {
            stores.push_back(store);
            return true;
        }
        return false;
    }
    static bool is_tuple(const std::vector<const Store *> &stores) {
        return std::all_of(stores.begin() + 1, stores.end(), [&](const Store *other) {
            return of_one_tuple(stores[0]->name, other->name);
        });
    }
    static bool reads_another(const std::vector<const Store *> &stores) {
        struct : IRVisitor {
            using IRVisitor::visit;
            void visit(const Load *l) override {
                names.insert(l->name);
                IRVisitor::visit(l);
            }
            std::set<std::string> names;
        } read;
        for (const Store *a : stores) {
            read.names.clear();
            a->value.accept(&read);
            for (const Store *b : stores)
                if (a != b && (read.names.count(b->name) || a->name == b->name)) return true;
        }
        return false;
    }
};

// Lowers each stage that is stored to global memory to a program, in their order.
class Programs {
public:
    explicit Programs(Kernel &k) : k_(k) {
        const FixedCall &call = *k.instance.call;
        for (size_t i = 0; i < k.op->memory.size(); i++) {
            add(k.op->memory[i].name(), k.op->sig.inputs[i].name, k.op->memory[i].type(),
                elements_spanned(call.inputs[i]), dv::GmTensor::in);
        }
        size_t out = 0;
        for (const Func &f : k.pipeline.outputs()) {
            for (size_t i = 0; i < f.types().size(); i++, out++) {
                add(f.types().size() > 1 ? f.name() + "." + std::to_string(i) : f.name(),
                    k.op->sig.outputs[out].name, f.types()[i], elements_spanned(call.outputs[out]),
                    dv::GmTensor::out);
            }
        }
    }

    Lowered lower() {
        if (k_.buffer_plan.program) return handwritten();
        if (!k_.buffer_plan.emitted.empty()) return emitted();
        refuse_unsigned();
        const Module m = k_.pipeline.compile_to_module(k_.arguments(), k_.op->name, k_.target);
        const Stmt s = m.get_conceptual_stmt();
        lower_stages(simplify(without_lets(s)), k_.op->name);
        for (auto &p : result_.programs) {
            p.tensors = tensors_;
            p.scalars = numbers_.parameters();
            dv::dump(p, "1-lowered");
        }
        result_.scalars = numbers_.values(*k_.op);
        return std::move(result_);
    }

private:
    Kernel &k_;
    CallNumbers numbers_;
    Lowered result_;
    std::vector<dv::GmTensor> tensors_;
    std::vector<int64_t> elements_;  // the number of elements that the call needs of each tensor
    std::map<std::string, dv::Ref> buffers_;

    // Throws DispatchError for products of unsigned integers that are read: an expression of many,
    // as a power by squaring, is so large that Halide's lowering takes minutes. Random words are
    // products of counters alone.
    void refuse_unsigned() const {
        struct : IRVisitor {
            using IRVisitor::visit;
            void visit(const Mul *m) override {
                products |= m->type.is_uint() && m->type.bits() > 8;
                IRVisitor::visit(m);
            }
            void visit(const Call *c) override {
                reads |= c->call_type == Call::Halide || c->call_type == Call::Image;
                IRVisitor::visit(c);
            }
            bool products = false, reads = false;
        } found;
        std::vector<Function> outputs;
        for (const Func &f : k_.pipeline.outputs())
            outputs.push_back(f.function());
        for (auto &[name, f] : build_environment(outputs)) {
            found.products = found.reads = false;
            f.accept(&found);
            if (found.products && found.reads) {
                throw DispatchError(k_.op->name,
                                    "no Ascend program: products of unsigned integers");
            }
        }
    }

    // Adds a tensor of whole blocks and one more, because an instruction moves whole blocks from
    // any offset.
    void add(const std::string &halide_name, const std::string &name, const Type &t, int64_t size,
             dv::GmTensor::Use use) {
        elements_.push_back(size);
        const DType d = dtype_of(t);
        tensors_.push_back(
            {name, d, (size + dv::c0(d) - 1) / dv::c0(d) * dv::c0(d) + dv::c0(d), use});
        buffers_[halide_name] = {name, 0, 0, d};
    }

    void lower_stages(const Stmt &s, const std::string &stage) {
        if (const auto *op = s.as<Block>()) {
            lower_stages(op->first, stage);
            return lower_stages(op->rest, stage);
        }
        if (const auto *op = s.as<ProducerConsumer>())
            return lower_stages(op->body, op->is_producer ? op->name : stage);
        if (const auto *op = s.as<Allocate>();
            op && scope_of(k_, op->name) == k_.buffer_plan.scope.end()) {
            int64_t size = 1;
            for (const HExpr &e : op->extents)
                size *= constant(e, k_.op->name);
            add(op->name, "workspace" + std::to_string(tensors_.size()), op->type, size,
                dv::GmTensor::workspace);
            return lower_stages(op->body, stage);
        }
        if (s.as<Free>() || s.as<Evaluate>() || s.as<AssertStmt>()) return;
        dv::Program p = program();
        StatementLowering lowering(k_, numbers_, p);
        lowering.buffers() = buffers_;
        lowering.lower(stage, s);
        for (auto &w : lowering.warnings()) {
            if (std::find(result_.warnings.begin(), result_.warnings.end(), w) ==
                result_.warnings.end())
                result_.warnings.push_back(w);
        }
        dv::prefetch(p);
        result_.programs.push_back(std::move(p));
    }

    Lowered emitted() {
        for (auto &t : k_.buffer_plan.workspaces)
            tensors_.push_back(t);
        for (auto &write : k_.buffer_plan.emitted) {
            result_.programs.push_back(program());
            Writer w(result_.programs.back());
            w.stage = k_.op->name;
            write(w);
            result_.warnings.insert(result_.warnings.end(), w.warnings.begin(), w.warnings.end());
        }
        return std::move(result_);
    }
    dv::Program program() const {
        dv::Program p;
        p.name = k_.op->name +
                 (result_.programs.empty() ? "" : "_" + std::to_string(result_.programs.size()));
        p.profile = k_.instance.call->chip;
        p.tensors = tensors_;
        return p;
    }

    // Returns the handwritten program. Throws DispatchError if its tensors are too small for the
    // call, have other dtypes, or if it has a scalar that the op lacks.
    Lowered handwritten() {
        const dv::Program &p = *k_.buffer_plan.program;
        const auto wrong = [&](const std::string &what) {
            return DispatchError(k_.op->name, "its program '" + k_.instance.variant + "' " + what);
        };
        for (size_t t = 0; t < tensors_.size(); t++) {
            const dv::GmTensor &needs = tensors_[t];
            if (t >= p.tensors.size()) throw wrong("has no tensor for " + needs.name);
            const dv::GmTensor &has = p.tensors[t];
            if (has.dtype != needs.dtype) {
                throw wrong("takes " + needs.name + " as " + name_of(has.dtype) + " " + has.name +
                            ", it is " + name_of(needs.dtype));
            }
            if (const auto size = has.size.constant(); !size || *size < elements_[t]) {
                throw wrong("has " + dv::to_string(has.size) + " elements of " + has.name +
                            ", the call " + std::to_string(elements_[t]) + " of " + needs.name);
            }
        }
        for (const dv::ScalarParam &s : p.scalars) {
            size_t k = 0;
            while (k < k_.op->scalars.size() && k_.op->scalars[k].name != s.name)
                k++;
            if (k == k_.op->scalars.size()) throw wrong("has a scalar " + s.name + ", the op none");
            result_.scalars.push_back(
                [k](const std::vector<double> &numbers) { return numbers.at(k); });
        }
        result_.programs.push_back(p);
        result_.programs[0].name = k_.op->name;
        return std::move(result_);
    }
};

}  // namespace

Lowered lower(Kernel &k, bool strict) {
    try {
        Lowered l = Programs(k).lower();
        if (strict && !l.warnings.empty())
            throw DispatchError(k.op->name, "--strict: " + l.warnings[0]);
        return l;
    } catch (const Halide::Error &e) {
        throw diagnostic(*k.op, e, k.directives);
    }
}

}  // namespace halyard::ascend

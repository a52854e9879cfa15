#include "dsl/matrix_tiles.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace halyard {
using namespace Halide;
using namespace Halide::Internal;

namespace {

// Four loops, each the whole of the one around it, outermost first, and the statement within them.
struct Nest {
    std::array<const For *, 4> loops = {};
    Stmt body;

    // Returns the nest that `s` is; none if it is something else. Lets between the loops are
    // remembered.
    static std::optional<Nest> of(const Stmt &s) {
        Nest nest;
        nest.body = s;
        for (const For *&loop : nest.loops) {
            nest.enter_lets();
            loop = nest.body.as<For>();
            if (!loop || loop->for_type != ForType::Serial) return std::nullopt;
            nest.body = Stmt(loop->body);
        }
        nest.enter_lets();
        return nest;
    }
    // Returns `e` in terms of the loops' variables and of what is defined outside the nest.
    Expr without_lets(Expr e) const {
        for (size_t k = lets_.size(); k-- > 0;)
            e = substitute(lets_[k]->name, lets_[k]->value, e);
        return e;
    }
    bool moves(const Expr &e) const {
        return std::any_of(loops.begin(), loops.end(),
                           [&](const For *loop) { return expr_uses_var(e, loop->name); });
    }

private:
    void enter_lets() {
        while (const LetStmt *let = body.as<LetStmt>()) {
            lets_.push_back(let);
            const Stmt inner = let->body;
            body = inner;
        }
    }
    std::vector<const LetStmt *> lets_;
};

// A tensor's place within a nest: where it begins, and how far an iteration of each loop moves.
struct Place {
    std::string name;
    Expr begin;
    std::array<Expr, 4> step;

    bool moves_by(size_t loop, int64_t elements) const { return is_const(step[loop], elements); }
};

// Returns where `index` of tensor `name` moves with the nest's loops, if it does so linearly.
std::optional<Place> place_of(const std::string &name, const Expr &index, const Nest &nest) {
    const Expr at = nest.without_lets(index);
    Place place{name, at, {}};
    for (size_t k = 0; k < nest.loops.size(); k++) {
        const For &loop = *nest.loops[k];
        const Expr next = Variable::make(Int(32), loop.name) + 1;
        place.step[k] = simplify(substitute(loop.name, next, at) - at);
        if (nest.moves(place.step[k])) return std::nullopt;
        place.begin = substitute(loop.name, loop.min, place.begin);
    }
    place.begin = simplify(place.begin);
    return place;
}

// Returns the load that `factor` is, as it is or made wider.
const Load *widened_load(const Expr &factor) {
    const Cast *cast = factor.as<Cast>();
    return cast ? cast->value.as<Load>() : factor.as<Load>();
}

// The kinds of products that there are instructions for.
struct Kind {
    Type a, b, c;
    int group;
    const char *function;
};
const Kind kinds[] = {
    {BFloat(16), BFloat(16), Float(32), 2, "halyard_tile_product_bf16"},
    {UInt(8), Int(8), Int(32), 4, "halyard_tile_product_u8i8"},
};

class UseMatrixTiles : public IRMutator {
    using IRMutator::mutate;
    using IRMutator::visit;

public:
    Stmt mutate(const Stmt &s) override {
        const bool is_outermost = depth_++ == 0;
        Stmt result = IRMutator::mutate(s);
        depth_--;
        if (is_outermost && std::exchange(found_, 0) == 0)
            throw CompileError("no loops that matrix instructions can run");
        return result;
    }

private:
    Stmt visit(const For *op) override {
        Stmt call = as_tile_product(op);
        if (!call.defined()) return IRMutator::visit(op);
        found_++;
        return call;
    }

    // Returns the call that does what `loop` and the loops in it do; undefined if there is none.
    static Stmt as_tile_product(const For *loop) {
        const std::optional<Nest> nest = Nest::of(loop);
        const Store *store = nest ? nest->body.as<Store>() : nullptr;
        if (!store || !is_const_one(store->predicate)) return {};
        const Add *sum = store->value.as<Add>();
        const Load *c = sum ? sum->a.as<Load>() : nullptr;
        const Mul *product = sum ? sum->b.as<Mul>() : nullptr;
        if (!c || !product || c->name != store->name || !equal(c->index, store->index)) return {};
        return call(*nest, *c, widened_load(product->a), widened_load(product->b));
    }

    static Stmt call(const Nest &nest, const Load &c, const Load *a, const Load *b) {
        if (!a || !b) return {};
        const Kind *kind = kind_of(c, *a, *b);
        const auto in_c = place_of(c.name, c.index, nest);
        const auto in_a = place_of(a->name, a->index, nest);
        const auto in_b = place_of(b->name, b->index, nest);
        if (!kind || !in_c || !in_a || !in_b || !fits(nest, *kind, *in_c, *in_a, *in_b)) return {};
        std::vector<Expr> arguments;
        const auto pass = [&](const Place &p, const Expr &row, const Type &t) {
            const Expr bytes = make_const(Int(64), t.bytes());
            arguments.push_back(Variable::make(Handle(), p.name));
            arguments.push_back(cast(Int(64), p.begin) * bytes);
            arguments.push_back(cast(Int(64), row) * bytes);
        };
        pass(*in_c, in_c->step[1], kind->c);
        pass(*in_a, in_a->step[1], kind->a);
        pass(*in_b, in_b->step[0], kind->b);
        arguments.push_back(nest.without_lets(nest.loops[1]->extent));
        arguments.push_back(nest.without_lets(nest.loops[0]->extent));
        return Evaluate::make(Call::make(Int(32), kind->function, arguments, Call::Extern));
    }

    static const Kind *kind_of(const Load &c, const Load &a, const Load &b) {
        for (const Kind &kind : kinds) {
            if (c.type == kind.c && a.type == kind.a && b.type == kind.b) return &kind;
        }
        return nullptr;
    }

    static bool fits(const Nest &nest, const Kind &kind, const Place &c, const Place &a,
                     const Place &b) {
        std::array<Expr, 4> extents;
        for (size_t k = 0; k < extents.size(); k++) {
            extents[k] = nest.without_lets(nest.loops[k]->extent);
            if (nest.moves(extents[k]) || nest.moves(nest.loops[k]->min)) return false;
        }
        return is_const(extents[3], kind.group) && is_const(extents[2], tile_columns) &&
               c.moves_by(0, 0) && c.moves_by(2, 1) && c.moves_by(3, 0) &&
               a.moves_by(0, kind.group) && a.moves_by(2, 0) && a.moves_by(3, 1) &&
               b.moves_by(1, 0) && b.moves_by(2, kind.group) && b.moves_by(3, 1);
    }

    int depth_ = 0;
    int found_ = 0;
};

}  // namespace

void use_matrix_tiles(Pipeline &pipeline) {
    pipeline.add_custom_lowering_pass(new UseMatrixTiles);
}

}  // namespace halyard

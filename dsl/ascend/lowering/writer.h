// Writer: appends instructions, loops and buffers to a Da Vinci program.
#pragma once
#include <bit>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "ascend/program/ir.h"

namespace halyard::ascend {

// A tensor on the chip or in global memory (GM), as an operand of a nest of loops. `ref` is its
// first element; `stride` has one entry per loop, in elements.
struct Operand {
    dv::Ref ref;
    std::vector<int64_t> stride;
    dv::Scope scope = dv::Scope::ub;
    bool in_gm() const { return scope == dv::Scope::gm; }
};

// A position in the program is a stack of open bodies: the program's, and those of the loops and
// branches around. Instructions and buffers are appended to the innermost one.
class Writer {
public:
    explicit Writer(dv::Program &to) : program(to) { open(to.body, {}); }

    dv::Program &program;
    std::string stage;                  // the Func whose instructions are appended; for messages
    std::vector<std::string> warnings;  // "W-SCALAR ..."

    void emit(dv::Instr::Op op) { bodies_.back()->push_back({dv::Instr{std::move(op), stage}}); }
    // Appends a loop whose body is what `body(i)` appends. A loop of one iteration is left out: `i`
    // is then the constant `begin`.
    template<class F>
    void loop(const std::string &name, const dv::Expr &begin, const dv::Expr &end, F body);
    template<class F> void loop(const std::string &name, int64_t extent, F body) {
        loop(name, 0, extent, body);
    }
    // Returns what `body()` appends, as the body of a branch.
    template<class F> dv::Body nested(F body);
    // Appends what `body()` appends as a block of its own, with which its buffers end.
    template<class F> void scope(F body) {
        bodies_.back()->push_back({dv::If{1, nested(body), {}}});
    }
    void branch(const dv::Expr &condition, dv::Body then, dv::Body otherwise) {
        bodies_.back()->push_back({dv::If{condition, std::move(then), std::move(otherwise)}});
    }

    // Declares a buffer of one slot in the innermost body, with which it ends. A name that is taken
    // gets a number.
    dv::Ref buffer(const std::string &name, dv::Scope scope, DType t, int64_t elements);
    // Declares a buffer of several slots in the innermost body. The caller sets Ref::slot.
    dv::Ref ring(const std::string &name, dv::Scope scope, DType t, int64_t elements,
                 int slots = 2) {
        return declare(name, scope, t, elements, slots, *bodies_.back());
    }
    // Declares a buffer of several slots outside the innermost loop, each iteration of which uses
    // the next slot. Outside of loops it is a plain buffer.
    dv::Ref loop_ring(const std::string &name, dv::Scope scope, DType t, int64_t elements,
                      int slots);
    dv::Ref double_buffer(const std::string &name, dv::Scope scope, DType t, int64_t elements) {
        return loop_ring(name, scope, t, elements, 2);
    }
    // Returns how many of the open loops, innermost first, `e` doesn't depend on.
    size_t loops_without(const dv::Expr &e) const;
    // Appends what `body()` appends before the `count` innermost loops.
    template<class F> void before_loops(size_t count, F body);
    // Returns a block of 32 B of a constant. The first call for a value fills it by `fill`, before
    // the loops around.
    template<class F> dv::Ref constant(double value, DType t, F fill);
    // Returns a buffer in the Unified Buffer for one nest; give_back() makes it available again.
    dv::Ref temporary(DType t, int64_t elements);
    void give_back(const dv::Ref &r);
    // Returns a new register's name.
    std::string reg(const std::string &stem = "r") { return stem + std::to_string(regs_++); }

    struct Constant {
        double value;
        dv::Ref block;
    };
    // A state of the program, to which rollback() returns.
    struct Mark {
        std::vector<size_t> nodes;
        size_t buffers;
        std::vector<std::vector<dv::Ref>> free;
        std::vector<std::vector<Constant>> constants;
    };
    Mark mark() const;
    void rollback(const Mark &m);

private:
    struct OpenLoop {
        std::string var;
        dv::Expr begin;
    };
    std::vector<dv::Body *> bodies_;
    std::vector<std::vector<Constant>> constants_;  // one list per open body
    std::vector<std::vector<dv::Ref>> free_;        // free temporaries, one list per open body
    std::vector<OpenLoop> loops_;
    std::map<std::string, size_t> lent_;  // each temporary's body, as an index of bodies_
    int regs_ = 0;
    void open(dv::Body &b, OpenLoop loop) {
        bodies_.push_back(&b);
        free_.emplace_back();
        loops_.push_back(std::move(loop));
        constants_.emplace_back();
    }
    void close() {
        bodies_.pop_back();
        free_.pop_back();
        loops_.pop_back();
        constants_.pop_back();
    }
    std::string unique_buffer(const std::string &name) const;
    std::string unique_loop(const std::string &name) const;  // unlike those of the loops around
    dv::Ref declare(const std::string &name, dv::Scope scope, DType t, int64_t elements, int slots,
                    dv::Body &at);
};

template<class F> void Writer::before_loops(size_t count, F body) {
    const auto cut = [&](auto &all) {
        std::decay_t<decltype(all)> inner(std::make_move_iterator(all.end() - long(count)),
                                          std::make_move_iterator(all.end()));
        all.resize(all.size() - count);
        return inner;
    };
    const auto restore = [](auto &all, auto inner) {
        all.insert(all.end(), std::make_move_iterator(inner.begin()),
                   std::make_move_iterator(inner.end()));
    };
    auto bodies = cut(bodies_);
    auto free = cut(free_);
    auto loops = cut(loops_);
    auto constants = cut(constants_);
    body();
    restore(bodies_, std::move(bodies));
    restore(free_, std::move(free));
    restore(loops_, std::move(loops));
    restore(constants_, std::move(constants));
}

template<class F> dv::Ref Writer::constant(double value, DType t, F fill) {
    for (auto &body : constants_) {
        for (const Constant &c : body) {
            if (std::bit_cast<uint64_t>(c.value) == std::bit_cast<uint64_t>(value) &&
                c.block.dtype == t)
                return c.block;
        }
    }
    dv::Ref r;
    before_loops(loops_without(0), [&] {
        r = buffer("constant", dv::Scope::ub, t, dv::c0(t));
        fill(r);
        constants_.back().push_back({value, r});
    });
    return r;
}

template<class F> dv::Body Writer::nested(F body) {
    dv::Body b;
    open(b, {});
    body();
    close();
    return b;
}

template<class F>
void Writer::loop(const std::string &name, const dv::Expr &begin, const dv::Expr &end, F body) {
    const auto first = begin.constant();
    const auto past = end.constant();
    if (first && past && *past == *first + 1) return body(begin);
    dv::Body b;
    const std::string own = unique_loop(name);
    open(b, {own, begin});
    body(dv::Expr::var(own));
    close();
    bodies_.back()->push_back({dv::For{own, begin, end, std::move(b)}});
}

}  // namespace halyard::ascend

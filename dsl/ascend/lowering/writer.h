// Writer: a Da Vinci program under construction.
#pragma once
#include <bit>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "ascend/program/ir.h"

namespace halyard::ascend {

// A tensor on the chip or in GM, as an operand of a nest of loops: where it begins, and its stride
// in each of them, in elements.
struct Operand {
    dv::Ref ref;
    std::vector<int64_t> stride;
    dv::Scope scope = dv::Scope::ub;
    bool in_gm() const { return scope == dv::Scope::gm; }
};

class Writer {
public:
    explicit Writer(dv::Program &program) : p(program) { open(program.body, {}); }

    dv::Program &p;
    std::string where;                  // of the instructions to come
    std::vector<std::string> warnings;  // "W-SCALAR ..."

    void put(dv::Instr::Op op) { bodies_.back()->push_back({dv::Instr{std::move(op), where}}); }
    // body(i) inside of a loop; once, with a constant, where the loop has one iteration.
    template<class F>
    void loop(const std::string &name, const dv::Expr &begin, const dv::Expr &end, F body);
    template<class F> void loop(const std::string &name, int64_t extent, F body) {
        loop(name, 0, extent, body);
    }
    template<class F> dv::Body nested(F body);
    // Buffers declared in the body, double ones too, end with it.
    template<class F> void scope(F body) {
        bodies_.back()->push_back({dv::If{1, nested(body), {}}});
    }
    void branch(const dv::Expr &condition, dv::Body then, dv::Body otherwise) {
        bodies_.back()->push_back({dv::If{condition, std::move(then), std::move(otherwise)}});
    }

    // A buffer that lives as long as the loop around it does. Names get a number where they are
    // taken.
    dv::Ref buffer(const std::string &name, dv::Scope scope, DType t, int64_t elements);
    // A buffer of some slots, beside what is being written; references say which slot they mean.
    dv::Ref ring(const std::string &name, dv::Scope scope, DType t, int64_t elements,
                 int slots = 2) {
        return declare(name, scope, t, elements, slots, *bodies_.back());
    }
    // A buffer of slots: it lives beside the loop around it, each iteration of which takes the next
    // slot. A double buffer has two.
    dv::Ref beside(const std::string &name, dv::Scope scope, DType t, int slots, int64_t elements);
    dv::Ref arriving(const std::string &name, dv::Scope scope, DType t, int64_t elements) {
        return beside(name, scope, t, 2, elements);
    }
    // Of the open loops, innermost first, how many an expression doesn't depend on; and a body put
    // before so many of them.
    size_t loops_without(const dv::Expr &e) const;
    template<class F> void before_loops(size_t count, F body);
    // A block of a constant, filled by `fill` before the loops around, unless there is one already.
    template<class F> dv::Ref constant(double value, DType t, F fill);
    // For one nest: give it back, and the next one of this type and size gets it.
    dv::Ref temporary(DType t, int64_t elements);
    void give_back(const dv::Ref &r);
    std::string reg(const std::string &stem = "r") { return stem + std::to_string(regs_++); }

    struct Constant {
        double value;
        dv::Ref block;
    };
    // Where the program stands, to go on from there as if nothing had been written since.
    struct Mark {
        std::vector<size_t> nodes;
        size_t buffers;
        std::vector<std::vector<dv::Ref>> free;
        std::vector<std::vector<Constant>> constants;
    };
    Mark mark() const;
    void back_to(const Mark &m);

private:
    struct OpenLoop {
        std::string var;
        dv::Expr begin;
    };
    std::vector<dv::Body *> bodies_;
    std::vector<std::vector<Constant>> constants_;  // of each open body
    std::vector<std::vector<dv::Ref>> free_;        // temporaries of each open body
    std::vector<OpenLoop> loops_;
    std::map<std::string, size_t> lent_;  // temporaries and the body that declared them
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
    std::string unique(const std::string &name) const;
    std::string unopened(const std::string &name) const;  // no loop around has it
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
    const std::string own = unopened(name);
    open(b, {own, begin});
    body(dv::Expr::var(own));
    close();
    bodies_.back()->push_back({dv::For{own, begin, end, std::move(b)}});
}

}  // namespace halyard::ascend

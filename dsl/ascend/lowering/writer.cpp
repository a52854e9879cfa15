#include "dsl/ascend/lowering/writer.h"

#include <algorithm>
#include <charconv>
#include <functional>

namespace halyard::ascend {

// Reads every name once, not once for each candidate number: programs have thousands of
// temporaries.
std::string Writer::unique_buffer(const std::string &name) const {
    // taken[0] is the name itself, taken[n] the name followed by "_n".
    std::vector<bool> taken(program.buffers.size() + program.tensors.size() + 1);
    const auto look = [&](const std::string &other) {
        if (!other.starts_with(name)) return;
        const char *const end = other.data() + other.size();
        const char *const rest = other.data() + name.size();
        size_t number = 0;
        const bool numbered = rest != end && *rest == '_' &&
                              std::from_chars(rest + 1, end, number).ptr == end && number > 0;
        if ((rest == end || numbered) && number < taken.size()) taken[number] = true;
    };
    for (const dv::Buffer &b : program.buffers)
        look(b.name);
    for (const dv::GmTensor &t : program.tensors)
        look(t.name);
    const size_t number = size_t(std::find(taken.begin(), taken.end(), false) - taken.begin());
    return number == 0 ? name : name + "_" + std::to_string(number);
}

std::string Writer::unique_loop(const std::string &name) const {
    int same = 0;
    for (auto &l : loops_)
        same += l.var.compare(0, name.size(), name) == 0;
    return same ? name + "_" + std::to_string(same) : name;
}

dv::Ref Writer::declare(const std::string &name, dv::Scope scope, DType t, int64_t elements,
                        int slots, dv::Body &at) {
    const std::string own = unique_buffer(name);
    const int64_t whole = dv::lanes(t);  // instructions process whole repeats
    program.buffers.push_back({own, scope, t, (elements + whole - 1) / whole * whole, slots});
    at.push_back({dv::Alloc{own}});
    return {own, 0, 0, t};
}

dv::Ref Writer::buffer(const std::string &name, dv::Scope scope, DType t, int64_t elements) {
    return declare(name, scope, t, elements, 1, *bodies_.back());
}

dv::Ref Writer::loop_ring(const std::string &name, dv::Scope scope, DType t, int64_t elements,
                          int slots) {
    if (bodies_.size() < 2 || loops_.back().var.empty())
        return declare(name, scope, t, elements, 1, *bodies_.back());
    dv::Ref r = declare(name, scope, t, elements, slots, *bodies_[bodies_.size() - 2]);
    if (slots > 1) r.slot = (dv::Expr::var(loops_.back().var) - loops_.back().begin) % slots;
    return r;
}

size_t Writer::loops_without(const dv::Expr &e) const {
    // Returns true if the variables of `x` belong to the `depth` outermost bodies.
    const std::function<bool(const dv::Expr &, size_t)> known = [&](const dv::Expr &x,
                                                                    size_t depth) {
        if (x.constant()) return true;
        if (x.op() != dv::ExprOp::var) return known(x.left(), depth) && known(x.right(), depth);
        return x.name() == "block_idx" ||
               std::any_of(loops_.begin(), loops_.begin() + long(depth),
                           [&](const OpenLoop &l) { return l.var == x.name(); });
    };
    size_t count = 0;
    while (count + 1 < loops_.size() && !loops_[loops_.size() - 1 - count].var.empty() &&
           known(e, loops_.size() - 1 - count))
        count++;
    return count;
}

Writer::Mark Writer::mark() const {
    Mark m{{}, program.buffers.size(), free_, constants_};
    for (auto *b : bodies_)
        m.nodes.push_back(b->size());
    return m;
}

void Writer::rollback(const Mark &m) {
    bodies_.resize(m.nodes.size());
    loops_.resize(m.nodes.size());
    for (size_t k = 0; k < bodies_.size(); k++)
        bodies_[k]->erase(bodies_[k]->begin() + long(m.nodes[k]), bodies_[k]->end());
    program.buffers.resize(m.buffers);
    free_ = m.free;
    constants_ = m.constants;
}

dv::Ref Writer::temporary(DType t, int64_t elements) {
    for (auto &free : free_) {
        for (size_t k = 0; k < free.size(); k++) {
            const dv::Ref r = free[k];
            if (program.buffer(r.buffer)->slot_bytes() < elements * int64_t(bytes_of(t)) ||
                program.buffer(r.buffer)->dtype != t)
                continue;
            free.erase(free.begin() + long(k));
            return r;
        }
    }
    const dv::Ref r = buffer("temp", dv::Scope::ub, t, elements);
    lent_[r.buffer] = bodies_.size() - 1;
    return r;
}

void Writer::give_back(const dv::Ref &r) {
    const auto it = lent_.find(r.buffer);
    if (it != lent_.end())
        free_[it->second].push_back({r.buffer, 0, 0, program.buffer(r.buffer)->dtype});
}

}  // namespace halyard::ascend

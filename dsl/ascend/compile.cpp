#include "dsl/ascend/compile.h"

#include "ascend/passes/passes.h"
#include "ascend/simulator/check.h"
#include "dsl/ascend/lowering/move.h"
#include "registry/base/error.h"

namespace halyard::ascend {

namespace {

// Returns the bytes that the fullest scope needs, relative to its size.
double excess(const dv::Program &p) {
    std::map<dv::Scope, int64_t> top;
    for (const dv::Buffer &b : p.buffers)
        top[b.scope] = std::max(top[b.scope], b.address + b.slot_bytes() * b.slots);
    double max_share = 1;
    for (auto &[scope, bytes] : top)
        max_share = std::max(max_share, double(bytes) / double(p.chip().bytes(scope)));
    return max_share;
}

}  // namespace

Compiled compile(Kernel &k, bool strict) {
    if (const std::string &v = k.instance.variant; !v.empty() && !k.buffer_plan.program) {
        std::string known;
        for (auto &name : k.buffer_plan.handwritten)
            known += " " + name;
        throw DispatchError(k.op->name, "no Ascend program '" + v + "' is written by hand" +
                                            (known.empty() ? "" : ", there is" + known));
    }
    Compiled c{lower(k, strict), k.instance.tunables, k.buffer_plan.handwritten, {}, 1};
    const auto add = [&](const std::vector<dv::Issue> &issues) {
        c.issues.insert(c.issues.end(), issues.begin(), issues.end());
    };
    for (dv::Program &p : c.lowered.programs) {
        // Handwritten programs have addresses and flags already.
        if (!k.buffer_plan.program) add(dv::place_buffers(p));
        c.excess = excess(p);
        if (dv::has_errors(c.issues)) return c;
        if (!k.buffer_plan.program) add(dv::insert_sync(p).issues);
        add(dv::verify(p));
    }
    return c;
}

namespace {

// Tries schedules until one fits the chip's memories.
Compiled fitting(const OpTable &ops, const std::string &op, const Instance &i, bool strict) {
    std::string last = "no schedule fits";
    for (const int apart : {0, 1}) {
        for (int shrink = 0; shrink < shrink_steps;) {
            Instance next = i;
            next.tunables.chosen.emplace("apart", apart);
            next.tunables.chosen.emplace("shrink", shrink);
            const bool given = next.tunables.chosen.at("apart") != apart ||
                               next.tunables.chosen.at("shrink") != shrink;
            shrink++;
            if (given) continue;
            Kernel k(ops.make(op), next);
            Compiled c = compile(k, strict);
            if (!dv::has_errors(c.issues)) return c;
            last = dv::first_error(c.issues);
            if (!dv::has(c.issues, "E-CAP")) throw DispatchError(op, last);
            // If all memory were tiles, this many steps would be enough; other buffers need more.
            for (double e = c.excess * 7 / 8; e * 7 / 8 > 1; e = e * 7 / 8)
                shrink++;
        }
    }
    throw DispatchError(op, last);
}

}  // namespace

Compiled compile(const OpTable &ops, const std::string &op, const Instance &i, bool strict) {
    try {
        return fitting(ops, op, i, strict);
    } catch (const SharedBlocks &) {
        if (i.tunables.chosen.count("one_core")) throw;
        Instance alone = i;
        alone.tunables.chosen["one_core"] = 1;
        return fitting(ops, op, alone, strict);
    }
}

}  // namespace halyard::ascend

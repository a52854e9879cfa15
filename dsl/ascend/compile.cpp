#include "dsl/ascend/compile.h"

#include "ascend/check.h"
#include "ascend/passes.h"
#include "registry/error.h"

namespace halyard::ascend {

namespace {

// One schedule. Issues with E-CAP in them where it doesn't fit.
Compiled attempt(const OpTable &ops, const std::string &op, const Instance &i, bool strict) {
    Kernel k(ops.make(op), i);
    Compiled c{lower(k, strict), k.instance.picks, {}};
    const auto add = [&](const std::vector<dv::Issue> &issues) { c.issues.insert(c.issues.end(), issues.begin(), issues.end()); };
    for (dv::Program &p : c.lowered.programs) {
        add(dv::place_buffers(p));
        if (dv::has_errors(c.issues)) return c;
        add(dv::insert_sync(p).issues);
        add(dv::verify(p));
    }
    return c;
}

}  // namespace

Compiled compile(const OpTable &ops, const std::string &op, const Instance &i, bool strict) {
    std::string last = "no schedule fits";
    for (const int apart : {0, 1})
        for (int shrink = 0; shrink < 10; shrink++) {
            Instance next = i;
            next.picks.chosen.emplace("apart", apart), next.picks.chosen.emplace("shrink", shrink);
            const bool given = next.picks.chosen.at("apart") != apart || next.picks.chosen.at("shrink") != shrink;
            if (given) continue;
            Compiled c = attempt(ops, op, next, strict);
            if (!dv::has_errors(c.issues)) return c;
            last = dv::to_text(c.issues);
            if (!dv::has(c.issues, "E-CAP")) throw DispatchError(op, last);
        }
    throw DispatchError(op, last);
}

}  // namespace halyard::ascend

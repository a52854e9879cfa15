// Directives: what an op's algorithm() and schedule() told Halide, call by call.
//
// Halide has no hook for it. libhalyard_dsl.so defines the members of Func, Stage and FuncRef that
// schedule and define, and stands before libHalide.so where the loader looks: every call of an op
// file, and of a library opened later, comes through here first. While nobody records that costs a
// branch.
#pragma once
#include <string>
#include <vector>

#include "Halide.h"
#include "dsl/call_site.h"

namespace halyard {

struct Loop {
    std::string var;
    bool pure;  // its iterations write different elements
};

struct Directive {
    bool definition = false;  // y(c, n) = ...; else a scheduling call
    std::string func, stage;  // Halide's names: "total$3", "total$3.update(0)"
    std::string call;         // "total.update(0).split(r.x, ko, ki, 64, GuardWithIf)"
    // Halide's, of the loop variables and Funcs among the arguments
    std::vector<std::string> names;
    std::vector<Loop> loops;  // of the stage until now, innermost first
    std::string makes;        // the Func that rfactor() or in() returned
    CallSite at;
};

constexpr int no_directive = -1;

// While it lives, this thread's calls are appended to `to`; the scheduling call number `skip` of
// them is left out: it has no effect. Throws Error where that one makes a Func that others
// schedule. One at a time per thread.
class DirectiveRecorder {
public:
    explicit DirectiveRecorder(std::vector<Directive> &to, int skip = no_directive);
    ~DirectiveRecorder();
    DirectiveRecorder(const DirectiveRecorder &) = delete;
    DirectiveRecorder &operator=(const DirectiveRecorder &) = delete;
};

}  // namespace halyard

// Directives: the definitions and scheduling calls of an op, recorded one by one.
//
// Halide has no hook for this. libhalyard_dsl.so defines the same member functions of Func, Stage
// and FuncRef as libHalide.so and is loaded before it. So each call from an op file, or from a
// library that is opened later, enters libhalyard_dsl.so first, which records it and calls Halide's
// function. If nothing is recorded, this costs a branch.
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
    // True for a definition, y(c, n) = ...; false for a scheduling call.
    bool definition = false;
    std::string func, stage;  // Halide's names: "total$3", "total$3.update(0)"
    std::string call;         // "total.update(0).split(r.x, ko, ki, 64, GuardWithIf)"
    // Halide's names of the loop variables and Funcs among the arguments.
    std::vector<std::string> names;
    // The loops of the stage before the call, innermost first.
    std::vector<Loop> loops;
    // The name of the Func that the call returned, for rfactor(), in() and clone_in().
    std::string new_func;
    CallSite site;
};

constexpr int no_directive = -1;

// DirectiveRecorder: while it exists, the calls of this thread are appended to `to`, and the
// scheduling call with the number `skip` has no effect. The skipped call throws Error if it would
// return a new Func. A thread has at most one recorder.
class DirectiveRecorder {
public:
    explicit DirectiveRecorder(std::vector<Directive> &to, int skip = no_directive);
    ~DirectiveRecorder();
    DirectiveRecorder(const DirectiveRecorder &) = delete;
    DirectiveRecorder &operator=(const DirectiveRecorder &) = delete;
};

}  // namespace halyard

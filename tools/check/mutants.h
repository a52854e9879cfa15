// Mutants: kernels with one planted fault each (dsl/mutate.h), and which checks find it. What the
// checks are worth, as a number.
#pragma once
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tools/check/check.h"

namespace halyard::check {

struct Mutant {
    enum Status {
        caught,
        survived,
        equivalent,  // survived, and survivors.txt says why nothing can see it: no fault
        same_code,   // the compiler made the same code of it: no fault
        refused,     // it can't be compiled
    };
    std::string op, variant, fault;
    // "f16/avx2": the kernel's dtypes and instruction set, where they aren't the op's first and the
    // options' own
    std::string place = "";
    Status status = survived;
    bool reached = false;                // survived: a check had its place executed
    std::vector<std::string> caught_by;  // names of all_checks(), or "crash", "hang"
    // the first failure, the compiler's words, or why a known survivor survives
    std::string output;
    std::string kind() const;
    std::string text() const {
        return op + (variant.empty() ? "" : "/" + variant) + " " +
               (place.empty() ? "" : place + " ") + fault;
    }
};
const char *name_of(Mutant::Status status);

struct MutantOptions {
    std::vector<std::string> ops;
    int per_op = 2;             // faults to plant in each op
    int in_all = 0;             // > 0: so many instead, in ops drawn from `ops`
    bool until_caught = false;  // no check after the first that finds the fault
    unsigned seed = 1;
    int at_once = 2;  // processes
    Isa isa = Isa::baseline;
    // not into kernels of the first dtypes on isa, but of any dtypes, on any instruction set that
    // this CPU has
    bool everywhere = false;
    bool programs = false;          // into programs of the simulated Ascend device alone
    double seconds = 120;           // of processor time, compilation included; then it hangs
    std::vector<std::string> only;  // Mutant::text()s, instead of a choice
    std::function<void(size_t, size_t, const std::string &doing)> on_progress = {};  // of how many
};

// Plants faults into kernels of the ops' first dtypes, or of any, as many of each kind as can be,
// and runs the checks that see those kernels on each in a child process of its own. The same
// options choose the same faults. Composite ops have no kernels and give none.
std::vector<Mutant> try_mutants(const MutantOptions &o);

// Why nothing can see a fault, by its text(), with its place or without, or by one with "#*" for
// its number; null where that isn't known.
const std::string *reason_for(const std::map<std::string, std::string> &survivors, const Mutant &m);

// Lines "op/variant kind: place -- why it can't be seen", of which "#*" at the place's end means
// any number; # begins a comment. Throws IoError with the line that is something else.
std::map<std::string, std::string> read_survivors(const std::string &path);

}  // namespace halyard::check

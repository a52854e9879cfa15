// Shared by the sources of halyard tune.
#pragma once
#include "tools/tune/decision.h"
#include "tools/tune/tuner.h"

namespace halyard::command {

struct TuneOptions {
    std::vector<std::string> ops, shapes, merge, diff;
    std::string records, out, device, budget = "64 candidates";
    std::vector<int> threads;
    bool why = false, paste = false, regret = false, stale = false, print_schedule = false;
    int held_out = 12;
    tune::TunerOptions tuner;
};

// Returns the file in the cache: ~/.cache/halyard/records/OP.records.
std::string default_records(const std::string &op);
// Returns the problems of the options, or those of the op's record.
std::vector<std::string> tuned_problems(const RegisteredOp &op, const TuneOptions &o);

// Returns the hash of each variant's algorithm.
std::map<std::string, std::string> algorithms_of(const RegisteredOp &op, const std::string &dtypes,
                                                 Isa isa, tune::Compiler &compiler);

// Returns the code of the kernel that a call gets, as records name it.
std::string code_of_default(const Plan &plan, tune::Compiler &compiler);

// The modes of the command. Each returns the exit status.
int merge_records(const TuneOptions &o);
int diff_records(const TuneOptions &o);
int explain_records(const TuneOptions &o);  // --why
int paste_tunables(const TuneOptions &o);
int list_stale(const TuneOptions &o);
int print_regret(const TuneOptions &o);

// Prints each line to standard error. Returns true if there was one.
bool complain(const std::vector<std::string> &refused_lines);

}  // namespace halyard::command
